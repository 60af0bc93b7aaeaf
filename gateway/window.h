/*
 * How much a channel may have on its way to us: its receive window (RFC 4254 section 5.2).
 *
 * A window smaller than what a line holds (its round-trip time times its rate) leaves the line idle. One that
 * is larger than what the line takes is filled all the same, in the far sshd, which makes room for it a few
 * kilobytes at a time and copies all of it each time. So it begins with what a fast line of that length
 * holds, within narrow bounds, and grows to twice of what came in a round trip: as fast as TCP's own window
 * does (docs/performance.md has the figures).
 */
#ifndef GATEWAY_WINDOW_H
#define GATEWAY_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define WINDOW_LEAST (2u << 20)
#define WINDOW_START (5u << 20) /* at most so much to begin with */
#define WINDOW_MOST (16u << 20)
#define WINDOW_FAST (100u << 20) /* bytes a second */

struct window {
    uint32_t size;  /* in bytes */
    int64_t rtt_ms; /* the round-trip time; 0, unknown or none to speak of: the window stays as it is */
    int64_t since;  /* clock_now() at the beginning of the round trip that is looked at */
    uint64_t got;   /* in it */
};
void window_init(struct window *w, int64_t rtt_ms, int64_t now);

/* Takes note of n bytes that somebody took. */
void window_took(struct window *w, size_t n, int64_t now);

/* By how much to enlarge what is `left` of it at the other end; 0: by nothing yet, it is enough. */
uint32_t window_enlargement(const struct window *w, uint64_t left);

/* The least round-trip time that the kernel saw on a TCP connection, in whole milliseconds. -1 where it does
 * not say: of other descriptors, on other systems than Linux. */
int64_t window_tcp_rtt(int fd);

#endif
