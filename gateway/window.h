/*
 * How much a channel may have on its way to us: its receive window (RFC 4254 section 5.2).
 *
 * A window smaller than what the line holds (its round-trip time times its rate) leaves the line idle; a
 * large one on a short line makes the far sshd grow its buffers for nothing, which costs more than it brings
 * (docs/performance.md has the figures). So it follows the round-trip time.
 */
#ifndef GATEWAY_WINDOW_H
#define GATEWAY_WINDOW_H

#include <stdint.h>

#define WINDOW_LEAST (2u << 20)
#define WINDOW_MOST (16u << 20)

/* The window in bytes for a round-trip time in milliseconds; one that is not known is 0. */
uint32_t window_choose(int64_t rtt_ms);

/* The least round-trip time that the kernel saw on a TCP connection, in whole milliseconds. -1 where it does
 * not say: of other descriptors, on other systems than Linux. */
int64_t window_tcp_rtt(int fd);

#endif
