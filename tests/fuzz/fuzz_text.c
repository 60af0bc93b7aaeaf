/* Makes remote text printable, in buffers of every size. */
#include "tests/fuzz/fuzz.h"

#include "fetch/answer.h"

#include "base/banned.h"

static void printed_into(size_t cap, const char *src, size_t n)
{
    char *room = malloc(cap ? cap : 1), *again = malloc(cap + 8);
    assert(room && again);
    room[0] = 'x';
    assert(text_printable(room, cap, src, n) == room);
    if (cap == 0) {
        assert(room[0] == 'x');
    } else {
        size_t len = strnlen(room, cap);
        assert(len < cap);
        assert(fuzz_is_printable(room));
        assert(!strstr(room, "  ") && room[0] != ' ' && (len == 0 || room[len - 1] != ' '));
        /* The longest that a byte can become is itself: what was cut had no room. */
        assert(len <= n || cap < n + 4);
        text_printable(again, cap + 8, room, len);
        assert(strcmp(room, again) == 0);
    }
    free(room);
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
        printed_into(caps[i], (const char *)p, n);
    printed_into(n + 4, (const char *)p, n);
    check_error_page((const char *)p, n);
    return 0;
}
