#include "gateway/ssh/window.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/tcp.h>
#else
#include <netinet/tcp.h>
#endif

#include "base/banned.h"

void window_init(struct window *w, int64_t rtt_ms, int64_t now)
{
    const int64_t fast = WINDOW_FAST_RATE / 1000, min_ms = WINDOW_MIN / fast,
                  max_ms = WINDOW_START_MAX / fast;
    uint32_t size = rtt_ms <= min_ms   ? WINDOW_MIN
                    : rtt_ms >= max_ms ? WINDOW_START_MAX
                                       : (uint32_t)(rtt_ms * fast);
    *w = (struct window){.size = size, .rtt_ms = rtt_ms, .round_start = now};
}

void window_record_read(struct window *w, size_t n, int64_t now)
{
    int64_t elapsed = now - w->round_start;
    w->n_read += n;
    if (w->rtt_ms <= 0 || elapsed < w->rtt_ms)
        return;
    uint64_t needed = 2 * w->n_read * (uint64_t)w->rtt_ms / (uint64_t)elapsed;
    if (needed > w->size)
        w->size = needed < WINDOW_MAX ? (uint32_t)needed : WINDOW_MAX;
    w->round_start = now;
    w->n_read = 0;
}

uint32_t window_enlargement(const struct window *w, uint64_t left)
{
    return left < w->size / 4 * 3 ? w->size - (uint32_t)left : 0;
}

int64_t window_tcp_rtt(int fd)
{
#ifdef __linux__
    /* The kernel's own header has tcpi_min_rtt; an older kernel fills in a shorter struct. */
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return -1;
    if (size < offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt)
        return info.tcpi_rtt / 1000;
    /* All ones means no measurement. */
    return (info.tcpi_min_rtt == UINT32_MAX ? info.tcpi_rtt : info.tcpi_min_rtt) / 1000;
#else
    (void)fd;
    return -1;
#endif
}
