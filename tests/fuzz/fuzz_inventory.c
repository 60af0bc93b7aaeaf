/* An inventory: accepted values are valid in paths, in ssh's command lines and in requests. */
#include "tests/fuzz/fuzz.h"

#include "handoff/handoff.h"
#include "inventory/inventory.h"
#include "base/banned.h"

/* The value reaches ssh as one word that is not an option. */
static bool is_word(const char *s)
{
    return !s || (*s && *s != '-' && !strpbrk(s, " \t\r\n"));
}

static bool is_line(const char *s)
{
    return !s || (*s && fuzz_has_no_controls(s, false));
}

static void check_service(const struct service *s)
{
    assert(text_is_name(s->name));
    assert(s->unix_path ? s->port == 0 : s->port >= 1 && s->port <= 65535);
    assert(is_line(s->unix_path) && is_line(s->host) && is_line(s->host_header));
    assert(fuzz_has_no_controls(s->path, false) && !strpbrk(s->path, " ?#"));
    size_t n = strlen(s->path);
    assert(n == 0 || (s->path[0] == '/' && s->path[n - 1] != '/'));
}

static void check_host(const struct host *h)
{
    assert(text_is_name(h->name) && strlen(h->name) <= 253);
    assert(is_word(h->address) && is_word(h->ssh.user) && is_word(h->ssh.jump));
    assert(h->ssh.port <= 65535);
    for (size_t i = 0; i < h->n_services; i++)
        check_service(h->services[i]);
    for (size_t i = 0; i < h->n_labels; i++)
        assert(h->labels[i].name && h->labels[i].value);
}

static void check_selection(struct inventory *inv, const struct host *first)
{
    struct selection all = {.port = 6060};
    struct targets targets = {0};
    struct err err = ERR_INIT;
    char glob[] = "*";
    assert(strlist_add(&all.hosts, glob, &err) == 0 && strlist_add(&all.hosts, first->name, &err) == 0);
    if (inventory_select(inv, &all, &targets, &err) == 0)
        assert(targets.n >= 1 && targets.items[0].host == first);
    else
        fuzz_expect_err(&err);
    targets_release(&targets);
    strlist_release(&all.hosts);
}

/* A reader that stops at the first mistake and one that reports all refuse the same inventories. */
static void check_mistakes(const uint8_t *p, size_t n)
{
    struct inventory *inv = NULL;
    struct mistakes m = {.n = 0};
    struct inventory_options options = {.tracker_kinds = handoff_tracker_kinds, .mistakes = &m};
    struct err err = ERR_INIT;
    struct str text = {(const char *)p, n};
    assert(inventory_parse("inv", text, &options, &inv, &err) == -1 && !inv && err.kind == ERR_USAGE);
    assert(m.n >= 1 && m.n <= MISTAKES_MAX);
    for (size_t i = 0; i < m.n; i++)
        fuzz_expect_err_lines(&m.items[i], true);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    struct inventory_options options = {.tracker_kinds = handoff_tracker_kinds};
    if (inventory_parse("inv", (struct str){(const char *)p, n}, &options, &inv, &err) < 0) {
        fuzz_expect_err_lines(&err, true);
        assert(!inv && err.kind == ERR_USAGE && strncmp(err.msg, "inv:", 4) == 0);
        check_mistakes(p, n);
        return 0;
    }
    size_t n_hosts = 0;
    const struct host *const *hosts = inventory_hosts(inv, &n_hosts);
    assert(n_hosts <= INVENTORY_MAX_HOSTS);
    for (size_t i = 0; i < n_hosts; i++)
        check_host(hosts[i]);
    if (n_hosts)
        check_selection(inv, hosts[0]);
    inventory_free(inv);
    return 0;
}
