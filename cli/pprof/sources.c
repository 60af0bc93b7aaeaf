/* Loads the sources of `profgrab pprof`: files, members of bundles and URLs. */
#include <stdlib.h>
#include <string.h>

#include "cli/input/input.h"
#include "cli/pprof/pprof.h"
#include "cli/term/signals.h"
#include "http/http.h"
#include "base/banned.h"

/* The maximum number of merged members that a message lists. */
#define LISTED_MAX 40

/* The context of the callbacks for loading and symbolizing. */
struct loading {
    const struct pprof_options *options;
    struct programs programs;
    bool http_ready; /* http_global_init was called */
    const struct expanded *words;
    struct pprof_kept *keep;
};

/* The sources and bases that the words of the command line name. */
struct expanded {
    struct strlist sources, bases;
    bool sums_sources, sums_bases; /* a word names several members, which will be merged */
};

/* ---- kept profiles ------------------------------------------------------------------------------------- */

/* Makes room for copies of all profiles. If there is only one, or more than PPROF_KEPT_MAX, none is kept. */
static int begin_keeping(const struct expanded *words, struct pprof_kept *keep, struct err *err)
{
    size_t n = words->sources.n + words->bases.n;
    if (!keep || n < 2 || n > PPROF_KEPT_MAX)
        return 0;
    keep->n_sources = words->sources.n;
    keep->profiles = calloc(n, sizeof(struct profile *));
    int rc = keep->profiles ? 0 : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < words->sources.n; i++)
        rc = strlist_add(&keep->names, words->sources.items[i], err);
    for (size_t i = 0; rc == 0 && i < words->bases.n; i++)
        rc = strlist_add(&keep->names, words->bases.items[i], err);
    return rc;
}

/* Keeps a copy of the source's profile; without memory for the copy, keeps none. `source` must be one of the
 * strings of l->words themselves, because they are compared by address. */
static void keep_copy(const struct loading *l, const char *source, struct profile *p)
{
    struct err ignored = ERR_INIT;
    if (!l->keep || !l->keep->profiles || !p)
        return;
    for (size_t i = 0; i < l->keep->names.n; i++) {
        size_t base = i - l->words->sources.n;
        if (source != (i < l->words->sources.n ? l->words->sources.items[i] : l->words->bases.items[base]))
            continue;
        if (profile_merge(&p, 1, &l->keep->profiles[i], &ignored) < 0)
            l->keep->profiles[i] = NULL;
    }
}

void pprof_kept_release(struct pprof_kept *kept)
{
    for (size_t i = 0; kept->profiles && i < kept->names.n; i++)
        profile_free(kept->profiles[i]);
    free(kept->profiles);
    strlist_release(&kept->names);
    *kept = (struct pprof_kept){0};
}

/* ---- callbacks ----------------------------------------------------------------------------------------- */

static void print_line(void *ctx, const char *line)
{
    (void)ctx;
    pprof_print("%s", line);
}

bool pprof_may_be_url(const char *source)
{
    return strchr(source, ':') && !input_exists(source);
}

/* Sets *ret if the source is a URL. */
static int find_url(void *ctx, const char *source, struct load_url *ret, struct err *err)
{
    struct loading *l = ctx;
    if (!pprof_may_be_url(source))
        return 0;
    if (!l->http_ready && http_global_init(err) < 0)
        return -1;
    l->http_ready = true;
    if (load_url_make(source, l->options->seconds, l->options->timeout, ret, err) < 0)
        return -1;
    ret->shown = ret->url ? url_without_password(ret->url) : NULL;
    return ret->url && !ret->shown ? err_nomem(err) : 0;
}

static int fetch_profile(void *ctx, const struct load_url *from, struct profile **ret, struct err *err)
{
    struct loading *l = ctx;
    uint64_t max_inflated, max;
    if (input_max_bytes(&max_inflated, err) < 0 || input_max_of_unknown_size(&max, err) < 0)
        return -1;
    struct buf body = BUF_INIT(max);
    confined_begin_receiving(l->options->budget, max);
    int rc = pprof_fetch(l->options, from->url, from->timeout_s, &body, err);
    if (rc < 0)
        buf_release(&body);
    confined_end_receiving(l->options->budget, max, body.len);
    if (rc == 0)
        rc = profile_parse_buf(&body, max_inflated, ret, err);
    if (rc == 0)
        keep_copy(l, from->source, *ret);
    buf_release(&body);
    return rc;
}

static int read_inputs(void *ctx, struct load_item *items, size_t n, struct err *err)
{
    const struct loading *l = ctx;
    struct input_result *inputs = calloc(n + 1, sizeof *inputs);
    if (!inputs)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        inputs[i].name = items[i].name;
    input_read_profiles(inputs, n, l->options->keys, l->options->budget);
    for (size_t i = 0; i < n; i++) {
        items[i].profile = inputs[i].profile;
        items[i].err = inputs[i].err;
        keep_copy(l, items[i].name, items[i].profile);
    }
    free(inputs);
    return 0;
}

static int check_time(void *ctx, const char *source, struct err *err)
{
    return confined_budget_check(((const struct loading *)ctx)->options->budget, source, err);
}

static int prepare_cancellation(int *ret_cancel_fd, struct err *err)
{
    if (signals_install(err) < 0)
        return -1;
    *ret_cancel_fd = signals_cancel_fd();
    return 0;
}

static int run_program(void *ctx, const struct symbolize_query *call, struct buf *ret, struct err *err)
{
    return programs_run(&((struct loading *)ctx)->programs, call, ret, err);
}

static int post_addresses(void *ctx, const char *source, struct str addresses, struct buf *ret,
                          struct err *err)
{
    return pprof_post_addresses(((const struct loading *)ctx)->options, source, addresses, ret, err);
}

/* ---- words --------------------------------------------------------------------------------------------- */

/* Adds the sources that a word names. If there are several, sets *ret_sums and lists them. */
static int expand_word(const struct input_expand_options *expand, const char *word, struct strlist *ret,
                       bool *ret_sums, struct err *err)
{
    char line[1024];
    size_t before = ret->n;
    if (input_expand(expand, word, ret, err) < 0)
        return -1;
    if (ret->n - before < 2)
        return 0;
    *ret_sums = true;
    pprof_print("%s: %zu profiles are added up:", word, ret->n - before);
    for (size_t i = before; i < ret->n && i < before + LISTED_MAX; i++)
        fprintf(stderr, "  %s\n", text_printable(line, sizeof line, ret->items[i], strlen(ret->items[i])));
    if (ret->n - before > LISTED_MAX)
        fprintf(stderr, "  and %zu more\n", ret->n - before - LISTED_MAX);
    return 0;
}

static int expand_words(const struct pprof_options *o, struct expanded *ret, struct err *err)
{
    struct input_expand_options expand = {.content = INPUT_PROFILES,
                                          .hint_prefix =
                                              o->is_diff ? "profgrab diff OLD" : "profgrab pprof -top",
                                          .keys = o->keys};
    for (size_t i = 0; i < o->n_sources; i++)
        if (expand_word(&expand, o->sources[i], &ret->sources, &ret->sums_sources, err) < 0)
            return -1;
    if (o->is_diff) {
        expand.hint_prefix = "profgrab diff";
        expand.hint_suffix = " NEW";
    }
    return o->base ? expand_word(&expand, o->base, &ret->bases, &ret->sums_bases, err) : 0;
}

/* Tells cli/input the order in which the sources and bases will be read, so that it reads each bundle in few
 * passes. */
static int announce_inputs(const struct pprof_options *o, const struct expanded *words, struct err *err)
{
    size_t n = words->sources.n + words->bases.n;
    char **names = malloc((n + 1) * sizeof *names);
    if (!names)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        names[i] = i < words->sources.n ? words->sources.items[i] : words->bases.items[i - words->sources.n];
    int rc = input_announce(names, n, o->keys, err);
    free(names);
    return rc;
}

/* ---- the profile --------------------------------------------------------------------------------------- */

static struct load_settings settings_of(const struct pprof_options *o, const struct expanded *words)
{
    return (struct load_settings){.sources = words->sources.items,
                                  .n_sources = words->sources.n,
                                  .bases = words->bases.items,
                                  .n_bases = words->bases.n,
                                  .warn_sources = words->sums_sources,
                                  .warn_bases = words->sums_bases,
                                  .diff_base = o->diff_base,
                                  .normalize = o->report.normalize,
                                  .all_frames = o->all_frames,
                                  .limited = o->budget != NULL,
                                  .binary = o->binary,
                                  .buildid = o->buildid,
                                  .add_comment = o->add_comment,
                                  .symbolize = o->symbolize,
                                  .binary_path = getenv("PPROF_BINARY_PATH"),
                                  .seconds = o->seconds};
}

/* Reads all profiles within the limit of memory. Children would inherit the limit, so the programs that look
 * up names start only afterwards. */
static int read_limited(struct loading *l, struct expanded *words, struct load *ret, struct err *err)
{
    const struct pprof_options *o = l->options;
    const struct load_callbacks callbacks = {.find_url = find_url,
                                             .fetch = fetch_profile,
                                             .read = read_inputs,
                                             .check_time = check_time,
                                             .say = print_line,
                                             .ctx = l};
    uint64_t before = 0;
    confined_limit_memory(o->budget, &before);
    int rc = expand_words(o, words, err);
    if (rc == 0)
        rc = announce_inputs(o, words, err);
    if (rc == 0)
        rc = begin_keeping(words, l->keep, err);
    if (rc == 0) {
        const struct load_settings settings = settings_of(o, words);
        rc = load_profiles(&settings, &callbacks, ret, err);
    }
    rc = confined_restore_memory(o->budget, before, rc, o->n_sources ? o->sources[0] : "the profile", err);
    if (rc < 0 && err->kind == ERR_LIMIT && words->sums_sources)
        input_hint_fewer_members("profgrab pprof -top", o->sources[0], err);
    return rc;
}

/* Looks up names and gives the profile to the caller. */
static int finish(struct loading *l, const struct load_settings *settings, struct load *load,
                  struct profile **ret, struct err *err)
{
    const struct symbolize_tools tools = {
        .run = run_program, .post = post_addresses, .say = print_line, .ctx = l};
    int rc = load_finish(load, settings, &tools, err);
    if (rc == 0 && load->remote)
        rc = pprof_save_copy(load->profile, err);
    if (rc == 0) {
        *ret = load->profile;
        load->profile = NULL;
    }
    return rc;
}

int pprof_load(const struct pprof_options *o, struct pprof_kept *keep, struct profile **ret, struct err *err)
{
    struct expanded words = {0};
    struct loading l = {.options = o,
                        .programs = {.directories = o->tools, .begin = prepare_cancellation},
                        .words = &words,
                        .keep = keep};
    struct load load = {0};
    int rc = read_limited(&l, &words, &load, err);
    if (rc == 0) {
        const struct load_settings settings = settings_of(o, &words);
        rc = finish(&l, &settings, &load, ret, err);
    }
    load_release(&load);
    strlist_release(&words.sources);
    strlist_release(&words.bases);
    if (l.http_ready)
        http_global_cleanup();
    return rc;
}

/* ---- a comparison of kept profiles --------------------------------------------------------------------- */

/* The context of the callbacks. `order` has the indices of the kept profiles in the order of reading;
 * `position` is the place in it of the next one. */
struct comparing {
    struct loading loading;
    struct pprof_kept *kept;
    size_t order[2];
    size_t position;
};

static int find_no_url(void *ctx, const char *source, struct load_url *ret, struct err *err)
{
    (void)ctx;
    (void)source;
    (void)ret;
    (void)err;
    return 0;
}

static int take_kept(void *ctx, struct load_item *items, size_t n, struct err *err)
{
    struct comparing *c = ctx;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        struct profile **kept = &c->kept->profiles[c->order[c->position++]];
        items[i].profile = *kept;
        *kept = NULL;
    }
    return 0;
}

int pprof_load_kept(const struct pprof_options *o, struct pprof_kept *kept, struct pprof_change change,
                    struct profile **ret, struct err *err)
{
    size_t from = change.from, to = change.to;
    struct comparing c = {
        .loading = {.options = o, .programs = {.directories = o->tools, .begin = prepare_cancellation}},
        .kept = kept,
        .order = {to, from}};
    const struct load_callbacks callbacks = {
        .find_url = find_no_url, .read = take_kept, .check_time = check_time, .say = print_line, .ctx = &c};
    bool is_change = from != SIZE_MAX;
    const struct expanded words = {
        .sources = {.items = &kept->names.items[to], .n = 1},
        .bases = {.items = is_change ? &kept->names.items[from] : NULL, .n = is_change}};
    const struct load_settings settings = settings_of(o, &words);
    struct load load = {0};
    if (!kept->profiles[to] || (is_change && !kept->profiles[from]))
        return err_set(err, ERR_FAILED, "%s was not read", kept->names.items[kept->profiles[to] ? from : to]);
    int rc = load_profiles(&settings, &callbacks, &load, err);
    if (rc == 0)
        rc = finish(&c.loading, &settings, &load, ret, err);
    load_release(&load);
    return rc;
}
