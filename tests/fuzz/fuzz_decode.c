/*
 * The profile decoder. An accepted profile is valid, and writing and reading it again gives an equal one;
 * merged with itself it is still valid.
 */
#include "tests/fuzz/fuzz.h"

#include "proto/proto.h"
#include "base/banned.h"

enum { MAX_BYTES = 1 << 22 };

static int append_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

static struct profile *read_profile(const void *p, size_t n)
{
    struct err err = ERR_INIT;
    struct profile *ret = NULL;
    if (profile_parse(p, n, MAX_BYTES, &ret, &err) < 0) {
        assert(err.kind == ERR_FAILED || err.kind == ERR_UNRECOGNIZED);
        fuzz_expect_err(&err);
        return NULL;
    }
    assert(profile_check(ret, &err) == 0);
    return ret;
}

static void check_merged(struct profile *p)
{
    struct err err = ERR_INIT;
    struct profile *both[] = {p, p}, *merged = NULL;
    assert(profile_merge(both, 2, &merged, &err) == 0);
    assert(profile_check(merged, &err) == 0 && merged->n_samples <= p->n_samples);
    profile_free(merged);
}

/* Reads the written profile and writes it again. */
static void write_again(const struct buf *written, struct buf *ret)
{
    struct err err = ERR_INIT;
    struct profile *p = read_profile(buf_str(written), written->len);
    assert(p && profile_write(p, append_piece, ret, &err) == 0);
    profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct err err = ERR_INIT;
    struct buf once = BUF_INIT(SIZE_MAX / 2), twice = BUF_INIT(SIZE_MAX / 2), thrice = BUF_INIT(SIZE_MAX / 2);
    struct profile *a = read_profile(p, n);
    if (!a)
        return 0;
    assert(profile_write(a, append_piece, &once, &err) == 0);
    write_again(&once, &twice);
    write_again(&twice, &thrice);
    /* The first writing may have labels without a value, as Go's profiles have; readers ignore them. */
    assert(twice.len == thrice.len && memcmp(buf_str(&twice), buf_str(&thrice), twice.len) == 0);
    check_merged(a);
    profile_free(a);
    buf_release(&once);
    buf_release(&twice);
    buf_release(&thrice);
    return 0;
}
