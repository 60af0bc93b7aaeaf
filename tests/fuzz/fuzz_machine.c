/* Output of objdump, nm and addr2line: reports with machine code. \x01 separates the three texts; the first
 * byte chooses the report. */
#include "tests/fuzz/fuzz.h"

#include "pprof/machine/objdump.h"
#include "tests/unit/pprof/machine_profile.h"

#include "base/banned.h"

static int add_bytes(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "the report", err);
}

static void ignore_line(void *ctx, const char *line)
{
    (void)ctx, (void)line;
}

static struct str next_text(struct str *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\x01', rest->n) : NULL;
    struct str text = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t taken = text.n + (end != NULL);
    *rest = (struct str){rest->p + taken, rest->n - taken};
    return text;
}

static void check_instructions(struct str text)
{
    struct instructions code;
    assert(objdump_read(text, &code, NULL) == 0);
    for (size_t i = 0; i < code.n; i++)
        assert(code.items[i].text.p >= text.p &&
               code.items[i].text.p + code.items[i].text.n <= text.p + text.n && code.items[i].line >= 0 &&
               code.items[i].line <= UINT32_MAX);
    free(code.items);
}

static void check_report(enum report_format format, const struct buf *text)
{
    if (format == REPORT_DISASM)
        return;
    if (format == REPORT_WEBLIST) {
        assert(fuzz_has_no_controls(buf_str(text), true) && !strstr(buf_str(text), "<script"));
        return;
    }
    json_t *whole = json_loadb(buf_str(text), text->len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    assert(json_is_array(json_object_get(whole, "files")));
    json_decref(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const char *const expressions[] = {"leaf|main", "0x401112", "."};
    if (n == 0)
        return 0;
    struct str rest = {(const char *)p + 1, n - 1}, objdump = next_text(&rest), nm = next_text(&rest);
    struct machine_answers answers = {.texts = {[SYMBOLIZE_OBJDUMP] = objdump,
                                                [SYMBOLIZE_NM_ALL] = nm,
                                                [SYMBOLIZE_NM] = nm,
                                                [SYMBOLIZE_ADDR2LINE] = rest,
                                                [SYMBOLIZE_CXXFILT] = rest,
                                                [SYMBOLIZE_CXXFILT_NO_PARAMETERS] = rest}};
    struct report_settings settings = REPORT_SETTINGS_INIT;
    struct buf text = BUF_INIT((size_t)64 << 20);
    struct err err = ERR_INIT;
    char path[40];
    int fd = machine_elf(path);
    const struct report_callbacks callbacks = {.sink = add_bytes, .say = ignore_line, .ctx = &text};
    check_instructions(objdump);
    settings.format = (enum report_format)(REPORT_DISASM + p[0] % 3);
    settings.symbol = expressions[p[0] / 3 % 3];
    if (machine_report(path, &settings, &answers, callbacks, &err) < 0)
        fuzz_expect_err(&err);
    else
        check_report(settings.format, &text);
    buf_release(&text);
    close(fd);
    return 0;
}
