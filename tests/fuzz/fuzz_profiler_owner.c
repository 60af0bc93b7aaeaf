/*
 * The input is the size of a piece, and then a page of goroutines that a server sends. The result is the same
 * in pieces and at once. A line at the end that names another client does not change a result.
 */
#include "tests/fuzz/fuzz.h"

#include "fetch/profiler_owner.h"
#include "base/banned.h"

static const char *find_in_pieces(const char *p, size_t n, size_t piece, bool trace)
{
    struct profiler_owner o = {.for_tracer = trace};
    for (; n > piece; p += piece, n -= piece)
        profiler_owner_feed(&o, p, piece);
    profiler_owner_feed(&o, p, n);
    assert(o.n < sizeof o.line);
    return o.client;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char agent[] = "\n#\t0x1\tgithub.com/grafana/pyroscope-go.Start+0x1\n";
    if (n == 0)
        return 0;
    const char *page = (const char *)p + 1;
    for (int trace = 0; trace < 2; trace++) {
        const char *client = find_in_pieces(page, n - 1, n, trace);
        assert(find_in_pieces(page, n - 1, 1 + p[0], trace) == client);
        struct profiler_owner o = {.for_tracer = trace};
        profiler_owner_feed(&o, page, n - 1);
        profiler_owner_feed(&o, agent, sizeof agent - 1);
        assert(o.client && (!client || o.client == client));
    }
    return 0;
}
