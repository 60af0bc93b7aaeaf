/* A host's text on an issue: none of its lines begins a line of the issue, and no block ends early. */
#include "tests/fuzz/fuzz.h"

#include "handoff/escape.h"
#include "base/banned.h"

/* Asserts that every line between the first and the last begins with two blanks. */
static void assert_indented(const char *block, const char *last)
{
    const char *line = strchr(block + 1, '\n') + 1;
    while (line < last) {
        assert(line[0] == ' ' && line[1] == ' ');
        line = strchr(line, '\n') + 1;
    }
    assert(line == last);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    char *text = strndup((const char *)p, n);
    struct buf markdown = BUF_INIT(8u << 20), textile = BUF_INIT(8u << 20);
    assert(text);
    escape_markdown(&markdown, text);
    escape_redmine(&textile, text);
    size_t fence = strspn(buf_str(&markdown) + 1, "`");
    assert_indented(buf_str(&markdown), buf_str(&markdown) + markdown.len - fence - 1);
    /* No run of backticks inside is as long as the fence. */
    size_t run = 0;
    for (const char *c = buf_str(&markdown) + 1 + fence; c < buf_str(&markdown) + markdown.len - fence - 1;
         c++) {
        run = *c == '`' ? run + 1 : 0;
        assert(run < fence);
    }
    assert_indented(buf_str(&textile), buf_str(&textile) + textile.len - strlen("</pre>\n"));
    assert(strstr(buf_str(&textile), "</") == buf_str(&textile) + textile.len - strlen("</pre>\n"));
    assert(!strstr(buf_str(&textile), " @"));
    buf_release(&markdown);
    buf_release(&textile);
    free(text);
    return 0;
}
