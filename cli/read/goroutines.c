/* `profgrab goroutines`: prints dumps by stack and state, the stacks with the most goroutines first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "cli/read/goroutines_json.h"
#include "cli/input/input.h"
#include "cli/term/signals.h"
#include "cli/input/prepare.h"
#include "cli/term/standard_streams.h"
#include "cli/term/message.h"
#include "findings/findings.h"
#include "base/banned.h"

/* The default number of groups that are printed. */
#define GROUPS_SHOWN 20
#define STATES_SHOWN 8
/* The most bytes printed of a name in a dump, such as a function's. */
#define NAME_MAX_SHOWN 512

struct goroutines_options {
    bool json, all;
    unsigned top;
    struct strlist identities;
    const char *passphrase_file;
};

static const struct option options[] = {
    {"all", 'a', OPTION_FLAG, NULL, "show every stack, not only the first 20",
     offsetof(struct goroutines_options, all), 0},
    {"top", 'n', OPTION_NUMBER, "COUNT", "show COUNT stacks", offsetof(struct goroutines_options, top),
     1000000},
    {"json", 0, OPTION_FLAG, NULL, "as JSON, every stack", offsetof(struct goroutines_options, json), 0},
    {"identity", 'i', OPTION_LIST, "FILE",
     "an age identity or SSH private key that decrypts the bundle (default: the usual keys of ~/.ssh)",
     offsetof(struct goroutines_options, identities), 0},
    {"passphrase-file", 0, OPTION_TEXT, "FILE",
     "a file that only you can read, with the passphrase in its first line",
     offsetof(struct goroutines_options, passphrase_file), 0},
    OPTIONS_END,
};

/* Copies a name to `text`, a buffer of NAME_MAX_SHOWN bytes, and makes the copy printable. Returns `text`. */
static const char *make_name_printable(char *text, struct str s)
{
    return text_printable(text, NAME_MAX_SHOWN, s.p, s.n);
}

/* ---- as text ------------------------------------------------------------------------------------------- */

struct state_count {
    struct str state;
    uint64_t count;
};

static int compare_states(const void *a, const void *b)
{
    return str_compare(((const struct state_count *)a)->state, ((const struct state_count *)b)->state);
}

static int compare_counts(const void *a, const void *b)
{
    const struct state_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return compare_states(a, b);
}

/* Counts the goroutines in each state, the largest count first. The caller frees *ret. */
static int count_states(const struct goroutines *g, struct state_count **ret, size_t *ret_n, struct err *err)
{
    struct state_count *states = malloc((g->n_groups + 1) * sizeof *states);
    size_t n = 0;
    if (!states)
        return err_nomem(err);
    for (size_t i = 0; i < g->n_groups; i++)
        states[i] = (struct state_count){g->groups[i].state, g->groups[i].count[1]};
    qsort(states, g->n_groups, sizeof *states, compare_states);
    for (size_t i = 0; i < g->n_groups; i++) {
        if (n > 0 && str_equal(states[n - 1].state, states[i].state))
            states[n - 1].count += states[i].count;
        else
            states[n++] = states[i];
    }
    qsort(states, n, sizeof *states, compare_counts);
    *ret = states;
    *ret_n = n;
    return 0;
}

static int print_states(const struct goroutines *g, struct err *err)
{
    char text[NAME_MAX_SHOWN];
    struct state_count *states = NULL;
    size_t n = 0;
    if (count_states(g, &states, &n, err) < 0)
        return -1;
    for (size_t i = 0; i < n && i < STATES_SHOWN; i++)
        if (states[i].state.n > 0 && states[i].count > 0)
            printf("%s%" PRIu64 " %s", i == 0 ? ": " : ", ", states[i].count,
                   make_name_printable(text, states[i].state));
    printf("%s\n", n > STATES_SHOWN ? ", ..." : "");
    free(states);
    return 0;
}

static size_t count_stacks(const struct goroutines *g, size_t dump_index)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_groups; i++)
        n += g->groups[i].count[dump_index] > 0;
    return n;
}

/* Prints a line with the counts, and a line with the longest wait. */
static int print_summary(const struct goroutines *g, struct err *err)
{
    char text[NAME_MAX_SHOWN];
    uint64_t now = g->dumps[g->n_dumps - 1].total;
    size_t stacks = count_stacks(g, 1);
    const struct goroutine_group *longest = NULL;
    if (g->n_dumps == 2)
        printf("%" PRIu64 " goroutine%s, %+" PRId64 " since the first dump, ", now, text_plural_s(now),
               (int64_t)(now - g->dumps[0].total));
    else
        printf("%" PRIu64 " goroutine%s ", now, text_plural_s(now));
    printf("in %zu stack%s", stacks, text_plural_s(stacks));
    if (print_states(g, err) < 0)
        return -1;
    for (size_t i = 0; i < g->n_groups; i++)
        if (g->groups[i].wait_max > (longest ? longest->wait_max : 0))
            longest = &g->groups[i];
    if (longest)
        printf("the longest has waited %" PRIu32 " minute%s, in %s\n", longest->wait_max,
               text_plural_s(longest->wait_max), make_name_printable(text, longest->state));
    return 0;
}

static void print_wait(const struct goroutine_group *group)
{
    if (group->wait_max == 0)
        return;
    if (group->wait_min == group->wait_max)
        printf(", waiting %" PRIu32 " minute%s", group->wait_max, text_plural_s(group->wait_max));
    else
        printf(", waiting %" PRIu32 " to %" PRIu32 " minutes, half of them at most %" PRIu32, group->wait_min,
               group->wait_max, group->wait_median);
}

static void print_frame(const char *prefix, const struct goroutine_frame *frame)
{
    char function[NAME_MAX_SHOWN], file_line[NAME_MAX_SHOWN];
    printf("        %s%s", prefix, make_name_printable(function, frame->function));
    if (frame->file_line.n > 0)
        printf("  %s", make_name_printable(file_line, frame->file_line));
    putchar('\n');
}

static void print_labels(const struct goroutines *g, const struct goroutine_group *group)
{
    char text[NAME_MAX_SHOWN];
    for (size_t i = group->first_label; i != GOROUTINES_NONE; i = g->labels[i].next)
        printf("        %" PRIu64 " labelled %s\n", g->labels[i].count,
               make_name_printable(text, g->labels[i].text));
    if (group->more_labels > 0)
        printf("        %" PRIu64 " with other labels\n", group->more_labels);
}

static void print_group(const struct goroutines *g, const struct goroutine_group *group)
{
    char text[NAME_MAX_SHOWN];
    if (g->n_dumps == 2)
        printf("\n%+7" PRId64 " (%" PRIu64 " -> %" PRIu64 ")", (int64_t)(group->count[1] - group->count[0]),
               group->count[0], group->count[1]);
    else
        printf("\n%7" PRIu64, group->count[1]);
    if (group->state.n > 0)
        printf(" %s", make_name_printable(text, group->state));
    else
        printf(" goroutine%s", text_plural_s(group->count[1]));
    print_wait(group);
    putchar('\n');
    for (size_t i = 0; i < group->n_frames; i++)
        print_frame("", &g->frames[group->first_frame + i]);
    if (group->creator.function.n > 0)
        print_frame("created by ", &group->creator);
    print_labels(g, group);
}

static int print_text(const struct goroutines *g, const struct goroutines_options *o, struct err *err)
{
    size_t max = o->all ? g->n_groups : o->top ? o->top : GROUPS_SHOWN, shown = 0, left = 0;
    if (print_summary(g, err) < 0)
        return -1;
    for (size_t i = 0; i < g->n_groups; i++) {
        /* With two dumps, show only groups whose count changed. */
        bool is_unchanged = g->n_dumps == 2 && g->groups[i].count[0] == g->groups[i].count[1];
        if (is_unchanged && !o->all)
            continue;
        if (shown == max) {
            left++;
            continue;
        }
        print_group(g, &g->groups[i]);
        shown++;
    }
    if (left > 0)
        printf("\n%zu more stack%s: --all shows them\n", left, text_plural_s(left));
    return 0;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static void print_cut_dumps(const struct goroutines *g, const struct strlist *names)
{
    for (size_t i = 0; i < g->n_dumps && i < names->n; i++)
        if (g->dumps[i].cut)
            message_print("%s: the dump ends early; goroutines after that point are missing",
                          names->items[i]);
}

/* Refuses a dump that was cut in its first goroutine. */
static int require_whole_goroutine(const struct goroutines *g, const struct strlist *names, struct err *err)
{
    for (size_t i = 0; i < g->n_dumps && i < names->n; i++)
        if (g->dumps[i].cut && g->dumps[i].total == 0)
            return err_set(err, ERR_FAILED, "%s: the dump ends before its first goroutine is whole",
                           names->items[i]);
    return 0;
}

/* If a file is a profile of another kind, adds a hint with the command that shows it. */
static void hint_profile(const struct strlist *files, struct err *err)
{
    for (size_t i = 0; err->kind == ERR_UNSUPPORTED && i < files->n; i++) {
        const char *name = files->items[i];
        size_t n = strlen(name);
        /* The message begins with the name of the file. */
        if (strncmp(err->msg, name, n) == 0 && err->msg[n] == ':' && !input_is_stdin(name))
            err_hint(err, "`profgrab pprof -top %s` shows it", name);
    }
}

/* Reads the dumps. Checks the type of each file, because a tarball or a trace may contain lines of a dump. */
static int read_dumps(const struct strlist *files, struct buf bytes[2], struct goroutines **ret,
                      struct err *err)
{
    struct str dumps[2];
    const char *names[2];
    struct goroutines *g = NULL;
    struct err why = ERR_INIT;
    for (size_t i = 0; i < files->n; i++) {
        dumps[i] = (struct str){buf_str(&bytes[i]), bytes[i].len};
        names[i] = files->items[i];
    }
    int rc = goroutines_read(&(struct goroutines_input){dumps, names, files->n, bytes[0].max}, &g, &why);
    for (size_t i = 0; i < files->n; i++)
        if ((rc < 0 || g->dumps[i].form != GOROUTINES_PROFILE) &&
            input_check_dump(names[i], &bytes[i], rc == 0, err) < 0) {
            goroutines_free(g);
            return -1;
        }
    if (rc < 0 && err) {
        *err = why;
        hint_profile(files, err);
    }
    *ret = g;
    return rc;
}

/* ---- several dumps ------------------------------------------------------------------------------------- */

/* Returns HOST/SERVICE/FILE of BUNDLE:HOST/SERVICE/FILE, or the name of a file. *ret_n: the length of the
 * directory, such as HOST/SERVICE/. */
static const char *find_member_path(const char *name, size_t *ret_n)
{
    const char *member = name;
    char *bundle = file_exists(name) ? NULL : input_bundle_of(name, &member);
    free(bundle);
    *ret_n = (size_t)(file_base(member) - member);
    return member;
}

/* The dumps to show, in order. Each may have an earlier dump of the same service to compare with. */
struct dump_list {
    const struct goroutines_options *o;
    const char *(*pairs)[2]; /* the earlier dump (NULL: none) and the dump */
    size_t n;
    bool has_headings; /* a heading precedes each dump */
    struct input_keys *keys;
    size_t *current; /* the index of the dump being read, in memory shared with the child process */
};

/* Returns the length of HOST/ in HOST/SERVICE/. */
static size_t get_host_length(const char *path, size_t n)
{
    const char *slash = memchr(path, '/', n);
    return slash ? (size_t)(slash + 1 - path) : 0;
}

static bool has_one_host(const struct strlist *names)
{
    size_t n;
    if (names->n == 0)
        return false;
    const char *first = find_member_path(names->items[0], &n);
    size_t n_host = get_host_length(first, n);
    for (size_t i = 1; i < names->n; i++) {
        const char *path = find_member_path(names->items[i], &n);
        if (get_host_length(path, n) != n_host || memcmp(path, first, n_host) != 0)
            return false;
    }
    return true;
}

/* Returns the key of a dump: HOST/SERVICE/, or SERVICE/ if the hosts may differ. *ret_n: the key's length. */
static const char *find_service_key(const char *name, bool hosts_may_differ, size_t *ret_n)
{
    const char *path = find_member_path(name, ret_n);
    size_t n_skipped = hosts_may_differ ? get_host_length(path, *ret_n) : 0;
    *ret_n -= n_skipped;
    return path + n_skipped;
}

/* Maps the key of each service to its first dump. `services` owns the keys of `ret`. */
static int map_services(const struct strlist *names, bool hosts_may_differ, struct strlist *services,
                        struct name_map *ret, struct err *err)
{
    for (size_t i = 0; i < names->n; i++) {
        size_t n;
        const char *path = find_service_key(names->items[i], hosts_may_differ, &n);
        if (strlist_addn(services, path, n, err) < 0)
            return -1;
        const char *key = services->items[services->n - 1];
        if (!name_map_get(ret, key) && name_map_add(ret, key, names->items[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Pairs each later dump with the earlier one of the same service. If each list has one host, the hosts may
 * differ. */
static int pair_dumps(const struct strlist *earlier, const struct strlist *later, struct dump_list *list,
                      struct err *err)
{
    struct strlist services = {0};
    struct name_map by_service = {0};
    bool hosts_may_differ = has_one_host(earlier) && has_one_host(later);
    int rc = map_services(earlier, hosts_may_differ, &services, &by_service, err);
    for (size_t i = 0; rc == 0 && i < later->n; i++) {
        size_t n;
        const char *path = find_service_key(later->items[i], hosts_may_differ, &n);
        char *key = strndup(path, n);
        const char *before = key ? name_map_get(&by_service, key) : NULL;
        free(key);
        if (!key)
            rc = err_nomem(err);
        else if (!before)
            message_print("%s: the first bundle has no dump of this service", later->items[i]);
        else {
            list->pairs[list->n][0] = before;
            list->pairs[list->n++][1] = later->items[i];
        }
    }
    if (rc == 0 && list->n == 0)
        rc = err_set(err, ERR_NOT_FOUND, "the bundles have no dump of the same service");
    name_map_release(&by_service);
    strlist_release(&services);
    return rc;
}

/* Fills list->pairs. `lists` has the dumps that each word names: one list, or the earlier and the later. */
static int choose_dumps(const struct strlist lists[2], size_t n_lists, struct dump_list *list,
                        struct err *err)
{
    const struct strlist *last = &lists[n_lists - 1];
    list->has_headings = last->n != 1 || (n_lists == 2 && lists[0].n != 1);
    list->pairs = calloc(last->n + 1, sizeof *list->pairs);
    if (!list->pairs)
        return err_nomem(err);
    if (n_lists == 2 && list->has_headings)
        return pair_dumps(&lists[0], last, list, err);
    for (; list->n < last->n; list->n++) {
        list->pairs[list->n][0] = n_lists == 2 ? lists[0].items[0] : NULL;
        list->pairs[list->n][1] = last->items[list->n];
    }
    return 0;
}

/* Prints the heading of one of several dumps; in JSON the separator. */
static void print_heading(const struct goroutines_options *o, const char *name, bool is_first)
{
    size_t n;
    char text[NAME_MAX_SHOWN];
    const char *path = find_member_path(name, &n);
    if (o->json)
        fputs(is_first ? "[\n" : ",\n", stdout);
    else
        printf("%s%s\n", is_first ? "" : "\n\n", make_name_printable(text, str_of(path)));
    fflush(stdout);
}

/* Reads and prints a dump, or compares two. Prints the heading before it, if the dumps have headings. */
static int show_dump(const struct dump_list *list, const struct strlist *files, bool is_first,
                     struct err *err)
{
    struct buf bytes[2] = {BUF_INIT(0), BUF_INIT(0)};
    struct goroutines *g = NULL;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < files->n; i++)
        rc = input_read_inflated(files->items[i], list->keys, &bytes[i], err);
    if (rc == 0)
        rc = read_dumps(files, bytes, &g, err);
    if (rc == 0)
        rc = require_whole_goroutine(g, files, err);
    if (rc == 0) {
        if (list->has_headings)
            print_heading(list->o, files->items[files->n - 1], is_first);
        print_cut_dumps(g, files);
        rc = list->o->json ? goroutines_json(g, files->items, err) : print_text(g, list->o, err);
    }
    goroutines_free(g);
    buf_release(&bytes[0]);
    buf_release(&bytes[1]);
    return rc == 0 ? standard_stream_flush(stdout, err) : rc;
}

/* Announces the dumps in the order in which they are read. */
static int announce_dumps(const struct dump_list *list, struct err *err)
{
    size_t n = 0;
    char **names = malloc((2 * list->n + 1) * sizeof *names);
    if (!names)
        return err_nomem(err);
    for (size_t i = 0; i < 2 * list->n; i++)
        if (list->pairs[i / 2][i % 2])
            names[n++] = (char *)(uintptr_t)list->pairs[i / 2][i % 2];
    int rc = input_announce(names, n, list->keys, err);
    free(names);
    return rc;
}

/* Shows each dump that can be read, and reports the others. */
static int show_all(const struct dump_list *list, struct err *err)
{
    size_t failed = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct err why = ERR_INIT;
        const char *before = list->pairs[i][0], *name = list->pairs[i][1];
        char *both[2];
        struct strlist files = {.items = both};
        if (before)
            both[files.n++] = (char *)(uintptr_t)before;
        both[files.n++] = (char *)(uintptr_t)name;
        *list->current = i;
        bool is_first = i == failed; /* all dumps before this one failed */
        if (show_dump(list, &files, is_first, &why) == 0)
            continue;
        if (list->has_headings && why.kind != ERR_CANCELLED)
            input_name_in_error(name, &why);
        if (list->n == 1 || !input_error_is_skippable(&why)) {
            *err = why;
            return -1;
        }
        message_print_error(stderr, &why);
        failed++;
    }
    if (list->has_headings && list->o->json)
        puts(failed == list->n ? "[]" : "]");
    return failed ? err_set(err, ERR_FAILED, "%zu of %zu dumps could not be read", failed, list->n) : 0;
}

/* Shows all dumps in one child process, so that it reads their bundles in one pass. */
static int show_in_child(void *ctx, struct buf *ret, struct err *err)
{
    const struct dump_list *list = ctx;
    (void)ret;
    if (announce_dumps(list, err) < 0)
        return -1;
    int rc = show_all(list, err);
    return standard_stream_flush(stdout, rc == 0 ? err : NULL) < 0 ? -1 : rc;
}

static int show_confined(struct dump_list *list, const struct strlist *words, struct confined_budget *budget,
                         struct err *err)
{
    struct proc_fork_limits limits = confined_budget_remaining(budget, signals_cancel_fd());
    input_keep_descriptors(words, &limits);
    size_t *current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (current == MAP_FAILED) /* NOLINT: the system's own macro */
        return err_sys(err, "cannot start another process");
    *current = 0;
    list->current = current;
    int rc = proc_run_confined(show_in_child, list, &limits, NULL, err);
    /* The child process is not trusted: it may have written any number. */
    size_t last = *current < list->n ? *current : 0;
    munmap(current, sizeof *current);
    if (rc < 0 && err->kind == ERR_LIMIT) {
        confined_err_wrap(err, list->pairs[last][1]);
        if (list->has_headings)
            input_hint_fewer_members("profgrab goroutines", list->pairs[last][1], err);
    }
    return rc;
}

static int show_words(const struct goroutines_options *o, const struct strlist *words, struct err *err)
{
    struct input_keys keys = {&o->identities, o->passphrase_file, "--identity", NULL, NULL};
    struct input_expand_options expand = {
        .content = INPUT_DUMPS, .hint_prefix = "profgrab goroutines", .keys = &keys};
    struct strlist lists[2] = {{0}, {0}};
    struct dump_list list = {.o = o, .keys = &keys};
    struct confined_budget budget;
    int rc = input_buffer_stdin(words->items, words->n, -1, err);
    if (rc == 0)
        rc = input_unlock_all(words, &keys, &budget, err);
    for (size_t i = 0; rc == 0 && i < words->n; i++) {
        const struct proc_fork_limits limits = confined_budget_remaining(&budget, signals_cancel_fd());
        rc = input_expand_confined(&expand, words->items[i], &limits, &lists[i], err);
    }
    if (rc == 0)
        rc = choose_dumps(lists, words->n, &list, err);
    if (rc == 0)
        rc = show_confined(&list, words, &budget, err);
    free(list.pairs);
    strlist_release(&lists[0]);
    strlist_release(&lists[1]);
    input_keys_release(&keys);
    return rc;
}

static int run_goroutines(int argc, char **argv, struct err *err)
{
    struct goroutines_options o = {0};
    struct strlist rest = {0};
    int rc = options_parse(options, &(struct arguments){argc, argv}, &o, &rest, err);
    if (rc == 0 && (rest.n < 1 || rest.n > 2))
        rc = err_set(err, ERR_USAGE, "goroutines takes one dump, or two to compare, not %zu", rest.n);
    if (rc == 0)
        rc = show_words(&o, &rest, err);
    strlist_release(&o.identities);
    strlist_release(&rest);
    return rc < 0 ? exit_status_of(err) : EXIT_OK;
}

const struct command command_goroutines = {
    .name = "goroutines",
    .synopsis = "FILE [LATER-FILE]",
    .summary = "print goroutine dumps by stack and state; of two dumps the growth",
    .details =
        "FILE is an answer of /debug/pprof/goroutine in any form (debug=2, debug=1, a profile), gzip'ed or\n"
        "not, a member of a bundle BUNDLE:MEMBER, or - for standard input. For a BUNDLE, goroutines prints\n"
        "the dump of each service; for two bundles the growth in each service. It reports each dump that it\n"
        "cannot read, shows the others, and exits with 1. The stack with the most goroutines comes first; "
        "with\n"
        "two dumps, the stack with the largest growth.",
    .options = options,
    .words = ARGUMENTS_DUMPS,
    .run = run_goroutines,
};
