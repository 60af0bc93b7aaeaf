/* Each target has a text that identifies its process: the route to the host and the service's address. If two
 * hosts have the same text, they are duplicates of one machine. */
#include <ctype.h>
#include <stdlib.h>

#include "inventory/address.h"
#include "inventory/inventory.h"
#include "base/banned.h"

struct search {
    struct buf text; /* of the current target */
    struct strlist texts;
    struct name_map processes; /* maps each text to the first host that has it */
    struct name_map firsts;    /* maps the name of a first host to 1 + the index of its entry in `found` */
    struct duplicate_hosts_list found;
};

/* Builds the text of a process. The login user and pprof's path do not matter. */
static int describe_process(const struct target *t, struct buf *ret, struct err *err)
{
    const struct host *h = t->host;
    const struct service *s = t->service;
    struct address a = {0};
    if (address_parse(h->address, &a, err) < 0)
        return -1;
    buf_clear(ret);
    buf_addf(ret, "%d %u %u\n", h->direct, a.port ? a.port : h->ssh.port, s->unix_path ? 0 : s->port);
    for (char *p = a.host; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    const char *const parts[] = {a.host, h->ssh.jump, h->ssh.config, h->ssh.known_hosts,
                                 s->unix_path ? s->unix_path : s->host};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_adds(ret, parts[i] ? parts[i] : "");
        buf_addc(ret, '\n');
    }
    address_release(&a);
    return buf_check(ret, "a target", err);
}

/* *ret: 1 + the index of the new entry. */
static int new_entry(struct search *s, const struct host *first, size_t *ret, struct err *err)
{
    struct duplicate_hosts_list *l = &s->found;
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof *l->items, err) < 0)
        return -1;
    struct duplicate_hosts *entry = &l->items[l->n++];
    *entry = (struct duplicate_hosts){0};
    if (array_reserve((void **)&entry->hosts, &entry->cap, 2, sizeof *entry->hosts, err) < 0)
        return -1;
    entry->hosts[entry->n++] = first;
    *ret = l->n;
    return name_map_add(&s->firsts, first->name, (const void *)(uintptr_t)l->n, err);
}

static int add_duplicate(struct search *s, const struct host *first, const struct host *host, struct err *err)
{
    size_t number = (size_t)(uintptr_t)name_map_get(&s->firsts, first->name);
    if (!number && new_entry(s, first, &number, err) < 0)
        return -1;
    struct duplicate_hosts *entry = &s->found.items[number - 1];
    /* Targets are grouped by host, so only the last host can be repeated. */
    if (entry->hosts[entry->n - 1] == host)
        return 0;
    if (array_reserve((void **)&entry->hosts, &entry->cap, entry->n + 1, sizeof *entry->hosts, err) < 0)
        return -1;
    entry->hosts[entry->n++] = host;
    return 0;
}

static int check_target(struct search *s, const struct target *t, struct err *err)
{
    int rc = describe_process(t, &s->text, err);
    const struct host *first = rc == 0 ? name_map_get(&s->processes, buf_str(&s->text)) : NULL;
    if (first && first != t->host)
        rc = add_duplicate(s, first, t->host, err);
    else if (rc == 0 && !first && (rc = strlist_addn(&s->texts, s->text.data, s->text.len, err)) == 0)
        rc = name_map_add(&s->processes, s->texts.items[s->texts.n - 1], t->host, err);
    return rc;
}

int targets_find_duplicates(const struct targets *t, struct duplicate_hosts_list *ret, struct err *err)
{
    struct search s = {.text = BUF_INIT(4096)};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < t->n; i++)
        rc = check_target(&s, &t->items[i], err);
    if (rc == 0)
        *ret = s.found;
    else
        duplicate_hosts_release(&s.found);
    buf_release(&s.text);
    strlist_release(&s.texts);
    name_map_release(&s.processes);
    name_map_release(&s.firsts);
    return rc;
}

void duplicate_hosts_release(struct duplicate_hosts_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i].hosts);
    free(l->items);
    *l = (struct duplicate_hosts_list){0};
}
