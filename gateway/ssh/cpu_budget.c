#include "gateway/ssh/cpu_budget.h"

#include "base/base.h"
#include "base/banned.h"

#define NS_FIXED INT64_C(3000000000)
#define NS_PER_MS INT64_C(10000)
#define NS_PER_PIECE INT64_C(20000)
#define NS_PER_BYTE INT64_C(500)

void cpu_budget_add(struct cpu_budget *b, int64_t n)
{
    if (n <= 0)
        return;
    b->n_bytes += (uint64_t)n;
    b->n_pieces++;
}

bool cpu_budget_is_exceeded(struct cpu_budget *b, int64_t cpu_ns)
{
    int64_t now = clock_now();
    if (b->start == 0) {
        b->start = now;
        b->start_ns = cpu_ns;
    }
    int64_t allowed = NS_FIXED + NS_PER_MS * (now - b->start) + NS_PER_PIECE * (int64_t)b->n_pieces +
                      NS_PER_BYTE * (int64_t)b->n_bytes;
    return cpu_ns - b->start_ns > allowed;
}
