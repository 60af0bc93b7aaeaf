/*
 * A push parser for the batches or events of a trace. It does not parse their content. Between two pieces it
 * keeps its position, the incomplete number, the number of bytes to skip, and which contents the current
 * generation has so far.
 *
 * Since 1.22 a trace is a sequence of batches: a type, four numbers of which the last is a size, then that
 * many bytes. The parser reads the first of these bytes, which is the kind of the content, and skips the
 * rest. Batches belong to generations. One generation follows another, and each has its own tables. Before
 * 1.22 a trace was a sequence of events: a byte with the type and the number of arguments, then the
 * arguments, which are numbers. If an event has four or more arguments, their size in bytes precedes them.
 *
 * Each position has a row in the table `positions`: a function that reads bytes of the piece, or a function
 * that gets the next number.
 */
#include "proto/proto.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

#define BATCH_MAX 65536 /* also the size of the runtime's buffers before 1.22, which limits an event */
#define TEXT_MAX 1000000
#define LAST_SHIFT 63 /* the shift of a number's tenth byte, of which only one bit fits */

/* The types of batches, from 1.22 on; END_OF_GENERATION from 1.26 on. */
enum { BATCH = 1, EXPERIMENTAL_BATCH = 49, END_OF_GENERATION = 52 };
/* The first byte of a batch: the kind of its content. The clock's frequency has its own batch before 1.25,
 * later it is part of a sync batch. */
enum { STRINGS = 4, FREQUENCY = 8, SYNC = 50 };
/* The events before 1.22 that need special treatment. */
enum {
    EVENT_BATCH = 1,
    EVENT_FREQUENCY = 2,
    EVENT_STACK = 3,
    EVENT_STRING = 37,
    EVENT_LOG = 48,
    EVENT_CPU_SAMPLE
};

/* The number of arguments of each event, its time included. A stack has two, and four for each frame; a
 * string is not a sequence of numbers. */
static const unsigned char arguments_of[] = {
    0, 2, 1, 0, 3, 2, 1, 3, 1, 2, /* 0 to 9 */
    1, 2, 3, 4, 3, 1, 2, 2, 2, 2, /* 10 to 19 */
    2, 4, 2, 2, 2, 2, 2, 2, 2, 4, /* 20 to 29 */
    1, 2, 2, 2, 2, 1, 1, 0, 2, 3, /* 30 to 39 */
    3, 4, 2, 2, 1, 5, 3, 5, 4, 5, /* 40 to 49 */
};

enum position {
    HEADER,
    UNKNOWN_FORMAT,
    BATCH_TYPE,
    BATCH_EXPERIMENT,
    BATCH_GENERATION,
    BATCH_THREAD,
    BATCH_TIME,
    BATCH_SIZE,
    BATCH_FIRST_BYTE,
    BATCH_REST,
    EVENT_TYPE,
    EVENT_ARGUMENT,
    EVENT_SIZE,
    EVENT_SIZED_ARGUMENT,
    STRING_ID,
    TEXT_SIZE,
    TEXT,
};

struct trace_scan {
    /* the piece being read, and the offset of its next byte */
    const unsigned char *p;
    const unsigned char *end;
    uint64_t at;

    enum position position;
    char header[TRACE_HEADER_SIZE];
    unsigned type;    /* of the current batch or event */
    uint64_t part_at; /* offset of the current batch or event */
    uint64_t number;  /* the number in progress: its low `shift` bits are known */
    unsigned shift;
    uint64_t left;       /* bytes left of a batch or text, or arguments left of an event */
    uint64_t region_end; /* of sized arguments */
    uint64_t arguments;  /* of the event, so far */

    uint64_t generation; /* the generation that has not ended; 0: none */
    bool has_clock;      /* the generation (before 1.22 the trace) has a clock's frequency */
    bool has_strings;

    struct trace_summary summary;
    bool failed;
    struct err why; /* every later call returns it */
};

#define AT "at byte %llu: "

static unsigned long long part_at(const struct trace_scan *s)
{
    return s->part_at;
}

struct trace_scan *trace_scan_new(struct err *err)
{
    struct trace_scan *s = calloc(1, sizeof *s);
    if (!s)
        err_nomem(err);
    return s;
}

void trace_scan_free(struct trace_scan *s)
{
    free(s);
}

/* ---- the header ---- */

/* Parses the whole header: `go 1.`, the version's digits, ` trace`, zeros up to the end. */
static bool parse_header(const char *p, unsigned *ret_minor)
{
    static const char before[] = "go 1.", behind[] = " trace";
    size_t at = sizeof before - 1;
    if (memcmp(p, before, at) != 0)
        return false;
    unsigned minor = 0, digits = 0;
    for (; p[at] >= '0' && p[at] <= '9' && digits < 3; at++, digits++)
        minor = minor * 10 + (unsigned)(p[at] - '0');
    if (digits == 0 || memcmp(p + at, behind, sizeof behind - 1) != 0)
        return false;
    for (at += sizeof behind - 1; at < TRACE_HEADER_SIZE; at++)
        if (p[at])
            return false;
    *ret_minor = minor;
    return true;
}

int trace_parse_header(const void *p, size_t n, unsigned *ret_minor, struct err *err)
{
    char shown[64];
    if (n < TRACE_HEADER_SIZE)
        return err_set(err, ERR_FAILED, "cut off inside the header of a trace after %zu bytes", n);
    if (!parse_header(p, ret_minor)) {
        text_printable(shown, sizeof shown, p, TRACE_HEADER_SIZE);
        return err_set(err, ERR_FAILED, "this is no execution trace: it begins with \"%s\"", shown);
    }
    return 0;
}

static enum position first_position(unsigned minor)
{
    switch (minor) {
    case 11:
    case 19:
    case 21:
        return EVENT_TYPE;
    case 22:
    case 23:
    case 25:
    case 26:
        return BATCH_TYPE;
    default:
        return UNKNOWN_FORMAT;
    }
}

static int read_header(struct trace_scan *s, struct err *err)
{
    s->header[s->at++] = (char)*s->p++;
    if (s->at < TRACE_HEADER_SIZE)
        return 0;
    if (trace_parse_header(s->header, TRACE_HEADER_SIZE, &s->summary.minor, err))
        return -1;
    s->position = first_position(s->summary.minor);
    return 0;
}

static int skip_unknown(struct trace_scan *s, struct err *err)
{
    (void)err;
    s->at += (uint64_t)(s->end - s->p);
    s->p = s->end;
    return 0;
}

/* ---- batches, from 1.22 on ---- */

/* Returns the content that the open generation still lacks, or NULL if it may end here. Each generation has
 * strings, because the runtime registers some when it begins and writes them when it ends. */
static const char *missing_in_generation(const struct trace_scan *s)
{
    if (!s->has_clock)
        return "its clock's frequency";
    return s->has_strings ? NULL : "its strings";
}

static int end_generation(struct trace_scan *s, struct err *err)
{
    const char *lacking = missing_in_generation(s);
    if (lacking)
        return err_set(err, ERR_FAILED, AT "the generation that ends here lacks %s", part_at(s), lacking);
    s->generation = 0;
    s->has_clock = s->has_strings = false;
    return 0;
}

static int read_batch_type(struct trace_scan *s, struct err *err)
{
    s->part_at = s->at++;
    s->type = *s->p++;
    if (s->type == END_OF_GENERATION && s->summary.minor >= 26)
        return end_generation(s, err);
    if (s->type != BATCH && s->type != EXPERIMENTAL_BATCH)
        return err_set(err, ERR_FAILED, AT "expected the start of a batch, found the type %u", part_at(s),
                       s->type);
    s->position = s->type == BATCH ? BATCH_GENERATION : BATCH_EXPERIMENT;
    return 0;
}

static int read_batch_experiment(struct trace_scan *s, struct err *err)
{
    (void)err;
    s->at++;
    s->p++;
    s->position = BATCH_GENERATION;
    return 0;
}

static int read_batch_generation(struct trace_scan *s, uint64_t generation, struct err *err)
{
    /* Before 1.26 only the start of the next generation marks the end of one. */
    bool follows = s->summary.minor < 26 && generation == s->generation + 1;
    if (generation == 0 || (s->generation && generation != s->generation && !follows))
        return err_set(err, ERR_FAILED,
                       AT "a batch of generation %llu, the previous batch has generation %llu", part_at(s),
                       (unsigned long long)generation, (unsigned long long)s->generation);
    if (s->generation && follows && end_generation(s, err))
        return -1;
    s->summary.generations += s->generation == 0;
    s->generation = generation;
    s->position = BATCH_THREAD;
    return 0;
}

static int read_batch_number(struct trace_scan *s, uint64_t number, struct err *err)
{
    (void)number, (void)err;
    s->position = s->position == BATCH_THREAD ? BATCH_TIME : BATCH_SIZE;
    return 0;
}

static int read_batch_size(struct trace_scan *s, uint64_t size, struct err *err)
{
    if (size > BATCH_MAX)
        return err_set(err, ERR_FAILED, AT "a batch has %llu bytes, which is too many", part_at(s),
                       (unsigned long long)size);
    s->summary.batches++;
    s->left = size;
    if (size == 0)
        s->position = BATCH_TYPE;
    else
        s->position = s->type == BATCH ? BATCH_FIRST_BYTE : BATCH_REST;
    return 0;
}

static int read_batch_first_byte(struct trace_scan *s, struct err *err)
{
    (void)err;
    s->has_strings |= *s->p == STRINGS;
    s->has_clock |= *s->p == (s->summary.minor < 25 ? FREQUENCY : SYNC);
    s->position = BATCH_REST;
    return 0;
}

/* Skips the available part of the bytes that are left. */
static void skip_region(struct trace_scan *s)
{
    size_t n = (size_t)(s->end - s->p);
    if (n > s->left)
        n = (size_t)s->left;
    s->p += n;
    s->at += n;
    s->left -= n;
}

static int skip_batch_rest(struct trace_scan *s, struct err *err)
{
    (void)err;
    skip_region(s);
    if (s->left == 0)
        s->position = BATCH_TYPE;
    return 0;
}

/* ---- events, up to 1.21 ---- */

static int read_event_type(struct trace_scan *s, struct err *err)
{
    s->part_at = s->at++;
    unsigned byte = *s->p++, last = s->summary.minor < 19 ? EVENT_LOG : EVENT_CPU_SAMPLE;
    s->type = byte & 63;
    if (s->type == 0 || s->type > last)
        return err_set(err, ERR_FAILED, AT "an event of the unknown type %u", part_at(s), s->type);
    s->summary.events++;
    s->arguments = 0;
    s->left = (byte >> 6) + 1; /* the byte does not count the first argument */
    if (s->type == EVENT_STRING)
        s->position = STRING_ID;
    else
        s->position = s->left < 4 ? EVENT_ARGUMENT : EVENT_SIZE;
    return 0;
}

static int end_event(struct trace_scan *s, struct err *err)
{
    bool is_valid = s->type == EVENT_STACK ? s->arguments % 4 == 2 : s->arguments == arguments_of[s->type];
    if (!is_valid)
        return err_set(err, ERR_FAILED, AT "an event of type %u with %llu arguments", part_at(s), s->type,
                       (unsigned long long)s->arguments);
    s->summary.batches += s->type == EVENT_BATCH;
    s->has_clock |= s->type == EVENT_FREQUENCY;
    s->position = s->type == EVENT_LOG ? TEXT_SIZE : EVENT_TYPE;
    return 0;
}

static int read_event_argument(struct trace_scan *s, uint64_t number, struct err *err)
{
    (void)number;
    s->arguments++;
    return --s->left == 0 ? end_event(s, err) : 0;
}

static int read_event_size(struct trace_scan *s, uint64_t size, struct err *err)
{
    if (size > BATCH_MAX)
        return err_set(err, ERR_FAILED, AT "an event has %llu bytes, which is too many", part_at(s),
                       (unsigned long long)size);
    s->region_end = s->at + size;
    s->position = EVENT_SIZED_ARGUMENT;
    return size == 0 ? end_event(s, err) : 0;
}

static int read_sized_argument(struct trace_scan *s, uint64_t number, struct err *err)
{
    (void)number;
    s->arguments++;
    if (s->at > s->region_end)
        return err_set(err, ERR_FAILED, AT "an event's last argument continues after its end", part_at(s));
    return s->at == s->region_end ? end_event(s, err) : 0;
}

static int read_string_id(struct trace_scan *s, uint64_t id, struct err *err)
{
    if (id == 0)
        return err_set(err, ERR_FAILED, AT "a string with the number 0", part_at(s));
    s->position = TEXT_SIZE;
    return 0;
}

static int read_text_size(struct trace_scan *s, uint64_t size, struct err *err)
{
    if (size > TEXT_MAX || (size == 0 && s->type == EVENT_STRING))
        return err_set(err, ERR_FAILED, AT "a string has %llu bytes, which are too few or too many",
                       part_at(s), (unsigned long long)size);
    s->left = size;
    s->position = size ? TEXT : EVENT_TYPE;
    return 0;
}

static int read_text(struct trace_scan *s, struct err *err)
{
    (void)err;
    skip_region(s);
    if (s->left == 0)
        s->position = EVENT_TYPE;
    return 0;
}

/* ---- table of positions ---- */

typedef int read_fn(struct trace_scan *s, struct err *err);
typedef int number_fn(struct trace_scan *s, uint64_t number, struct err *err);

static const struct {
    const char *inside; /* NULL: a trace may end here */
    read_fn *read;      /* reads at least a byte, or changes the position; NULL: call `number` */
    number_fn *number;
} positions[] = {
    [HEADER] = {"the header", read_header, NULL},
    [UNKNOWN_FORMAT] = {NULL, skip_unknown, NULL},
    [BATCH_TYPE] = {NULL, read_batch_type, NULL},
    [BATCH_EXPERIMENT] = {"a batch", read_batch_experiment, NULL},
    [BATCH_GENERATION] = {"a batch", NULL, read_batch_generation},
    [BATCH_THREAD] = {"a batch", NULL, read_batch_number},
    [BATCH_TIME] = {"a batch", NULL, read_batch_number},
    [BATCH_SIZE] = {"a batch", NULL, read_batch_size},
    [BATCH_FIRST_BYTE] = {"a batch", read_batch_first_byte, NULL},
    [BATCH_REST] = {"a batch", skip_batch_rest, NULL},
    [EVENT_TYPE] = {NULL, read_event_type, NULL},
    [EVENT_ARGUMENT] = {"an event", NULL, read_event_argument},
    [EVENT_SIZE] = {"an event", NULL, read_event_size},
    [EVENT_SIZED_ARGUMENT] = {"an event", NULL, read_sized_argument},
    [STRING_ID] = {"a string", NULL, read_string_id},
    [TEXT_SIZE] = {"a string", NULL, read_text_size},
    [TEXT] = {"a string", read_text, NULL},
};

/* Continues the number in progress. If *ret_done, s->number is complete. */
static int read_number(struct trace_scan *s, bool *ret_done, struct err *err)
{
    bool done = false;
    while (s->p < s->end && !done) {
        unsigned byte = *s->p++;
        s->at++;
        if (s->shift == LAST_SHIFT && byte > 1)
            return err_set(err, ERR_FAILED, AT "a number of more than 64 bits", part_at(s));
        s->number |= (uint64_t)(byte & 0x7f) << s->shift;
        s->shift += 7;
        done = byte < 0x80;
    }
    *ret_done = done;
    return 0;
}

static int read_step(struct trace_scan *s, struct err *err)
{
    bool done = false;
    if (positions[s->position].read)
        return positions[s->position].read(s, err);
    if (read_number(s, &done, err))
        return -1;
    if (!done)
        return 0;
    uint64_t number = s->number;
    s->number = 0;
    s->shift = 0;
    return positions[s->position].number(s, number, err);
}

int trace_scan_feed(struct trace_scan *s, const void *p, size_t n, struct err *err)
{
    s->p = p;
    s->end = s->p + n;
    while (!s->failed && s->p < s->end)
        if (read_step(s, &s->why))
            s->failed = true;
    if (s->failed && err)
        *err = s->why;
    return s->failed ? -1 : 0;
}

/* ---- the end ---- */

/* Returns the content that the trace lacks at its end, or NULL if it is complete. */
static const char *missing_in_trace(const struct trace_scan *s)
{
    if (s->position == EVENT_TYPE)
        return s->has_clock ? NULL : "its clock's frequency";
    if (s->position == UNKNOWN_FORMAT || s->generation == 0)
        return NULL;
    return s->summary.minor >= 26 ? "the end of its last generation" : missing_in_generation(s);
}

static int check_complete(const struct trace_scan *s, struct err *err)
{
    unsigned minor;
    if (s->position == HEADER)
        return trace_parse_header(s->header, (size_t)s->at, &minor, err);
    if (s->at == TRACE_HEADER_SIZE)
        return err_set(err, ERR_FAILED, "the trace has nothing after its header");
    if (positions[s->position].inside)
        return err_set(err, ERR_FAILED, "cut off inside %s after %llu bytes", positions[s->position].inside,
                       (unsigned long long)s->at);
    const char *lacking = missing_in_trace(s);
    if (lacking)
        return err_set(err, ERR_FAILED, "cut off after %llu bytes: the trace lacks %s",
                       (unsigned long long)s->at, lacking);
    return 0;
}

int trace_scan_finish(struct trace_scan *s, struct trace_summary *ret, struct err *err)
{
    if (trace_scan_feed(s, "", 0, err) || check_complete(s, err))
        return -1;
    *ret = s->summary;
    return 0;
}
