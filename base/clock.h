/* Time: a clock for deadlines, and UTC for output. Values without another unit are in milliseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Returns the time of the monotonic clock. Only differences are meaningful. */
int64_t clock_now(void);

/* Returns the deadline `ms` from now, or CLOCK_NEVER for a negative ms. */
int64_t clock_deadline(int64_t ms);
#define CLOCK_NEVER INT64_MAX

/* Returns the smaller value: the earlier of two instants, or the shorter of two durations. */
int64_t clock_min(int64_t a, int64_t b);

/* Returns the timeout for poll(2) in milliseconds: 0 if the deadline has passed, -1 for CLOCK_NEVER. */
int clock_poll_timeout(int64_t deadline);

/* Returns the CPU time of the calling thread in nanoseconds. */
int64_t clock_thread_cpu_ns(void);

/* Returns the CPU time of a process in nanoseconds, without that of its child processes; 0 if it has ended.
 */
int64_t clock_process_cpu_ns(pid_t pid);

/* Returns the UTC time in milliseconds since 1970. */
int64_t clock_utc(void);

/* Formats `2026-11-21T07:48:00Z`; clock_format_millis adds milliseconds. cap >= 32. Returns dst. */
char *clock_format(char *dst, size_t cap, int64_t utc_ms);
char *clock_format_millis(char *dst, size_t cap, int64_t utc_ms);

/* Parses the formats of clock_format and clock_format_millis. Returns -1 for other text. */
int clock_parse(const char *text, int64_t *ret_utc_ms);

/* Formats `2026-11-21T07-48-00Z`, without colons. cap >= 32. Returns dst. */
char *clock_format_for_file_name(char *dst, size_t cap, int64_t utc_ms);

/* Returns a random duration between 0.5 and 1.5 times `ms`, so that clients that failed together do not retry
 * together. */
int64_t clock_jitter(int64_t ms);

#endif
