#include "cli/term/standard_streams.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/term/signals.h"
#include "base/banned.h"

int standard_stream_write(int fd, const void *p, size_t n, struct err *err)
{
    return fd_write_cancel_if_blocked(fd, p, n, signals_cancel_fd(), err);
}

bool standard_output_has_lost_reader(void)
{
    struct stat st;
    struct pollfd now = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return fstat(now.fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) &&
           poll(&now, 1, 0) > 0 && (now.revents & (POLLERR | POLLHUP)) != 0;
}

int standard_stream_flush(FILE *out, struct err *err)
{
    errno = 0;
    if (fflush(out) == 0 && !ferror(out))
        return 0;
    if (fd_cancelled(signals_cancel_fd()))
        return err_set(err, ERR_CANCELLED, "interrupted");
    /* An earlier write may have failed. Its errno is lost. */
    if (errno == 0 && out == stdout && standard_output_has_lost_reader())
        errno = EPIPE;
    return errno ? err_sys(err, "cannot write to standard output")
                 : err_set(err, ERR_LOCAL_IO, "cannot write to standard output");
}

/* The cookie is the descriptor itself, cast to a pointer. */
static ssize_t write_or_cancel(void *cookie, const char *p, size_t n)
{
    struct err why = ERR_INIT;
    errno = 0;
    if (standard_stream_write((int)(intptr_t)cookie, p, n, &why) == 0)
        return (ssize_t)n;
    if (errno == 0)
        errno = EIO;
    return 0;
}

#ifdef __GLIBC__
static FILE *open_stream(int fd)
{
    const cookie_io_functions_t calls = {.write = write_or_cancel};
    return fopencookie((void *)(intptr_t)fd, "w", calls);
}
#elif defined(__APPLE__)
static int write_piece(void *cookie, const char *p, int n)
{
    return write_or_cancel(cookie, p, (size_t)n) == n ? n : -1;
}

static FILE *open_stream(int fd)
{
    return funopen((void *)(intptr_t)fd, NULL, write_piece, NULL, NULL);
}
#else
static FILE *open_stream(int fd)
{
    (void)write_or_cancel;
    (void)fd;
    return NULL;
}
#endif

int standard_stream_fd(FILE *out)
{
    return out == stdout ? STDOUT_FILENO : out == stderr ? STDERR_FILENO : fileno(out);
}

struct winsize standard_stream_size(FILE *out)
{
    struct winsize size = {.ws_row = 0};
    if (ioctl(standard_stream_fd(out), TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
        return (struct winsize){.ws_row = 24, .ws_col = 80};
    return size;
}

/* Returns NULL if `current` was replaced before or cannot be replaced. */
static FILE *open_replacement(FILE *current, int fd, int buffering)
{
    FILE *stream = fileno(current) >= 0 && fflush(current) == 0 ? open_stream(fd) : NULL;
    if (stream && buffering != _IOFBF)
        setvbuf(stream, NULL, buffering, 0);
    return stream;
}

void standard_streams_replace(void)
{
    FILE *output = open_replacement(stdout, STDOUT_FILENO, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    if (output)
        stdout = output;
    FILE *messages = open_replacement(stderr, STDERR_FILENO, _IONBF);
    if (messages)
        stderr = messages;
}
