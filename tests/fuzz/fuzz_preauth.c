/* The first bytes of a server, after a handshake with any result. */
#include "tests/fuzz/fuzz.h"

#include "gateway/ssh/preauth.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    for (enum preauth_end end = PREAUTH_CLOSED; end <= PREAUTH_FAILED; end++) {
        struct err err = ERR_INIT;
        assert(preauth_explain(p, n, end, 1500, &err) == -1);
        assert(err.kind != ERR_NONE && err.hint[0]);
        assert(fuzz_is_printable(err.msg));
    }
    return 0;
}
