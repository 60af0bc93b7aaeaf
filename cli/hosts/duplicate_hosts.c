#include "cli/hosts/duplicate_hosts.h"

#include <stdio.h>

#include "cli/term/talk.h"
#include "base/banned.h"

#define LINES_MAX 5

static void print_hosts(const struct duplicate_hosts *t)
{
    const struct host *const *h = t->hosts;
    struct err line = ERR_INIT;
    char others[40] = "";
    if (t->n > 3)
        snprintf(others, sizeof others, " and %zu more", t->n - 2);
    err_set(&line, ERR_NONE,
            "%.100s%s%.100s%s%.100s%s have one address, %.100s: one process is asked %zu times", h[0]->name,
            t->n == 2 ? " and " : ", ", h[1]->name, t->n == 3 ? " and " : "", t->n == 3 ? h[2]->name : "",
            others, h[0]->address, t->n);
    if (t->n > 2)
        err_hint(&line, "where they are a range of hosts, its address wants {name} in it");
    talk_error(stderr, &line);
}

void duplicate_hosts_print(const struct duplicate_hosts_list *l)
{
    for (size_t i = 0; i < l->n && i < LINES_MAX; i++)
        print_hosts(&l->items[i]);
    if (l->n > LINES_MAX)
        talk("and %zu more addresses have several hosts", l->n - LINES_MAX);
}
