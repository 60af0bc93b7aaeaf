#include <stdlib.h>

#include "proto/profile_text.h"
#include "base/banned.h"

/* google/pprof's message. */

/* ---- counts: goroutine, threadcreate ---- */

/* Reads "3 @ 0x46e6c1 0x40a0c5": a count and a stack of return addresses. */
static int read_count_line(struct text_reader *r, struct str line)
{
    int64_t count = 0;
    if (text_match(r, PATTERN_COUNT, line) && text_int(r->groups[1], 0, &count) &&
        text_push_addresses(r, r->groups[2], true, line) == 0)
        return text_add_sample(r, &count, NULL);
    return r->err->kind == ERR_LOCAL_IO ? -1 : err_set(r->err, ERR_FAILED, "malformed profile format");
}

enum text_result text_read_count(struct text_reader *r)
{
    struct lines *l = &r->lines;
    while (lines_next(l) && text_has_no_data(l->text))
        continue;
    if (lines_check(l, r->err) < 0)
        return TEXT_FAILED;
    if (!text_match(r, PATTERN_COUNT_START, l->text))
        return TEXT_OTHER_FORM;
    if (text_set_period(r, r->groups[1], "count", 1) < 0 ||
        profile_add_sample_type(r->p, r->p->period_type, r->err) < 0)
        return TEXT_FAILED;
    while (lines_next(l) && !str_begins(l->text, "---"))
        if (!text_has_no_data(l->text) && read_count_line(r, l->text) < 0)
            return TEXT_FAILED;
    return lines_check(l, r->err) < 0 || text_read_maps(r) < 0 ? TEXT_FAILED : TEXT_READ;
}

/* ---- contention: block, mutex ---- */

static bool read_attribute(struct text_reader *r, struct str line, int64_t *hz)
{
    const char *equals = memchr(line.p, '=', line.n);
    struct str key = str_trim((struct str){line.p, (size_t)(equals - line.p)});
    struct str value = str_trim((struct str){equals + 1, line.n - (size_t)(equals + 1 - line.p)});
    int64_t ms = 0;
    if (str_is(key, "cycles/second"))
        return text_int(value, 0, hz);
    if (str_is(key, "sampling period"))
        return text_int(value, 0, &r->p->period);
    if (str_is(key, "ms since reset")) {
        if (!text_int(value, 0, &ms))
            return false;
        r->p->duration_ns = (int64_t)((uint64_t)ms * 1000000);
        return true;
    }
    return str_is(key, "discarded samples");
}

/* Reads the attributes before the samples. */
static bool read_attributes(struct text_reader *r, int64_t *hz)
{
    struct lines *l = &r->lines;
    while (lines_next(l)) {
        struct str line = str_trim(l->text);
        if (text_has_no_data(line))
            continue;
        if (str_begins(line, "---") || !memchr(line.p, '=', line.n))
            return true;
        if (!read_attribute(r, line, hz))
            return false;
    }
    return true;
}

/* Reads "31419 2 @ 0x46e6c1": cycles, a count and a stack. */
static enum text_result read_contention_line(struct text_reader *r, struct str line, int64_t hz)
{
    int64_t delay = 0, count = 0, period = r->p->period;
    char text[200];
    if (!text_match(r, PATTERN_CONTENTION_SAMPLE, line))
        return TEXT_OTHER_FORM;
    struct str stack = r->groups[3], number = r->groups[1];
    bool fine = text_int(number, 10, &delay);
    if (fine) {
        number = r->groups[2];
        fine = text_int(number, 10, &count);
    }
    if (!fine) {
        char digits[100];
        text_printable(digits, sizeof digits, number.p, number.n);
        err_set(r->err, ERR_FAILED,
                "malformed sample: %s: strconv.ParseInt: parsing \"%s\": value out of range",
                text_printable(text, sizeof text, line.p, line.n), digits);
        return TEXT_FAILED;
    }
    if (period > 0) {
        if (hz > 0)
            delay = profile_double_to_int((double)delay * (double)period / ((double)hz / 1e9));
        count = (int64_t)((uint64_t)count * (uint64_t)period);
    }
    return text_push_addresses(r, stack, true, line) < 0 ||
                   text_add_sample(r, (int64_t[]){count, delay}, NULL) < 0
               ? TEXT_FAILED
               : TEXT_READ;
}

enum text_result text_read_contention(struct text_reader *r)
{
    struct lines *l = &r->lines;
    int64_t hz = 0;
    lines_next(l);
    if (lines_check(l, r->err) < 0)
        return TEXT_FAILED;
    if (!str_begins(l->text, "--- contentionz ") && !str_begins(l->text, "--- mutex:") &&
        !str_begins(l->text, "--- contention:"))
        return TEXT_OTHER_FORM;
    if (text_set_period(r, STR("contentions"), "count", 1) < 0 ||
        text_add_type(r, "contentions", "count") < 0 || text_add_type(r, "delay", "nanoseconds") < 0)
        return TEXT_FAILED;
    if (!read_attributes(r, &hz))
        return TEXT_OTHER_FORM;
    if (lines_check(l, r->err) < 0)
        return TEXT_FAILED;
    do {
        struct str line = str_trim(l->text);
        if (str_begins(line, "---"))
            break;
        enum text_result result = text_has_no_data(line) ? TEXT_READ : read_contention_line(r, line, hz);
        if (result != TEXT_READ)
            return result;
    } while (lines_next(l));
    return lines_check(l, r->err) < 0 || text_read_maps(r) < 0 ? TEXT_FAILED : TEXT_READ;
}

/* ---- threads ---- */

/* Reads the stack of a thread, and the line after it. *ret_same becomes true if the stack is that of the
 * previous thread. */
static int read_thread(struct text_reader *r, struct str *ret_next, bool *ret_same)
{
    struct lines *l = &r->lines;
    struct str line = STR("");
    *ret_same = false;
    while (lines_next(l)) {
        line = str_trim(l->text);
        if (line.n == 0)
            continue;
        if (str_begins(line, "---"))
            break;
        if (text_contains(line, "same as previous thread"))
            *ret_same = true;
        else if (text_push_addresses(r, line, false, line) < 0)
            return -1;
    }
    *ret_next = line;
    *ret_same = *ret_same || r->depth == 0;
    return lines_check(l, r->err);
}

/* Removes the second frame if it repeats the leaf: the profiler may record the leaf twice, and read_thread
 * subtracts 1 from the address of the second. */
static void drop_repeated_frames(struct profile *p)
{
    for (size_t i = 0; i < p->n_samples; i++) {
        struct profile_sample *s = &p->samples[i];
        if (s->depth < 2)
            continue;
        uint32_t leaf = profile_frame(p, s, 0), caller = profile_frame(p, s, 1);
        if (p->locations[leaf].address == p->locations[caller].address + 1) {
            profile_set_frame(p, s, 1, leaf);
            s->stack_at++;
            s->depth--;
        }
    }
}

enum text_result text_read_thread(struct text_reader *r)
{
    struct lines *l = &r->lines;
    while (lines_next(l) && text_has_no_data(l->text))
        continue;
    struct str line = l->text;
    if (text_match(r, PATTERN_THREADZ_START, line)) {
        while (lines_next(l)) {
            line = l->text;
            if (text_is_maps_heading(line) || str_begins(line, "-"))
                break;
        }
    } else if (!text_match(r, PATTERN_THREAD_START, line)) {
        return TEXT_OTHER_FORM;
    }
    if (text_add_type(r, "thread", "count") < 0 || text_set_period(r, STR("thread"), "count", 1) < 0)
        return TEXT_FAILED;
    while (!text_is_maps_heading(line) && !str_begins(line, "---- no stack trace for")) {
        bool same = false;
        if (!text_match(r, PATTERN_THREAD_START, line))
            return TEXT_OTHER_FORM;
        if (read_thread(r, &line, &same) < 0)
            return TEXT_FAILED;
        if (same && r->p->n_samples)
            r->p->values[r->p->n_samples - 1]++;
        if (!same && text_add_sample(r, &(int64_t){1}, NULL) < 0)
            return TEXT_FAILED;
        r->depth = 0;
    }
    if (text_read_maps(r) < 0)
        return TEXT_FAILED;
    drop_repeated_frames(r->p);
    return TEXT_READ;
}

/* ---- choosing the form ---- */

/* Parses the text as one form; sets *ret if it has that form. */
static enum text_result try_form(enum text_result (*read)(struct text_reader *r), struct str text,
                                 struct profile **ret, struct err *err)
{
    struct text_pattern *patterns[N_PATTERNS] = {0};
    struct text_reader r = {.lines = {.p = text.p, .end = text.p + text.n}, .patterns = patterns, .err = err};
    r.p = profile_new(err);
    enum text_result result = r.p ? read(&r) : TEXT_FAILED;
    if (err->kind != ERR_NONE || (result == TEXT_READ && text_set_dropped_frames(r.p, err) < 0))
        result = TEXT_FAILED;
    if (result == TEXT_READ)
        *ret = r.p;
    else
        profile_free(r.p);
    hash_index_release(&r.addresses);
    free(r.stack);
    text_match_release(&r);
    return result;
}

int profile_parse_text(const void *p, size_t n, struct profile **ret, struct err *err)
{
    static enum text_result (*const forms[])(struct text_reader *) = {text_read_heap, text_read_count,
                                                                      text_read_thread, text_read_contention};
    struct err why = ERR_INIT;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        switch (try_form(forms[i], (struct str){p, n}, ret, &why)) {
        case TEXT_READ:
            return 0;
        case TEXT_FAILED:
            *err = why;
            return err_wrap(err, "parsing profile");
        case TEXT_OTHER_FORM:
        default:
            break;
        }
    }
    return err_set(err, ERR_UNRECOGNIZED, "parsing profile: unrecognized profile format");
}
