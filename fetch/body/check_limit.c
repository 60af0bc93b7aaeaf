#include "fetch/body/check_limit.h"

#include "base/banned.h"

#define NS_PER_S INT64_C(1000000000)
#define BODY_NS (2 * NS_PER_S)
#define BODY_NS_PER_BYTE 250
#define ALL_NS (10 * NS_PER_S)
#define ALL_NS_PER_BYTE 100
#define ALL_NS_MAX (60 * NS_PER_S)

/* Beyond this number of bytes, products with BODY_NS_PER_BYTE could overflow. */
#define BYTES_MAX (UINT64_C(1) << 50)

void check_limit_init(struct check_limit *limit)
{
    *limit = (struct check_limit){.bytes = 0};
    pthread_mutex_init(&limit->mutex, NULL);
}

void check_limit_release(struct check_limit *limit)
{
    pthread_mutex_destroy(&limit->mutex);
}

static int64_t allowed_ns(int64_t fixed, int64_t per_byte, uint64_t bytes)
{
    return fixed + per_byte * (int64_t)(bytes < BYTES_MAX ? bytes : BYTES_MAX);
}

void check_time_begin(struct check_time *time, uint64_t bytes)
{
    struct check_limit *limit = time->limit;
    if (!limit)
        return;
    time->bytes += bytes;
    time->counted_ns = clock_thread_cpu_ns();
    pthread_mutex_lock(&limit->mutex);
    limit->bytes += bytes;
    pthread_mutex_unlock(&limit->mutex);
}

/* `what` begins the message: "checking its body". */
static int set_limit_error(const char *what, int64_t allowed, struct err *err)
{
    err_set(err, ERR_FAILED,
            "%s takes more than %.1f s of processor time, more than real profiles need: "
            "the rest is not checked",
            what, (double)allowed / (double)NS_PER_S);
    return err_hint(
        err, "the bytes that arrived are kept: `profgrab pprof FILE` reads them within limits of memory "
             "and time");
}

int check_time_count(struct check_time *time, struct err *err)
{
    struct check_limit *limit = time->limit;
    if (!limit)
        return 0;
    int64_t now = clock_thread_cpu_ns(), took = now - time->counted_ns;
    time->counted_ns = now;
    time->used_ns += took;
    pthread_mutex_lock(&limit->mutex);
    limit->used_ns += took;
    int64_t all_used = limit->used_ns, all = allowed_ns(ALL_NS, ALL_NS_PER_BYTE, limit->bytes);
    pthread_mutex_unlock(&limit->mutex);
    int64_t body = allowed_ns(BODY_NS, BODY_NS_PER_BYTE, time->bytes);
    all = clock_min(all, ALL_NS_MAX);
    if (time->used_ns > body)
        return set_limit_error("checking its body", body, err);
    if (all_used > all)
        return set_limit_error("checking all bodies of this process", all, err);
    return 0;
}
