/* Redaction: command lines as people write them, labels in dumps and in profiles, whatever else a profile's
 * strings are used for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/redact.h"
#include "proto/profile.pb-c.h"
#include "proto/proto.h"
#include "tests/unit/spoil.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- command lines ----------------------------------------------------------------------------------------
 */

/* Arguments stand with a bar between them. */
static void cmdlines(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out; /* NULL: as it was */
    } cases[] = {
        {"/usr/bin/x|--password=hunter2", "/usr/bin/x|--password=[redacted]"},
        {"x|-password|hunter2|y", "x|-password|[redacted]|y"},
        {"x|--api-key|abc", "x|--api-key|[redacted]"},
        {"x|--apiKey=abc", "x|--apiKey=[redacted]"},
        {"x|--db_password=a b&c", "x|--db_password=[redacted]"},
        {"x|DBPASSWORD=a", "x|DBPASSWORD=[redacted]"},
        {"env|AWS_SECRET_ACCESS_KEY=abc|TOKEN=|x", "env|AWS_SECRET_ACCESS_KEY=[redacted]|TOKEN=|x"},
        {"x|--token|--verbose", NULL},
        {"x|-p|secret", "x|-p|[redacted]"},
        {"x|-p|8080", NULL},
        {"x|--port=8080|--listen=:6060", NULL},
        {"x|--password-file=/etc/p|--tls-key-path|/etc/k.pem", NULL},
        {"x|--max-tokens=100|--tokenizer=bpe|--bypass=1|--compass|n", NULL},
        {"x|--key=Zm9vYmFyMTIzNDU2Nzg5MA", "x|--key=[redacted]"},
        {"x|--key=/etc/tls/key.pem|--key=name", NULL},
        {"x|postgres://u:pw@db/x", "x|postgres://u:[redacted]@db/x"},
        {"x|--dsn=u:pw@tcp(db:3306)/x", "x|--dsn=u:[redacted]@tcp(db:3306)/x"},
        {"x|https://host:8080/@me|git@host:path", NULL},
        {"x|host=db password=pw user=u", "x|host=db password=[redacted] user=u"},
        {"x|https://h/?token=abc&page=2", "x|https://h/?token=[redacted]&page=2"},
        {"x|-H|Authorization: Bearer abc def", "x|-H|Authorization: [redacted]"},
        {"x|ghp_0123456789abcdef0123", "x|[redacted]"},
        {"x|glpat-0123456789abcdef|y", "x|[redacted]|y"},
        {"x|a,eyJhbGciOiJIUzI1NiJ9.e30.abc,b", "x|a,[redacted],b"},
        {"x|my_ghp_0123456789abcdef0123", NULL},
        {"x|--password=[redacted]", NULL},
        {"x||--secret||", "x||--secret||"},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT(4096);
        struct redact_tally tally = {{0}};
        char *in = text_of("%s", cases[i].in);
        size_t n = strlen(cases[i].in);
        for (size_t k = 0; k < n; k++)
            in[k] = in[k] == '|' ? '\0' : in[k];
        redact_cmdline(in, n, &b, &tally);
        for (size_t k = 0; k < b.len; k++)
            b.data[k] = b.data[k] == '\0' ? '|' : b.data[k];
        assert_string_equal(buf_str(&b), cases[i].out ? cases[i].out : cases[i].in);
        assert_int_equal(redact_sum(&tally) > 0, cases[i].out && strcmp(cases[i].in, cases[i].out) != 0);
        buf_release(&b);
        free(in);
    }
}

/* Nothing of a secret is left however the rest of the line is damaged. */
static void spoiled_line(void *ctx, const struct spoiled *s)
{
    (void)ctx;
    struct buf b = BUF_INIT(4096), again = BUF_INIT(4096);
    struct redact_tally tally = {{0}}, second = {{0}};
    redact_cmdline(s->p, s->n, &b, &tally);
    assert_int_equal(buf_check(&b, "", NULL), 0);
    if (redact_sum(&tally) == 0 && s->n > 0)
        assert_memory_equal(b.data, s->p, s->n);
    redact_cmdline(buf_str(&b), b.len, &again, &second);
    assert_string_equal(buf_str(&again), buf_str(&b));
    buf_release(&b);
    buf_release(&again);
}

static void spoiled_lines(void **state)
{
    (void)state;
    static const char line[] =
        "x\0--password=hunter2\0postgres://u:pw@db\0-p\0abc\0Cookie: a b\0ghp_0123456789abcdef";
    spoil(line, sizeof line - 1, spoiled_line, NULL);
}

/* ---- dumps
 * ------------------------------------------------------------------------------------------------- */

static void dumps(void **state)
{
    (void)state;
    static char tenant[] = "ten*";
    char *globs[] = {tenant};
    struct strlist more = {.items = globs, .n = 1};
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"# labels: {\"user\":\"alice\", \"path\":\"/x\"}\n",
         "# labels: {\"user\":\"[redacted]\", \"path\":\"/x\"}\n"},
        {"# labels: {\"User-Email\":\"a\\\"b\", \"tenant\":\"t\"}",
         "# labels: {\"User-Email\":\"[redacted]\", \"tenant\":\"[redacted]\"}"},
        {"goroutine 7 [IO wait, labels:{\"session\": \"s\"}]:",
         "goroutine 7 [IO wait, labels:{\"session\": \"[redacted]\"}]:"},
        {"# labels: {\"user\":\"ali", NULL},
        {"#\t0x1\tmain.user\t\"user\":\"x\"", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT(4096);
        struct redact_tally tally = {{0}};
        redact_dump_line(cases[i].in, strlen(cases[i].in), &more, &b, &tally);
        assert_string_equal(buf_str(&b), cases[i].out ? cases[i].out : cases[i].in);
        assert_int_equal(tally.n[REDACT_LABEL] > 0, cases[i].out != NULL);
        buf_release(&b);
    }
}

/* ---- profiles
 * ------------------------------------------------------------------------------------------------ */

typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__Sample pb_sample;
typedef Perftools__Profiles__ValueType pb_value_type;
typedef Perftools__Profiles__Label pb_label;
typedef Perftools__Profiles__Function pb_function;

/* Strings: the value "alice" is also a function's name, "bob" only a label's. */
enum { EMPTY, CPU, COUNT, USER, ALICE, BOB, PATH, SLASH, BYTES, TOKEN, STRINGS };
static char strings[STRINGS][8] = {"",    "cpu",  "count", "user",  "alice",
                                   "bob", "path", "/x",    "bytes", "token"};

static struct buf a_profile(void)
{
    pb_profile p = PERFTOOLS__PROFILES__PROFILE__INIT;
    pb_value_type type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    pb_function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
    pb_label labels[5];
    pb_sample samples[2] = {PERFTOOLS__PROFILES__SAMPLE__INIT, PERFTOOLS__PROFILES__SAMPLE__INIT};
    static const struct {
        int key, str, num;
    } facts[5] = {{USER, ALICE, 0}, {PATH, SLASH, 0}, {USER, BOB, 0}, {BYTES, 0, 512}, {TOKEN, 0, 4711}};
    pb_label *of_first[2] = {&labels[0], &labels[1]}, *of_second[3] = {&labels[2], &labels[3], &labels[4]};
    for (int i = 0; i < 5; i++) {
        perftools__profiles__label__init(&labels[i]);
        labels[i].key = facts[i].key;
        labels[i].str = facts[i].str;
        labels[i].num = facts[i].num;
    }
    int64_t one = 1;
    samples[0].n_value = samples[1].n_value = 1;
    samples[0].value = samples[1].value = &one;
    samples[0].n_label = 2;
    samples[0].label = of_first;
    samples[1].n_label = 3;
    samples[1].label = of_second;
    type.type = CPU;
    type.unit = COUNT;
    function.id = 1;
    function.name = ALICE;
    pb_value_type *types[] = {&type};
    pb_sample *all[] = {&samples[0], &samples[1]};
    pb_function *functions[] = {&function};
    p.n_sample_type = 1;
    p.sample_type = types;
    p.n_sample = 2;
    p.sample = all;
    p.n_function = 1;
    p.function = functions;
    char *table[STRINGS];
    for (int i = 0; i < STRINGS; i++)
        table[i] = strings[i];
    p.n_string_table = STRINGS;
    p.string_table = table;
    p.time_nanos = 5;
    struct buf b = BUF_INIT(65536);
    unsigned char bytes[4096];
    size_t n = perftools__profiles__profile__pack(&p, bytes);
    buf_add(&b, bytes, n);
    return b;
}

static bool wants(void *ctx, const char *key, size_t n)
{
    return redact_wants_label(ctx, key, n);
}

static int keep(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "it", err);
}

static int relabelled(const void *p, size_t n, struct buf *ret, uint64_t *ret_labels, struct err *err)
{
    struct profile_relabel how = {.wanted = wants, .text = REDACTED, .sink = keep, .sink_ctx = ret};
    return profile_relabel(p, n, &how, ret_labels, err);
}

static const char *string_at(const pb_profile *p, int64_t i)
{
    assert_true(i >= 0 && (size_t)i < p->n_string_table);
    return p->string_table[i];
}

static void profiles(void **state)
{
    (void)state;
    struct buf before = a_profile(), after = BUF_INIT(65536);
    uint64_t labels = 0;
    struct err err = ERR_INIT;
    ok(relabelled(before.data, before.len, &after, &labels, &err), &err);
    assert_int_equal(labels, 3);
    pb_profile *p = perftools__profiles__profile__unpack(NULL, after.len, (const uint8_t *)after.data);
    assert_non_null(p);
    static const struct {
        const char *key, *str;
        int64_t num;
    } want[2][3] = {{{"user", REDACTED, 0}, {"path", "/x", 0}},
                    {{"user", REDACTED, 0}, {"bytes", "", 512}, {"token", REDACTED, 0}}};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < p->sample[i]->n_label; k++) {
            const pb_label *l = p->sample[i]->label[k];
            assert_string_equal(string_at(p, l->key), want[i][k].key);
            assert_string_equal(string_at(p, l->str), want[i][k].str);
            assert_int_equal(l->num, want[i][k].num);
        }
    assert_string_equal(string_at(p, p->function[0]->name), "alice");
    assert_string_equal(string_at(p, BOB), "");
    assert_int_equal(p->n_string_table, STRINGS + 1);
    assert_int_equal(p->time_nanos, 5);
    perftools__profiles__profile__free_unpacked(p, NULL);
    /* A second time there is nothing left to do but to write it again. */
    struct buf again = BUF_INIT(65536);
    ok(relabelled(after.data, after.len, &again, &labels, &err), &err);
    assert_int_equal(labels, 3);
    buf_release(&before);
    buf_release(&after);
    buf_release(&again);
}

static void relabel_spoiled(void *ctx, const struct spoiled *s)
{
    (void)ctx;
    struct buf after = BUF_INIT(65536);
    uint64_t labels = 0;
    struct err err = ERR_INIT;
    if (relabelled(s->p, s->n, &after, &labels, &err) == 0 && labels > 0) {
        struct profile_summary sum;
        struct profile_scan *scan = profile_scan_new(NULL);
        ok(profile_scan_feed(scan, after.data, after.len, &err), &err);
        ok(profile_scan_finish(scan, &sum, &err), &err);
        profile_scan_free(scan);
    }
    buf_release(&after);
}

static void spoiled_profiles(void **state)
{
    (void)state;
    struct buf b = a_profile();
    spoil(b.data, b.len, relabel_spoiled, NULL);
    buf_release(&b);
}

/* ---- members
 * -------------------------------------------------------------------------------------------------- */

static uint64_t redacted(const char *dir, enum redact_form form, const void *p, size_t n, struct buf *ret)
{
    char *in = scratch_file(dir, "in", p, n), *out = scratch_file(dir, "out", "", 0);
    struct err err = ERR_INIT;
    struct redact_tally tally = {{0}};
    assert_int_equal(remove(out), 0);
    struct redact_work work = {.form = form, .from = file_open(in, &err), .to = file_create(out, &err)};
    ok(redact_member(&work, &tally, &err), &err);
    fd_close(&work.from);
    fd_close(&work.to);
    *ret = scratch_read(out);
    free(in);
    free(out);
    return redact_sum(&tally);
}

static void members(void **state)
{
    struct buf profile = a_profile(), out;
    unsigned char zipped[4096];
    z_stream z = {.next_in = (unsigned char *)profile.data,
                  .avail_in = (unsigned)profile.len,
                  .next_out = zipped,
                  .avail_out = sizeof zipped};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    assert_int_equal(redacted(*state, REDACT_PROFILE, zipped, z.total_out, &out), 3);
    assert_memory_equal(out.data, "\x1f\x8b", 2);
    buf_release(&out);
    assert_int_equal(redacted(*state, REDACT_PROFILE, profile.data, profile.len, &out), 3);
    buf_release(&out);
    assert_int_equal(redacted(*state, REDACT_CMDLINE, "x\0--token=t", 11, &out), 1);
    assert_memory_equal(out.data, "x\0--token=[redacted]", 20);
    buf_release(&out);
    /* Lines that cross the pieces in which they are read. */
    struct buf dump = BUF_INIT(4 << 20);
    for (int i = 0; i < 5000; i++)
        buf_addf(&dump, "%d @ 0x1 0x2\n# labels: {\"user\":\"u%d\"}\n", i, i);
    buf_adds(&dump, "# labels: {\"user\":\"last\"}");
    assert_int_equal(redacted(*state, REDACT_DUMP, dump.data, dump.len, &out), 5001);
    assert_null(strstr(buf_str(&out), "\"u"
                                      "4999\""));
    assert_null(strstr(buf_str(&out), "last"));
    buf_release(&out);
    buf_release(&dump);
    buf_release(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cmdlines), cmocka_unit_test(spoiled_lines),    cmocka_unit_test(dumps),
        cmocka_unit_test(profiles), cmocka_unit_test(spoiled_profiles), SCRATCH(members),
    };
    return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
