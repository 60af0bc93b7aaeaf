#include "findings/sentence.h"

#include <inttypes.h>
#include <stdio.h>

#include "findings/stats.h"
#include "findings/tally.h"
#include "base/banned.h"

char *sentence_make(const char *sentence, const struct finding_values *values)
{
    struct buf b = BUF_INIT(4096);
    for (const char *p = sentence; *p; p++) {
        bool is_placeholder =
            p[0] == '{' && p[1] >= '0' && p[1] < '0' + SENTENCE_MAX_ARGUMENTS && p[2] == '}';
        if (is_placeholder)
            buf_adds(&b, values->arguments[p[1] - '0']);
        else
            buf_addc(&b, *p);
        p += is_placeholder ? 2 : 0;
    }
    char *text = b.failed ? NULL : buf_detach(&b);
    buf_release(&b);
    return text;
}

void sentence_percent(char dst[SENTENCE_ARGUMENT_SIZE], double share)
{
    snprintf(dst, SENTENCE_ARGUMENT_SIZE, "%.*f", share < 0.0995 ? 1 : 0, share * 100);
}

void sentence_name(char dst[SENTENCE_ARGUMENT_SIZE], struct str name)
{
    text_printable(dst, SENTENCE_NAME_SIZE, name.p, name.n);
}

/* Uses the format of pprof and the page, so that a reader can compare the numbers. */
void sentence_bytes(char dst[SENTENCE_ARGUMENT_SIZE], int64_t n)
{
    char text[MEASURE_TEXT];
    measure_label(text, n, STR("bytes"), STR("auto"));
    snprintf(dst, SENTENCE_ARGUMENT_SIZE, "%s", text);
}

/* "1,234,567 objects" */
void sentence_count(char dst[SENTENCE_ARGUMENT_SIZE], uint64_t n, const char *one, const char *many)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n), at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            dst[at++] = ',';
        dst[at++] = digits[i];
    }
    snprintf(dst + at, SENTENCE_ARGUMENT_SIZE - at, " %s", n == 1 ? one : many);
}

void sentence_time(char dst[SENTENCE_ARGUMENT_SIZE], int64_t ns)
{
    if (ns >= 1000000)
        text_duration(dst, SENTENCE_ARGUMENT_SIZE, ns / 1000000);
    else
        snprintf(dst, SENTENCE_ARGUMENT_SIZE, "less than 1ms");
}

void sentence_top_cum(char dst[SENTENCE_ARGUMENT_SIZE], const struct tally *tally, uint32_t named)
{
    char name[SENTENCE_ARGUMENT_SIZE], percent[SENTENCE_ARGUMENT_SIZE];
    uint32_t top = tally_top_cum(tally);
    *dst = '\0';
    if (top == TALLY_NONE || top == named)
        return;
    sentence_name(name, profile_str(tally->profile, top));
    sentence_percent(percent, stats_share(tally->by_name[top].cum, tally->total));
    snprintf(dst, SENTENCE_ARGUMENT_SIZE, ", and %.160s with all that it calls %.10s %%", name, percent);
}
