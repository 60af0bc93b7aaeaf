/* What pprof reads: files, members of bundles, URLs; one or many, and those of the base. */
#include <stdlib.h>
#include <string.h>

#include "cli/pprof/pprof.h"
#include "cli/input/input.h"
#include "fetch/fetch.h"
#include "base/banned.h"

/* So many are read and then merged, as upstream does it: merging is the same in pieces. */
#define CHUNK 128

/* So many members that are added up are said. */
#define SAID 40

struct profile_source {
    const struct pprof_options *options;
    const char *name;
    char *url; /* NULL: it is a file */
    long timeout_s;
    struct profile *profile;
    struct symbolize_sources mappings; /* of one that was fetched */
    struct err err;
    pthread_t thread;
    bool started;
};

/* What became of all sources of one kind. */
struct harvest {
    bool *online;            /* whether libcurl is initialized: the first URL does it */
    struct profile **chunks; /* each is the sum of CHUNK sources */
    size_t n_chunks, cap_chunks;
    struct profile *profile; /* of all; NULL: there was none */
    size_t n;
    bool remote;
    struct symbolize_sources mappings;
    char file[200], build_id[100]; /* of the first program; cut where they are longer */
    bool mixed_files, mixed_builds;
};

/* ---- one source ------------------------------------------------------------------------------------------
 */

/* What upstream makes up where a profile has no mapping; what the command line says of the first one. */
static int settle_mappings(struct profile *p, const struct pprof_options *o, struct err *err)
{
    uint32_t string;
    if (p->n_mappings == 0) {
        struct profile_mapping none = {.id = 1};
        if (profile_add_mapping(p, &none, err) < 0)
            return -1;
        for (size_t i = 0; i < p->n_locations; i++)
            p->locations[i].mapping = 0;
    }
    if (o->binary) {
        if (profile_intern(p, o->binary, strlen(o->binary), &string, err) < 0)
            return -1;
        p->mappings[0].file = string;
    }
    if (o->buildid && *o->buildid && !p->mappings[0].build_id) {
        if (profile_intern(p, o->buildid, strlen(o->buildid), &string, err) < 0)
            return -1;
        p->mappings[0].build_id = string;
    }
    return 0;
}

/* What is done with one that was read. */
static void settle(struct profile_source *s)
{
    int rc = pprof_locate(s->profile, &s->err);
    if (rc == 0)
        rc = settle_mappings(s->profile, s->options, &s->err);
    if (rc == 0 && s->url)
        rc = symbolize_collect(s->profile, s->url, &s->mappings, &s->err);
    if (rc < 0) {
        profile_free(s->profile);
        s->profile = NULL;
    }
}

/* ---- several ---------------------------------------------------------------------------------------------
 */

static void *fetch(void *ctx)
{
    struct profile_source *s = ctx;
    if (pprof_fetch(s->options, s->url, s->timeout_s, &s->profile, &s->err) == 0)
        settle(s);
    return NULL;
}

/* As Go writes durations: 30s, 1m0s, 1h0m5s. */
static void say_wait(long seconds)
{
    long h = seconds / 3600, m = seconds / 60 % 60, s = seconds % 60;
    if (h > 0)
        pprof_say("Please wait... (%ldh%ldm%lds)", h, m, s);
    else if (m > 0)
        pprof_say("Please wait... (%ldm%lds)", m, s);
    else if (s > 0)
        pprof_say("Please wait... (%lds)", s);
}

/* Initializes libcurl, once. */
static int go_online(bool *online, struct err *err)
{
    if (!*online && fetch_global_init(err) < 0)
        return -1;
    *online = true;
    return 0;
}

/* Finds out what a source is, and starts to fetch one that is elsewhere: all at the same time, since a
 * profile of 30 seconds takes 30 seconds. Without a colon it is a file, if there is none either. */
static int begin(struct profile_source *s, bool *online, struct err *err)
{
    if (!strchr(s->name, ':') || input_is_here(s->name))
        return 0;
    if (go_online(online, err) < 0)
        return -1;
    if (pprof_url(s->name, s->options->seconds, s->options->timeout, &s->url, &s->timeout_s, err) < 0)
        return -1;
    if (!s->url)
        return 0;
    char *shown = url_shown(s->url);
    pprof_say("Fetching profile over HTTP from %s", shown ? shown : "a URL");
    free(shown);
    say_wait(s->options->seconds);
    if (thread_start(&s->thread, fetch, s, err) < 0)
        return -1;
    s->started = true;
    return 0;
}

/* One of a chunk. It is not merged with those before as yet: all would be merged again with each chunk. */
static int join(struct harvest *h, struct profile **profiles, size_t n, struct err *err)
{
    struct profile *joined = NULL;
    if (n == 0)
        return 0;
    if (report_combine(profiles, n, &joined, err) < 0)
        return -1;
    if (array_reserve((void **)&h->chunks, &h->cap_chunks, h->n_chunks + 1, sizeof(struct profile *), err) <
        0) {
        profile_free(joined);
        return -1;
    }
    h->chunks[h->n_chunks++] = joined;
    return 0;
}

static int join_chunks(struct harvest *h, struct err *err)
{
    size_t n = h->n_chunks;
    h->n_chunks = 0;
    return n ? report_combine(h->chunks, n, &h->profile, err) : 0;
}

/* Which source failed, and why: a password in its URL is nobody's business. */
static void say_failure(const struct profile_source *s)
{
    char *shown = s->url && strchr(s->name, '@') ? url_shown(s->url) : NULL;
    pprof_say("%s: %s", shown ? shown : s->name, s->err.msg);
    if (s->err.hint[0])
        pprof_say("hint: %s", s->err.hint);
    free(shown);
}

/* Reads those that are not elsewhere. */
static int read_here(struct profile_source *sources, size_t n, struct input_keys *keys,
                     const struct confined_budget *budget, struct err *err)
{
    size_t here = 0;
    struct input_item *items = calloc(n, sizeof *items);
    if (!items)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (!sources[i].started)
            items[here++].name = sources[i].name;
    input_profiles(items, here, keys, budget);
    for (size_t i = n; i-- > 0;)
        if (!sources[i].started) {
            sources[i].profile = items[--here].profile;
            sources[i].err = items[here].err;
        }
    free(items);
    return 0;
}

/* Whether a program has another name or build ID than the first one. */
static void note_program(struct harvest *h, const struct profile *p)
{
    char path[400], build_id[sizeof h->build_id];
    struct str file = profile_str(p, p->mappings[0].file), id = profile_str(p, p->mappings[0].build_id);
    text_printable(path, sizeof path, file.p, file.n);
    text_printable(build_id, sizeof build_id, id.p, id.n);
    if (!h->file[0]) {
        snprintf(h->file, sizeof h->file, "%s", file_base(path));
        snprintf(h->build_id, sizeof h->build_id, "%s", build_id);
    }
    h->mixed_files = h->mixed_files || strncmp(h->file, file_base(path), sizeof h->file - 1) != 0;
    h->mixed_builds = h->mixed_builds || strcmp(h->build_id, build_id) != 0;
}

/* What is there of one, once it is all there. With `rc` a failure before, it goes. */
static int gather_one(struct profile_source *s, struct harvest *h, int rc, struct err *err)
{
    if (s->started)
        pthread_join(s->thread, NULL);
    else if (rc == 0 && s->profile)
        settle(s);
    /* Where memory has an end, all of it is spent: the others would fail too. */
    if (rc == 0 && !s->profile && s->err.starved && s->options->budget) {
        *err = s->err;
        rc = -1;
    }
    if (rc == 0 && !s->profile)
        say_failure(s);
    if (rc == 0 && s->profile) {
        note_program(h, s->profile);
        h->remote = h->remote || s->url;
        rc = symbolize_sources_move(&h->mappings, &s->mappings, err);
    }
    symbolize_sources_release(&s->mappings);
    free(s->url);
    return rc;
}

static int harvest_chunk(const struct pprof_options *o, char *const *names, size_t n, struct harvest *h,
                         struct err *err)
{
    struct profile_source *sources = calloc(n, sizeof *sources);
    struct profile **profiles = calloc(n, sizeof(struct profile *));
    size_t got = 0;
    int rc = sources && profiles ? 0 : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        sources[i] = (struct profile_source){.options = o, .name = names[i]};
        rc = begin(&sources[i], h->online, err);
    }
    if (rc == 0)
        rc = read_here(sources, n, o->keys, o->budget, err);
    if (rc == 0)
        rc = confined_check(o->budget, names[n - 1], err);
    for (size_t i = 0; sources && profiles && i < n; i++) {
        rc = gather_one(&sources[i], h, rc, err);
        if (sources[i].profile)
            profiles[got++] = sources[i].profile;
    }
    h->n += got;
    for (size_t i = 0; rc < 0 && i < got; i++)
        profile_free(profiles[i]);
    if (rc == 0)
        rc = join(h, profiles, got, err);
    free(profiles);
    free(sources);
    return rc;
}

static int harvest(const struct pprof_options *o, char *const *names, size_t n, struct harvest *h,
                   struct err *err)
{
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n; at += CHUNK)
        rc = harvest_chunk(o, names + at, n - at < CHUNK ? n - at : CHUNK, h, err);
    if (rc == 0)
        rc = join_chunks(h, err);
    while (h->n_chunks > 0)
        profile_free(h->chunks[--h->n_chunks]);
    free(h->chunks);
    h->chunks = NULL;
    h->cap_chunks = 0;
    return rc;
}

/* ---- the profile -----------------------------------------------------------------------------------------
 */

/* Gives the base what tells it apart, and the other sign. */
static int turn_round(const struct pprof_options *o, struct profile *p, struct profile *base, struct err *err)
{
    if (o->diff_base && profile_set_label(base, "pprof::base", "true", err) < 0)
        return -1;
    if (o->report.normalize && profile_normalize(p, base, err) < 0)
        return -1;
    double *ratios = calloc(base->n_sample_types + 1, sizeof *ratios);
    if (!ratios)
        return err_nomem(err);
    for (size_t i = 0; i < base->n_sample_types; i++)
        ratios[i] = -1;
    profile_scale(base, ratios);
    free(ratios);
    return 0;
}

/* Takes the base out of it. Takes the base, too. */
static int subtract(const struct pprof_options *o, struct profile **p, struct profile **base, struct err *err)
{
    struct profile *both[] = {*p, *base};
    if (turn_round(o, *p, *base, err) < 0)
        return -1;
    *p = *base = NULL;
    return report_combine(both, 2, p, err);
}

static int add_comment(struct profile *p, const char *comment, struct err *err)
{
    uint32_t string;
    if (!comment || !*comment)
        return 0;
    return profile_intern(p, comment, strlen(comment), &string, err) < 0
               ? -1
               : profile_add_comment(p, string, err);
}

/* With names, and without what no report shows. */
static int finish(const struct pprof_options *o, struct profile *p, bool remote,
                  const struct symbolize_sources *mappings, struct err *err)
{
    if (o->all_frames)
        p->drop_frames = p->keep_frames = 0;
    if (pprof_symbolize(o, p, mappings, err) < 0 || report_prune(p, err) < 0)
        return -1;
    symbolize_unsource(p);
    if (add_comment(p, o->add_comment, err) < 0)
        return -1;
    return remote ? pprof_keep(p, err) : 0;
}

static int counted(const struct harvest *h, size_t wanted, const char *what, struct err *err)
{
    if (wanted && h->n == 0)
        return err_set(err, ERR_FAILED, "failed to fetch any %s profiles", what);
    if (h->n != wanted)
        pprof_say("Fetched %zu %s profiles out of %zu", h->n, what, wanted);
    return 0;
}

/* The words as sources, with those of bundles in place of words that stand for them. */
struct expanded {
    struct strlist sources, bases;
    bool sums_sources, sums_bases; /* a word stands for several members */
};

/* Adds what a word stands for, and says which members are added up. *ret_sums: set where they are several. */
static int expand_word(const struct input_wish *wish, const char *word, struct strlist *ret, bool *ret_sums,
                       struct err *err)
{
    char line[1024];
    size_t before = ret->n;
    if (input_expand(wish, word, ret, err) < 0)
        return -1;
    if (ret->n - before < 2)
        return 0;
    *ret_sums = true;
    pprof_say("%s: %zu profiles are added up:", word, ret->n - before);
    for (size_t i = before; i < ret->n && i < before + SAID; i++)
        fprintf(stderr, "  %s\n", text_printable(line, sizeof line, ret->items[i], strlen(ret->items[i])));
    if (ret->n - before > SAID)
        fprintf(stderr, "  and %zu more\n", ret->n - before - SAID);
    return 0;
}

static void warn_mixed(const struct harvest *h)
{
    if (h->mixed_files)
        pprof_say(
            "warning: the sum is of different programs, one of them %s: name one member to see it alone",
            h->file);
    else if (h->mixed_builds)
        pprof_say("warning: the sum is of different builds of %s: name one member to see it alone", h->file);
}

static int expand(const struct pprof_options *o, struct expanded *ret, struct err *err)
{
    struct input_wish wish = {.content = INPUT_PROFILES,
                              .example = o->is_diff ? "profgrab diff OLD" : "profgrab pprof -top",
                              .keys = o->keys};
    for (size_t i = 0; i < o->n_sources; i++)
        if (expand_word(&wish, o->sources[i], &ret->sources, &ret->sums_sources, err) < 0)
            return -1;
    if (o->is_diff) {
        wish.example = "profgrab diff";
        wish.rest = " NEW";
    }
    return o->base ? expand_word(&wish, o->base, &ret->bases, &ret->sums_bases, err) : 0;
}

/* Announces the sources, then the bases: in that order they are read. */
static int announce(const struct pprof_options *o, const struct expanded *words, struct err *err)
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

static int harvest_all(const struct pprof_options *o, const struct expanded *words, struct harvest *sources,
                       struct harvest *bases, struct err *err)
{
    if (announce(o, words, err) < 0)
        return -1;
    if (harvest(o, words->sources.items, words->sources.n, sources, err) < 0)
        return err_wrap(err, "problem fetching source profiles");
    if (harvest(o, words->bases.items, words->bases.n, bases, err) < 0)
        return err_wrap(err, "problem fetching base profiles");
    if (words->sums_sources)
        warn_mixed(sources);
    if (words->sums_bases)
        warn_mixed(bases);
    if (counted(sources, words->sources.n, "source", err) < 0)
        return -1;
    return counted(bases, words->bases.n, "base", err);
}

/* Reads all profiles within the limit of memory. The caller starts programs only afterwards. */
static int read_all(const struct pprof_options *o, struct expanded *words, struct harvest *sources,
                    struct harvest *bases, struct err *err)
{
    uint64_t before = 0;
    confined_hold(o->budget, &before);
    int rc = expand(o, words, err);
    if (rc == 0)
        rc = harvest_all(o, words, sources, bases, err);
    if (rc == 0 && bases->profile)
        rc = subtract(o, &sources->profile, &bases->profile, err);
    rc = confined_release(o->budget, before, rc, o->n_sources ? o->sources[0] : "the profile", err);
    if (rc < 0 && err->kind == ERR_LIMIT && words->sums_sources)
        input_hint_fewer("profgrab pprof -top", o->sources[0], err);
    return rc;
}

int pprof_sources(const struct pprof_options *o, struct profile **ret, struct err *err)
{
    bool online = false;
    struct harvest sources = {.online = &online}, bases = {.online = &online};
    struct expanded words = {0};
    int rc = read_all(o, &words, &sources, &bases, err);
    if (rc == 0)
        rc = symbolize_sources_move(&sources.mappings, &bases.mappings, err);
    if (rc == 0)
        rc = sources.profile
                 ? finish(o, sources.profile, sources.remote || bases.remote, &sources.mappings, err)
                 : err_set(err, ERR_USAGE, "no profile source specified");
    symbolize_sources_release(&sources.mappings);
    symbolize_sources_release(&bases.mappings);
    profile_free(bases.profile);
    strlist_release(&words.sources);
    strlist_release(&words.bases);
    if (rc == 0)
        *ret = sources.profile;
    else
        profile_free(sources.profile);
    if (online)
        fetch_global_cleanup();
    return rc;
}
