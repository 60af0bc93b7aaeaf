/*
 * A channel's receive window (RFC 4254 section 5.2), which limits the data in flight to us.
 *
 * If the window is smaller than the connection's round-trip time times its rate, the sender waits. If the
 * window is larger, the far sshd buffers the excess, enlarges its buffer by a few kilobytes at a time and
 * copies it each time. So the window starts with the capacity of a fast connection of that round-trip time,
 * between WINDOW_MIN and WINDOW_START_MAX. It grows to twice the data of a round trip, as TCP's own window
 * does (figures: docs/performance.md).
 */
#ifndef GATEWAY_SSH_WINDOW_H
#define GATEWAY_SSH_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define WINDOW_MIN (2u << 20)
#define WINDOW_START_MAX (5u << 20) /* the largest window at the start */
#define WINDOW_MAX (16u << 20)
#define WINDOW_FAST_RATE (100u << 20) /* of a fast connection, in bytes per second */

struct window {
    uint32_t size;       /* in bytes */
    int64_t rtt_ms;      /* 0: unknown or negligible; the window stays as it is */
    int64_t round_start; /* clock_now() at the start of the current round trip */
    uint64_t n_read;     /* bytes read in the current round trip */
};
void window_init(struct window *w, int64_t rtt_ms, int64_t now);

/* Records that the reader has read n bytes, and enlarges `size` if the rate needs it. */
void window_record_read(struct window *w, size_t n, int64_t now);

/* Returns how many bytes to add to the window if the other end may still send `left` bytes; 0: none yet. */
uint32_t window_enlargement(const struct window *w, uint64_t left);

/* Returns the smallest round-trip time that the kernel has measured on a TCP connection, in whole
 * milliseconds. -1 for other descriptors and on systems other than Linux. */
int64_t window_tcp_rtt(int fd);

#endif
