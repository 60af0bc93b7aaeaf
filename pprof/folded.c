/*
 * -folded: a line for each stack, "root;caller;leaf 12", with the value of the profile.
 *
 * Source: B. Gregg's FlameGraph (stackcollapse-*.pl, flamegraph.pl), whose format other tools read too.
 */
#include <inttypes.h>

#include "pprof/formats.h"
#include "pprof/stacks.h"
#include "base/banned.h"

/* Adds a name. Replaces the characters that end a name or a line, like stackcollapse-go.pl. */
static void add_name(const struct graph *g, uint32_t node, struct buf *line)
{
    size_t at = line->len;
    node_name(g, &g->nodes[node].info, line);
    for (; at < line->len; at++) {
        if (line->data[at] == ';')
            line->data[at] = ':';
        else if ((unsigned char)line->data[at] < ' ')
            line->data[at] = '?';
    }
}

static int write_stack(struct stacks *s, struct buf *line)
{
    buf_clear(line);
    for (size_t i = 0; i < s->n_path; i++) {
        if (i > 0)
            buf_addc(line, ';');
        add_name(&s->g, s->path[i], line);
    }
    buf_addf(line, " %" PRId64 "\n", s->value);
    if (buf_check(line, "a stack", s->report->err) < 0)
        return -1;
    out_add(s->report->out, buf_str(line), line->len);
    return 0;
}

int folded_write(struct report *report)
{
    struct buf line = BUF_INIT(REPORT_NAME_MAX);
    struct stacks s;
    size_t at = 0;
    int rc = stacks_init(&s, report), more = 1;
    while (rc == 0 && more == 1) {
        more = stacks_next(&s, &at);
        rc = more == 1 ? write_stack(&s, &line) : more;
    }
    buf_release(&line);
    stacks_release(&s);
    return rc;
}
