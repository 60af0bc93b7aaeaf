/* The parts that several steps of symbolizing use: messages, and locations by mapping. */
#include "pprof/symbolize/symbols.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"

void symbolize_say(const struct symbolize_tools *t, const char *fmt, ...)
{
    char line[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (t->say)
        t->say(t->ctx, line);
}

int mapped_locations_init(const struct profile *p, struct mapped_locations *ret, struct err *err)
{
    size_t n = p->n_mappings < SYMBOLIZE_MAPPINGS ? p->n_mappings : SYMBOLIZE_MAPPINGS, sum = 0;
    struct mapped_locations m = {.n_mappings = n};
    m.items = calloc(p->n_locations + 1, sizeof *m.items);
    m.first = calloc(n + 2, sizeof *m.first);
    if (!m.items || !m.first) {
        mapped_locations_release(&m);
        return err_nomem(err);
    }
    /* A counting sort. first[m + 2] counts the locations of mapping m. After the sums, first[m + 1] is the
     * place of mapping m's next location. */
    for (size_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].mapping < n)
            m.first[p->locations[i].mapping + 2]++;
    for (size_t i = 0; i < n + 2; i++)
        m.first[i] = sum += m.first[i];
    for (size_t i = 0; i < p->n_locations; i++)
        if (p->locations[i].mapping < n)
            m.items[m.first[p->locations[i].mapping + 1]++] = (uint32_t)i;
    *ret = m;
    return 0;
}

void mapped_locations_release(struct mapped_locations *m)
{
    free(m->items);
    free(m->first);
    *m = (struct mapped_locations){0};
}

int symbolize_ask_frames(symbolize_run_fn *run, void *ctx, struct symbolize_query *query, struct buf *ret,
                         struct err *err)
{
    struct err why = ERR_INIT;
    query->program = SYMBOLIZE_LLVM;
    if (run(ctx, query, ret, &why) == 0)
        return 0;
    if (why.kind == ERR_CANCELLED || why.out_of_memory || ret->out_of_memory) {
        *err = why;
        return -1;
    }
    buf_clear(ret);
    query->program = SYMBOLIZE_ADDR2LINE;
    return run(ctx, query, ret, err);
}
