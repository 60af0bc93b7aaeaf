#include "cli/hosts/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/hosts/inventory_file.h"
#include "cli/args/quote.h"
#include "cli/term/message.h"
#include "base/banned.h"

/* The maximum number of duplicate hosts that are printed one by one. */
#define DUPLICATES_SHOWN 5

static int read_scheme(struct target_options *o, struct err *err)
{
    if (!o->scheme || strcmp(o->scheme, "http") == 0)
        return 0;
    if (strcmp(o->scheme, "https") != 0)
        return err_set(err, ERR_USAGE, "--scheme is http or https, not \"%.40s\"", o->scheme);
    o->selection.https = true;
    return 0;
}

static int read_compress(struct target_options *o, struct err *err)
{
    static const char *const words[] = {
        [SSH_COMPRESS_AUTO] = "auto", [SSH_COMPRESS_YES] = "yes", [SSH_COMPRESS_NO] = "no"};
    for (size_t i = 0; o->compress && i < sizeof words / sizeof *words; i++)
        if (strcmp(o->compress, words[i]) == 0) {
            o->ssh_compress = (enum ssh_compress)i;
            return 0;
        }
    return o->compress ? err_set(err, ERR_USAGE, "--compress is auto, yes or no, not \"%.40s\"", o->compress)
                       : 0;
}

bool target_is_given(const struct target_options *o)
{
    return o->selection.hosts.n > 0 || o->selection.groups.n > 0 || o->selection.labels.n > 0 || o->from;
}

bool target_names_file(const char *word)
{
    struct stat st;
    return stat(word, &st) == 0 && S_ISREG(st.st_mode);
}

int target_hint_file(const char *file, struct err *err)
{
    struct buf word = BUF_INIT(200);
    quote_add_word(&word, file);
    err_hint(err, "to look at a file: profgrab view %s", word.failed ? "FILE" : buf_str(&word));
    buf_release(&word);
    return -1;
}

int target_check_arguments(const struct target_options *o, const struct strlist *words, const char *command,
                           struct err *err)
{
    if (words->n > 0) {
        err_set(err, ERR_USAGE, "%s takes no kind: \"%.60s\"", command, words->items[0]);
        return target_names_file(words->items[0]) ? target_hint_file(words->items[0], err) : -1;
    }
    if (target_is_given(o))
        return 0;
    err_set(err, ERR_USAGE, "no host given");
    return err_hint(err, "profgrab %s --host NAME; `profgrab hosts` lists the inventory", command);
}

int target_load(struct target_options *o, struct inventory **ret_inventory, struct err *err)
{
    if (read_scheme(o, err) < 0 || read_compress(o, err) < 0 ||
        (o->via && ssh_via_parse("--via", o->via, &o->ssh_via, err) < 0))
        return -1;
    return inventory_file_load(o->inventory, ret_inventory, err);
}

static void print_duplicates(const struct duplicate_hosts *same)
{
    const struct host *const *h = same->hosts;
    struct err line = ERR_INIT;
    char others[40] = "";
    if (same->n > 3)
        snprintf(others, sizeof others, " and %zu more", same->n - 2);
    err_set(&line, ERR_NONE,
            "%.100s%s%.100s%s%.100s%s have the same address, %.100s: one process gets each request %zu times",
            h[0]->name, same->n == 2 ? " and " : ", ", h[1]->name, same->n == 3 ? " and " : "",
            same->n == 3 ? h[2]->name : "", others, h[0]->address, same->n);
    if (same->n > 2)
        err_hint(&line, "for a range of hosts, the address needs {name}");
    message_print_error(stderr, &line);
}

/* Warns of hosts that are probably one machine. Accepts them, because the user may intend two names. */
static void warn_of_duplicates(const struct duplicate_hosts_list *l)
{
    for (size_t i = 0; i < l->n && i < DUPLICATES_SHOWN; i++)
        print_duplicates(&l->items[i]);
    if (l->n > DUPLICATES_SHOWN)
        message_print("and %zu more addresses have several hosts", l->n - DUPLICATES_SHOWN);
}

void target_print_notes(const struct targets *targets)
{
    struct duplicate_hosts_list duplicates = {0};
    if (targets->n_before_sample > 0)
        message_print("a sample: %zu of %zu hosts", targets_count_hosts(targets), targets->n_before_sample);
    if (targets_find_duplicates(targets, &duplicates, NULL) < 0)
        return;
    warn_of_duplicates(&duplicates);
    duplicate_hosts_release(&duplicates);
}

void target_options_release(struct target_options *o)
{
    selection_release(&o->selection);
}
