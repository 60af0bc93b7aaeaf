/* The first bytes of a server, however the handshake ended. */
#include "tests/fuzz/fuzz.h"

#include "gateway/greeting.h"

#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    for (enum greeting_end end = GREETING_CLOSED; end <= GREETING_FAILED; end++) {
        struct err err = ERR_INIT;
        assert(greeting_explain(p, n, end, 1500, &err) == -1);
        assert(err.kind != ERR_NONE && err.hint[0]);
        assert(fuzz_is_printable(err.msg));
    }
    return 0;
}
