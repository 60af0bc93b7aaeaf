/*
 * libssh2 alone: `raw PORT USER KEY TO_PORT PATH` logs in to an sshd on loopback, opens one channel to
 * localhost:TO_PORT, requests PATH over HTTP and discards the answer, with blocking calls. It does not check
 * the host key. Prints `bytes=N ms=N`; the time begins at the first byte. No program that uses libssh2
 * can be faster.
 */
#include <arpa/inet.h>
#include <libssh2.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

enum { PIECE = 128 << 10 };

static void give_up(LIBSSH2_SESSION *s, const char *what)
{
    char *text = NULL;
    if (s)
        libssh2_session_last_error(s, &text, NULL, 0);
    fprintf(stderr, "raw: %s%s%s\n", what, text ? ": " : "", text ? text : "");
    exit(1);
}

static int connect_to(unsigned port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a) < 0)
        give_up(NULL, "cannot connect");
    return fd;
}

static void request_path(LIBSSH2_SESSION *s, LIBSSH2_CHANNEL *c, const char *path)
{
    char request[500];
    int n = snprintf(request, sizeof request,
                     "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    if (libssh2_channel_write(c, request, (size_t)n) != n)
        give_up(s, "cannot send the request");
}

int main(int argc, char **argv)
{
    static char piece[PIECE];
    if (argc != 6 || libssh2_init(0) != 0)
        give_up(NULL, "usage: raw PORT USER KEY TO_PORT PATH");
    LIBSSH2_SESSION *s = libssh2_session_init();
    int fd = connect_to((unsigned)strtoul(argv[1], NULL, 10));
    /* These are the algorithms that profgrab prefers with this version of libssh2 and that sshd accepts. */
    libssh2_session_method_pref(s, LIBSSH2_METHOD_CRYPT_SC, "aes128-ctr");
    libssh2_session_method_pref(s, LIBSSH2_METHOD_MAC_SC, "hmac-sha2-256");
    if (libssh2_session_handshake(s, fd) != 0 ||
        libssh2_userauth_publickey_fromfile(s, argv[2], NULL, argv[3], NULL) != 0)
        give_up(s, "cannot log in");
    int to = (int)strtol(argv[4], NULL, 10);
    LIBSSH2_CHANNEL *c = libssh2_channel_direct_tcpip(s, "localhost", to);
    if (!c)
        give_up(s, "cannot open a channel");
    request_path(s, c, argv[5]);
    uint64_t bytes = 0;
    int64_t since = 0;
    for (ssize_t n; (n = libssh2_channel_read(c, piece, sizeof piece)) > 0; bytes += (uint64_t)n)
        since = since ? since : clock_now();
    printf("bytes=%llu ms=%lld\n", (unsigned long long)bytes, (long long)(clock_now() - since));
    close(fd);
    return 0;
}
