/*
 * -speedscope: one profile of the kind "sampled", with a sample and its weight for each stack.
 *
 * Source: speedscope.app/file-format-schema.json (github.com/jlfwong/speedscope, file-format-spec.ts).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "pprof/formats.h"
#include "pprof/stacks.h"
#include "base/banned.h"

struct speedscope {
    struct stacks stacks;
    struct hash_index by_place;
    uint32_t *frames;      /* by node: the number of its frame */
    uint32_t *frame_nodes; /* by frame: one of its nodes */
    size_t n_frames;
};

/* ---- frames -------------------------------------------------------------------------------------------- */

struct wanted {
    const struct speedscope *s;
    const struct node_info *info;
};

static bool is_wanted(const void *ctx, uint32_t index)
{
    const struct wanted *w = ctx;
    const struct node_info *a = w->info, *b = &w->s->stacks.g.nodes[w->s->frame_nodes[index]].info;
    return a->name == b->name && a->file == b->file && a->line == b->line && a->column == b->column &&
           a->address == b->address;
}

/* Gives each node a frame. Nodes of one place share a frame. */
static int number_frames(struct speedscope *s)
{
    const struct graph *g = &s->stacks.g;
    s->frames = malloc((g->n_nodes + 1) * sizeof *s->frames);
    s->frame_nodes = calloc(g->n_nodes + 1, sizeof *s->frame_nodes);
    if (!s->frames || !s->frame_nodes)
        return err_nomem(s->stacks.report->err);
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct node_info *info = &g->nodes[i].info;
        uint64_t hash =
            hash_index_mix(hash_index_seed(&s->by_place), (uint64_t)info->name << 32 | info->file);
        hash = hash_index_mix(hash_index_mix(hash, (uint64_t)info->line), info->address);
        s->frames[i] = hash_index_find(&s->by_place, hash, is_wanted, &(struct wanted){s, info});
        if (s->frames[i] != HASH_INDEX_NONE)
            continue;
        if (hash_index_add(&s->by_place, hash, s->stacks.report->err) < 0)
            return -1;
        s->frames[i] = (uint32_t)s->n_frames;
        s->frame_nodes[s->n_frames++] = (uint32_t)i;
    }
    return 0;
}

static int write_frames(struct speedscope *s, struct buf *name)
{
    const struct report *report = s->stacks.report;
    for (size_t i = 0; i < s->n_frames; i++) {
        const struct node_info *info = &s->stacks.g.nodes[s->frame_nodes[i]].info;
        buf_clear(name);
        node_name(&s->stacks.g, info, name);
        if (buf_check(name, "a name", report->err) < 0)
            return -1;
        out_text(report->out, i ? ",\n{\"name\":" : "\n{\"name\":");
        out_json(report->out, (struct str){buf_str(name), name->len});
        if (info->file) {
            out_text(report->out, ",\"file\":");
            out_json(report->out, profile_str(report->profile, info->file));
        }
        if (info->line > 0)
            out_format(report->out, ",\"line\":%" PRId64, info->line);
        out_text(report->out, "}");
    }
    return 0;
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

/* Writes each stack's frames, or its weight if `weights`. Leaves out stacks with a negative value, which a
 * picture cannot show. *ret_left_out is the number of these stacks, *ret_sum the sum of the other values. */
static int write_stacks(struct speedscope *s, bool weights, size_t *ret_left_out, int64_t *ret_sum)
{
    struct out *out = s->stacks.report->out;
    size_t at = 0;
    int more;
    const char *separator = "";
    *ret_left_out = 0;
    *ret_sum = 0;
    while ((more = stacks_next(&s->stacks, &at)) == 1) {
        *ret_left_out += s->stacks.value < 0;
        if (s->stacks.value < 0)
            continue;
        *ret_sum = measure_sum(*ret_sum, s->stacks.value);
        out_text(out, separator);
        separator = ",\n";
        if (weights)
            out_format(out, "%" PRId64, s->stacks.value);
        for (size_t i = 0; !weights && i < s->stacks.n_path; i++)
            out_format(out, "%c%" PRIu32, i ? ',' : '[', s->frames[s->stacks.path[i]]);
        out_text(out, weights ? "" : "]");
    }
    return more;
}

/* Returns the format's word for the unit. */
static const char *unit_of(const struct report *report)
{
    static const char *const units[] = {"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (str_is(report->sample_unit, units[i]))
            return units[i];
    return "none";
}

static int write_document(struct speedscope *s, struct report *report, struct buf *name)
{
    size_t left_out = 0;
    int64_t sum = 0;
    out_text(report->out,
             "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"version\":\"0.0.1\","
             "\"exporter\":\"profgrab " PROFGRAB_VERSION "\",\"activeProfileIndex\":0,\n"
             "\"shared\":{\"frames\":[");
    if (write_frames(s, name) < 0)
        return -1;
    out_text(report->out, "]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":");
    out_json(report->out,
             profile_str(report->profile, report->profile->sample_types[report->value_index].type));
    out_format(report->out, ",\"unit\":\"%s\",\"startValue\":0,\n\"samples\":[", unit_of(report));
    if (write_stacks(s, false, &left_out, &sum) < 0)
        return -1;
    out_text(report->out, "],\n\"weights\":[");
    if (write_stacks(s, true, &left_out, &sum) < 0)
        return -1;
    out_format(report->out, "],\n\"endValue\":%" PRId64 "}]}\n", sum);
    if (left_out > 0)
        report_message(report, "%zu stack%s left out, whose values are below zero", left_out,
                       text_plural_s(left_out));
    return 0;
}

int speedscope_write(struct report *report)
{
    struct speedscope s = {0};
    struct buf name = BUF_INIT(REPORT_NAME_MAX);
    int rc = stacks_init(&s.stacks, report);
    if (rc == 0)
        rc = number_frames(&s);
    if (rc == 0)
        rc = write_document(&s, report, &name);
    buf_release(&name);
    free(s.frames);
    free(s.frame_nodes);
    hash_index_release(&s.by_place);
    stacks_release(&s.stacks);
    return rc;
}
