/*
 * A slow network on one machine: `delay MS [MB_PER_SECOND]` makes two network namespaces, each with a tun
 * device, and transfers packets between the two, each MS milliseconds late and at no more than that rate. It
 * prints
 *
 *     near=PID far=PID
 *
 * on standard output: the processes that hold the namespaces (`nsenter -t PID -n COMMAND`; near has the
 * address 10.77.0.1, far 10.77.0.2). It runs until its standard input ends, and then removes everything.
 *
 * A packet waits in one queue for each direction until it is due. At a limited rate packets leave one after
 * the other, and a packet that would wait longer than QUEUE_MS is dropped, as routers do.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MTU = 9000, QUEUE_MS = 100, QUEUE_BYTES = 96 << 20, QUEUE_PACKETS = 1 << 16, BURST = 64 };

static void give_up(const char *what)
{
    fprintf(stderr, "delay: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* One end of the network. */
struct end {
    pid_t pid; /* the process that holds the namespace */
    int tun;
};

/* ---- the namespaces ------------------------------------------------------------------------------------ */

static void set_address(int s, struct ifreq *r, unsigned long what, const char *address)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&r->ifr_addr;
    memset(in, 0, sizeof *in);
    in->sin_family = AF_INET;
    inet_pton(AF_INET, address, &in->sin_addr);
    if (ioctl(s, what, r) < 0)
        give_up(address);
}

static void bring_up(int s, struct ifreq *r)
{
    r->ifr_flags = IFF_UP | IFF_RUNNING;
    if (ioctl(s, SIOCSIFFLAGS, r) < 0)
        give_up("cannot bring the device up");
}

/* Creates a namespace with a tun device and loopback. */
static int make_device(const char *own, const char *other)
{
    if (unshare(CLONE_NEWNET) < 0)
        give_up("cannot make a network namespace (root or CAP_SYS_ADMIN is needed)");
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), s = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    snprintf(r.ifr_name, sizeof r.ifr_name, "line0");
    if (tun < 0 || s < 0 || ioctl(tun, TUNSETIFF, &r) < 0)
        give_up("/dev/net/tun (root or CAP_NET_ADMIN is needed)");
    set_address(s, &r, SIOCSIFADDR, own);
    set_address(s, &r, SIOCSIFDSTADDR, other);
    r.ifr_mtu = MTU;
    if (ioctl(s, SIOCSIFMTU, &r) < 0)
        give_up("cannot set the MTU");
    r.ifr_qlen = 10000;
    if (ioctl(s, SIOCSIFTXQLEN, &r) < 0)
        give_up("cannot set the queue's length");
    bring_up(s, &r);
    struct ifreq lo = {0};
    snprintf(lo.ifr_name, sizeof lo.ifr_name, "lo");
    bring_up(s, &lo);
    close(s);
    return tun;
}

static void send_descriptor(int via, int fd)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {
        .header = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    char byte = 0;
    struct iovec one = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    if (sendmsg(via, &m, 0) < 0)
        give_up("cannot hand the device over");
}

static int receive_descriptor(int via)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    char byte;
    struct iovec one = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &one, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    int fd;
    if (recvmsg(via, &m, 0) <= 0 || m.msg_controllen < sizeof control.header)
        exit(2); /* the child has printed the reason */
    memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    return fd;
}

/* Starts a process that holds a new namespace, with a tun device of these addresses. */
static struct end make_end(const char *own, const char *other)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        give_up("socketpair");
    pid_t pid = fork();
    if (pid < 0)
        give_up("fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(pair[0]);
        send_descriptor(pair[1], make_device(own, other));
        for (;;)
            pause();
    }
    close(pair[1]);
    struct end e = {pid, receive_descriptor(pair[0])};
    close(pair[0]);
    return e;
}

/* ---- the link ------------------------------------------------------------------------------------------ */

struct packet {
    int64_t due;    /* when to send it, by now_ns() */
    uint32_t at, n; /* its position in the ring buffer, and its bytes */
};

/* One direction. The bytes are in a ring buffer. No packet continues from the end of the buffer to its
 * beginning. */
struct queue {
    int from, to; /* tun devices */
    int64_t delay_ns;
    int64_t per_byte_ps; /* picoseconds; 0: the rate has no limit */
    int64_t free_at;     /* when the link has sent all its packets, by now_ns() */
    char *bytes;
    size_t head; /* the position of the next packet */
    struct packet *packets;
    size_t first, n;
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Returns a position with room for a packet, or -1 if the queue is full. */
static int64_t queue_space(struct queue *q)
{
    if (q->n == QUEUE_PACKETS)
        return -1;
    if (q->n == 0)
        return q->head = 0;
    size_t tail = q->packets[q->first].at;
    if (q->head >= tail) {
        if (q->head + MTU <= QUEUE_BYTES)
            return (int64_t)q->head;
        q->head = 0;
    }
    return q->head + MTU < tail ? (int64_t)q->head : -1;
}

/* Adds the packet of n bytes at that position. Drops it if it would wait too long. */
static void queue_add(struct queue *q, size_t at, size_t n, int64_t now)
{
    int64_t starts = q->free_at > now ? q->free_at : now;
    if (q->per_byte_ps && starts - now > QUEUE_MS * INT64_C(1000000))
        return;
    q->free_at = starts + (int64_t)n * q->per_byte_ps / 1000;
    q->packets[(q->first + q->n++) % QUEUE_PACKETS] =
        (struct packet){q->free_at + q->delay_ns, (uint32_t)at, (uint32_t)n};
    q->head = at + n;
}

static void receive_packets(struct queue *q)
{
    char dropped[MTU];
    for (int i = 0; i < BURST; i++) {
        int64_t at = queue_space(q);
        ssize_t n = read(q->from, at < 0 ? dropped : q->bytes + at, MTU);
        if (n <= 0)
            return;
        if (at >= 0)
            queue_add(q, (size_t)at, (size_t)n, now_ns());
    }
}

static void send_packets(struct queue *q)
{
    int64_t now = now_ns();
    for (; q->n > 0 && q->packets[q->first].due <= now; q->n--, q->first = (q->first + 1) % QUEUE_PACKETS) {
        const struct packet *p = &q->packets[q->first];
        if (write(q->to, q->bytes + p->at, p->n) < 0 && errno == EAGAIN)
            return;
    }
}

static void init_queue(struct queue *q, int from, int to, double ms, double mb_per_s)
{
    *q = (struct queue){.from = from, .to = to, .delay_ns = (int64_t)(ms * 1e6)};
    q->per_byte_ps = mb_per_s > 0 ? (int64_t)(1e6 / mb_per_s) : 0;
    q->bytes = malloc(QUEUE_BYTES);
    q->packets = malloc(QUEUE_PACKETS * sizeof *q->packets);
    if (!q->bytes || !q->packets)
        give_up("cannot allocate memory");
}

static void carry_packets(struct queue q[2])
{
    struct pollfd p[3] = {{.fd = STDIN_FILENO, .events = POLLIN},
                          {.fd = q[0].from, .events = POLLIN},
                          {.fd = q[1].from, .events = POLLIN}};
    for (;;) {
        int64_t due = INT64_MAX, now = now_ns();
        for (int i = 0; i < 2; i++)
            if (q[i].n > 0 && q[i].packets[q[i].first].due < due)
                due = q[i].packets[q[i].first].due;
        int64_t wait = due <= now ? 0 : due - now;
        struct timespec t = {wait / 1000000000, wait % 1000000000};
        ppoll(p, 3, due == INT64_MAX ? NULL : &t, NULL);
        char ignored[64];
        if (p[0].revents && read(STDIN_FILENO, ignored, sizeof ignored) <= 0)
            return;
        for (int i = 0; i < 2; i++) {
            receive_packets(&q[i]);
            send_packets(&q[i]);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: delay MS [MB_PER_SECOND]\n");
        return 2;
    }
    struct queue q[2];
    struct end near = make_end("10.77.0.1", "10.77.0.2"), far = make_end("10.77.0.2", "10.77.0.1");
    double rate = argc > 2 ? strtod(argv[2], NULL) : 0;
    init_queue(&q[0], near.tun, far.tun, strtod(argv[1], NULL), rate);
    init_queue(&q[1], far.tun, near.tun, strtod(argv[1], NULL), rate);
    printf("near=%d far=%d\n", (int)near.pid, (int)far.pid);
    fflush(stdout);
    carry_packets(q);
    kill(near.pid, SIGKILL);
    kill(far.pid, SIGKILL);
    return 0;
}
