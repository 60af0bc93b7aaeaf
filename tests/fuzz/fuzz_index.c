/* The index page and the plan made from it: its names become file names and requests to the service. */
#include "tests/fuzz/fuzz.h"

#include "fetch/body/index.h"
#include "fetch/plan.h"
#include "base/banned.h"

static void check_entries(const struct index_page *page)
{
    assert(page->n >= 1 && page->n <= INDEX_MAX_ENTRIES);
    for (size_t i = 0; i < page->n; i++) {
        const struct index_entry *e = &page->items[i];
        assert(memchr(e->name, '\0', sizeof e->name) && fuzz_stays_below(e->name));
        assert(!strpbrk(e->name, " ?#%&\\'\"<>") && e->count >= 0);
        assert(index_find(page, e->name) == e);
    }
}

/* A request is one line without blanks; a file is one name without directories. */
static void check_plan(const struct plan *plan)
{
    assert(plan->n >= 1);
    for (size_t i = 0; i < plan->n; i++) {
        const struct plan_item *item = &plan->items[i];
        assert(item->request_target[0] == '/' && !strchr(item->request_target, ' ') &&
               fuzz_is_printable(item->request_target));
        assert(fuzz_stays_below(item->file) && !strchr(item->file, '/'));
        assert(strlen(item->file) < 250);
        for (size_t k = 0; k < i; k++)
            assert(strcmp(item->file, plan->items[k].file) != 0);
    }
    for (size_t i = 0; i < plan->findings.n; i++)
        assert(fuzz_is_printable(plan->findings.items[i].text));
}

static void plan_all(const struct index_page *page)
{
    char name[] = "s", host[] = "localhost", path[] = "/debug/pprof";
    struct service service = {.name = name, .host = host, .port = 1, .path = path};
    struct strlist words = {0};
    struct request_list requests = {0};
    struct plan plan = {0};
    struct err err = ERR_INIT;
    assert(strlist_split(&words, "all,goroutines,cmdline", &err) == 0);
    assert(request_parse(&words, &requests, &err) == 0);
    if (plan_make(&service, &requests, page, &plan, &err) == 0)
        check_plan(&plan);
    else
        fuzz_expect_err(&err);
    plan_release(&plan);
    request_release(&requests);
    strlist_release(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct index_page page = {0};
    struct err err = ERR_INIT;
    if (index_parse(p, n, &page, &err) == 0) {
        check_entries(&page);
        plan_all(&page);
    } else {
        fuzz_expect_err(&err);
        assert(!page.items && err.kind == ERR_NOT_FOUND);
    }
    index_release(&page);
    return 0;
}
