#include "gateway/window.h"

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

/* What a line is taken to carry, in bytes a millisecond. A window also has to last while the other end waits
 * for its enlargement, and while the kernel finds out how fast the line is. */
#define RATE INT64_C(320000)

uint32_t window_choose(int64_t rtt_ms)
{
    if (rtt_ms * RATE <= WINDOW_LEAST)
        return WINDOW_LEAST;
    return rtt_ms >= WINDOW_MOST / RATE ? WINDOW_MOST : (uint32_t)(rtt_ms * RATE);
}

int64_t window_tcp_rtt(int fd)
{
#ifdef __linux__
    /* The kernel's own header has tcpi_min_rtt; an older kernel fills in less of it. */
    struct tcp_info info;
    socklen_t size = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return -1;
    if (size < offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt)
        return info.tcpi_rtt / 1000;
    /* All ones stands for no measurement. */
    return (info.tcpi_min_rtt == UINT32_MAX ? info.tcpi_rtt : info.tcpi_min_rtt) / 1000;
#else
    (void)fd;
    return -1;
#endif
}
