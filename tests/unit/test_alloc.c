/* Runs every parser and builder with its first, second, third, ... allocation failing. Each time the function
 * must report a lack of memory, leave its outputs unchanged and leak nothing (the sanitized build finds
 * leaks). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <zlib.h>

#include "bundle/manifest_internal.h"
#include "bundle/redact/redact.h"
#include "cli/args/options.h"
#include "cli/pprof/shell.h"
#include "fetch/body/check.h"
#include "fetch/body/index.h"
#include "fetch/plan.h"
#include "handoff/handoff.h"
#include "keys/agent.h"
#include "gateway/ssh/algorithms.h"
#include "gateway/ssh/certificate.h"
#include "keys/keyfile.h"
#include "keys/privkey.h"
#include "gateway/ssh/knownhosts.h"
#include "gateway/local.h"
#include "inventory/address.h"
#include "discovery/discovery.h"
#include "inventory/range.h"
#include "page/flame.h"
#include "pprof/pprof.h"
#include "page/writer.h"
#include "findings/findings.h"
#include "pprof/symbolize/symbols.h"
#include "seal/age_header.h"
#include "seal/age_identity.h"
#include "tests/unit/alloc.h"
#include "tests/unit/capture.h"
#include "tests/unit/pprof/machine_profile.h"
#include "tests/unit/profiles.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* The inputs are seeds of the fuzz targets. */
#define CORPUS "tests/fuzz/corpus/"

struct input {
    const char *p;
    size_t n;
};

/* Runs alloc_walk on a seed without its first `skip` bytes: in many seeds, the first byte only selects a
 * function of the fuzz target. */
static size_t walk_seed(alloc_work_fn *work, const char *path, size_t skip, size_t optional)
{
    struct buf b = scratch_read(path);
    assert_true(b.len > skip);
    struct input in = {b.data + skip, b.len - skip};
    size_t n = alloc_walk(work, &in, optional);
    buf_release(&b);
    return n;
}

/* ---- base -------------------------------------------------------------------------------------------- */

static int split_list(void *ctx, struct err *err)
{
    struct strlist l = {0};
    int rc = strlist_split(&l, ctx, err);
    strlist_release(&l);
    return rc;
}

static void lists_report_failed_allocations(void **state)
{
    (void)state;
    char words[] = "one, two,three,four,five,six,seven,eight,nine";
    assert_true(alloc_walk(split_list, words, 0) > 9);
}

/* ---- addresses to listen on -------------------------------------------------------------------------- */

static int read_local(void *ctx, struct err *err)
{
    struct local_address a;
    return local_address_parse(ctx, &a, err);
}

static void local_addresses_report_failed_allocations(void **state)
{
    (void)state;
    char text[] = "unix:/run/x.sock";
    assert_true(alloc_walk(read_local, text, 0) > 0);
}

/* ---- options ----------------------------------------------------------------------------------------- */

static int read_options(void *ctx, struct err *err)
{
    struct {
        struct strlist hosts;
        const char *output;
    } into = {0};
    static const struct option table[] = {
        {"host", 'H', OPTION_LIST, "NAME,...", "h", 0, 0},
        {"output", 'o', OPTION_TEXT, "FILE", "h", sizeof(struct strlist), 0},
        OPTIONS_END,
    };
    static char *argv[] = {(char *)(uintptr_t) "--host=a,b", (char *)(uintptr_t) "-Hc",
                           (char *)(uintptr_t) "-ox", (char *)(uintptr_t) "cpu", (char *)(uintptr_t) "heap"};
    struct strlist rest = {0};
    (void)ctx;
    int rc = options_parse(table, &(struct arguments){5, argv}, &into, &rest, err);
    strlist_release(&into.hosts);
    strlist_release(&rest);
    return rc;
}

static void options_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(alloc_walk(read_options, NULL, 0) >= 5);
}

/* ---- inventory --------------------------------------------------------------------------------------- */

static int read_inventory(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct inventory *inv = NULL;
    struct inventory_options options = {.tracker_kinds = handoff_tracker_kinds};
    alloc_fill_pattern(&inv, sizeof inv);
    int rc = inventory_parse("dir/inv.yaml", (struct str){in->p, in->n}, &options, &inv, err);
    if (rc < 0)
        alloc_assert_untouched(&inv, sizeof inv);
    else
        inventory_free(inv);
    return rc;
}

static void inventories_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(read_inventory, CORPUS "inventory/full", 0, 0) > 60);
    assert_true(walk_seed(read_inventory, CORPUS "inventory/ranges", 0, 0) > 60);
    assert_true(walk_seed(read_inventory, CORPUS "inventory/teams", 0, 0) > 40);
}

static int read_range(void *ctx, struct err *err)
{
    struct strlist names = {0};
    int rc = range_expand(ctx, 100, &names, err);
    assert_true(rc == 0 || names.n == 0);
    strlist_release(&names);
    return rc;
}

static void ranges_report_failed_allocations(void **state)
{
    (void)state;
    char text[] = "rack[1-2]-node[01-03,7]";
    assert_true(alloc_walk(read_range, text, 0) > 8);
}

static int read_address(void *ctx, struct err *err)
{
    struct address a;
    alloc_fill_pattern(&a, sizeof a);
    if (address_parse(ctx, &a, err) < 0) {
        alloc_assert_untouched(&a, sizeof a);
        return -1;
    }
    char *name = address_name(&a), *text = address_text(&a);
    int rc = name && text ? 0 : err_nomem(err);
    free(name);
    free(text);
    address_release(&a);
    return rc;
}

static void addresses_report_failed_allocations(void **state)
{
    (void)state;
    char text[] = "ssh://ops@[2001:db8::7]:2222";
    assert_int_equal(alloc_walk(read_address, text, 0), 5);
}

/* Parses an inventory, whose allocations do not fail. */
static struct inventory *parse_full_inventory(void)
{
    struct inventory *inv = NULL;
    size_t nth = alloc_pause();
    struct buf b = scratch_read(CORPUS "inventory/full");
    assert_int_equal(inventory_parse("inv.yaml", (struct str){b.data, b.len}, NULL, &inv, NULL), 0);
    buf_release(&b);
    alloc_resume(nth);
    return inv;
}

static int find_duplicates(const struct targets *targets, struct err *err)
{
    struct duplicate_hosts_list duplicates;
    alloc_fill_pattern(&duplicates, sizeof duplicates);
    if (targets_find_duplicates(targets, &duplicates, err) < 0) {
        alloc_assert_untouched(&duplicates, sizeof duplicates);
        return -1;
    }
    duplicate_hosts_release(&duplicates);
    return 0;
}

static int make_selection(void *ctx, struct err *err)
{
    const struct selection *sel = ctx;
    struct inventory *inv = parse_full_inventory();
    struct targets targets = {0};
    int rc = inventory_select(inv, sel, &targets, err);
    assert_int_equal(targets.n, rc < 0 ? 0 : 12);
    if (rc == 0)
        rc = find_duplicates(&targets, err);
    targets_release(&targets);
    inventory_free(inv);
    return rc;
}

static void selections_report_failed_allocations(void **state)
{
    (void)state;
    struct selection sel = {.port = 6060};
    assert_int_equal(strlist_split(&sel.hosts, "file-*,file-[04-05],plain,a@b.example,laptop,[::1]:22", NULL),
                     0);
    assert_int_equal(strlist_split(&sel.groups, "storage", NULL), 0);
    assert_int_equal(strlist_split(&sel.services, "gitaly", NULL), 0);
    assert_int_equal(strlist_split(&sel.exclude, "plain,b.example", NULL), 0);
    assert_true(alloc_walk(make_selection, &sel, 0) > 20);
    selection_release(&sel);
}

static int match_hosts(void *ctx, struct err *err)
{
    struct inventory *inv = parse_full_inventory();
    const struct host **found = NULL;
    size_t n = 0;
    int rc = inventory_match(inv, ctx, &found, &n, err);
    assert_true(rc == 0 ? n == 4 : !found && n == 0);
    free(found);
    inventory_free(inv);
    return rc;
}

static void matches_report_failed_allocations(void **state)
{
    (void)state;
    char pattern[] = "file-*";
    assert_true(alloc_walk(match_hosts, pattern, 0) > 3);
}

static int read_discovered_json(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct discovered found = {0};
    struct discovered_reader *r = NULL;
    int rc = discovered_reader_new(SOURCE_PROMETHEUS, &found, &r, err);
    if (rc == 0)
        rc = discovered_reader_feed(r, in->p, in->n, err);
    if (rc == 0)
        rc = discovered_reader_end(r, err);
    discovered_reader_free(r);
    discovered_release(&found);
    return rc;
}

static int read_discovered_configs(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct discovered found = {0};
    int rc = discovered_parse(&(struct discovered_file){"parca.yaml", NULL, SOURCE_PARCA, {in->p, in->n}},
                              &found, err);
    discovered_release(&found);
    return rc;
}

static int read_discovered_groups(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct discovered found = {0};
    int rc = discovered_parse(&(struct discovered_file){"sd.yml", NULL, SOURCE_FILE_SD, {in->p, in->n}},
                              &found, err);
    discovered_release(&found);
    return rc;
}

/* Parses an inventory, reads the targets of a source, and adds its services to the hosts. */
static int discover_services(void *ctx, struct err *err)
{
    static const char text[] =
        "version: 1\n"
        "services:\n"
        "  a: { port: 1, scheme: https, tls: { ca: x }, auth: { user: u, password_env: P }, kinds: [heap], "
        "hint: h, host_header: y }\n"
        "hosts:\n  h: { address: H.example }\n  i: { services: [] }\n"
        "discovery:\n"
        "  - { prometheus: 'https://p/', name: n, job: [a, c], service: a, through: i, host: i, match: "
        "'^(h)z', "
        "tls: { ca: c }, auth: { bearer_file: t }, max_age: 1h }\n"
        "  - { parca: p.yaml }\n";
    const struct input *in = ctx;
    struct inventory *inv = NULL;
    struct source_use *use = NULL;
    struct discovered_counts counts = {0};
    struct discovered found = {0};
    struct targets t = {0};
    struct buf b = BUF_INIT(65536);
    int rc = inventory_parse("inv.yaml", (struct str){text, sizeof text - 1}, NULL, &inv, err);
    struct discovery d = DISCOVERY_INIT(inv, &t);
    if (rc == 0)
        rc = targets_find_source(inv, &t, "n", &use, err);
    if (rc == 0)
        rc = discovered_parse(&(struct discovered_file){"sd.yml", NULL, SOURCE_FILE_SD, {in->p, in->n}},
                              &found, err);
    if (rc == 0)
        rc = discovered_write(&found, &b, err);
    if (rc == 0)
        rc = discovery_add(&d, use, &found, &counts, err);
    if (rc == 0)
        rc = discovery_finish(&d, err);
    if (rc == 0)
        rc = targets_find_source(inv, &t, "http_sd:http://x/", &use, err);
    if (rc == 0)
        assert_int_equal(counts.with_host, 3);
    buf_release(&b);
    discovered_release(&found);
    discovery_release(&d);
    targets_release(&t);
    inventory_free(inv);
    return rc;
}

static void discoveries_report_failed_allocations(void **state)
{
    (void)state;
    static const char groups[] =
        "- targets: ['h.example:1', 'h.example:2', 'hz:3', 'q:4']\n  labels: {job: a}\n";
    struct input in = {groups, sizeof groups - 1};
    assert_true(walk_seed(read_discovered_json, CORPUS "discovery/prometheus", 1, 1) > 10);
    assert_true(walk_seed(read_discovered_configs, CORPUS "discovery/parca", 1, 0) > 10);
    assert_true(walk_seed(read_discovered_groups, CORPUS "discovery/file-sd", 1, 0) > 5);
    assert_true(alloc_walk(discover_services, &in, 2) > 50);
}

static int read_ssh_config(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct ssh_config c;
    alloc_fill_pattern(&c, sizeof c);
    int rc = ssh_config_parse("ops@host", in->p, in->n, &c, err);
    if (rc < 0) {
        alloc_assert_untouched(&c, sizeof c);
        return rc;
    }
    /* No token may stay unexpanded for lack of memory. */
    assert_string_equal(c.login.identity_files.items[1], "/some/place/id");
    assert_string_equal(c.login.agent, "/some/place");
    ssh_config_release(&c);
    return rc;
}

static void ssh_configs_report_failed_allocations(void **state)
{
    (void)state;
    setenv("PLACE", "/some/place", 1);
    assert_true(walk_seed(read_ssh_config, CORPUS "ssh_config/all", 0, 0) > 60);
    unsetenv("PLACE");
}

static int resolve_config(void *ctx, struct err *err)
{
    static const struct proc_limits limits = {.timeout_ms = 60000, .cancel_fd = -1, .max_output = 1 << 20};
    struct ssh_config c;
    alloc_fill_pattern(&c, sizeof c);
    int rc = ssh_config_resolve("ops@host", ctx, &limits, &c, err);
    if (rc < 0)
        alloc_assert_untouched(&c, sizeof c);
    else
        ssh_config_release(&c);
    return rc;
}

static void resolving_reports_failed_allocations(void **state)
{
    (void)state;
    char config[] = "/dev/null", identity[] = "/dev/null", known[] = "/known", jump[] = "b", agent[] = "/a";
    struct ssh_settings s = {
        .config = config, .identity = identity, .known_hosts = known, .jump = jump, .agent = agent};
    assert_true(alloc_walk(resolve_config, &s, 0) > 30);
}

/* ---- gateway ----------------------------------------------------------------------------------------- */

static int read_agent(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct agent a = {.fd = -1};
    int rc = agent_parse_keys(&a, in->p, in->n, err);
    agent_release(&a);
    return rc;
}

static int read_keyfile(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct keyfile k;
    alloc_fill_pattern(&k, sizeof k);
    int rc = keyfile_parse(in->p, in->n, &k, err);
    if (rc < 0)
        alloc_assert_untouched(&k, sizeof k);
    else
        keyfile_release(&k);
    return rc;
}

static int read_privkey(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct privkey *k = NULL;
    struct ssh_blob public = {0};
    int rc = privkey_parse(in->p, in->n, NULL, &k, err);
    if (rc == 0)
        rc = privkey_public(k, &public, err);
    assert_true(rc == 0 || !public.data);
    ssh_blob_release(&public);
    privkey_free(k);
    return rc;
}

/* Reads a key with a passphrase. */
static int read_locked_key(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct secret passphrase = {.text = "secret", .len = 6};
    struct privkey *k = NULL;
    int rc = privkey_parse(in->p, in->n, &(struct passphrase){&passphrase, -1}, &k, err);
    assert_true(rc == 0 || !k);
    privkey_free(k);
    return rc;
}

static int check_passphrase(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct secret passphrase = {.text = "secret", .len = 6};
    return privkey_check_passphrase(in->p, in->n, &(struct passphrase){&passphrase, -1}, err);
}

static int read_certificate(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct certificate c;
    alloc_fill_pattern(&c, sizeof c);
    int rc = certificate_parse(in->p, in->n, &c, err);
    if (rc < 0)
        alloc_assert_untouched(&c, sizeof c);
    else
        certificate_release(&c);
    return rc;
}

static int read_known_hosts(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct known_hosts k = {0};
    int rc = known_hosts_parse(&k, "file", in->p, err);
    /* A lack of memory must not skip a line, because the line might revoke a key. */
    assert_true(rc < 0 || k.n == 2);
    known_hosts_release(&k);
    return rc;
}

static int read_algorithms(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct algorithms a = {0};
    int rc = algorithms_read(in->p, in->n, &a, err);
    assert_int_equal(a.lists[0] != NULL, rc == 0);
    algorithms_release(&a);
    return rc;
}

static void ssh_data_reports_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(read_agent, CORPUS "sshwire/agent-two", 1, 0) >= 3);
    assert_true(walk_seed(read_keyfile, CORPUS "sshwire/key-ed25519", 1, 0) >= 4);
    assert_int_equal(walk_seed(read_keyfile, CORPUS "sshwire/pem-ec", 1, 0), 1);
    assert_int_equal(walk_seed(read_algorithms, CORPUS "sshwire/server-openssh", 1, 0), ALGORITHM_LISTS);
    assert_true(walk_seed(read_privkey, CORPUS "sshwire/key-ed25519", 1, 0) >= 5);
    assert_true(walk_seed(read_locked_key, CORPUS "sshwire/key-enc-chacha20-poly1305", 1, 0) >= 7);
    assert_true(walk_seed(check_passphrase, CORPUS "sshwire/key-enc-chacha20-poly1305", 1, 0) >= 7);
    assert_true(walk_seed(read_certificate, CORPUS "sshwire/certificate", 1, 0) >= 3);
    assert_true(walk_seed(read_known_hosts, CORPUS "sshwire/known-revoked", 1, 0) >= 5);
}

/* Adds a host key. After a failure the file has no part of it. */
static int add_known_host(void *ctx, struct err *err)
{
    static unsigned char key[] = {0, 0, 0, 11, 's', 's', 'h', '-', 'e', 'd', '2', '5', '5', '1', '9'};
    static const struct ssh_blob blob = {key, sizeof key};
    struct known_addition a = *(const struct known_addition *)ctx;
    struct proc_limits limits = {.timeout_ms = 20000, .cancel_fd = -1, .max_output = 1 << 16};
    a.key = &blob;
    int rc = known_hosts_add(&a, &limits, err);
    size_t paused = alloc_pause();
    if (rc < 0 && file_exists(a.file)) {
        struct buf left = scratch_read(a.file);
        assert_int_equal(left.len, 0);
        buf_release(&left);
    }
    /* known_hosts_add makes the directory. */
    char *dir = file_dir(a.file);
    assert_int_equal(file_remove(dir, NULL), 0);
    free(dir);
    alloc_resume(paused);
    return rc;
}

static void known_hosts_report_failed_allocations(void **state)
{
    char *path = file_join(*state, "ssh/known_hosts");
    assert_non_null(path);
    struct known_addition a = {.file = path, .host = "Host", .port = 2222};
    assert_true(alloc_walk(add_known_host, &a, 0) >= 5);
    a.hashed = true;
    assert_true(alloc_walk(add_known_host, &a, 0) >= 5);
    free(path);
}

/* ---- seal -------------------------------------------------------------------------------------------- */

static int read_header(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct age_header h;
    alloc_fill_pattern(&h, sizeof h);
    int rc = age_header_parse(in->p, in->n, &h, err);
    if (rc < 0)
        alloc_assert_untouched(&h, sizeof h);
    else
        age_header_release(&h);
    return rc;
}

static int read_identities(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct age_identities *i = NULL;
    int rc = age_identities_new(NULL, NULL, 0, &i, err);
    if (rc == 0)
        rc = age_identities_parse(i, in->p, in->n, "identity", err);
    age_identities_free(i);
    return rc;
}

struct sealing {
    struct input recipient, identity;
};

static int encrypt_to(const struct sealing *s, int fd, struct err *err)
{
    struct age_recipients *r = NULL;
    struct age_writer *w = NULL;
    int rc = age_recipients_new(&r, err);
    if (rc == 0)
        rc = age_recipients_add(r, s->recipient.p, "here", err);
    if (rc == 0)
        rc = age_writer_open(fd, r, true, &w, err);
    if (rc == 0)
        rc = age_writer_write(w, "hello", 5, err);
    if (rc == 0)
        rc = age_writer_finish(w, err);
    age_writer_free(w);
    age_recipients_free(r);
    return rc;
}

static int decrypt_by(const struct sealing *s, int fd, struct err *err)
{
    char text[8];
    struct age_identities *i = NULL;
    struct age_reader *r = NULL;
    int rc = age_identities_new(NULL, NULL, 0, &i, err);
    if (rc == 0)
        rc = age_identities_parse(i, s->identity.p, s->identity.n, "identity", err);
    if (rc == 0)
        rc = age_reader_open(fd, i, &r, err);
    if (rc == 0)
        rc = age_reader_read(r, text, sizeof text, err) == 5 ? 0 : -1;
    age_reader_free(r);
    age_identities_free(i);
    return rc;
}

/* Encrypts and decrypts. */
static int seal_and_open(void *ctx, struct err *err)
{
    const struct sealing *s = ctx;
    FILE *f = tmpfile();
    assert_non_null(f);
    int fd = fileno(f);
    int rc = encrypt_to(s, fd, err);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) == 0)
        rc = decrypt_by(s, fd, err);
    fclose(f);
    return rc;
}

static size_t walk_sealing(const char *recipient, const char *identity)
{
    struct buf public = scratch_read(recipient), private = scratch_read(identity);
    struct sealing s = {{public.data + 1, public.len - 1}, {private.data + 1, private.len - 1}};
    size_t n = alloc_walk(seal_and_open, &s, 0);
    buf_release(&public);
    buf_release(&private);
    return n;
}

static void sealing_reports_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(read_header, CORPUS "age/header-ssh", 1, 0) >= 3);
    assert_true(walk_seed(read_identities, CORPUS "age/identity-two", 1, 0) >= 5);
    assert_true(walk_seed(read_identities, CORPUS "age/identity-ssh", 1, 0) >= 8);
    assert_true(walk_sealing(CORPUS "age/recipient", CORPUS "age/identity-two") >= 15);
    assert_true(walk_sealing(CORPUS "age/recipient-ed25519", CORPUS "age/identity-ssh") >= 20);
    assert_true(walk_sealing(CORPUS "age/recipient-rsa", CORPUS "age/identity-rsa") >= 20);
}

/* ---- proto and fetch --------------------------------------------------------------------------------- */

static int read_body(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct check_result result;
    struct check *c = check_new(*in->p == 'g' ? BODY_TRACE : BODY_PPROF, err);
    if (!c)
        return -1;
    int rc = check_feed(c, in->p, in->n, err);
    if (rc == 0)
        rc = check_finish(c, &result, err);
    check_free(c);
    return rc;
}

static int discard_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    (void)ctx, (void)p, (void)n, (void)err;
    return 0;
}

static int inflate_body(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct gunzip *z = gunzip_new(discard_bytes, NULL, 1 << 20, err);
    if (!z)
        return -1;
    int rc = gunzip_feed(z, in->p, in->n, err);
    if (rc == 0)
        rc = gunzip_finish(z, err);
    gunzip_free(z);
    return rc;
}

static int scan_body(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct profile_summary sum;
    struct profile_scan *s = profile_scan_new(err);
    if (!s)
        return -1;
    int rc = profile_scan_feed(s, in->p, in->n, err);
    if (rc == 0)
        rc = profile_scan_finish(s, &sum, err);
    profile_scan_free(s);
    return rc;
}

static int scan_trace(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct trace_summary sum;
    struct trace_scan *s = trace_scan_new(err);
    if (!s)
        return -1;
    int rc = trace_scan_feed(s, in->p, in->n, err);
    if (rc == 0)
        rc = trace_scan_finish(s, &sum, err);
    trace_scan_free(s);
    return rc;
}

static void bodies_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(read_body, CORPUS "check/pprof-full-gzip", 1, 0) >= 3);
    assert_true(walk_seed(read_body, CORPUS "check/pprof-full", 1, 0) >= 3);
    assert_true(walk_seed(read_body, CORPUS "check/trace-26", 1, 0) >= 2);
    assert_true(walk_seed(inflate_body, CORPUS "gunzip/two", 0, 0) >= 1);
    assert_true(walk_seed(scan_body, CORPUS "check/pprof-full", 1, 0) >= 1);
    assert_int_equal(walk_seed(scan_trace, CORPUS "trace/batches-26", 0, 0), 1);
}

static int read_index(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct index_page page;
    alloc_fill_pattern(&page, sizeof page);
    int rc = index_parse(in->p, in->n, &page, err);
    if (rc < 0)
        alloc_assert_untouched(&page, sizeof page);
    else
        index_release(&page);
    return rc;
}

static void indexes_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(read_index, CORPUS "index/go-1.17", 0, 0) >= 2);
}

static int read_requests(void *ctx, struct err *err)
{
    struct request_list l;
    alloc_fill_pattern(&l, sizeof l);
    int rc = request_parse(ctx, &l, err);
    if (rc < 0)
        alloc_assert_untouched(&l, sizeof l);
    else
        request_release(&l);
    return rc;
}

struct planning {
    struct index_page index;
    struct request_list requests;
    struct service service;
};

static int make_plan(void *ctx, struct err *err)
{
    const struct planning *p = ctx;
    struct plan plan;
    alloc_fill_pattern(&plan, sizeof plan);
    int rc = plan_make(&p->service, &p->requests, &p->index, &plan, err);
    if (rc < 0)
        alloc_assert_untouched(&plan, sizeof plan);
    else
        plan_release(&plan);
    return rc;
}

static void plans_report_failed_allocations(void **state)
{
    (void)state;
    char name[] = "s", host[] = "localhost", path[] = "/debug/pprof";
    struct planning p = {.service = {.name = name, .host = host, .port = 1, .path = path}};
    struct strlist words = {0};
    struct buf page = scratch_read(CORPUS "index/many-goroutines");
    assert_int_equal(strlist_split(&words, "incident,all,heap=gc,mutex=text,block=5s,/debug/vars", NULL), 0);
    assert_true(alloc_walk(read_requests, &words, 0) >= 2);
    assert_int_equal(request_parse(&words, &p.requests, NULL), 0);
    assert_int_equal(index_parse(page.data, page.len, &p.index, NULL), 0);
    /* One allocation may fail without an error: the plan then lacks its finding on the goroutines. */
    assert_true(alloc_walk(make_plan, &p, 1) >= 2);
    index_release(&p.index);
    request_release(&p.requests);
    strlist_release(&words);
    buf_release(&page);
}

/* ---- bundle ------------------------------------------------------------------------------------------ */

static int fill_manifest(struct manifest *m, struct err *err)
{
    static const struct manifest_hop hop = {.address = "a",
                                            .port = 22,
                                            .host_key_new = true,
                                            .user = "u",
                                            .via = "libssh2",
                                            .host_key_type = "ssh-ed25519",
                                            .host_key = "SHA256:x",
                                            .authentication = "key"};
    static const struct manifest_host host = {
        .name = "h", .address = "a", .route = "ssh", .hops = &hop, .n_hops = 1, .error = "e"};
    static const struct manifest_listed_profile offer = {.name = "heap", .has_count = true, .count = 3};
    static const struct manifest_finding finding = {.rule = "rule", .text = "text"};
    static const struct manifest_planned planned = {.kind = "heap", .argument = "gc", .pair = 1};
    static const struct manifest_service service = {.host = "h",
                                                    .name = "s",
                                                    .url = "http://x",
                                                    .offers = &offer,
                                                    .n_offers = 1,
                                                    .has_clock_skew = true,
                                                    .clock_skew_ms = 1,
                                                    .planned = &planned,
                                                    .n_planned = 1,
                                                    .error = "e",
                                                    .findings = &finding,
                                                    .n_findings = 1};
    static const struct manifest_sample_type type = {.type = "cpu", .unit = "nanoseconds", .total = 1};
    static const char sha256[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const struct manifest_item items[] = {{.host = "h",
                                                  .service = "s",
                                                  .kind = "cpu",
                                                  .argument = "1s",
                                                  .request = "GET /",
                                                  .file = "h/s/cpu.pb.gz",
                                                  .http_status = 200,
                                                  .content_type = "x",
                                                  .started = WHEN,
                                                  .bytes = 1,
                                                  .sha256 = sha256,
                                                  .has_profile = true,
                                                  .sample_types = &type,
                                                  .n_sample_types = 1,
                                                  .profile_duration_ns = 1,
                                                  .go_version = "1.22",
                                                  .findings = &finding,
                                                  .n_findings = 1},
                                                 {.kind = "local", .error = "e", .server_words = "w"}};
    if (manifest_add_host(m, &host, err) < 0 || manifest_add_service(m, &service, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        if (manifest_add_item(m, &items[i], err) < 0)
            return -1;
    static const struct manifest_run runs[] = {{0},
                                               {.deadline_ms = 1,
                                                .budget_bytes = 1,
                                                .budget_ms = 1,
                                                .retries = 1,
                                                .sync_at = WHEN,
                                                .has_sync_skew = true}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        manifest_set_run(m, &runs[i]);
    return manifest_finish(m, WHEN, false, true, err);
}

static int build_manifest(void *ctx, struct err *err)
{
    (void)ctx;
    static const struct manifest_info info = {
        .name = "b", .version = "1", .user = "u", .workstation = "w", .reason = "r", .started = WHEN};
    struct manifest *m = NULL;
    if (manifest_new(&info, &m, err) < 0)
        return -1;
    int rc = fill_manifest(m, err);
    struct buf text = BUF_INIT(1 << 20);
    if (rc == 0)
        rc = manifest_print(m, &text, err);
    buf_release(&text);
    manifest_free(m);
    return rc;
}

static void manifests_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(alloc_walk(build_manifest, NULL, 0) > 60);
}

/* Loads a manifest with its request, and merges another run. */
static int load_manifest(void *ctx, struct err *err)
{
    static const struct manifest_info now = {.name = "b-2", .version = "1", .user = "u", .started = WHEN};
    const struct input *in = ctx;
    struct manifest *m = NULL;
    /* jansson's parser has another message for a lack of memory. */
    alloc.json_works = true;
    int rc = manifest_read_for_resume(in->p, in->n, &m, err);
    alloc.json_works = false;
    if (rc < 0)
        return -1;
    rc = manifest_check_request(m, err);
    if (rc == 0)
        rc = manifest_set_request(m, &m->request, err);
    if (rc == 0)
        rc = manifest_resume(m, &now, err);
    if (rc == 0)
        rc = fill_manifest(m, err);
    manifest_free(m);
    return rc;
}

static void loaded_manifests_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(load_manifest, CORPUS "manifest/asked", 0, 0) > 80);
}

/* Packs a capture. After a failure its work directory stays. */
static int pack_bundle(void *ctx, struct err *err)
{
    const char *dir = ctx;
    size_t nth = alloc_pause();
    struct capture c;
    char *path, *output = file_join(dir, "b.tar.gz"), *work = file_join(dir, "b.partial");
    assert_true(output && work);
    capture_init(&c, output);
    alloc_resume(nth);
    alloc_fill_pattern(&path, sizeof path);
    int rc = bundle_pack(c.w, c.m, -1, &path, err);
    nth = alloc_pause();
    if (rc < 0) {
        /* There is no bundle, not even under a temporary name. The collected items exist. */
        alloc_assert_untouched(&path, sizeof path);
        assert_int_equal(scratch_count(dir), 1);
        assert_true(file_exists(work));
        assert_int_equal(file_remove(work, NULL), 0);
    } else {
        assert_verify_reports(path, "intact " HEAP " 24\nintact " TEXT " 35\nintact " LOCAL " 0\n");
        assert_int_equal(file_remove(output, NULL), 0);
        assert_int_equal(file_remove(work, NULL), 0);
        free(path);
    }
    capture_release(&c);
    free(output);
    free(work);
    alloc_resume(nth);
    return rc;
}

static void packing_reports_failed_allocations(void **state)
{
    assert_true(alloc_walk(pack_bundle, *state, 0) > 30);
}

static int verify_bundle(void *ctx, struct err *err)
{
    struct bundle_summary sum;
    alloc_fill_pattern(&sum, sizeof sum);
    int rc = bundle_verify(ctx, NULL, &sum, err);
    if (rc < 0)
        alloc_assert_untouched(&sum, sizeof sum);
    else
        assert_true(sum.intact == 3 && sum.changed + sum.missing + sum.unknown == 0);
    return rc;
}

static int count_member(void *ctx, const struct bundle_member *m, struct err *err)
{
    (void)m, (void)err;
    ++*(size_t *)ctx;
    return 0;
}

static int list_bundle(void *ctx, struct err *err)
{
    size_t n = 0;
    int rc = bundle_list(ctx, NULL, count_member, &n, err);
    assert_true(rc < 0 || n == 5);
    return rc;
}

static int read_bundle_manifest(void *ctx, struct err *err)
{
    char *text;
    alloc_fill_pattern(&text, sizeof text);
    int rc = bundle_read_manifest(ctx, NULL, &text, err);
    if (rc < 0)
        alloc_assert_untouched(&text, sizeof text);
    else
        free(text);
    return rc;
}

struct extraction {
    const char *path, *below;
    struct strlist members;
};

static int extract_bundle(void *ctx, struct err *err)
{
    const struct extraction *x = ctx;
    char *made;
    alloc_fill_pattern(&made, sizeof made);
    int rc = bundle_extract(&(struct bundle_extract_options){x->path, NULL, x->below, &x->members, 1 << 20},
                            &made, err);
    size_t nth = alloc_pause();
    if (rc < 0) {
        alloc_assert_untouched(&made, sizeof made);
    } else {
        assert_int_equal(file_remove(made, NULL), 0);
        free(made);
    }
    assert_int_equal(scratch_count(x->below), 0);
    alloc_resume(nth);
    return rc;
}

/* Reads members, one of them twice, so that bundle_members also keeps bytes in memory. */
static int read_members(void *ctx, struct err *err)
{
    const struct bundle_members_options *wanted = ctx;
    struct bundle_members *m;
    alloc_fill_pattern(&m, sizeof m);
    if (bundle_members_new(wanted, &m, err) < 0) {
        alloc_assert_untouched(&m, sizeof m);
        return -1;
    }
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < wanted->members.n; i++) {
        struct buf bytes = BUF_INIT(1 << 20);
        rc = bundle_members_read(m, wanted->members.items[i], &bytes, err);
        assert_true(rc < 0 || bytes.len > 0);
        buf_release(&bytes);
    }
    bundle_members_free(m);
    return rc;
}

static void members_report_failed_allocations(void **state)
{
    char *path = pack_capture(*state);
    struct bundle_members_options wanted = {.path = path, .max_bytes = 1 << 20};
    assert_int_equal(strlist_split(&wanted.members, "README.md,manifest.json,README.md", NULL), 0);
    assert_true(alloc_walk(read_members, &wanted, 0) > 10);
    strlist_release(&wanted.members);
    free(path);
}

static void reading_reports_failed_allocations(void **state)
{
    const char *dir = *state;
    char *path = pack_capture(dir), *below = file_join(dir, "below");
    assert_int_equal(file_mkdir(below, NULL), 0);
    struct extraction x = {.path = path, .below = below};
    assert_int_equal(strlist_split(&x.members, "file-03,local/*", NULL), 0);
    /* Without memory, jansson cuts a text silently. */
    alloc.json_works = true;
    assert_true(alloc_walk(verify_bundle, path, 0) > 10);
    alloc.json_works = false;
    assert_true(alloc_walk(list_bundle, path, 0) > 10);
    assert_true(alloc_walk(read_bundle_manifest, path, 0) > 10);
    assert_true(alloc_walk(extract_bundle, &x, 0) > 15);
    strlist_release(&x.members);
    free(below);
    free(path);
}

struct workdir_parent {
    const char *dir;
    const char *output;
};

static int make_workdir(void *ctx, struct err *err)
{
    const struct workdir_parent *parent = ctx;
    struct workdir *w;
    alloc_fill_pattern(&w, sizeof w);
    int rc = workdir_new(parent->output, "subject", WHEN, &w, err);
    size_t nth = alloc_pause();
    if (rc < 0) {
        alloc_assert_untouched(&w, sizeof w);
    } else {
        workdir_remove(w);
        workdir_free(w);
    }
    assert_int_equal(scratch_count(parent->dir), 0);
    alloc_resume(nth);
    return rc;
}

static void workdirs_report_failed_allocations(void **state)
{
    char *missing = file_join(*state, "new/er/");
    assert_true(alloc_walk(make_workdir, &(struct workdir_parent){*state, *state}, 0) >= 6);
    assert_true(alloc_walk(make_workdir, &(struct workdir_parent){*state, missing}, 0) >= 12);
    free(missing);
}

/* ---- signatures, redaction, copies ------------------------------------------------------------------- */

static int read_signature(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct sshsig s;
    alloc_fill_pattern(&s, sizeof s);
    if (sshsig_parse(in->p, in->n, &s, err) < 0) {
        alloc_assert_untouched(&s, sizeof s);
        return -1;
    }
    int rc = sshsig_verify(&s, "message", 7, err);
    sshsig_release(&s);
    return rc;
}

static int make_signature(void *ctx, struct err *err)
{
    struct sshsig_signer by = {.key = ctx, .cancel_fd = -1};
    char *armor;
    alloc_fill_pattern(&armor, sizeof armor);
    int rc = sshsig_sign(&by, "x", STR("message"), &armor, err);
    if (rc < 0)
        alloc_assert_untouched(&armor, sizeof armor);
    else
        free(armor);
    return rc;
}

static void signatures_report_failed_allocations(void **state)
{
    static const char *const seeds[] = {"signature-ed25519", "signature-rsa", "signature-ecdsa"};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        char *seed = format_text(CORPUS "sign/%s", seeds[i]);
        assert_true(walk_seed(read_signature, seed, 1, 0) > 5);
        free(seed);
    }
    char *key = format_text("%s/key", (char *)*state);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", key);
    assert_true(alloc_walk(make_signature, key, 0) > 15);
    free(key);
}

static int inspect_key(void *ctx, struct err *err)
{
    struct keyfile k;
    alloc_fill_pattern(&k, sizeof k);
    if (keyfile_inspect(ctx, &k, err) < 0) {
        alloc_assert_untouched(&k, sizeof k);
        return -1;
    }
    /* A public key that was not read for lack of memory would be missing here. */
    assert_true(k.blob.n > 0);
    keyfile_release(&k);
    return 0;
}

/* The public key is in each possible place: in the private key's file; in FILE.pub beside a private key,
 * beside a file that is no key, or alone; and in a public key file that is inspected itself. */
static void key_files_report_failed_allocations(void **state)
{
    const char *dir = *state;
    char *key = format_text("%s/key", dir), *pem = format_text("%s/pem", dir),
         *pub = format_text("%s/pem.pub", dir);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ecdsa", "-m", "PEM", "-N", "", "-f", pem);
    assert_true(alloc_walk(inspect_key, key, 0) > 3);
    assert_true(alloc_walk(inspect_key, pem, 0) > 3);
    assert_true(alloc_walk(inspect_key, pub, 0) > 2);
    free(scratch_file(dir, "pem", "no key\n", 7));
    assert_true(alloc_walk(inspect_key, pem, 0) > 3);
    assert_int_equal(file_remove(pem, NULL), 0);
    assert_true(alloc_walk(inspect_key, pem, 0) > 2);
    free(key);
    free(pem);
    free(pub);
}

static int relabel_seed(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct bytes bytes = {in->p, in->n, 0};
    struct buf out;
    buf_init(&out, SIZE_MAX);
    uint64_t n;
    alloc_fill_pattern(&n, sizeof n);
    int rc = relabel(&bytes, &out, &n, err);
    if (rc < 0)
        alloc_assert_untouched(&n, sizeof n);
    else
        assert_true(n > 0);
    buf_release(&out);
    return rc;
}

/* Removes the last byte of each string. */
static bool rewrite_string(void *ctx, const char *text, size_t n, struct buf *ret)
{
    (void)ctx;
    if (n == 0)
        return false;
    if (ret)
        buf_add(ret, text, n - 1);
    return true;
}

static int rewrite_seed(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct bytes bytes = {in->p, in->n, 0};
    struct buf out = BUF_INIT(1 << 20);
    struct profile_relabelled result;
    const struct profile_relabel options = {.is_replaced = is_label_replaced,
                                            .rewrite = rewrite_string,
                                            .text = REDACTED,
                                            .source = feed_bytes,
                                            .source_ctx = &bytes,
                                            .sink = add_to_buf,
                                            .sink_ctx = &out};
    alloc_fill_pattern(&result, sizeof result);
    int rc = profile_relabel(&options, &result, err);
    if (rc < 0)
        alloc_assert_untouched(&result, sizeof result);
    else
        assert_true(result.strings > 0);
    buf_release(&out);
    return rc;
}

static void relabelling_reports_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(relabel_seed, CORPUS "sign/profile", 1, 0) > 5);
    assert_true(walk_seed(rewrite_seed, CORPUS "sign/profile", 1, 0) > 5);
}

/* Copies a bundle. After a failure no file of the copy is left. */
static int copy_bundle(void *ctx, struct err *err)
{
    struct bundle_copy_options *options = ctx;
    struct bundle_copy_result c;
    alloc_fill_pattern(&c, sizeof c);
    size_t nth = alloc_pause();
    char *dir = file_dir(options->bundle);
    size_t before = scratch_count(dir);
    alloc_resume(nth);
    int rc = bundle_copy(options, &c, err);
    nth = alloc_pause();
    if (rc < 0) {
        alloc_assert_untouched(&c, sizeof c);
    } else {
        assert_int_equal(c.redactions, 2);
        assert_int_equal(file_remove(c.path, NULL), 0);
        bundle_copy_result_release(&c);
    }
    assert_int_equal(scratch_count(dir), before);
    free(dir);
    alloc_resume(nth);
    return rc;
}

static void copying_reports_failed_allocations(void **state)
{
    static const char dump[] = "# labels: {\"user\":\"alice\"}\n# labels: {\"user\":\"bob\"}\n";
    struct capture c;
    char *path = NULL, *output = format_text("%s/b.tar.gz", (char *)*state),
         *key = format_text("%s/key", (char *)*state);
    capture_init(&c, output);
    add_file_and_item(&c, "gitaly", "file-03/gitaly/labels.txt", dump, sizeof dump - 1);
    assert_int_equal(bundle_pack(c.w, c.m, -1, &path, NULL), 0);
    capture_release(&c);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key);
    struct sshsig_signer by = {.key = key, .cancel_fd = -1};
    struct bundle_copy_options options = {.bundle = path, .redact = true, .signer = &by, .cancel_fd = -1};
    alloc.json_works = true;
    assert_true(alloc_walk(copy_bundle, &options, 0) > 60);
    alloc.json_works = false;
    free(path);
    free(output);
    free(key);
}

/* ---- hand-offs --------------------------------------------------------------------------------------- */

/* Runs all steps of a dry run. */
static int hand_off(void *ctx, struct err *err)
{
    struct handoff_options options = {.cancel_fd = -1, .dry_run = true};
    struct handoff_result result;
    return handoff_run(ctx, &options, &result, err);
}

static void handoffs_report_failed_allocations(void **state)
{
    char name[] = "work", one[] = "one", *list[] = {one}, url[] = "https://tracker.example";
    char *path = scratch_file(*state, "b.age", "age-encryption.org/v1\n", 22);
    /* For this text, jansson does not distinguish a lack of memory from a syntax error. */
    alloc.json_works = true;
    for (const struct tracker_kind *const *kind = handoff_tracker_kinds; *kind; kind++) {
        struct tracker tracker = {.name = name, .kind = *kind, .url = url};
        struct handoff_request request = {.tracker = &tracker,
                                          .project = "ops",
                                          .file = path,
                                          .encrypted = true,
                                          .summary = "a summary",
                                          .reading = "how to read it",
                                          .assignees = {list, 1, 1}};
        if ((*kind)->has_labels)
            request.labels = (struct strlist){list, 1, 1};
        assert_true(alloc_walk(hand_off, &request, 0) > 12);
        request.assignees.n = request.labels.n = 0;
        request.issue = "7";
        assert_true(alloc_walk(hand_off, &request, 0) > 12);
    }
    alloc.json_works = false;
    free(path);
}

/* ---- profiles ---------------------------------------------------------------------------------------- */

/* Reads a profile twice, merges the two and writes the result. */
static int merge_profiles(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct profile *a = NULL, *b = NULL, *both = NULL;
    if (profile_parse(in->p, in->n, 1 << 20, &a, err) < 0)
        return -1;
    if (profile_parse(in->p, in->n, 1 << 20, &b, err) < 0 ||
        profile_set_label(b, "pprof::base", "true", err) < 0 || profile_normalize(a, b, err) < 0) {
        profile_free(a);
        profile_free(b);
        return -1;
    }
    if (report_combine((struct profile *[]){a, b}, 2, &both, err) < 0)
        return -1;
    int rc = profile_check(both, err) < 0 ? -1 : profile_write_gzip(both, discard_bytes, NULL, err);
    profile_free(both);
    return rc;
}

static void profiles_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(merge_profiles, CORPUS "decode/full", 0, 0) > 40);
    assert_true(walk_seed(merge_profiles, CORPUS "legacy/heap", 0, 0) > 40);
    assert_true(walk_seed(merge_profiles, CORPUS "legacy/threads", 0, 0) > 40);
}

/* Makes the reports that need no graph. */
static int make_reports(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    static const enum report_format formats[] = {REPORT_RAW, REPORT_PROTO, REPORT_TOPPROTO, REPORT_FOLDED,
                                                 REPORT_SPEEDSCOPE};
    struct report_callbacks callbacks = {.sink = discard_bytes};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct report_settings settings = REPORT_SETTINGS_INIT;
        struct profile *p = NULL;
        settings.format = formats[i];
        if (profile_parse(in->p, in->n, 1 << 20, &p, err) < 0)
            return -1;
        int rc = report_make(p, &settings, &callbacks, err);
        profile_free(p);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static void reports_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(make_reports, CORPUS "decode/full", 0, 0) > 40);
}

/* ---- names of a profile ------------------------------------------------------------------------------ */

static int answer_names(void *ctx, const struct symbolize_query *call, struct buf *ret, struct err *err)
{
    (void)ctx, (void)call;
    buf_adds(ret, "a::b<int>::c\n");
    return buf_check(ret, "names", err);
}

static int answer_symbols(void *ctx, const char *source, struct str addresses, struct buf *ret,
                          struct err *err)
{
    (void)ctx, (void)source, (void)addresses;
    buf_adds(ret, "0x10 _ZN1a1bIiE1cEv\n0x20 std::plain<int>(char)\n0x30 main.main\n");
    return buf_check(ret, "names", err);
}

/* Symbolizes a profile that a server sent without names. */
static int symbolize_profile(void *ctx, struct err *err)
{
    struct profile *p = profile_new(err);
    struct profile_mapping m = {.id = 1};
    struct symbolize_servers sources = {0}, all = {0};
    struct symbolize_tools tools = {.run = answer_names, .post = answer_symbols};
    (void)ctx;
    if (!p)
        return -1;
    int rc = profile_add_mapping(p, &m, err);
    for (uint64_t i = 1; rc == 0 && i <= 3; i++)
        rc = profile_add_location(p, &(struct profile_location){.id = i, .address = 16 * i}, NULL, err);
    if (rc == 0)
        rc = symbolize_collect(p, "http://host/debug/pprof/heap", &sources, err);
    if (rc == 0)
        rc = symbolize_sources_move(&all, &sources, err);
    if (rc == 0)
        rc = symbolize(p, NULL, &all, &tools, err);
    symbolize_sources_release(&sources);
    symbolize_sources_release(&all);
    profile_free(p);
    return rc;
}

static int read_answers(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    struct str rest = {in->p, in->n};
    struct frames frames = {0};
    struct nm nm = {0};
    uint64_t address;
    int more;
    while ((more = addr2line_next(&rest, &address, &frames, err)) > 0)
        continue;
    free(frames.items);
    if (more < 0 || nm_read((struct str){in->p, in->n}, 0, &nm, err) < 0)
        return -1;
    nm_release(&nm);
    return 0;
}

static void symbols_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(alloc_walk(symbolize_profile, NULL, 0) > 20);
    assert_true(walk_seed(read_answers, CORPUS "symbols/addr2line", 1, 0) > 0);
    assert_true(walk_seed(read_answers, CORPUS "symbols/nm", 1, 0) > 0);
}

/* Makes the reports with machine code on the binary `ctx`. */
static int report_machine_code(void *ctx, struct err *err)
{
    static const enum report_format formats[] = {REPORT_DISASM, REPORT_WEBLIST, REPORT_SOURCE};
    struct machine_answers answers = machine_good_answers();
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct report_settings settings = REPORT_SETTINGS_INIT;
        settings.format = formats[i];
        settings.symbol = "leaf|main";
        if (machine_report(ctx, &settings, &answers, (struct report_callbacks){.sink = discard_bytes}, err) <
            0)
            return -1;
    }
    return 0;
}

static void machine_code_reports_failed_allocations(void **state)
{
    char path[40];
    int fd = machine_elf(path);
    (void)state;
    assert_true(alloc_walk(report_machine_code, path, 0) > 60);
    close(fd);
}

/* ---- dumps of goroutines ----------------------------------------------------------------------------- */

static int read_goroutines(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    static const char *const names[] = {"a", "b"};
    struct str dumps[] = {{in->p, in->n / 2}, {in->p, in->n}};
    struct goroutines *g = NULL;
    int rc = goroutines_read(&(struct goroutines_input){dumps, names, 2, 1 << 20}, &g, err);
    assert_true((rc == 0) == (g != NULL));
    goroutines_free(g);
    return rc;
}

static void goroutines_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(read_goroutines, "tests/fuzz/corpus/goroutines/stacks", 0, 0) > 5);
    assert_true(walk_seed(read_goroutines, "tests/fuzz/corpus/goroutines/grouped", 0, 0) > 5);
}

/* ---- findings ---------------------------------------------------------------------------------------- */

/* Adds a profile and a dump for each of two hosts. */
static int add_findings(void *ctx, struct err *err)
{
    static const char dump[] = "goroutine 1 [select]:\nmain.f()\n\t/a.go:1\n";
    static const char *const names[] = {"a"};
    struct str dumps[] = {str_of(dump)};
    struct findings found = FINDINGS_INIT;
    struct goroutines *g = NULL;
    int rc = goroutines_read(&(struct goroutines_input){dumps, names, 1, 1 << 20}, &g, err);
    for (int i = 0; i < 2 && rc == 0; i++) {
        struct finding_subject s = {.host = i ? "a" : "b", .service = "s", .kind = "mutex", .file = "f"};
        rc = findings_add_profile(&found, ctx, &s, err);
        if (rc == 0)
            rc = findings_add_goroutines(&found, g, &s, err);
    }
    if (rc == 0)
        rc = findings_finish(&found, err);
    findings_release(&found);
    goroutines_free(g);
    return rc;
}

static void findings_report_failed_allocations(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    uint32_t name = 0, type = 0, unit = 0;
    assert_non_null(p);
    assert_int_equal(profile_intern(p, "main.f", 6, &name, &err), 0);
    assert_int_equal(profile_intern(p, "delay", 5, &type, &err), 0);
    assert_int_equal(profile_intern(p, "nanoseconds", 11, &unit, &err), 0);
    assert_int_equal(profile_add_sample_type(p, (struct profile_value_type){type, unit}, &err), 0);
    assert_int_equal(profile_add_function(p, &(struct profile_function){.id = 1, .name = name}, &err), 0);
    struct profile_location l = {.id = 1, .mapping = PROFILE_NONE, .n_lines = 1};
    assert_int_equal(profile_add_location(p, &l, &(struct profile_line){0}, &err), 0);
    assert_int_equal(
        profile_add_sample(p, &(struct profile_new_sample){&(uint32_t){0}, 1, &(int64_t){5}, NULL, 0}, &err),
        0);
    assert_true(alloc_walk(add_findings, p, 0) > 20);
    profile_free(p);
}

/* Makes a flame tree with a small limit of nodes, and a page with the profile. */
static int make_page(void *ctx, struct err *err)
{
    const struct input *in = ctx;
    const struct page_entry entry = {.title = "t", .file = "f"};
    struct profile *p = NULL;
    struct flame *f = NULL;
    struct page_writer *page = NULL;
    int rc = profile_parse(in->p, in->n, 1 << 20, &p, err);
    if (rc == 0 && (rc = flame_new(p, &(struct page_tree){.with_sums = true}, 3, &f, err)) == 0)
        rc = page_writer_new(discard_bytes, NULL, UINT64_MAX, &page, err);
    if (rc == 0 && (rc = page_writer_add_profile(page, &entry, p, err)) == 0)
        rc = page_writer_finish(page, &(struct page_bundle){.name = "b", .manifest = STR("{}")}, err);
    page_writer_free(page);
    flame_free(f);
    profile_free(p);
    return rc;
}

static void pages_report_failed_allocations(void **state)
{
    (void)state;
    assert_true(walk_seed(make_page, "tests/fuzz/corpus/page/full", 0, 0) > 20);
}

static int run_shell_commands(void *ctx, struct err *err)
{
    const struct pprof_options defaults = {.report = REPORT_SETTINGS_INIT};
    struct pprof_options o;
    struct shell_command command;
    bool is_assignment;
    if (shell_options_init(&o, &defaults, err) < 0)
        return -1;
    int rc = shell_assign(&o, ctx, STR("focus=a b"), &is_assignment, err);
    if (rc == 0) {
        rc = shell_command_parse(STR("list10 x a -b >c"), &command, err);
        shell_command_release(&command);
    }
    shell_options_release(&o);
    return rc;
}

static void pprof_shells_report_failed_allocations(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    assert_non_null(p);
    assert_true(alloc_walk(run_shell_commands, p, 0) > 20);
    profile_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_report_failed_allocations),
        cmocka_unit_test(pprof_shells_report_failed_allocations),
        cmocka_unit_test(reports_report_failed_allocations),
        cmocka_unit_test(symbols_report_failed_allocations),
        cmocka_unit_test(machine_code_reports_failed_allocations),
        cmocka_unit_test(goroutines_report_failed_allocations),
        cmocka_unit_test(findings_report_failed_allocations),
        cmocka_unit_test(pages_report_failed_allocations),
        SCRATCH(signatures_report_failed_allocations),
        SCRATCH(key_files_report_failed_allocations),
        cmocka_unit_test(relabelling_reports_failed_allocations),
        SCRATCH(copying_reports_failed_allocations),
        cmocka_unit_test(local_addresses_report_failed_allocations),
        cmocka_unit_test(lists_report_failed_allocations),
        cmocka_unit_test(options_report_failed_allocations),
        cmocka_unit_test(inventories_report_failed_allocations),
        cmocka_unit_test(ranges_report_failed_allocations),
        cmocka_unit_test(addresses_report_failed_allocations),
        cmocka_unit_test(selections_report_failed_allocations),
        cmocka_unit_test(matches_report_failed_allocations),
        cmocka_unit_test(discoveries_report_failed_allocations),
        cmocka_unit_test(ssh_configs_report_failed_allocations),
        cmocka_unit_test(resolving_reports_failed_allocations),
        cmocka_unit_test(ssh_data_reports_failed_allocations),
        SCRATCH(known_hosts_report_failed_allocations),
        cmocka_unit_test(sealing_reports_failed_allocations),
        cmocka_unit_test(bodies_report_failed_allocations),
        cmocka_unit_test(indexes_report_failed_allocations),
        cmocka_unit_test(plans_report_failed_allocations),
        cmocka_unit_test(manifests_report_failed_allocations),
        cmocka_unit_test(loaded_manifests_report_failed_allocations),
        SCRATCH(packing_reports_failed_allocations),
        SCRATCH(reading_reports_failed_allocations),
        SCRATCH(members_report_failed_allocations),
        SCRATCH(workdirs_report_failed_allocations),
        SCRATCH(handoffs_report_failed_allocations),
    };
    json_set_alloc_funcs(alloc_for_json, free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
