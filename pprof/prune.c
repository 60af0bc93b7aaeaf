/* Removes the frames below functions whose names match an expression: prune_from, drop_frames and
 * keep_frames. */
#include <stdlib.h>
#include <string.h>

#include "pprof/filter.h"
#include "base/banned.h"

/* Removes the leading dot of a PowerPC name, and the parameters. */
static struct str simplify_name(struct str name)
{
    static const char *const kept[] = {"(anonymous namespace)", "operator()"};
    if (name.n && name.p[0] == '.') {
        name.p++;
        name.n--;
    }
    for (size_t at = 0; at < name.n; at++) {
        struct str rest = {name.p + at, name.n - at};
        size_t skip = str_begins(rest, kept[0])   ? strlen(kept[0])
                      : str_begins(rest, kept[1]) ? strlen(kept[1])
                                                  : 0;
        if (skip)
            at += skip - 1;
        else if (name.p[at] == '(')
            return (struct str){name.p, at};
    }
    return name;
}

/* The simplified names of all functions, as strings of the profile; 0: no name. The caller frees the
 * array. */
static uint32_t *simple_names(struct profile *p, struct err *err)
{
    uint32_t *names = calloc(p->n_functions + 1, sizeof *names);
    if (!names)
        err_nomem(err);
    for (size_t i = 0; names && i < p->n_functions; i++) {
        struct str whole = profile_str(p, p->functions[i].name), simple = simplify_name(whole);
        names[i] = p->functions[i].name;
        if (simple.n == whole.n || profile_intern(p, simple.p, simple.n, &names[i], err) == 0)
            continue;
        free(names);
        return NULL;
    }
    return names;
}

/* Whether the name of a line's function matches `drop` and not `keep`. False if there is no name. */
static bool must_drop(struct regex *drop, struct regex *keep, const struct profile *p, const uint32_t *names,
                      size_t line)
{
    uint32_t f = p->lines[line].function;
    return f != PROFILE_NONE && p->functions[f].name && regex_matches_string(drop, p, names[f]) &&
           !(keep && regex_matches_string(keep, p, names[f]));
}

int prune_from(struct profile *p, struct regex *r, struct err *err)
{
    uint32_t *names = simple_names(p, err);
    bool *has_match = calloc(p->n_locations + 1, sizeof *has_match);
    int rc = names && has_match ? 0 : names ? err_nomem(err) : -1;
    for (size_t i = 0; rc == 0 && i < p->n_locations; i++) {
        struct profile_location *l = &p->locations[i];
        for (uint32_t k = 0; k < l->n_lines && !has_match[i]; k++)
            if (must_drop(r, NULL, p, names, l->line_at + k)) {
                has_match[i] = true;
                l->line_at += k;
                l->n_lines -= k;
            }
    }
    for (size_t i = 0; rc == 0 && i < p->n_samples; i++) {
        struct profile_sample *s = &p->samples[i];
        uint32_t at = 0;
        while (at < s->depth && !has_match[profile_frame(p, s, at)])
            at++;
        if (at == s->depth)
            continue;
        s->stack_at += at;
        s->depth -= at;
    }
    free(names);
    free(has_match);
    return rc;
}

/* ---- drop_frames, keep_frames -------------------------------------------------------------------------- */

enum mark { DROP_NONE, DROP_SOME, DROP_ALL };

/* Removes the outermost line to drop, and the lines below it. If these are all lines, returns DROP_ALL and
 * removes none. */
static enum mark prune_location(struct profile *p, struct profile_location *l, struct regex *drop,
                                struct regex *keep, const uint32_t *names)
{
    for (uint32_t k = l->n_lines; k-- > 0;) {
        if (!must_drop(drop, keep, p, names, l->line_at + k))
            continue;
        if (k == l->n_lines - 1)
            return DROP_ALL;
        l->line_at += k + 1;
        l->n_lines -= k + 1;
        return DROP_SOME;
    }
    return DROP_NONE;
}

/* Walks from the root, and cuts the stack at the first frame to drop. Frames to drop that come before
 * the first frame to keep stay. */
static void prune_sample(const struct profile *p, struct profile_sample *s, const unsigned char *marks)
{
    bool any_kept = false;
    for (uint32_t i = s->depth; i-- > 0;) {
        enum mark mark = (enum mark)marks[profile_frame(p, s, i)];
        if (mark == DROP_NONE) {
            any_kept = true;
        } else if (any_kept) {
            uint32_t cut = mark == DROP_ALL ? i + 1 : i;
            s->stack_at += cut;
            s->depth -= cut;
            return;
        }
    }
}

static int cut_stacks(struct profile *p, struct regex *drop, struct regex *keep, struct err *err)
{
    uint32_t *names = simple_names(p, err);
    unsigned char *marks = calloc(p->n_locations + 1, 1);
    int rc = names && marks ? 0 : names ? err_nomem(err) : -1;
    for (size_t i = 0; rc == 0 && i < p->n_locations; i++)
        marks[i] = (unsigned char)prune_location(p, &p->locations[i], drop, keep, names);
    for (size_t i = 0; rc == 0 && i < p->n_samples; i++)
        prune_sample(p, &p->samples[i], marks);
    free(names);
    free(marks);
    if (rc == 0 && (regex_check(drop, err) < 0 || regex_check(keep, err) < 0)) {
        err_hint(err, "this is the profile's own drop_frames; -all_frames ignores it");
        rc = -1;
    }
    return rc;
}

/* Compiles a pattern that must match the whole name. */
static int compile_whole(struct str pattern, struct regex_budget *budget, struct regex **ret, struct err *err)
{
    struct buf text = BUF_INIT((size_t)1 << 20);
    buf_adds(&text, "^(");
    buf_add(&text, pattern.p, pattern.n);
    buf_adds(&text, ")$");
    int rc = buf_check(&text, "drop_frames", err);
    if (rc == 0)
        rc = regex_new((struct str){buf_str(&text), text.len}, budget, ret, err);
    buf_release(&text);
    return rc;
}

int prune_by_own_patterns(struct profile *p, struct regex_budget *budget, struct err *err)
{
    struct regex *drop = NULL, *keep = NULL;
    int rc = 0;
    if (p->drop_frames && compile_whole(profile_str(p, p->drop_frames), budget, &drop, NULL) == 0 &&
        (!p->keep_frames || compile_whole(profile_str(p, p->keep_frames), budget, &keep, NULL) == 0))
        rc = cut_stacks(p, drop, keep, err);
    regex_free(drop);
    regex_free(keep);
    return rc;
}

int report_prune(struct profile *p, struct err *err)
{
    struct regex_budget *budget = regex_budget_for_profile(p);
    int rc = budget ? prune_by_own_patterns(p, budget, err) : err_nomem(err);
    regex_budget_free(budget);
    return rc;
}
