/* Selections and discoveries run in parallel on one inventory. This program loads the inventory into pages of
 * its own and then makes them read-only. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "discovery/discovery.h"
#include "base/banned.h"

#define THREADS 4
#define ROUNDS 40

/* ---- memory ------------------------------------------------------------------------------------------ */

#define ARENA_BYTES ((size_t)4 << 20)

static struct {
    char *p;
    size_t used;
    bool on; /* allocations use the arena */
} arena;

/* The header of a block in the arena. */
struct block {
    _Alignas(max_align_t) size_t n; /* bytes of the block after the header */
};

void *__real_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
void __wrap_free(void *p);

static bool is_in_arena(const void *p)
{
    return arena.p && (const char *)p >= arena.p && (const char *)p < arena.p + ARENA_BYTES;
}

void *__wrap_malloc(size_t n)
{
    if (!arena.on)
        return __real_malloc(n);
    size_t headers = (sizeof(struct block) + n + sizeof(struct block) - 1) / sizeof(struct block);
    struct block *b = (struct block *)(void *)(arena.p + arena.used);
    arena.used += headers * sizeof(struct block);
    if (arena.used > ARENA_BYTES)
        abort();
    b->n = n;
    return b + 1;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = __wrap_malloc(n * size);
    return p ? memset(p, 0, n * size) : NULL;
}

void *__wrap_realloc(void *p, size_t n)
{
    if (!arena.on && !is_in_arena(p))
        return __real_realloc(p, n);
    void *copy = __wrap_malloc(n);
    size_t old = is_in_arena(p) ? ((struct block *)p - 1)->n : 0;
    if (copy && old)
        memcpy(copy, p, old < n ? old : n);
    return copy;
}

char *__wrap_strndup(const char *s, size_t n)
{
    size_t length = strnlen(s, n);
    char *copy = __wrap_malloc(length + 1);
    if (copy) {
        memcpy(copy, s, length);
        copy[length] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *s)
{
    return __wrap_strndup(s, strlen(s));
}

/* Ignores memory of the arena, which free_inventory frees as a whole. */
void __wrap_free(void *p)
{
    if (!is_in_arena(p))
        __real_free(p);
}

/* ---- the inventory ----------------------------------------------------------------------------------- */

static const char inventory_text[] =
    "version: 1\n"
    "services:\n"
    "  gitaly: { port: 9236 }\n"
    "  template: { port: 1, kinds: [heap], path: /p }\n"
    "hosts:\n"
    "  file-[01-20]: { services: [gitaly], labels: { env: prod }, address: '{name}.example' }\n"
    "  bare: { address: 10.0.0.4 }\n"
    "groups:\n"
    "  storage: ['file-*']\n"
    "discovery:\n"
    "  - http_sd: http://a.example/\n"
    "  - { http_sd: 'http://b.example/', service: template, match: '^(file-[0-9]+)', host: bare }\n";

static const char groups[] =
    "- targets: ['file-01.example:7070', 'file-02.example:7070', 'file-02.example:7071', '10.0.0.4:80']\n"
    "  labels: { job: web, tier: front }\n"
    "- targets: ['127.0.0.1:6060', 'nowhere.example:1']\n";

static struct inventory *load_inventory(void)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    arena.p = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(arena.p != MAP_FAILED);
    arena.on = true;
    int rc = inventory_parse("inv.yaml", (struct str){inventory_text, sizeof inventory_text - 1}, NULL, &inv,
                             &err);
    arena.on = false;
    if (rc < 0)
        fail_msg("%s", err.msg);
    assert_true(is_in_arena(inv));
    assert_int_equal(mprotect(arena.p, ARENA_BYTES, PROT_READ), 0);
    return inv;
}

static void free_inventory(struct inventory *inv)
{
    assert_int_equal(mprotect(arena.p, ARENA_BYTES, PROT_READ | PROT_WRITE), 0);
    inventory_free(inv);
    assert_int_equal(munmap(arena.p, ARENA_BYTES), 0);
    arena.p = NULL;
}

/* ---- threads ----------------------------------------------------------------------------------------- */

/* A thread that uses the inventory. It counts failures, because only the main thread may call assertions. */
struct user {
    const struct inventory *inventory;
    size_t failed; /* rounds */
};

static bool discover_services(const struct inventory *inv, struct targets *t)
{
    size_t n = 0;
    const struct source *const *sources = inventory_sources(inv, &n);
    struct discovery d = DISCOVERY_INIT(inv, t);
    bool ok = n == 2;
    for (size_t i = 0; ok && i < n; i++) {
        struct discovered f = {.at = 1700000000000};
        struct discovered_counts counts = {0};
        struct source_use *use = NULL;
        ok = targets_use_source(t, sources[i], &use, NULL) == 0 &&
             discovered_parse(&(struct discovered_file){"sd.yml", NULL, SOURCE_FILE_SD, STR(groups)}, &f,
                              NULL) == 0 &&
             discovery_add(&d, use, &f, &counts, NULL) == 0 && counts.n == 6 && counts.with_host == 4 + i;
        discovered_release(&f);
    }
    ok = ok && discovery_finish(&d, NULL) == 0;
    discovery_release(&d);
    return ok && targets_note_failed_source(t, sources[0], "no answer", NULL) == 0;
}

/* Returns the number of added targets; 0: an error. */
static size_t select_targets(const struct inventory *inv, struct targets *t, struct selection sel,
                             const char *hosts, const char *exclude)
{
    size_t before = t->n;
    bool ok = strlist_split(&sel.hosts, hosts, NULL) == 0 &&
              (!exclude || strlist_split(&sel.exclude, exclude, NULL) == 0) &&
              inventory_select(inv, &sel, t, NULL) == 0;
    selection_release(&sel);
    return ok ? t->n - before : 0;
}

static bool use_once(const struct inventory *inv)
{
    struct targets t = {0};
    struct selection selection = {0};
    struct strlist labels = {0};
    struct host_list hosts = {0};
    bool ok = discover_services(inv, &t);
    /* gitaly on 20 hosts, three services of web and three of the template. */
    ok = ok && select_targets(inv, &t, (struct selection){0}, "file-*", NULL) == 20 + 3 + 3;
    ok = ok && select_targets(inv, &t, (struct selection){0}, "file-01,file-02", "file-02") == 3;
    ok = ok && select_targets(inv, &t, (struct selection){.port = 80}, "ops@db.example,bare", NULL) == 2;
    ok = ok && select_targets(inv, &t, (struct selection){.unix_path = "/run/a"}, "bare", NULL) == 1;
    ok = ok && inventory_match(inv, "storage", &hosts.items, &hosts.n, NULL) == 0 && hosts.n == 20;
    ok = ok && strlist_split(&selection.labels, "env=prod", NULL) == 0 &&
         inventory_filter(inv, &t, &selection, &hosts, NULL) == 0 && hosts.n == 20;
    ok = ok && inventory_labels(inv, &labels, NULL) == 0 && labels.n == 1;
    strlist_release(&selection.labels);
    ok = ok && strlist_split(&selection.hosts, "ops@new.example", NULL) == 0 &&
         targets_select_source(inv, &t, "http_sd:http://c.example/", &selection, NULL) == 0 &&
         selection.source->host && strcmp(selection.source->host->name, "new.example") == 0 &&
         strcmp(selection.source->source->name, "http_sd-3") == 0;
    selection_release(&selection);
    strlist_release(&labels);
    free(hosts.items);
    targets_release(&t);
    return ok;
}

static void *use_inventory(void *arg)
{
    struct user *u = arg;
    for (size_t i = 0; i < ROUNDS; i++)
        u->failed += !use_once(u->inventory);
    return NULL;
}

static void parallel_selections_and_discoveries_do_not_change_the_inventory(void **state)
{
    (void)state;
    struct inventory *inv = load_inventory();
    struct user users[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        users[i] = (struct user){.inventory = inv};
        assert_int_equal(pthread_create(&threads[i], NULL, use_inventory, &users[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(users[i].failed, 0);
    }
    free_inventory(inv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parallel_selections_and_discoveries_do_not_change_the_inventory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
