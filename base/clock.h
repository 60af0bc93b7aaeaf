/* Time: a clock for deadlines, and UTC for people and files. All in milliseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds of a clock that never jumps; only differences mean something. */
int64_t clock_now(void);

/* A deadline `ms` from now; CLOCK_NEVER for a negative ms. */
int64_t clock_deadline(int64_t ms);
#define CLOCK_NEVER INT64_MAX

/* The earlier of two instants, the shorter of two durations. */
int64_t clock_least(int64_t a, int64_t b);

/* What poll(2) wants: milliseconds until the deadline, 0 when it has passed, -1 for CLOCK_NEVER. */
int clock_poll_timeout(int64_t deadline);

/* Milliseconds since 1970 in UTC. */
int64_t clock_utc(void);

/* `2026-11-21T07:48:00Z`, with milliseconds behind the seconds if `millis`. cap >= 32. Returns dst. */
char *clock_format(char *dst, size_t cap, int64_t utc_ms);
char *clock_format_millis(char *dst, size_t cap, int64_t utc_ms);

/* Reads either of these. -1 if it is none; *ret is then untouched. */
int clock_parse(const char *text, int64_t *ret_utc_ms);

/* `2026-11-21T07-48-00Z`: the same without colons, for file names. */
char *clock_format_file(char *dst, size_t cap, int64_t utc_ms);

/* Between half and one and a half times `ms`, another one each time: so that those who wait for the same
 * thing do not come back together. */
int64_t clock_jitter(int64_t ms);

#endif
