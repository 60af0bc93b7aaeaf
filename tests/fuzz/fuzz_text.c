/* Makes remote text printable, in buffers of every size. */
#include "tests/fuzz/fuzz.h"

#include "fetch/answer.h"

#include "base/banned.h"

static void check_printable(size_t cap, const char *src, size_t n)
{
    char *text = malloc(cap ? cap : 1), *again = malloc(cap + 8);
    assert(text && again);
    text[0] = 'x';
    assert(text_printable(text, cap, src, n) == text);
    if (cap == 0) {
        assert(text[0] == 'x');
    } else {
        size_t len = strnlen(text, cap);
        assert(len < cap);
        assert(fuzz_is_printable(text));
        assert(!strstr(text, "  ") && text[0] != ' ' && (len == 0 || text[len - 1] != ' '));
        /* In a buffer that need not cut the text, each byte becomes at most one byte. */
        assert(len <= n || cap < n + 4);
        text_printable(again, cap + 8, text, len);
        assert(strcmp(text, again) == 0);
    }
    free(text);
    free(again);
}

/* The text of an error page, for messages and manifests. */
static void check_error_page(const char *p, size_t n)
{
    static const size_t caps[] = {1, 20, 512};
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        char words[512] = "";
        answer_read_text(p, n, words, caps[i]);
        assert(strnlen(words, caps[i]) < caps[i]);
        assert(fuzz_is_printable(words) || caps[i] < 512);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const size_t caps[] = {0, 1, 2, 3, 4, 5, 7, 8, 16, 63, 512};
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++)
        check_printable(caps[i], (const char *)p, n);
    check_printable(n + 4, (const char *)p, n);
    check_error_page((const char *)p, n);
    return 0;
}
