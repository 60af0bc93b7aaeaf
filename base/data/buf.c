#include "base/data/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_release(struct buf *b)
{
    if (b->secret && b->data)
        explicit_bzero(b->data, b->cap);
    free(b->data);
    *b = (struct buf){.max = b->max};
}

/* Moves the bytes to larger memory and wipes the old memory, which realloc(3) does not do. */
static char *move_secret(struct buf *b, size_t cap)
{
    char *data = malloc(cap);
    if (!data || !b->data)
        return data;
    memcpy(data, b->data, b->len);
    explicit_bzero(b->data, b->cap);
    free(b->data);
    return data;
}

/* Makes room for n more bytes and a NUL. */
static bool reserve_bytes(struct buf *b, size_t n)
{
    if (b->failed)
        return false;
    if (n > b->max || b->len > b->max - n) {
        b->failed = true;
        return false;
    }
    size_t need = b->len + n + 1;
    if (need <= b->cap)
        return true;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need)
        cap *= 2;
    if (cap - 1 > b->max)
        cap = b->max + 1;
    char *data = b->secret ? move_secret(b, cap) : realloc(b->data, cap);
    if (!data) {
        b->failed = b->out_of_memory = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    if (!reserve_bytes(b, n))
        return;
    if (n)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
    buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
    buf_add(b, &c, 1);
}

void buf_add_percent_encoded(struct buf *b, const char *s)
{
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
                     strchr("-._~", *p);
        if (plain)
            buf_addc(b, (char)*p);
        else
            buf_addf(b, "%%%02X", *p);
    }
}

void buf_add_html_escaped(struct buf *b, const char *s)
{
    for (; *s; s++) {
        if (*s == '&')
            buf_adds(b, "&amp;");
        else if (*s == '<')
            buf_adds(b, "&lt;");
        else if (*s == '"')
            buf_adds(b, "&quot;");
        else
            buf_addc(b, *s);
    }
}

/* The second vsnprintf runs only if the text does not fit the first time. */
void buf_addf(struct buf *b, const char *fmt, ...)
{
    size_t room = b->failed ? 0 : b->cap - b->len;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n >= room && reserve_bytes(b, (size_t)n)) {
        va_start(ap, fmt);
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    if (n < 0)
        b->failed = true;
    if (!b->failed)
        b->len += (size_t)n;
    else if (b->data)
        b->data[b->len] = '\0';
}

char *buf_reserve(struct buf *b, size_t *n)
{
    size_t left = b->max - b->len, wanted = *n < left ? *n : left;
    if (!wanted || !reserve_bytes(b, wanted))
        return NULL;
    b->data[b->len] = '\0';
    *n = wanted;
    return b->data + b->len;
}

void buf_commit(struct buf *b, size_t n)
{
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->failed = b->out_of_memory = false;
    if (b->data)
        b->data[0] = '\0';
}

void buf_consume(struct buf *b, size_t n)
{
    if (!n)
        return;
    memmove(b->data, b->data + n, b->len - n + 1);
    b->len -= n;
}

int buf_check(const struct buf *b, const char *what, struct err *err)
{
    if (!b->failed)
        return 0;
    return b->out_of_memory ? err_nomem(err)
                            : err_set(err, ERR_FAILED, "%s is larger than %zu bytes", what, b->max);
}

const char *buf_str(const struct buf *b)
{
    return b->data ? b->data : "";
}

char *buf_detach(struct buf *b)
{
    if (b->failed || !b->data)
        return NULL;
    char *data = b->data;
    *b = (struct buf){.max = b->max};
    return data;
}
