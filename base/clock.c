#include "base/clock.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/banned.h"

int64_t clock_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_deadline(int64_t ms)
{
    return ms < 0 ? CLOCK_NEVER : clock_now() + ms;
}

int64_t clock_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int clock_poll_timeout(int64_t deadline)
{
    if (deadline == CLOCK_NEVER)
        return -1;
    int64_t left = deadline - clock_now();
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

int64_t clock_thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_process_cpu_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) < 0)
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_utc(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Splits a UTC time into its fields; a time that gmtime_r cannot convert becomes 1970. */
static struct tm split_utc(int64_t utc_ms)
{
    time_t seconds = (time_t)(utc_ms / 1000);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm))
        tm = (struct tm){.tm_year = 70, .tm_mday = 1};
    return tm;
}

char *clock_format(char *dst, size_t cap, int64_t utc_ms)
{
    struct tm tm = split_utc(utc_ms);
    strftime(dst, cap, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return dst;
}

char *clock_format_millis(char *dst, size_t cap, int64_t utc_ms)
{
    struct tm tm = split_utc(utc_ms);
    char seconds[32];
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(dst, cap, "%s.%03dZ", seconds, (int)(utc_ms % 1000));
    return dst;
}

int clock_parse(const char *text, int64_t *ret_utc_ms)
{
    struct tm tm = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    int millis = 0;
    if (rest && *rest == '.') {
        for (int i = 1; i <= 3; i++) {
            if (rest[i] < '0' || rest[i] > '9')
                return -1;
            millis = millis * 10 + (rest[i] - '0');
        }
        rest += 4;
    }
    if (!rest || strcmp(rest, "Z") != 0)
        return -1;
    *ret_utc_ms = (int64_t)timegm(&tm) * 1000 + millis;
    return 0;
}

char *clock_format_for_file_name(char *dst, size_t cap, int64_t utc_ms)
{
    struct tm tm = split_utc(utc_ms);
    strftime(dst, cap, "%Y-%m-%dT%H-%M-%SZ", &tm);
    return dst;
}

int64_t clock_jitter(int64_t ms)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ms / 2 + (ms > 0 ? now.tv_nsec / 1000 % ms : 0);
}
