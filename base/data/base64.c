#include "base/data/base64.h"

#include <stdint.h>

#include "base/banned.h"

/* Returns -1 for a character outside the base64 alphabet. */
static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Reduces *n, the length of the text, by its padding. Returns -1 if the padding or the length is wrong. */
static int strip_padding(enum base64_form form, const char *p, size_t *n)
{
    size_t n_letters = *n;
    if (form == BASE64_PADDED) {
        while (n_letters > 0 && *n - n_letters < 2 && p[n_letters - 1] == '=')
            n_letters--;
        if (*n % 4 != 0)
            return -1;
    }
    *n = n_letters;
    return n_letters % 4 == 1 ? -1 : 0;
}

int base64_decode(enum base64_form form, struct str text, void *dst, size_t cap, size_t *ret_n)
{
    unsigned char *out = dst;
    uint32_t bits = 0;
    unsigned n_bits = 0;
    size_t n = text.n, len = 0;
    if (strip_padding(form, text.p, &n) < 0 || n / 4 * 3 + (n % 4 ? n % 4 - 1 : 0) > cap)
        return -1;
    for (size_t i = 0; i < n; i++) {
        int value = digit_value(text.p[i]);
        if (value < 0)
            return -1;
        bits = bits << 6 | (uint32_t)value;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            out[len++] = (unsigned char)(bits >> n_bits);
        }
    }
    if (bits & ((1u << n_bits) - 1))
        return -1;
    *ret_n = len;
    return 0;
}

void base64_add(struct buf *b, enum base64_form form, const void *p, size_t n)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = p;
    char piece[1024];
    size_t filled = 0;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i < 3 ? n - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);
        for (size_t k = 0; k <= left; k++)
            piece[filled++] = alphabet[bits >> (18 - 6 * k) & 63];
        for (size_t k = left; form == BASE64_PADDED && k < 3; k++)
            piece[filled++] = '=';
        if (filled == sizeof piece || left < 3) {
            buf_add(b, piece, filled);
            filled = 0;
        }
    }
    buf_add(b, piece, filled);
}
