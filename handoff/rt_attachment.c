#include "handoff/rt_attachment.h"

#include <string.h>

#include "base/banned.h"

static const char key[] = "Content";
#define NO_KEY 100 /* for `matched`: the string is not "Content" */

/* Returns the value of a base64 digit, or -1. */
static int digit_value(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

static int set_base64_error(struct err *err)
{
    return err_set(err, ERR_FAILED, "the tracker's copy of the file is not base64");
}

/* Passes the bytes of four digits to `receive`: three bytes, minus one for each `=`. */
static int pass_bytes(struct rt_attachment_decoder *c, struct err *err)
{
    unsigned char bytes[3] = {(unsigned char)(c->bits >> 16), (unsigned char)(c->bits >> 8),
                              (unsigned char)c->bits};
    size_t n = 3 - c->n_pads;
    c->bits = 0;
    c->n_digits = 0;
    return c->receive(c->ctx, bytes, n, err);
}

static int add_digit(struct rt_attachment_decoder *c, char ch, struct err *err)
{
    int value = digit_value(ch);
    if (ch == '=' && c->n_digits >= 2 && c->n_pads < 2) {
        c->n_pads++;
        value = 0;
    } else if (value < 0 || c->n_pads) {
        return set_base64_error(err);
    }
    c->bits = c->bits << 6 | (uint32_t)value;
    return ++c->n_digits == 4 ? pass_bytes(c, err) : 0;
}

/* Adds a character of the content. Base64 in JSON needs only the escapes of line ends and of the slash. */
static int add_content_char(struct rt_attachment_decoder *c, char ch, struct err *err)
{
    if (c->escaped) {
        c->escaped = false;
        return ch == 'n' || ch == 'r' ? 0 : ch == '/' ? add_digit(c, ch, err) : set_base64_error(err);
    }
    if (ch == '\\') {
        c->escaped = true;
        return 0;
    }
    if (ch != '"')
        return add_digit(c, ch, err);
    c->state = RT_ATTACHMENT_DONE;
    return c->n_digits == 0 ? 0 : set_base64_error(err);
}

static void match_key_char(struct rt_attachment_decoder *c, char ch)
{
    if (c->escaped) {
        c->escaped = false;
        c->matched = NO_KEY;
    } else if (ch == '\\') {
        c->escaped = true;
    } else if (ch == '"') {
        c->state = c->matched == sizeof key - 1 ? RT_ATTACHMENT_KEY_END : RT_ATTACHMENT_OUTSIDE;
    } else {
        c->matched = c->matched < sizeof key - 1 && ch == key[c->matched] ? c->matched + 1 : NO_KEY;
    }
}

static void skip_outside_char(struct rt_attachment_decoder *c, char ch)
{
    if (ch == ' ' || ch == '\n' || ch == '\r' || ch == '\t')
        return;
    if (ch == '"') {
        c->matched = 0;
        c->state = c->state == RT_ATTACHMENT_COLON ? RT_ATTACHMENT_INSIDE : RT_ATTACHMENT_STRING;
    } else {
        c->state =
            c->state == RT_ATTACHMENT_KEY_END && ch == ':' ? RT_ATTACHMENT_COLON : RT_ATTACHMENT_OUTSIDE;
    }
}

int rt_attachment_add(struct rt_attachment_decoder *c, const void *p, size_t n, struct err *err)
{
    const char *s = p;
    for (size_t i = 0; i < n && c->state != RT_ATTACHMENT_DONE; i++) {
        if (c->state == RT_ATTACHMENT_INSIDE && add_content_char(c, s[i], err) < 0)
            return -1;
        if (c->state == RT_ATTACHMENT_STRING)
            match_key_char(c, s[i]);
        else if (c->state != RT_ATTACHMENT_INSIDE && c->state != RT_ATTACHMENT_DONE)
            skip_outside_char(c, s[i]);
    }
    return 0;
}

int rt_attachment_end(const struct rt_attachment_decoder *c, struct err *err)
{
    return c->state == RT_ATTACHMENT_DONE
               ? 0
               : err_set(err, ERR_FAILED, "the tracker does not return the file's content%s",
                         c->state == RT_ATTACHMENT_INSIDE ? " to its end" : "");
}
