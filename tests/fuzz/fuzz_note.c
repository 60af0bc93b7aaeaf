/*
 * README.md and the note on an issue, made from an untrusted manifest: no text of the manifest is active in
 * Markdown, none of its lines becomes the beginning of a line, and the manifest's size bounds both documents.
 */
#include "tests/fuzz/fuzz.h"

#include <ctype.h>

#include "bundle/manifest_json.h"
#include "bundle/readme.h"
#include "bundle/redact/redact.h"
#include "handoff/summary.h"
#include "handoff/escape.h"
#include "base/banned.h"

static bool begins_with(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* Lines that have no text of the manifest. */
static bool is_ours(const char *line)
{
    static const char *const ours[] = {"**Confidential.** Profiles name ", "- **Not complete**",
                                       "For all profiles as pictures, open `report.html`",
                                       "All other files are text. `manifest.json`", "|---|---"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (begins_with(line, ours[i]))
            return true;
    return begins_with(line, "    "); /* commands, of names and plain paths */
}

/* Counts the unescaped bars, which divide the line's cells, and asserts that no other unescaped character is
 * active. */
static size_t count_bars(const char *line, size_t n)
{
    size_t bars = 0;
    for (size_t i = 0; i < n; i++) {
        char c = line[i], before = i ? line[i - 1] : ' ', next = i + 1 < n ? line[i + 1] : ' ';
        if (c == '\\') {
            i++;
            continue;
        }
        if (n - i >= strlen(REDACTED) && begins_with(line + i, REDACTED)) {
            assert(!strchr("([", i + strlen(REDACTED) < n ? line[i + strlen(REDACTED)] : ' '));
            i += strlen(REDACTED) - 1;
            continue;
        }
        bars += c == '|';
        assert(!strchr("`[]<~&", c));
        assert(c != '>' || i > 0);
        /* The asterisk of Go's (*T) can open emphasis; no asterisk that could close it is written. */
        assert(c != '*' || (before == '(' && isalnum((unsigned char)next)));
        assert(c != '#' || (i == 0 || line[0] == '#'));
        assert(c != '_' || (isalnum((unsigned char)before) && isalnum((unsigned char)next)));
        assert(c != '@' || isalnum((unsigned char)before));
    }
    return bars;
}

static void expect_inactive(const char *text)
{
    for (const char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        assert(end);
        if (is_ours(line))
            continue;
        size_t bars = count_bars(line, (size_t)(end - line));
        assert(bars == 0 || (line[0] == '|' && (bars == 7 || bars == 4)));
        if (line[0] == '#')
            assert(begins_with(line, "# ") || begins_with(line, "## ") || begins_with(line, "### "));
    }
}

/* Like fuzz_escape: the block is whole and ends at its own end. */
static void expect_fenced(const char *summary)
{
    struct buf markdown = BUF_INIT(8u << 20);
    escape_markdown(&markdown, summary);
    size_t fence = strspn(buf_str(&markdown) + 1, "`"), run = 0;
    for (const char *c = buf_str(&markdown) + 1 + fence; c < buf_str(&markdown) + markdown.len - fence - 1;
         c++) {
        run = *c == '`' ? run + 1 : 0;
        assert(run < fence);
    }
    buf_release(&markdown);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    enum { NOTE_MAX = 33 << 10, FACTOR = 64, LEAST = 65536 };
    struct buf readme = BUF_INIT(256u << 20);
    struct summary d = {0};
    struct err err = ERR_INIT;
    json_t *root = NULL;
    char *text = strndup((const char *)p, n), *terminal = NULL;
    assert(text);
    if (manifest_json_parse(text, strlen(text), &root, &err) < 0) {
        fuzz_expect_err(&err);
    } else {
        struct manifest *m = NULL;
        if (manifest_read_json(root, &m, NULL) == 0)
            (void)readme_write(m, &readme, NULL);
        manifest_free(m);
        assert(!readme.failed && readme.len <= FACTOR * n + LEAST &&
               fuzz_has_no_controls(buf_str(&readme), true));
        expect_inactive(buf_str(&readme));
        assert(summary_read(text, n % 2, &d, &err) == 0);
        assert(strlen(d.text) <= NOTE_MAX);
        expect_fenced(d.text);
        assert(summary_text(text, &terminal, &err) == 0 && fuzz_has_no_controls(terminal, true));
        summary_release(&d);
        free(terminal);
        json_decref(root);
    }
    buf_release(&readme);
    free(text);
    return 0;
}
