/* The text forms of profiles: an accepted profile is valid, and can be written and read again. */
#include "tests/fuzz/fuzz.h"

#include "proto/profile_store.h"
#include "base/banned.h"

static int append_piece(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)err;
    buf_add(ctx, p, n);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct err err = ERR_INIT;
    struct profile *a = NULL, *b = NULL;
    struct buf out = BUF_INIT(SIZE_MAX / 2);
    if (profile_parse_text(p, n, &a, &err) < 0) {
        assert(err.kind == ERR_FAILED || err.kind == ERR_UNRECOGNIZED);
        fuzz_expect_err(&err);
        return 0;
    }
    assert(profile_check(a, &err) == 0);
    assert(profile_write(a, append_piece, &out, &err) == 0);
    assert(profile_parse(buf_str(&out), out.len, SIZE_MAX / 2, &b, &err) == 0);
    assert(b->n_samples == a->n_samples && b->n_locations == a->n_locations);
    profile_free(a);
    profile_free(b);
    buf_release(&out);
    return 0;
}
