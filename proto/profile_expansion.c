/*
 * Limits the text that a profile expands to.
 *
 * A profile refers to its strings by number, so a few bytes can expand to a long text: many functions with
 * one long name, many samples of one location with many lines. The time and memory to process a profile
 * depend on the expanded text. Real profiles expand to a few hundred bytes for each frame. profile_decode
 * refuses a profile that expands to far more.
 */
#include <stdlib.h>

#include "proto/profile_decode.h"
#include "base/banned.h"

/* The estimated size of a frame without its text, in bytes. */
#define FRAME_BYTES 32

/* The limits in bytes of text: _BASE, plus _EACH for each part that expands to text. */
#define TABLE_BYTES_BASE (UINT64_C(32) << 20)
#define TABLE_BYTES_EACH 1024
#define FRAMES_BYTES_BASE (UINT64_C(128) << 20)
#define FRAMES_BYTES_EACH 2048

static uint64_t text_size(const struct profile *p, uint32_t string)
{
    return profile_str(p, string).n;
}

static uint64_t line_text_size(const struct profile *p, const struct profile_line *l)
{
    const struct profile_function *f = &p->functions[l->function];
    return text_size(p, f->name) + text_size(p, f->filename) + FRAME_BYTES;
}

static int check_limit(uint64_t bytes, uint64_t limit, const char *what, struct err *err)
{
    char size[32], allowed[32];
    if (bytes <= limit)
        return 0;
    return err_set(err, ERR_FAILED,
                   "parsing profile: its %s expand to %s of text; the limit for a profile of its size is %s",
                   what, text_bytes(size, sizeof size, bytes), text_bytes(allowed, sizeof allowed, limit));
}

static int check_tables(const struct profile *p, struct err *err)
{
    uint64_t lines = 0, labels = 0, others = 0;
    for (size_t i = 0; i < p->n_lines; i++)
        lines += line_text_size(p, &p->lines[i]);
    for (size_t i = 0; i < p->n_labels; i++)
        labels +=
            text_size(p, p->labels[i].key) + text_size(p, p->labels[i].str) + text_size(p, p->labels[i].unit);
    for (size_t i = 0; i < p->n_mappings; i++)
        others += text_size(p, p->mappings[i].file) + text_size(p, p->mappings[i].build_id);
    for (size_t i = 0; i < p->n_comments; i++)
        others += text_size(p, p->comments[i]);
    for (size_t i = 0; i < p->n_sample_types; i++)
        others += text_size(p, p->sample_types[i].type) + text_size(p, p->sample_types[i].unit);
    if (check_limit(lines, TABLE_BYTES_BASE + TABLE_BYTES_EACH * (uint64_t)p->n_lines, "functions", err) <
            0 ||
        check_limit(labels, TABLE_BYTES_BASE + TABLE_BYTES_EACH * (uint64_t)p->n_labels, "labels", err) < 0)
        return -1;
    return check_limit(others,
                       TABLE_BYTES_BASE +
                           TABLE_BYTES_EACH * (uint64_t)(p->n_mappings + p->n_comments + p->n_sample_types),
                       "mappings and comments", err);
}

/* Returns the text size of each location's lines, which the caller frees; *ret_most is the largest. */
static uint64_t *measure_locations(const struct profile *p, uint64_t *ret_most, struct err *err)
{
    uint64_t *text_sizes = malloc((p->n_locations + 1) * sizeof *text_sizes), most = FRAME_BYTES;
    if (!text_sizes) {
        err_nomem(err);
        return NULL;
    }
    for (size_t i = 0; i < p->n_locations; i++) {
        const struct profile_location *l = &p->locations[i];
        text_sizes[i] = FRAME_BYTES;
        for (size_t k = 0; k < l->n_lines; k++)
            text_sizes[i] += line_text_size(p, &p->lines[l->line_at + k]);
        most = text_sizes[i] > most ? text_sizes[i] : most;
    }
    *ret_most = most;
    return text_sizes;
}

static int check_frames(const struct profile *p, struct err *err)
{
    uint64_t limit = FRAMES_BYTES_BASE + FRAMES_BYTES_EACH * (uint64_t)p->n_stack, most = 0, sum = 0;
    uint64_t *text_sizes = measure_locations(p, &most, err);
    if (!text_sizes)
        return -1;
    /* If the profile is within the limit even with the longest text in each frame, no frame is checked. That
     * is the usual case. */
    bool sure = p->n_stack == 0 || most <= limit / p->n_stack;
    for (size_t i = 0; !sure && i < p->n_samples; i++) {
        struct profile_walk w = profile_walk(p, &p->samples[i]);
        for (uint32_t at; profile_walk_next(&w, &at);)
            sum += text_sizes[at];
    }
    free(text_sizes);
    return check_limit(sum, limit, "stacks", err);
}

int decode_check_expansion(const struct profile *p, struct err *err)
{
    return check_tables(p, err) < 0 ? -1 : check_frames(p, err);
}
