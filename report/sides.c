#include "report/sides.h"

#include <math.h>

#include "report/report.h"
#include "base/banned.h"

#define MAX_SAMPLES 500000
#define MAX_FRAMES 20000000

/* What is there at a moment. All else is counted from some time on. */
static const char *const standing[] = {"inuse_objects", "inuse_space", "goroutine", "threadcreate", NULL};
/* Counted at a rate, so that only shares say something. */
static const char *const sampled[] = {"cpu", "samples", NULL};

static bool is_one_of(struct str type, const char *const *list)
{
    while (*list && !str_is(type, *list))
        list++;
    return *list;
}

/* Makes a first profile the model of all. */
static int begin(struct sides *s, struct profile *p, struct err *err)
{
    s->n_types = p->n_sample_types;
    if (report_sample_index(p, NULL, &s->default_type, err) < 0)
        return -1;
    s->default_type = s->default_type < s->n_types ? s->default_type : 0;
    return 0;
}

static int add(struct sides *s, struct profile *p, struct err *err)
{
    struct profile *merged = NULL, *both[] = {s->all, p};
    if (s->all && profile_compatible(s->all, p, err) < 0)
        return -1;
    if (profile_merge(s->all ? both : &p, s->all ? 2 : 1, &merged, err) < 0)
        return -1;
    profile_free(s->all);
    s->all = merged;
    /* So that a picture of all begins with what is heavy here. */
    s->all->default_sample_type = s->all->sample_types[s->default_type].type;
    return 0;
}

int sides_add(struct sides *s, enum side side, struct profile *p, struct err *err)
{
    struct sides_side *of = &s->of[side];
    int64_t duration = p->duration_ns;
    if (s->all && (s->all->n_samples > MAX_SAMPLES || s->all->n_stack > MAX_FRAMES)) {
        of->left_out++;
        return 0;
    }
    if (p->n_sample_types > SIDES_MAX_TYPES)
        profile_narrow(p, SIDES_MAX_TYPES);
    if (p->n_sample_types == 0)
        return err_set(err, ERR_FAILED, "it has no sample types");
    profile_drop_labels(p);
    if ((!s->all && begin(s, p, err) < 0) || profile_widen(p, side, 2, err) < 0 || add(s, p, err) < 0)
        return -1;
    of->processes++;
    of->timed += duration > 0;
    of->duration_ns += duration > 0 && duration < INT64_MAX - of->duration_ns ? duration : 0;
    return 0;
}

void sides_release(struct sides *s)
{
    profile_free(s->all);
    *s = (struct sides){0};
}

bool sides_are_two(const struct sides *s)
{
    return s->of[SIDE_HERE].processes > 0 && s->of[SIDE_THERE].processes > 0;
}

static bool is_timed(const struct sides_side *s)
{
    return s->timed == s->processes && s->duration_ns > 0;
}

enum sides_basis sides_basis_of(const struct sides *s, size_t type)
{
    struct str name = profile_str(s->all, s->all->sample_types[type].type);
    if (is_one_of(name, sampled))
        return SIDES_SHARE;
    if (is_one_of(name, standing))
        return SIDES_PROCESS;
    return is_timed(&s->of[SIDE_HERE]) && is_timed(&s->of[SIDE_THERE]) ? SIDES_SECOND : SIDES_SHARE;
}

static double total_of(const struct sides *s, size_t column)
{
    double total = 0;
    for (size_t i = 0; i < s->all->n_samples; i++)
        total += fabs((double)s->all->values[i * s->all->n_sample_types + column]);
    return total;
}

double sides_scale(const struct sides *s, size_t type, enum side side)
{
    const struct sides_side *of = &s->of[side];
    double whole = 0;
    switch (sides_basis_of(s, type)) {
    case SIDES_SHARE:
        whole = total_of(s, sides_column(s, type, side));
        break;
    case SIDES_SECOND:
        whole = (double)of->duration_ns / 1e9;
        break;
    case SIDES_PROCESS:
        whole = (double)of->processes;
        break;
    }
    return whole > 0 ? 1 / whole : 0;
}
