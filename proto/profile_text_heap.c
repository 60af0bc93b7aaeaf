/* Parses heap profiles as text: heap and allocs with debug=1. */
#include <math.h>

#include "proto/profile_text.h"
#include "base/banned.h"

/* The header of a heap profile. */
struct heap {
    bool is_sampled; /* the samples are only some of the allocations: scale them */
    bool has_allocs;
    int64_t rate; /* bytes between two samples */
};

/* Reads the groups of PATTERN_HEAP_HEADER: 1 and 2 are the objects and bytes in use, 3 and 4 those allocated,
 * 5 is the kind, 6 the rate. */
static bool read_kind(const struct str groups[TEXT_MAX_GROUPS], struct heap *ret)
{
    int64_t rate = 0;
    if (groups[6].n && !text_int(groups[6], 10, &rate))
        return false;
    ret->has_allocs = (!str_equal(groups[3], groups[1]) && !str_is(groups[3], "0")) ||
                      (!str_equal(groups[4], groups[2]) && !str_is(groups[4], "0"));
    if (str_is(groups[5], "heapz_v2") || str_is(groups[5], "heap_v2")) {
        ret->is_sampled = true;
        ret->rate = rate;
    } else if (str_is(groups[5], "heapprofile")) {
        ret->rate = 1;
    } else if (str_is(groups[5], "heap")) {
        ret->is_sampled = true;
        ret->rate = rate / 2;
    } else {
        return false;
    }
    return true;
}

static bool read_header(struct text_reader *r, struct heap *ret)
{
    struct str line = r->lines.text;
    *ret = (struct heap){.rate = 1};
    if (text_match(r, PATTERN_HEAP_HEADER, line))
        return read_kind(r->groups, ret);
    return text_match(r, PATTERN_GROWTH_HEADER, line) || text_match(r, PATTERN_FRAGMENTATION_HEADER, line);
}

static int set_types(struct text_reader *r, const struct heap *h)
{
    if (text_set_period(r, STR("space"), "bytes", h->rate) < 0)
        return -1;
    if (!h->has_allocs)
        return text_add_type(r, "objects", "count") < 0 ? -1 : text_add_type(r, "space", "bytes");
    return text_add_type(r, "alloc_objects", "count") < 0 || text_add_type(r, "alloc_space", "bytes") < 0 ||
                   text_add_type(r, "inuse_objects", "count") < 0
               ? -1
               : text_add_type(r, "inuse_space", "bytes");
}

/* Scales a sample: the probability to sample an allocation is 1 - exp(-size / rate). */
static void scale_sample(int64_t *count, int64_t *size, int64_t rate)
{
    if (*count == 0 || *size == 0) {
        *count = *size = 0;
        return;
    }
    if (rate <= 1)
        return;
    double mean = (double)*size / (double)*count, factor = 1 / (1 - exp(-mean / (double)rate));
    *count = profile_double_to_int((double)*count * factor);
    *size = profile_double_to_int((double)*size * factor);
}

/* Parses a number of the sample. Sets the error if it is out of range. */
static int read_number(struct text_reader *r, struct str line, struct str digits, int64_t *ret)
{
    char sample[200], number[100];
    if (text_int(digits, 10, ret))
        return 0;
    return err_set(r->err, ERR_FAILED,
                   "malformed sample: %s: strconv.ParseInt: parsing \"%s\": value out of range",
                   text_printable(sample, sizeof sample, line.p, line.n),
                   text_printable(number, sizeof number, digits.p, digits.n));
}

/* The digits of one count and its size, and the array for both values. `what` is "allocation" or "inuse". */
struct pair {
    const char *what;
    struct str count, size;
    int64_t *values;
};

/* Parses a pair and scales it. *ret_object_size is the size of one object. */
static int read_pair(struct text_reader *r, const struct heap *h, struct str line, const struct pair *pair,
                     int64_t *ret_object_size)
{
    int64_t count = 0, size = 0;
    if (read_number(r, line, pair->count, &count) < 0 || read_number(r, line, pair->size, &size) < 0)
        return -1;
    if (count == 0 && size != 0)
        return err_set(r->err, ERR_FAILED, "%s count was 0 but %s bytes was %lld", pair->what, pair->what,
                       (long long)size);
    if (count != 0) {
        *ret_object_size = count == -1 ? (int64_t) - (uint64_t)size : size / count;
        if (h->is_sampled)
            scale_sample(&count, &size, h->rate);
    }
    pair->values[0] = count;
    pair->values[1] = size;
    return 0;
}

/* Reads "1: 16 [2: 32] @ 0x46e6c1 0x40a0c5": the pairs in use and allocated, and a stack. */
static int read_sample(struct text_reader *r, const struct heap *h, struct str line)
{
    struct profile_label label = {.is_number = true};
    int64_t values[4];
    if (!text_match(r, PATTERN_HEAP_SAMPLE, line))
        return r->err->kind == ERR_NONE
                   ? err_set(r->err, ERR_FAILED, "unexpected number of sample values: got 0, want 6")
                   : -1;
    const struct pair allocs = {"allocation", r->groups[3], r->groups[4], values},
                      inuse = {"inuse", r->groups[1], r->groups[2], values + (h->has_allocs ? 2 : 0)};
    struct str stack = r->groups[5];
    if ((h->has_allocs && read_pair(r, h, line, &allocs, &label.num) < 0) ||
        read_pair(r, h, line, &inuse, &label.num) < 0 || text_push_addresses(r, stack, true, line) < 0 ||
        profile_intern(r->p, "bytes", strlen("bytes"), &label.key, r->err) < 0)
        return -1;
    return text_add_sample(r, values, &label);
}

enum text_result text_read_heap(struct text_reader *r)
{
    struct heap h;
    bool has_line = lines_next(&r->lines);
    if (lines_check(&r->lines, r->err) < 0)
        return TEXT_FAILED;
    if (!has_line || !read_header(r, &h))
        return TEXT_OTHER_FORM;
    if (set_types(r, &h) < 0)
        return TEXT_FAILED;
    while (lines_next(&r->lines)) {
        struct str line = str_trim(r->lines.text);
        if (text_has_no_data(line))
            continue;
        if (text_is_maps_heading(line))
            break;
        if (read_sample(r, &h, line) < 0)
            return TEXT_FAILED;
    }
    return lines_check(&r->lines, r->err) < 0 || text_read_maps(r) < 0 ? TEXT_FAILED : TEXT_READ;
}
