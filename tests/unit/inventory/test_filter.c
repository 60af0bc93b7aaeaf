/* Labels, exclusions, samples, limits, and hosts that are one machine. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "inventory/inventory.h"
#include "base/banned.h"

static const char file[] =
    "version: 1\n"
    "services:\n"
    "  gitaly: { port: 9236 }\n"
    "  backend: { port: 6060 }\n"
    "hosts:\n"
    "  file-[01-04]: { services: [gitaly], labels: { env: gprd, shard: 1 }, address: '{name}.example' }\n"
    "  file-[05-06]: { services: [gitaly], labels: { env: gstg, shard: 2 }, address: '{name}.example' }\n"
    "  Web-1: { services: [backend], labels: { env: gprd } }\n"
    "  bare: { services: [] }\n"
    "groups:\n"
    "  canary: [file-01, web-1]\n"
    "  storage: ['file-*']\n"
    "  nobody: []\n";

static struct inventory *parse_inventory(const char *text)
{
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    if (inventory_parse("inv.yaml", str_of(text), NULL, &inv, &err) < 0)
        fail_msg("%s", err.msg);
    return inv;
}

/* A selection. The entries of a list are separated by blanks; NULL: none. */
struct query {
    const char *hosts, *groups, *labels, *exclude;
    unsigned sample, max_hosts, port;
};

static void add_words(struct strlist *l, const char *words)
{
    for (size_t n; words && *words; words += n + strspn(words + n, " ")) {
        n = strcspn(words, " ");
        assert_int_equal(strlist_addn(l, words, n, NULL), 0);
    }
}

static int run_selection(struct inventory *inv, const struct query *query, struct targets *ret,
                         struct err *err)
{
    struct selection sel = {.sample = query->sample, .max_hosts = query->max_hosts, .port = query->port};
    add_words(&sel.hosts, query->hosts);
    add_words(&sel.groups, query->groups);
    add_words(&sel.labels, query->labels);
    add_words(&sel.exclude, query->exclude);
    int rc = inventory_select(inv, &sel, ret, err);
    selection_release(&sel);
    return rc;
}

/* Asserts the names of the selected hosts. */
static void assert_selected(struct query query, const char *expected)
{
    struct inventory *inv = parse_inventory(file);
    struct targets t = {0};
    struct err err = ERR_INIT;
    struct buf joined = BUF_INIT(4096);
    if (run_selection(inv, &query, &t, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < t.n; i++)
        buf_addf(&joined, "%s%s", i ? " " : "", t.items[i].host->name);
    assert_string_equal(buf_str(&joined), expected);
    assert_int_equal(targets_count_hosts(&t), t.n);
    buf_release(&joined);
    targets_release(&t);
    inventory_free(inv);
}

static void assert_selection_refused(struct query query, const char *message, const char *hint)
{
    struct inventory *inv = parse_inventory(file);
    struct targets t = {0};
    struct err err = ERR_INIT;
    assert_int_equal(run_selection(inv, &query, &t, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(err.msg, message);
    assert_string_equal(err.hint, hint);
    assert_null(t.items);
    targets_release(&t);
    inventory_free(inv);
}

static void labels_select_hosts(void **state)
{
    (void)state;
    assert_selected((struct query){.labels = "env=gstg"}, "file-05 file-06");
    assert_selected((struct query){.labels = "env=gprd shard=1"}, "file-01 file-02 file-03 file-04");
    assert_selected((struct query){.labels = "env=gprd"}, "file-01 file-02 file-03 file-04 Web-1");
    assert_selected((struct query){.labels = "env=gprd env=gstg shard=2"}, "file-05 file-06");
    assert_selected((struct query){.labels = "shard=1 shard=2", .hosts = "file-06 file-01 web-1"},
                    "file-06 file-01");
    assert_selected((struct query){.labels = "env=gprd", .groups = "canary"}, "file-01 Web-1");
}

static void invalid_labels_are_refused(void **state)
{
    (void)state;
    assert_selection_refused((struct query){.labels = "profiling"},
                             "a label must be NAME=VALUE, not \"profiling\"", "");
    assert_selection_refused((struct query){.labels = "env="}, "a label must be NAME=VALUE, not \"env=\"",
                             "");
    assert_selection_refused((struct query){.labels = "=gprd"}, "a label must be NAME=VALUE, not \"=gprd\"",
                             "");
    assert_selection_refused((struct query){.labels = "evn=gprd"}, "no host has a label \"evn\"",
                             "did you mean \"env\"?");
    assert_selection_refused((struct query){.labels = "ENV=gprd", .hosts = "file-*"},
                             "no host has a label \"ENV\"", "did you mean \"env\"?");
    assert_selection_refused((struct query){.labels = "region=eu"}, "no host has a label \"region\"",
                             "`profgrab hosts` shows the labels");
    assert_selection_refused((struct query){.labels = "env=gprod"},
                             "no host has the label env with the value \"gprod\"", "did you mean \"gprd\"?");
    assert_selection_refused(
        (struct query){.labels = "env=gstg", .hosts = "file-01 file-02"},
        "none of the 2 hosts has the requested labels",
        "a host must have every requested name, with one of the values requested for it");
    assert_selection_refused(
        (struct query){.labels = "env=gstg shard=1"}, "none of the 8 hosts has the requested labels",
        "a host must have every requested name, with one of the values requested for it");
    struct inventory *none = NULL;
    struct targets t = {0};
    struct err err = ERR_INIT;
    assert_int_equal(inventory_load(NULL, NULL, &none, NULL), 0);
    assert_int_equal(run_selection(none, &(struct query){.labels = "env=gprd"}, &t, &err), -1);
    assert_string_equal(err.msg, "no inventory: no host has labels");
    targets_release(&t);
    inventory_free(none);
}

static void excluded_hosts_are_not_selected(void **state)
{
    (void)state;
    assert_selected((struct query){.groups = "storage", .exclude = "file-02"},
                    "file-01 file-03 file-04 file-05 file-06");
    assert_selected((struct query){.groups = "storage", .exclude = "file-[02-05]"}, "file-01 file-06");
    assert_selected((struct query){.groups = "storage", .exclude = "*-0[1-4]*"}, "file-05 file-06");
    assert_selected((struct query){.groups = "storage", .exclude = "canary file-06"},
                    "file-02 file-03 file-04 file-05");
    assert_selected((struct query){.hosts = "file-01", .exclude = "WEB-1"}, "file-01");
    assert_selected((struct query){.labels = "env=gprd", .exclude = "storage"}, "Web-1");
    /* Hosts outside the inventory by name, address or glob. */
    assert_selected(
        (struct query){.hosts = "ops@a.example b.example c.example", .port = 80, .exclude = "a.example c*"},
        "b.example");
    assert_selected(
        (struct query){.hosts = "ops@a.example b.example", .port = 80, .exclude = "ops@a.example"},
        "b.example");
}

static void invalid_exclusions_are_refused(void **state)
{
    (void)state;
    assert_selection_refused((struct query){.groups = "storage", .exclude = "fiel-03"},
                             "nothing to exclude: no host or group is named \"fiel-03\"",
                             "did you mean \"file-03\", \"file-01\" or \"file-02\"?");
    assert_selection_refused((struct query){.groups = "storage", .exclude = "cannary"},
                             "nothing to exclude: no host or group is named \"cannary\"",
                             "did you mean \"canary\"?");
    assert_selection_refused((struct query){.groups = "storage", .exclude = "file-[06-07]"},
                             "nothing to exclude: no host or group is named \"file-07\"",
                             "did you mean \"file-01\", \"file-02\" or \"file-03\"?");
    assert_selection_refused((struct query){.groups = "storage", .exclude = "db*"},
                             "nothing to exclude: no host matches \"db*\"", "");
    assert_selection_refused((struct query){.groups = "storage", .exclude = "nobody"},
                             "nothing to exclude: group \"nobody\" has no hosts", "");
    assert_selection_refused((struct query){.groups = "storage", .exclude = "file-[3-1]"},
                             "bad range in \"file-[3-1]\": the range counts down", "");
    assert_selection_refused((struct query){.groups = "canary", .exclude = "file-* Web-1"},
                             "all selected hosts are excluded", "");
    assert_selection_refused((struct query){.hosts = "a.example", .port = 80, .exclude = "b.example"},
                             "nothing to exclude: no host or group is named \"b.example\"",
                             "did you mean \"a.example\"?");
}

static void host_names_ignore_case(void **state)
{
    (void)state;
    assert_selected((struct query){.hosts = "web-1 FILE-02 Web-1"}, "Web-1 file-02");
    assert_selected((struct query){.hosts = "WEB-*"}, "Web-1");
    assert_selected((struct query){.hosts = "FILE-[02-03]"}, "file-02 file-03");
    assert_selected((struct query){.hosts = "WEB-1", .port = 80}, "Web-1");
}

static void more_hosts_than_the_limit_are_refused(void **state)
{
    (void)state;
    assert_selected((struct query){.groups = "storage", .max_hosts = 6},
                    "file-01 file-02 file-03 file-04 file-05 file-06");
    assert_selection_refused((struct query){.groups = "storage", .max_hosts = 5},
                             "6 hosts are selected, more than --max-hosts 5",
                             "--sample 5 takes some at random, --exclude and --label select fewer");
    assert_selected((struct query){.groups = "storage", .max_hosts = 1, .exclude = "file-[02-06]"},
                    "file-01");
}

/* Takes a sample of three hosts, asserts their order, and returns a bit for each: bit N for file-0N. */
static unsigned sample_once(struct inventory *inv)
{
    struct targets t = {0};
    unsigned sampled = 0;
    int last = -1;
    assert_int_equal(
        run_selection(inv, &(struct query){.groups = "storage", .sample = 3, .max_hosts = 3}, &t, NULL), 0);
    assert_int_equal(targets_count_hosts(&t), 3);
    assert_int_equal(t.n_before_sample, 6);
    for (size_t i = 0; i < t.n; i++) {
        int number = t.items[i].host->name[6] - '0';
        assert_true(number > last);
        sampled |= 1u << number;
        last = number;
    }
    targets_release(&t);
    return sampled;
}

/* The probability that one of the six hosts is never sampled, or always sampled, is below 2 to the power of
 * -100. */
static void a_sample_is_random(void **state)
{
    (void)state;
    struct inventory *inv = parse_inventory(file);
    unsigned sometimes = 0, always = ~0u;
    for (int i = 0; i < 120; i++) {
        unsigned sampled = sample_once(inv);
        sometimes |= sampled;
        always &= sampled;
    }
    assert_int_equal(sometimes, 0x7e);
    assert_int_equal(always, 0);
    struct targets t = {0};
    assert_int_equal(run_selection(inv, &(struct query){.groups = "storage", .sample = 7}, &t, NULL), 0);
    assert_int_equal(targets_count_hosts(&t), 6);
    assert_int_equal(t.n_before_sample, 0);
    targets_release(&t);
    inventory_free(inv);
}

static void names_that_differ_only_in_case_are_refused(void **state)
{
    (void)state;
    struct inventory *inv = NULL;
    struct err err = ERR_INIT;
    const char text[] = "version: 1\nhosts:\n  web-[1-2]: { services: [] }\n  Web-2: { services: [] }\n";
    assert_int_equal(inventory_parse("inv.yaml", (struct str){text, sizeof text - 1}, NULL, &inv, &err), -1);
    assert_string_equal(err.msg,
                        "inv.yaml:4:3: host \"Web-2\" differs only by case from \"web-2\" at inv.yaml:3:3");
    assert_string_equal(err.hint, "host names ignore case, as in DNS");
}

/* Asserts which of the hosts, given in YAML, are one machine: each machine as a=b=c, separated by blanks. */
static void assert_duplicates(const char *hosts, const char *expected)
{
    struct buf text = BUF_INIT(4096), joined = BUF_INIT(4096);
    struct targets t = {0};
    struct duplicate_hosts_list duplicates = {0};
    struct err err = ERR_INIT;
    buf_addf(&text,
             "version: 1\nservices: { s: { port: 1 }, t: { port: 2 }, s2: { port: 1, path: /x },\n"
             "  u: { unix: /run/u } }\nhosts:\n%s",
             hosts);
    struct inventory *inv = parse_inventory(buf_str(&text));
    assert_int_equal(run_selection(inv, &(struct query){.hosts = "*"}, &t, NULL), 0);
    if (targets_find_duplicates(&t, &duplicates, &err) < 0)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < duplicates.n; i++)
        for (size_t j = 0; j < duplicates.items[i].n; j++)
            buf_addf(&joined, "%s%s", j ? "=" : i ? " " : "", duplicates.items[i].hosts[j]->name);
    assert_string_equal(buf_str(&joined), expected);
    duplicate_hosts_release(&duplicates);
    targets_release(&t);
    inventory_free(inv);
    buf_release(&text);
    buf_release(&joined);
}

static void hosts_of_one_address_and_service_are_found(void **state)
{
    (void)state;
    assert_duplicates("  a: { services: [s] }\n  b: { services: [s] }\n", "");
    assert_duplicates("  a: { address: x, services: [s] }\n  b: { address: X, services: [s] }\n", "a=b");
    assert_duplicates("  a: { address: x, services: [s] }\n  b: { address: u@x, services: [s2, t] }\n",
                      "a=b");
    assert_duplicates("  a: { address: x, services: [s, t] }\n  b: { address: x, services: [s, t] }\n",
                      "a=b");
    assert_duplicates("  a: { address: x, services: [s] }\n  b: { address: x, services: [t, u] }\n", "");
    assert_duplicates("  a: { address: x, services: [u] }\n  b: { address: x, services: [u] }\n", "a=b");
    assert_duplicates("  a: { address: x, services: [s, s2] }\n", "");
    assert_duplicates("  'f-[1-4]': { address: x, services: [s] }\n  g: { address: y, services: [s] }\n"
                      "  h: { address: y, services: [s] }\n",
                      "f-1=f-2=f-3=f-4 g=h");
    assert_duplicates(
        "  a: { address: x, services: [s] }\n  b: { address: x, services: [s], ssh: { port: 2222 } }\n", "");
    assert_duplicates(
        "  a: { address: x, services: [s] }\n  b: { address: x, services: [s], ssh: { jump: j } }\n", "");
    assert_duplicates(
        "  a: { address: x, services: [s] }\n  b: { address: x, services: [s], connect: direct }\n", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_select_hosts),
        cmocka_unit_test(invalid_labels_are_refused),
        cmocka_unit_test(excluded_hosts_are_not_selected),
        cmocka_unit_test(invalid_exclusions_are_refused),
        cmocka_unit_test(host_names_ignore_case),
        cmocka_unit_test(more_hosts_than_the_limit_are_refused),
        cmocka_unit_test(a_sample_is_random),
        cmocka_unit_test(names_that_differ_only_in_case_are_refused),
        cmocka_unit_test(hosts_of_one_address_and_service_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
