#include "gateway/ssh/cpu_budget.h"

#include "base/base.h"
#include "base/banned.h"

#define NS_FIXED INT64_C(2000000000)
#define NS_PER_MS INT64_C(50000)

bool cpu_budget_is_exceeded(struct cpu_budget *b, int64_t cpu_ns)
{
    int64_t now = clock_now();
    if (b->since == 0 || b->n_moved != b->n_checked) {
        b->n_checked = b->n_moved;
        b->since = now;
        b->since_ns = cpu_ns;
    }
    return cpu_ns - b->since_ns > NS_FIXED + NS_PER_MS * (now - b->since);
}
