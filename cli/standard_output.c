#include "cli/standard_output.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "base/banned.h"

/* The descriptor as a pointer, so that nothing has to be kept. */
static int cancel_fd_of(void *cookie)
{
    return (int)(intptr_t)cookie;
}

static ssize_t write_or_leave(void *cookie, const char *p, size_t n)
{
    struct err why = ERR_INIT;
    if (fd_write_or_leave(STDOUT_FILENO, p, n, cancel_fd_of(cookie), &why) == 0)
        return (ssize_t)n;
    errno = EIO;
    return 0;
}

#ifdef __GLIBC__
static FILE *open_stream(int cancel_fd)
{
    const cookie_io_functions_t calls = {.write = write_or_leave};
    return fopencookie((void *)(intptr_t)cancel_fd, "w", calls);
}
#elif defined(__APPLE__)
static int write_piece(void *cookie, const char *p, int n)
{
    return write_or_leave(cookie, p, (size_t)n) == n ? n : -1;
}

static FILE *open_stream(int cancel_fd)
{
    return funopen((void *)(intptr_t)cancel_fd, NULL, write_piece, NULL, NULL);
}
#else
static FILE *open_stream(int cancel_fd)
{
    (void)write_or_leave;
    (void)cancel_fd;
    return NULL;
}
#endif

int standard_output_fd(FILE *out)
{
    return out == stdout ? STDOUT_FILENO : fileno(out);
}

void standard_output_watch(int cancel_fd)
{
    FILE *stream = fflush(stdout) == 0 ? open_stream(cancel_fd) : NULL;
    if (!stream)
        return;
    if (isatty(STDOUT_FILENO))
        setvbuf(stream, NULL, _IOLBF, 0);
    stdout = stream;
}
