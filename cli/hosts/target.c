#include "cli/hosts/target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/hosts/inventory_file.h"
#include "cli/args/shell.h"
#include "cli/term/talk.h"
#include "cli/hosts/duplicate_hosts.h"
#include "base/banned.h"

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
    shell_add_word(&word, file);
    err_hint(err, "to look at a file: profgrab view %s", word.failed ? "FILE" : buf_str(&word));
    buf_release(&word);
    return -1;
}

int target_alone(const struct target_options *o, const struct strlist *words, const char *command,
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

void target_say(const struct targets *targets)
{
    struct duplicate_hosts_list duplicates = {0};
    if (targets->sampled_of > 0)
        talk("a sample: %zu of %zu hosts", targets_hosts(targets), targets->sampled_of);
    if (targets_find_duplicates(targets, &duplicates, NULL) < 0)
        return;
    duplicate_hosts_print(&duplicates);
    duplicate_hosts_release(&duplicates);
}

void target_options_release(struct target_options *o)
{
    selection_release(&o->selection);
    if (o->has_prompt)
        prompt_release(&o->prompt);
    o->has_prompt = false;
}
