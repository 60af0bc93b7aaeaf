#include "cli/hosts/hosts_ssh.h"

#include <stdio.h>
#include <string.h>

#include "cli/term/signals.h"
#include "base/banned.h"

/* The time limit of `ssh -G` for one host. */
#define RESOLVE_MS 15000

static void print_text(const char *text)
{
    char shown[600];
    fputs(text_printable(shown, sizeof shown, text, strlen(text)), stdout);
}

static void print_hop(const struct ssh_config *c)
{
    print_text(c->user);
    putchar('@');
    print_text(c->hostname);
    printf(" port %u", c->port);
}

/* Prints the host, then the jump hosts in the order of the route. */
static void print_route(const struct route *r)
{
    const struct ssh_config *host = &r->hops[r->n_hops - 1];
    print_hop(host);
    for (size_t i = 0; i + 1 < r->n_hops; i++) {
        fputs(i ? ", " : " through ", stdout);
        print_hop(&r->hops[i]);
    }
    if (r->n_hops == 1 && host->connect.proxy_command) {
        fputs(" through the command ", stdout);
        print_text(host->connect.proxy_command);
    }
    putchar('\n');
}

static int print_host(const struct host *host, const struct ssh_settings *ssh, struct err *err)
{
    struct proc_limits limits = {
        .timeout_ms = RESOLVE_MS, .cancel_fd = signals_cancel_fd(), .max_output = 1u << 20};
    struct route route = {0};
    struct err why = ERR_INIT;
    if (route_resolve(host, ssh, &limits, &route, &why) < 0) {
        if (why.kind == ERR_CANCELLED) {
            *err = why;
            return -1;
        }
        printf("%s: not resolved: ", host->name);
        print_text(why.msg);
        putchar('\n');
        return 0;
    }
    printf("%s: ssh connects to ", host->name);
    print_route(&route);
    route_release(&route);
    return 0;
}

int hosts_ssh(const struct host *const *hosts, size_t n, const struct target_options *o, struct err *err)
{
    struct ssh_settings ssh = {.config = (char *)(uintptr_t)o->ssh_config};
    bool printed = false;
    if (signals_install(err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (hosts[i]->direct)
            continue;
        if (!printed)
            putchar('\n');
        printed = true;
        if (print_host(hosts[i], &ssh, err) < 0)
            return -1;
    }
    return 0;
}
