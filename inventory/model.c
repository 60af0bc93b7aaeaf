#include "inventory/model.h"

#include <stdlib.h>

#include "inventory/ssh_settings.h"
#include "base/banned.h"

int services_add(struct services *l, struct service *s, struct err *err)
{
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof(struct service *), err) < 0) {
        service_free(s);
        return -1;
    }
    l->items[l->n++] = s;
    return 0;
}

int hosts_add(struct hosts *l, struct host *h, struct err *err)
{
    if (array_reserve((void **)&l->items, &l->cap, l->n + 1, sizeof(struct host *), err) < 0) {
        host_free(h);
        return -1;
    }
    l->items[l->n++] = h;
    return 0;
}

void services_release(struct services *l)
{
    for (size_t i = 0; i < l->n; i++)
        service_free(l->items[i]);
    free(l->items);
    *l = (struct services){0};
}

void hosts_release(struct hosts *l)
{
    for (size_t i = 0; i < l->n; i++)
        host_free(l->items[i]);
    free(l->items);
    *l = (struct hosts){0};
}

void service_free(struct service *s)
{
    if (!s)
        return;
    free(s->name);
    free(s->family);
    free(s->host);
    free(s->unix_path);
    free(s->tls.ca);
    free(s->tls.cert);
    free(s->tls.key);
    free(s->tls.server_name);
    free(s->auth.user);
    secret_ref_release(&s->auth.secret);
    free(s->path);
    free(s->query);
    free(s->host_header);
    free(s->hint);
    strlist_release(&s->kinds);
    for (size_t i = 0; i < s->n_labels; i++) {
        free(s->labels[i].name);
        free(s->labels[i].value);
    }
    free(s->labels);
    free(s);
}

void host_free(struct host *h)
{
    if (!h)
        return;
    free(h->name);
    free(h->address);
    ssh_settings_release(&h->ssh);
    free(h->services);
    for (size_t i = 0; i < h->n_labels; i++) {
        free(h->labels[i].name);
        free(h->labels[i].value);
    }
    free(h->labels);
    free(h);
}

void group_free(struct group *g)
{
    if (!g)
        return;
    free(g->name);
    hostset_release(&g->members);
    free(g);
}

int hostset_add(struct hostset *set, const struct host *host, struct err *err)
{
    set->seen.ignore_case = true;
    const struct host *other = name_map_get(&set->seen, host->name);
    if (other == host)
        return 0;
    /* Names must be unique, because a host's profiles are stored in a directory of its name. Some file
     * systems ignore case. */
    if (other)
        return err_set(err, ERR_USAGE, "\"%s\" and \"%s\" would both be named \"%s\"", other->address,
                       host->address, host->name);
    if (array_reserve((void **)&set->items, &set->cap, set->n + 1, sizeof(struct host *), err) < 0 ||
        name_map_add(&set->seen, host->name, host, err) < 0)
        return -1;
    set->items[set->n++] = host;
    return 0;
}

void hostset_release(struct hostset *set)
{
    free(set->items);
    name_map_release(&set->seen);
    *set = (struct hostset){0};
}
