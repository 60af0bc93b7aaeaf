/* Reports with machine code: output of objdump and nm, disasm, and the JSON and the page of weblist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "pprof/machine/formats.h"
#include "pprof/machine/objdump.h"
#include "tests/unit/damage.h"
#include "tests/unit/pprof/machine_profile.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static void assert_str(struct str s, const char *text)
{
    char *copy = strndup(s.p ? s.p : "", s.n);
    assert_string_equal(copy, text);
    free(copy);
}

/* ---- objdump ------------------------------------------------------------------------------------------- */

static void instructions_have_the_places_above_them(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct instructions code;
    assert_ok(objdump_read(STR(MACHINE_OBJDUMP), &code, &err), &err);
    assert_int_equal(code.n, 4);
    assert_true(code.items[0].address == 0x401110 && code.items[3].address == 0x40111d);
    assert_str(code.items[0].text, "push   %rbp");
    assert_str(code.items[0].function, "leaf");
    assert_str(code.items[1].file, "/src/a.c");
    assert_true(code.items[0].line == 8 && code.items[1].line == 3 && code.items[3].line == 9);
    free(code.items);
}

/* Each text, and the function, file and line of its only instruction. */
static void odd_lines_of_objdump_are_read_as_upstream_does(void **state)
{
    (void)state;
    static const struct {
        const char *text, *function, *file;
        int64_t line;
    } cases[] = {
        {"f():\n1: nop\n", "f", "", 0},
        {"; f():\n; /a b.c:7\n1: nop\n", "f", "/a b.c", 7},
        {"0000000000001139 <f>:\n1: nop\n", "<f>", "", 0},
        {"f():\n\n1: nop\n", "", "", 0},
        {"f():\n\t...\n1: nop\n", "", "", 0},
        {"a.c:1:2\n1: nop\n", "", "a.c:1", 2},
        {"a.c:1\nb.c:99999999999\n1: nop\n", "", "a.c", 1},
        {"C:x\n1: nop", "", "", 0},
        {"1:\n2:\t nop \n", "", "", 0},
        {"Disassembly of section .text:\n1: nop\n", "isassembly of section .text", "", 0},
        {"std::f(int):\n12345678901234567: nop\n1: nop\n", "", "", 0},
        {"operator()():\n\xff\xfe:3\n1: nop\n", "operator()", "\xff\xfe", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        struct instructions code;
        assert_ok(objdump_read(str_of(cases[i].text), &code, &err), &err);
        assert_int_equal(code.n, 1);
        assert_str(code.items[0].text, "nop");
        assert_str(code.items[0].file, cases[i].file);
        assert_true(code.items[0].line == cases[i].line);
        assert_str(code.items[0].function, cases[i].function);
        free(code.items);
    }
}

static void symbols_of_nm_are_read(void **state)
{
    (void)state;
    static const char text[] =
        " 10 T f\n11 t \n  U g\nxyz T h\n12345678901234567 T i\n12 D type:.eq.struct { a int }\n13";
    struct str rest = STR(text), name;
    uint64_t address = 0;
    assert_true(nm_next(&rest, &address, &name) && address == 0x10);
    assert_str(name, "f");
    assert_true(nm_next(&rest, &address, &name) && address == 0x12);
    assert_str(name, "type:.eq.struct { a int }");
    assert_false(nm_next(&rest, &address, &name));
}

static void read_damaged(void *ctx, const struct damaged *s)
{
    struct instructions code;
    struct str rest = {s->p, s->n}, name;
    uint64_t address;
    (void)ctx;
    if (objdump_read(rest, &code, NULL) == 0)
        free(code.items);
    while (nm_next(&rest, &address, &name))
        assert_true(name.n > 0 && name.n <= s->n);
}

static void damaged_output_is_harmless(void **state)
{
    (void)state;
    damage_everywhere(MACHINE_OBJDUMP, sizeof MACHINE_OBJDUMP - 1, read_damaged, NULL);
    damage_everywhere(MACHINE_NM, sizeof MACHINE_NM - 1, read_damaged, NULL);
}

/* ---- expressions --------------------------------------------------------------------------------------- */

static void addresses_are_written_as_in_go(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0x401136", 0x401136},
                {"12", 12},
                {"017", 15},
                {"0o17", 15},
                {"0b11", 3},
                {"0", 0},
                {"1_2", 12},
                {"0x_1f_f", 0x1ff},
                {"0xffffffffffffffff", UINT64_MAX}};
    static const char *const bad[] = {
        "", "main", "0x", "0x1g", "09", "0x1__2", "0x1_", "0x10000000000000000", "-1", "0b2"};
    uint64_t value = 7;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(machine_parse_address(good[i].text, &value) && value == good[i].value);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(machine_parse_address(bad[i], &value));
}

/* ---- reports ------------------------------------------------------------------------------------------- */

static int add_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "the report", err);
}

static void ignore_line(void *ctx, const char *line)
{
    (void)ctx, (void)line;
}

/* Makes a report, and returns its text, or the error's. The caller frees it. */
static char *report_text(enum report_format format, const char *symbol, struct machine_answers answers)
{
    struct report_settings settings = REPORT_SETTINGS_INIT;
    struct buf text = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    char path[40];
    int fd = machine_elf(path);
    settings.format = format;
    settings.symbol = symbol;
    const struct report_callbacks callbacks = {.sink = add_bytes, .say = ignore_line, .ctx = &text};
    if (machine_report(path, &settings, &answers, callbacks, &err) < 0) {
        buf_clear(&text);
        buf_adds(&text, err.msg);
    }
    close(fd);
    return buf_detach(&text);
}

static void assert_report(enum report_format format, const char *symbol, struct machine_answers answers,
                          const char *expected)
{
    char *text = report_text(format, symbol, answers);
    assert_string_equal(text, expected);
    free(text);
}

static void disasm_has_the_values_of_each_instruction(void **state)
{
    (void)state;
    assert_report(REPORT_DISASM, "leaf", machine_good_answers(),
                  "Total: 10\n"
                  "ROUTINE ======================== leaf\n"
                  "        10         10 (flat, cum)   100% of Total\n"
                  "         .          .     401110: push   %rbp                             ;leaf a.c:8\n"
                  "         7          7     401111: shl    $0x5,%eax                        ;leaf a.c:3\n"
                  "         3          3     401117: imul   $0x9e3779b1,%eax,%eax            ;leaf a.c:9\n"
                  "         .          .     40111d: ret\n");
    /* The address selects both names. */
    char *text = report_text(REPORT_DISASM, "0x401111", machine_good_answers());
    assert_non_null(
        strstr(text, "======================== leaf\n    AKA ======================== leaf_alias\n"));
    free(text);
}

/* Without lines of objdump, those of llvm-symbolizer or addr2line are shown. */
static void disasm_has_the_lines_that_objdump_lacks(void **state)
{
    (void)state;
    static const enum symbolize_program programs[] = {SYMBOLIZE_LLVM, SYMBOLIZE_ADDR2LINE};
    struct machine_answers answers = machine_good_answers();
    answers.texts[SYMBOLIZE_OBJDUMP] = STR(MACHINE_OBJDUMP_BARE);
    for (size_t i = 0; i < 2; i++) {
        answers.texts[SYMBOLIZE_LLVM] = answers.texts[SYMBOLIZE_ADDR2LINE] = STR("");
        answers.texts[programs[i]] = STR("0x401110\n_Z4leafv\n/src/a.c:8\n0x401111\nmix\n/src/a.c:3\nleaf\n"
                                         "/src/a.c:8\n0x401117\nleaf\n??:0\n");
        assert_report(
            REPORT_DISASM, "leaf", answers,
            "Total: 10\n"
            "ROUTINE ======================== leaf\n"
            "        10         10 (flat, cum)   100% of Total\n"
            "         .          .     401110: push   %rbp                             ;leaf a.c:8\n"
            "         7          7     401111: shl    $0x5,%eax                        ;mix a.c:3\n"
            "         3          3     401117: imul   $0x9e3779b1,%eax,%eax            ;leaf a.c:8\n"
            "         .          .     40111d: ret                                     ;leaf \n");
    }
}

static void disasm_says_why_it_shows_nothing(void **state)
{
    (void)state;
    struct machine_answers answers = machine_good_answers();
    assert_report(REPORT_DISASM, "nothing", answers, "no matches found for regexp nothing");
    assert_report(REPORT_DISASM, "0x999999", answers, "no matches found for address 0x999999");
    assert_report(
        REPORT_DISASM, "0x401161", answers,
        "address 0x401161 found in binary, but the corresponding symbols do not have samples in the profile");
    answers.texts[SYMBOLIZE_OBJDUMP] = STR("");
    assert_report(REPORT_DISASM, "leaf", answers, "cannot disasm: no objdump tool available");
    answers.texts[SYMBOLIZE_NM_ALL] = STR("");
    assert_report(REPORT_DISASM, "leaf", answers, "no matches found for regexp leaf");
}

/* Sums the values of the lines of a file in the JSON. */
static json_t *parse_report(const char *text)
{
    json_t *whole = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    assert_non_null(whole);
    assert_true(json_is_string(json_object_get(whole, "note")) &&
                json_is_array(json_object_get(whole, "files")));
    return whole;
}

static json_t *line_of(json_t *whole, size_t function, json_int_t n)
{
    json_t *functions = json_object_get(json_array_get(json_object_get(whole, "files"), 0), "functions");
    json_t *lines = json_object_get(json_array_get(functions, function), "lines"), *line;
    size_t i;
    json_array_foreach(lines, i, line) if (json_integer_value(json_object_get(line, "n")) == n) return line;
    return NULL;
}

static void assert_member(json_t *object, const char *key, const char *text)
{
    assert_string_equal(json_string_value(json_object_get(object, key)), text);
}

static void source_has_each_instruction_under_its_line(void **state)
{
    (void)state;
    char *text = report_text(REPORT_SOURCE, "leaf", machine_good_answers());
    json_t *whole = parse_report(text), *line = line_of(whole, 0, 8), *code = json_object_get(line, "code");
    assert_member(whole, "note", "");
    assert_member(line, "flat", "7");
    assert_member(line, "cum", "7");
    assert_member(line, "cumShare", "70.00%");
    assert_member(line, "text", "???");
    assert_int_equal(json_array_size(code), 2);
    assert_member(json_array_get(code, 0), "at", "401110");
    assert_member(json_array_get(code, 0), "flat", "");
    assert_null(json_object_get(json_array_get(code, 0), "flatShare"));
    assert_member(json_array_get(code, 1), "text", "shl    $0x5,%eax");
    assert_member(json_array_get(code, 1), "place", "a.c:3");
    json_t *inlined = json_object_get(json_array_get(code, 1), "inlined");
    assert_int_equal(json_array_size(inlined), 1);
    assert_member(json_array_get(inlined, 0), "file", "a.c");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(inlined, 0), "line")), 3);
    /* The instruction without a line belongs to the line above it. */
    assert_int_equal(json_array_size(json_object_get(line_of(whole, 0, 9), "code")), 2);
    json_decref(whole);
    free(text);
}

static void source_without_machine_code_says_why(void **state)
{
    (void)state;
    struct machine_answers answers = machine_good_answers();
    answers.texts[SYMBOLIZE_OBJDUMP] = STR("");
    char *text = report_text(REPORT_SOURCE, "leaf", answers);
    json_t *whole = parse_report(text);
    assert_member(whole, "note", "cannot disasm: no objdump tool available");
    assert_member(line_of(whole, 0, 8), "flat", "10");
    json_decref(whole);
    free(text);
}

static void without_lines_of_addr2line_the_profile_has_them(void **state)
{
    (void)state;
    struct machine_answers answers = machine_good_answers();
    answers.texts[SYMBOLIZE_ADDR2LINE] =
        STR("0x401110\nleaf\ngo.go:?\n0x401111\nleaf\ngo.go:?\n0x401117\nleaf\ngo.go:?\n"
            "0x40111d\nleaf\ngo.go:?\n");
    char *text = report_text(REPORT_SOURCE, "leaf", answers);
    json_t *whole = parse_report(text), *line = line_of(whole, 0, 8);
    assert_non_null(strstr(json_string_value(json_object_get(whole, "note")), "no lines are found"));
    assert_member(line, "flat", "10");
    assert_int_equal(json_array_size(json_object_get(line, "code")), 2);
    json_decref(whole);
    free(text);
}

/* Without addr2line, nm names the functions, and no line is known. */
static void without_addr2line_nm_has_the_functions(void **state)
{
    (void)state;
    struct machine_answers answers = machine_good_answers();
    answers.texts[SYMBOLIZE_ADDR2LINE] = STR("");
    char *text = report_text(REPORT_SOURCE, "main", answers);
    json_decref(parse_report(text));
    free(text);
}

static void the_page_escapes_all_texts(void **state)
{
    (void)state;
    struct machine_answers answers = machine_good_answers();
    answers.texts[SYMBOLIZE_OBJDUMP] =
        STR("0 <leaf>:\nleaf():\n 401112: <script>alert(\"1\")</script>&\x01\xe2\x80\xae\xff\n");
    answers.texts[SYMBOLIZE_ADDR2LINE] = STR("0x401112\nleaf\n/src/<b>\"'.c:8\n");
    char *text = report_text(REPORT_WEBLIST, "leaf", answers);
    assert_non_null(strstr(text, "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;?\?\?</code>"));
    assert_non_null(strstr(text, "&lt;b&gt;&quot;'.c:8"));
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "<b>\""));
    assert_non_null(
        strstr(text, "Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-"));
    free(text);
    assert_report(REPORT_WEBLIST, "nothing", answers, "no matches found for regexp: nothing");
}

struct damaged_report {
    enum symbolize_program program;
    const char *path;
    bool bare; /* objdump has no lines */
};

static void report_damaged(void *ctx, const struct damaged *s)
{
    const struct damaged_report *d = ctx;
    struct machine_answers answers = machine_good_answers();
    static const enum report_format formats[] = {REPORT_DISASM, REPORT_SOURCE, REPORT_WEBLIST};
    if (d->bare)
        answers.texts[SYMBOLIZE_OBJDUMP] = STR(MACHINE_OBJDUMP_BARE);
    answers.texts[d->program] = (struct str){s->p, s->n};
    for (size_t i = 0; i < 3; i++) {
        struct report_settings settings = REPORT_SETTINGS_INIT;
        struct buf text = BUF_INIT(1 << 20);
        settings.format = formats[i];
        settings.symbol = "leaf|main";
        const struct report_callbacks callbacks = {.sink = add_bytes, .say = ignore_line, .ctx = &text};
        struct err err = ERR_INIT;
        int rc = machine_report(d->path, &settings, &answers, callbacks, &err);
        assert_true(rc == 0 || err.msg[0]);
        if (rc == 0 && formats[i] == REPORT_SOURCE)
            json_decref(parse_report(buf_str(&text)));
        buf_release(&text);
    }
}

static void damaged_answers_give_a_report_or_an_error(void **state)
{
    (void)state;
    char path[40];
    int fd = machine_elf(path);
    struct machine_answers good = machine_good_answers();
    static const enum symbolize_program programs[] = {SYMBOLIZE_OBJDUMP, SYMBOLIZE_NM_ALL,
                                                      SYMBOLIZE_ADDR2LINE, SYMBOLIZE_ADDR2LINE};
    for (size_t i = 0; i < 4; i++) {
        struct damaged_report d = {programs[i], path, .bare = i == 3};
        damage_everywhere(good.texts[programs[i]].p, good.texts[programs[i]].n, report_damaged, &d);
    }
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_have_the_places_above_them),
        cmocka_unit_test(odd_lines_of_objdump_are_read_as_upstream_does),
        cmocka_unit_test(symbols_of_nm_are_read),
        cmocka_unit_test(damaged_output_is_harmless),
        cmocka_unit_test(addresses_are_written_as_in_go),
        cmocka_unit_test(disasm_has_the_values_of_each_instruction),
        cmocka_unit_test(disasm_has_the_lines_that_objdump_lacks),
        cmocka_unit_test(disasm_says_why_it_shows_nothing),
        cmocka_unit_test(source_has_each_instruction_under_its_line),
        cmocka_unit_test(source_without_machine_code_says_why),
        cmocka_unit_test(without_lines_of_addr2line_the_profile_has_them),
        cmocka_unit_test(without_addr2line_nm_has_the_functions),
        cmocka_unit_test(the_page_escapes_all_texts),
        cmocka_unit_test(damaged_answers_give_a_report_or_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
