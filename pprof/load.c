#include "pprof/load.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/pprof.h"
#include "base/banned.h"

/* The number of sources that are read before they are merged, as upstream does it. */
#define CHUNK 128

/* A source or a base, and the thread that fetches it. */
struct source {
    const struct load_settings *settings;
    const struct load_callbacks *callbacks;
    const char *name;
    struct load_url from;
    struct profile *profile;
    struct symbolize_servers servers;
    struct err err;
    pthread_t thread;
    bool started; /* the thread; false: the source is not on a server */
};

/* The result of all sources, or of all bases. */
struct sum {
    const struct load_settings *settings;
    const struct load_callbacks *callbacks;
    struct profile **chunks; /* each is the sum of up to CHUNK sources */
    size_t n_chunks, cap_chunks;
    struct profile *profile; /* the sum of all chunks; NULL if there are no profiles */
    size_t n;                /* the number of profiles in it */
    bool remote;
    struct symbolize_servers servers;
    char file[200], build_id[100]; /* of the first program, cut to these sizes */
    bool mixed_files, mixed_builds;
};

__attribute__((format(printf, 2, 3))) static void say(const struct load_callbacks *c, const char *fmt, ...)
{
    char line[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    c->say(c->ctx, line);
}

/* ---- one source ---------------------------------------------------------------------------------------- */

/* If a profile has no mapping, adds the empty one that google/pprof adds. Applies the command line's binary
 * and build ID to the first mapping. */
static int set_first_mapping(struct profile *p, const struct load_settings *s, struct err *err)
{
    uint32_t string;
    if (p->n_mappings == 0) {
        struct profile_mapping none = {.id = 1};
        if (profile_add_mapping(p, &none, err) < 0)
            return -1;
        for (size_t i = 0; i < p->n_locations; i++)
            p->locations[i].mapping = 0;
    }
    if (s->binary) {
        if (profile_intern(p, s->binary, strlen(s->binary), &string, err) < 0)
            return -1;
        p->mappings[0].file = string;
    }
    if (s->buildid && *s->buildid && !p->mappings[0].build_id) {
        if (profile_intern(p, s->buildid, strlen(s->buildid), &string, err) < 0)
            return -1;
        p->mappings[0].build_id = string;
    }
    return 0;
}

/* Finds the binaries of a profile, and records the server that sent it. On failure frees the profile. */
static void complete_profile(struct source *s)
{
    int rc =
        symbolize_locate(s->profile, s->settings->binary_path, s->callbacks->say, s->callbacks->ctx, &s->err);
    if (rc == 0)
        rc = set_first_mapping(s->profile, s->settings, &s->err);
    if (rc == 0 && s->from.url)
        rc = symbolize_collect(s->profile, s->from.url, &s->servers, &s->err);
    if (rc < 0) {
        profile_free(s->profile);
        s->profile = NULL;
    }
}

static void *fetch_source(void *ctx)
{
    struct source *s = ctx;
    if (s->callbacks->fetch(s->callbacks->ctx, &s->from, &s->profile, &s->err) == 0)
        complete_profile(s);
    return NULL;
}

/* Writes durations as Go does: 30s, 1m0s, 1h0m5s. */
static void announce_wait(const struct load_callbacks *c, long seconds)
{
    long h = seconds / 3600, m = seconds / 60 % 60, s = seconds % 60;
    if (h > 0)
        say(c, "Please wait... (%ldh%ldm%lds)", h, m, s);
    else if (m > 0)
        say(c, "Please wait... (%ldm%lds)", m, s);
    else if (s > 0)
        say(c, "Please wait... (%lds)", s);
}

/* Starts to fetch a source on a server. All sources of a chunk are fetched at the same time, because a
 * profile of 30 seconds takes 30 seconds. */
static int start_source(struct source *s, struct err *err)
{
    const struct load_callbacks *c = s->callbacks;
    if (c->find_url(c->ctx, s->name, &s->from, err) < 0)
        return -1;
    if (!s->from.url)
        return 0;
    s->from.source = s->name;
    say(c, "Fetching profile over HTTP from %s", s->from.shown ? s->from.shown : "a URL");
    announce_wait(c, s->settings->seconds);
    if (thread_start(&s->thread, fetch_source, s, err) < 0)
        return -1;
    s->started = true;
    return 0;
}

/* ---- several sources ----------------------------------------------------------------------------------- */

/* Merges the profiles of one chunk. The sums of all chunks are merged at the end: merging each chunk with the
 * sum of the earlier ones would take quadratic time. */
static int add_chunk(struct sum *sum, struct profile **profiles, size_t n, struct err *err)
{
    struct profile *chunk = NULL;
    if (n == 0)
        return 0;
    if (report_combine(profiles, n, &chunk, err) < 0)
        return -1;
    if (array_reserve((void **)&sum->chunks, &sum->cap_chunks, sum->n_chunks + 1, sizeof(struct profile *),
                      err) < 0) {
        profile_free(chunk);
        return -1;
    }
    sum->chunks[sum->n_chunks++] = chunk;
    return 0;
}

/* Sends a message that the source failed, without the password in its URL. */
static void say_failure(const struct source *s)
{
    const char *name = s->from.shown && strchr(s->name, '@') ? s->from.shown : s->name;
    say(s->callbacks, "%s: %s", name, s->err.msg);
    if (s->err.hint[0])
        say(s->callbacks, "hint: %s", s->err.hint);
}

/* Calls the caller's `read` for the sources that are not on a server. */
static int read_local(struct source *sources, size_t n, const struct load_callbacks *c, struct err *err)
{
    size_t n_items = 0;
    struct load_item *items = calloc(n, sizeof *items);
    if (!items)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        if (!sources[i].started)
            items[n_items++].name = sources[i].name;
    int rc = c->read(c->ctx, items, n_items, err);
    for (size_t i = n; i-- > 0;)
        if (!sources[i].started) {
            sources[i].profile = items[--n_items].profile;
            sources[i].err = items[n_items].err;
        }
    free(items);
    return rc;
}

/* Notes whether a profile's program has another name or build ID than the first one. */
static void note_program(struct sum *sum, const struct profile *p)
{
    char path[400], build_id[sizeof sum->build_id];
    struct str file = profile_str(p, p->mappings[0].file), id = profile_str(p, p->mappings[0].build_id);
    text_printable(path, sizeof path, file.p, file.n);
    text_printable(build_id, sizeof build_id, id.p, id.n);
    if (!sum->file[0]) {
        snprintf(sum->file, sizeof sum->file, "%s", file_base(path));
        snprintf(sum->build_id, sizeof sum->build_id, "%s", build_id);
    }
    sum->mixed_files = sum->mixed_files || strncmp(sum->file, file_base(path), sizeof sum->file - 1) != 0;
    sum->mixed_builds = sum->mixed_builds || strcmp(sum->build_id, build_id) != 0;
}

/* Waits for a source and adds its profile to the sum. If `rc`, the result of the earlier sources, is a
 * failure, only releases the source. */
static int finish_source(struct source *s, struct sum *sum, int rc, struct err *err)
{
    if (s->started)
        pthread_join(s->thread, NULL);
    else if (rc == 0 && s->profile)
        complete_profile(s);
    /* Once the limited memory is used up, the other sources would fail too. */
    if (rc == 0 && !s->profile && s->err.out_of_memory && s->settings->limited) {
        *err = s->err;
        rc = -1;
    }
    if (rc == 0 && !s->profile)
        say_failure(s);
    if (rc == 0 && s->profile) {
        note_program(sum, s->profile);
        sum->remote = sum->remote || s->from.url;
        rc = symbolize_sources_move(&sum->servers, &s->servers, err);
    }
    symbolize_sources_release(&s->servers);
    free(s->from.url);
    free(s->from.shown);
    return rc;
}

static int load_chunk(struct sum *sum, char *const *names, size_t n, struct err *err)
{
    const struct load_callbacks *c = sum->callbacks;
    struct source *sources = calloc(n, sizeof *sources);
    struct profile **profiles = calloc(n, sizeof(struct profile *));
    size_t got = 0;
    int rc = sources && profiles ? 0 : err_nomem(err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        sources[i] = (struct source){.settings = sum->settings, .callbacks = c, .name = names[i]};
        rc = start_source(&sources[i], err);
    }
    if (rc == 0)
        rc = read_local(sources, n, c, err);
    if (rc == 0)
        rc = c->check_time(c->ctx, names[n - 1], err);
    for (size_t i = 0; sources && profiles && i < n; i++) {
        rc = finish_source(&sources[i], sum, rc, err);
        if (sources[i].profile)
            profiles[got++] = sources[i].profile;
    }
    sum->n += got;
    for (size_t i = 0; rc < 0 && i < got; i++)
        profile_free(profiles[i]);
    if (rc == 0)
        rc = add_chunk(sum, profiles, got, err);
    free(profiles);
    free(sources);
    return rc;
}

static int load_sum(struct sum *sum, char *const *names, size_t n, struct err *err)
{
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n; at += CHUNK)
        rc = load_chunk(sum, names + at, n - at < CHUNK ? n - at : CHUNK, err);
    if (rc == 0 && sum->n_chunks) {
        size_t n_chunks = sum->n_chunks;
        sum->n_chunks = 0;
        rc = report_combine(sum->chunks, n_chunks, &sum->profile, err);
    }
    while (sum->n_chunks > 0)
        profile_free(sum->chunks[--sum->n_chunks]);
    free(sum->chunks);
    sum->chunks = NULL;
    sum->cap_chunks = 0;
    return rc;
}

static void warn_mixed(const struct sum *sum)
{
    if (sum->mixed_files)
        say(sum->callbacks,
            "warning: the added profiles are of different programs, one of them %s: name a single profile to "
            "see it alone",
            sum->file);
    else if (sum->mixed_builds)
        say(sum->callbacks,
            "warning: the added profiles are of different builds of %s: name a single profile to see it "
            "alone",
            sum->file);
}

/* Fails if sources were wanted but none has a profile. Sends a message if some have none. */
static int check_number(const struct sum *sum, size_t wanted, const char *what, struct err *err)
{
    if (wanted && sum->n == 0)
        return err_set(err, ERR_FAILED, "failed to fetch any %s profiles", what);
    if (sum->n != wanted)
        say(sum->callbacks, "Fetched %zu %s profiles out of %zu", sum->n, what, wanted);
    return 0;
}

static int load_sums(const struct load_settings *s, struct sum *sources, struct sum *bases, struct err *err)
{
    if (load_sum(sources, s->sources, s->n_sources, err) < 0)
        return err_wrap(err, "problem fetching source profiles");
    if (load_sum(bases, s->bases, s->n_bases, err) < 0)
        return err_wrap(err, "problem fetching base profiles");
    if (s->warn_sources)
        warn_mixed(sources);
    if (s->warn_bases)
        warn_mixed(bases);
    if (check_number(sources, s->n_sources, "source", err) < 0)
        return -1;
    return check_number(bases, s->n_bases, "base", err);
}

/* ---- the base ------------------------------------------------------------------------------------------ */

/* Marks the samples of the base (diff_base), scales the profile to the base (normalize), and negates the
 * base. */
static int prepare_subtraction(const struct load_settings *s, struct profile *p, struct profile *base,
                               struct err *err)
{
    if (s->diff_base && profile_set_label(base, "pprof::base", "true", err) < 0)
        return -1;
    if (s->normalize && profile_normalize(p, base, err) < 0)
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

/* Subtracts *base from *p: *p becomes a new profile, *base becomes NULL, and both old profiles are freed. On
 * failure, both are NULL, or both still belong to the caller. */
static int subtract_base(const struct load_settings *s, struct profile **p, struct profile **base,
                         struct err *err)
{
    struct profile *both[] = {*p, *base};
    if (prepare_subtraction(s, *p, *base, err) < 0)
        return -1;
    *p = *base = NULL;
    return report_combine(both, 2, p, err);
}

int load_profiles(const struct load_settings *s, const struct load_callbacks *callbacks, struct load *ret,
                  struct err *err)
{
    struct sum sources = {.settings = s, .callbacks = callbacks},
               bases = {.settings = s, .callbacks = callbacks};
    *ret = (struct load){0};
    int rc = load_sums(s, &sources, &bases, err);
    if (rc == 0 && bases.profile)
        rc = subtract_base(s, &sources.profile, &bases.profile, err);
    if (rc == 0)
        rc = symbolize_sources_move(&sources.servers, &bases.servers, err);
    symbolize_sources_release(&bases.servers);
    profile_free(bases.profile);
    ret->profile = sources.profile;
    ret->servers = sources.servers;
    ret->remote = sources.remote || bases.remote;
    return rc;
}

void load_release(struct load *l)
{
    symbolize_sources_release(&l->servers);
    profile_free(l->profile);
    *l = (struct load){0};
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

int load_finish(struct load *l, const struct load_settings *s, const struct symbolize_tools *tools,
                struct err *err)
{
    struct profile *p = l->profile;
    if (!p)
        return err_set(err, ERR_USAGE, "no profile source specified");
    if (s->all_frames)
        p->drop_frames = p->keep_frames = 0;
    if (symbolize(p, s->symbolize, &l->servers, tools, err) < 0 || report_prune(p, err) < 0)
        return -1;
    symbolize_remove_urls(p);
    return add_comment(p, s->add_comment, err);
}
