/*
 * A whole discovery: the answers of two sources become named services of hosts. The first byte chooses
 * the form of the answer, and how many of its bytes the first source has; the second source has the rest. The
 * services have unique names that are valid in paths, and the time is proportional to the bytes.
 */
#include "tests/fuzz/fuzz.h"

#include <time.h>

#include "discovery/discovery.h"
#include "base/banned.h"

/* Processor time that the longest input may take, with sanitizers: naming services in cubic time takes
 * several times that. A run of 16 kB takes 10 to 50 ms. */
#define MAX_NS INT64_C(700000000)

/* All targets on loopback belong to host h0. A service of the inventory has a name that discovery would
 * choose. */
static const char inventory_text[] =
    "version: 1\nservices:\n  web-80-2: { port: 1 }\n  web: { port: 2 }\n"
    "hosts:\n  h0: { services: [web-80-2] }\n  h1: { services: [web] }\n  h2: { address: 10.0.0.2 }\n"
    "discovery:\n  - { http_sd: 'http://x/', host: h0 }\n  - { http_sd: 'http://y/', match: '^(h[0-9])', "
    "host: h1 }\n";

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int read_answer(unsigned form, const uint8_t *p, size_t n, struct discovered *f, struct err *err)
{
    struct discovered_reader *r = NULL;
    struct discovered_file file = {
        .name = "sd.yml", .kind = form == 2 ? SOURCE_FILE_SD : SOURCE_PARCA, .text = {(const char *)p, n}};
    if (form == 2 || form == 3)
        return discovered_parse(&file, f, err);
    assert(discovered_reader_new(form ? SOURCE_HTTP_SD : SOURCE_PROMETHEUS, f, &r, err) == 0);
    int rc = discovered_reader_feed(r, p, n, err);
    if (rc == 0)
        rc = discovered_reader_end(r, err);
    discovered_reader_free(r);
    return rc;
}

static void check_counts(const struct discovered *f, const struct discovered_counts *d)
{
    size_t selected = 0, with_host = 0;
    for (size_t i = 0; i < f->n; i++) {
        selected += f->targets[i].is_selected;
        with_host += f->targets[i].host != NULL;
    }
    assert(d->n == selected && d->with_host == with_host);
    assert(d->with_host + d->loopback + d->unmatched == d->n);
    assert(d->in_inventory + d->withheld <= d->with_host);
}

static void discover_input(struct discovery *d, size_t source, unsigned form, const uint8_t *p, size_t n)
{
    struct discovered f = {0};
    struct discovered_counts counts = {0};
    struct source_use *use = NULL;
    struct err err = ERR_INIT;
    size_t n_sources = 0;
    const struct source *const *sources = inventory_sources(d->inventory, &n_sources);
    assert(source < n_sources);
    assert(targets_use_source(d->targets, sources[source], &use, &err) == 0);
    if (read_answer(form, p, n, &f, &err) < 0)
        fuzz_expect_err(&err);
    else if (discovery_add(d, use, &f, &counts, &err) < 0)
        fuzz_expect_err(&err);
    else
        check_counts(&f, &counts);
    discovered_release(&f);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_names(const struct targets *t, const struct host *h)
{
    struct strlist names = {0};
    const struct service *s;
    for (size_t i = 0; (s = targets_service_at(t, h, i)); i++) {
        assert(text_is_name(s->name) && s->port >= 1 && s->port <= 65535 && s->host && s->host[0]);
        assert(strlist_add(&names, s->name, NULL) == 0);
    }
    if (names.n > 1)
        qsort(names.items, names.n, sizeof *names.items, by_text);
    for (size_t i = 1; i < names.n; i++)
        assert(strcmp(names.items[i - 1], names.items[i]) != 0);
    strlist_release(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    size_t n_hosts = 0;
    if (n == 0)
        return 0;
    int64_t start = cpu_ns();
    unsigned form = p[0] % 4;
    size_t half = p[0] / 4 ? (n - 1) * (size_t)(p[0] / 4) / 64 : n - 1;
    assert(inventory_parse("inv", str_of(inventory_text), NULL, &inv, &err) == 0);
    struct targets targets = {0};
    struct discovery d = DISCOVERY_INIT(inv, &targets);
    discover_input(&d, 0, form, p + 1, half);
    discover_input(&d, 1, form, p + 1 + half, n - 1 - half);
    assert(discovery_finish(&d, &err) == 0);
    discovery_release(&d);
    const struct host *const *hosts = inventory_hosts(inv, &n_hosts);
    for (size_t i = 0; i < n_hosts; i++)
        check_names(&targets, hosts[i]);
    for (size_t i = 0; targets_discovered_name(&targets, i); i++)
        assert(text_is_name(targets_discovered_name(&targets, i)));
    targets_release(&targets);
    inventory_free(inv);
    assert(cpu_ns() - start < MAX_NS);
    return 0;
}
