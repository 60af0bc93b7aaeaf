#include "seal/bech32.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/banned.h"

enum { CHECKSUM = 6 };

static const char letters[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/* Adds one group of five bits to the checksum: a BCH code over GF(32). */
static uint32_t add_group(uint32_t sum, unsigned group)
{
    static const uint32_t generator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    uint32_t top = sum >> 25;
    sum = (sum & 0x1ffffff) << 5 ^ group;
    for (unsigned i = 0; i < 5; i++)
        if (top >> i & 1)
            sum ^= generator[i];
    return sum;
}

/* Computes the checksum of the prefix: the high bits of its characters, a zero, their low bits. */
static uint32_t start_checksum(const char *prefix)
{
    uint32_t sum = 1;
    for (const char *c = prefix; *c; c++)
        sum = add_group(sum, (unsigned char)*c >> 5);
    sum = add_group(sum, 0);
    for (const char *c = prefix; *c; c++)
        sum = add_group(sum, *c & 31u);
    return sum;
}

static bool is_single_case(const char *p, size_t n)
{
    bool lower = false, upper = false;
    for (size_t i = 0; i < n; i++) {
        lower = lower || (p[i] >= 'a' && p[i] <= 'z');
        upper = upper || (p[i] >= 'A' && p[i] <= 'Z');
    }
    return !lower || !upper;
}

/* Returns -1 for a character outside the bech32 alphabet. */
static int letter_value(char c)
{
    const char *at = c ? strchr(letters, tolower((unsigned char)c)) : NULL;
    return at ? (int)(at - letters) : -1;
}

int bech32_decode(const char *p, size_t n, const char *prefix, void *dst, size_t size)
{
    size_t n_prefix = strlen(prefix), groups = (size * 8 + 4) / 5;
    unsigned char *out = dst;
    uint32_t sum = start_checksum(prefix), bits = 0;
    unsigned n_bits = 0;
    if (n != n_prefix + 1 + groups + CHECKSUM || strncasecmp(p, prefix, n_prefix) != 0 ||
        p[n_prefix] != '1' || !is_single_case(p, n))
        return -1;
    for (size_t i = 0; i < groups + CHECKSUM; i++) {
        int value = letter_value(p[n_prefix + 1 + i]);
        if (value < 0)
            return -1;
        sum = add_group(sum, (unsigned)value);
        if (i >= groups)
            continue;
        bits = bits << 5 | (uint32_t)value;
        n_bits += 5;
        if (n_bits >= 8) {
            n_bits -= 8;
            *out++ = (unsigned char)(bits >> n_bits);
        }
    }
    return sum == 1 && !(bits & ((1u << n_bits) - 1)) ? 0 : -1;
}

/* Returns the checksum with the group. */
static uint32_t write_group(struct buf *b, uint32_t sum, unsigned group)
{
    buf_addc(b, letters[group]);
    return add_group(sum, group);
}

void bech32_add(struct buf *b, const char *prefix, const void *p, size_t n)
{
    const unsigned char *bytes = p;
    uint32_t sum = start_checksum(prefix), bits = 0;
    unsigned n_bits = 0;
    buf_adds(b, prefix);
    buf_addc(b, '1');
    for (size_t i = 0; i < n; i++) {
        bits = bits << 8 | bytes[i];
        for (n_bits += 8; n_bits >= 5; n_bits -= 5)
            sum = write_group(b, sum, bits >> (n_bits - 5) & 31);
    }
    if (n_bits > 0)
        sum = write_group(b, sum, bits << (5 - n_bits) & 31);
    for (int i = 0; i < CHECKSUM; i++)
        sum = add_group(sum, 0);
    sum ^= 1;
    for (unsigned i = 0; i < CHECKSUM; i++)
        buf_addc(b, letters[sum >> (25 - 5 * i) & 31]);
}
