/*
 * -raw: the whole profile as text.
 *
 * Source: google/pprof profile/profile.go (Profile.String).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pprof/formats.h"
#include "pprof/report.h"
#include "base/banned.h"

#define DURATION_TEXT 40

/* Writes v * 10^-digits and the unit, without trailing zeros: "1.5ms" for 1500000, 6 and "ms". Returns the
 * length. */
static size_t write_decimal(char *dst, size_t cap, uint64_t v, unsigned digits, const char *unit)
{
    uint64_t whole = 1;
    for (unsigned i = 0; i < digits; i++)
        whole *= 10;
    int n = snprintf(dst, cap, "%llu.%0*llu", (unsigned long long)(v / whole), (int)(digits ? digits : 1),
                     (unsigned long long)(v % whole));
    while (dst[n - 1] == '0')
        n--;
    n -= dst[n - 1] == '.';
    return (size_t)n + (size_t)snprintf(dst + n, cap - (size_t)n, "%s", unit);
}

/* Writes a duration as Go prints it: "1h2m3.5s", "1.5ms" or "0s". Returns the length. */
static size_t write_duration(char dst[DURATION_TEXT], int64_t ns)
{
    uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns, seconds = v / 1000000000;
    size_t n = 0;
    if (v == 0)
        return (size_t)snprintf(dst, DURATION_TEXT, "0s");
    if (ns < 0)
        dst[n++] = '-';
    if (v < 1000)
        return n + write_decimal(dst + n, DURATION_TEXT - n, v, 0, "ns");
    if (v < 1000000)
        return n + write_decimal(dst + n, DURATION_TEXT - n, v, 3, "\xc2\xb5s");
    if (v < 1000000000)
        return n + write_decimal(dst + n, DURATION_TEXT - n, v, 6, "ms");
    if (seconds >= 3600)
        n += (size_t)snprintf(dst + n, DURATION_TEXT - n, "%lluh", (unsigned long long)(seconds / 3600));
    if (seconds >= 60)
        n += (size_t)snprintf(dst + n, DURATION_TEXT - n, "%llum", (unsigned long long)(seconds / 60 % 60));
    return n + write_decimal(dst + n, DURATION_TEXT - n, v % 60000000000, 9, "s");
}

/* The first n characters, like Go's "%.4v" for n = 4. */
static struct str first_characters(struct str s, size_t n)
{
    for (size_t i = 0; i < s.n; i++) {
        if (((unsigned char)s.p[i] & 0xc0) == 0x80)
            continue;
        if (n-- == 0)
            return (struct str){s.p, i};
    }
    return s;
}

/* ---- the header ---------------------------------------------------------------------------------------- */

/* Writes the local time as Go does: without zeros at the end of the fraction of a second. */
static void write_time(struct report *report)
{
    char date[32], zone[64];
    struct tm tm;
    int64_t ns = report->profile->time_ns, part = ns % 1000000000;
    part += part < 0 ? 1000000000 : 0;
    time_t seconds = (time_t)((ns - part) / 1000000000);
    if (!localtime_r(&seconds, &tm) || !strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &tm) ||
        !strftime(zone, sizeof zone, "%z %Z", &tm))
        return;
    out_format(report->out, "Time: %s", date);
    if (part) {
        char digits[16];
        int n = snprintf(digits, sizeof digits, "%09d", (int)part);
        while (digits[n - 1] == '0')
            n--;
        out_format(report->out, ".%.*s", n, digits);
    }
    out_format(report->out, " %s\n", zone);
}

static void write_header(struct report *report)
{
    const struct profile *p = report->profile;
    for (size_t i = 0; i < p->n_comments; i++) {
        out_text(report->out, "Comment: ");
        out_str(report->out, profile_str(p, p->comments[i]));
        out_text(report->out, "\n");
    }
    if (p->doc_url) {
        out_text(report->out, "Doc: ");
        out_str(report->out, profile_str(p, p->doc_url));
        out_text(report->out, "\n");
    }
    out_text(report->out, "PeriodType: ");
    out_str(report->out, profile_str(p, p->period_type.type));
    out_text(report->out, " ");
    out_str(report->out, profile_str(p, p->period_type.unit));
    out_format(report->out, "\nPeriod: %lld\n", (long long)p->period);
    if (p->time_ns)
        write_time(report);
    if (p->duration_ns) {
        char text[DURATION_TEXT];
        size_t n = write_duration(text, p->duration_ns);
        out_text(report->out, "Duration: ");
        out_str(report->out, first_characters((struct str){text, n}, 4));
        out_text(report->out, "\n");
    }
}

static int write_sample_types(struct report *report)
{
    const struct profile *p = report->profile;
    struct buf line = BUF_INIT(SIZE_MAX / 2);
    for (size_t i = 0; i < p->n_sample_types; i++) {
        struct str type = profile_str(p, p->sample_types[i].type),
                   unit = profile_str(p, p->sample_types[i].unit);
        buf_add(&line, type.p, type.n);
        buf_addc(&line, '/');
        buf_add(&line, unit.p, unit.n);
        buf_adds(&line, p->sample_types[i].type == p->default_sample_type ? "[dflt] " : " ");
    }
    out_text(report->out, "Samples:\n");
    out_str(report->out, str_trim((struct str){buf_str(&line), line.len}));
    out_text(report->out, "\n");
    int rc = buf_check(&line, "the names of the sample types", report->err);
    buf_release(&line);
    return rc;
}

/* ---- samples ------------------------------------------------------------------------------------------- */

/* A key and its values: a range of the text. */
struct entry {
    size_t at, n;
};

struct label_list {
    struct label_order order;
    struct buf text;
    struct entry *entries;
    size_t n, cap;
};

static int compare_strs(const void *a, const void *b)
{
    return str_compare(*(const struct str *)a, *(const struct str *)b);
}

/* Whether one of a key's labels has a unit. If so, all values of the key are written with a unit. */
static bool any_unit(const struct profile_label *labels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (labels[i].unit)
            return true;
    return false;
}

/* Adds "key:[value value]" for n labels of one key. */
static int add_entry(struct report *report, struct label_list *l, const struct profile_label *labels,
                     size_t n)
{
    const struct profile *p = report->profile;
    bool units = labels->is_number && any_unit(labels, n);
    if (array_reserve((void **)&l->entries, &l->cap, l->n + 1, sizeof *l->entries, report->err) < 0)
        return -1;
    struct entry *e = &l->entries[l->n++];
    struct str s = profile_str(p, labels->key);
    e->at = l->text.len;
    buf_add(&l->text, s.p, s.n);
    buf_adds(&l->text, ":[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_addc(&l->text, ' ');
        if (labels->is_number)
            buf_addf(&l->text, units ? "%lld " : "%lld", (long long)labels[i].num);
        s = profile_str(p, labels->is_number ? labels[i].unit : labels[i].str);
        buf_add(&l->text, s.p, s.n);
    }
    buf_addc(&l->text, ']');
    e->n = l->text.len - e->at;
    return 0;
}

/* Writes the sorted entries as a line. */
static int write_entries(struct report *report, struct label_list *l)
{
    if (buf_check(&l->text, "a sample's labels", report->err) < 0)
        return -1;
    struct str *texts = malloc(l->n * sizeof *texts);
    if (!texts)
        return err_nomem(report->err);
    for (size_t i = 0; i < l->n; i++)
        texts[i] = (struct str){buf_str(&l->text) + l->entries[i].at, l->entries[i].n};
    qsort(texts, l->n, sizeof *texts, compare_strs);
    out_text(report->out, "                ");
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            out_text(report->out, " ");
        out_str(report->out, texts[i]);
    }
    out_text(report->out, "\n");
    free(texts);
    return 0;
}

/* Writes the text labels or the numeric labels that begin at *from, sorted by key. Advances *from past
 * them. */
static int write_labels_from(struct report *report, struct label_list *l, const struct profile_label *labels,
                             size_t n, size_t *from)
{
    bool is_number = *from < n && labels[*from].is_number;
    l->n = 0;
    buf_clear(&l->text);
    while (*from < n && labels[*from].is_number == is_number) {
        size_t same = 1;
        while (*from + same < n && labels[*from + same].is_number == is_number &&
               labels[*from + same].key == labels[*from].key)
            same++;
        if (add_entry(report, l, labels + *from, same) < 0)
            return -1;
        *from += same;
    }
    return write_entries(report, l);
}

static int write_labels(struct report *report, struct label_list *l, const struct profile_sample *s)
{
    const struct profile_label *labels = NULL;
    int rc =
        label_order_sort(&l->order, report->profile->labels + s->label_at, s->n_labels, &labels, report->err);
    for (size_t at = 0; rc == 0 && at < s->n_labels;)
        rc = write_labels_from(report, l, labels, s->n_labels, &at);
    return rc;
}

static int write_samples(struct report *report)
{
    const struct profile *p = report->profile;
    struct label_list l = {.text = BUF_INIT(SIZE_MAX / 2)};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->n_samples; i++) {
        const struct profile_sample *s = &p->samples[i];
        for (size_t k = 0; k < p->n_sample_types; k++)
            out_format(report->out, " %10lld", (long long)p->values[i * p->n_sample_types + k]);
        out_text(report->out, ": ");
        for (size_t k = 0; k < s->depth; k++)
            out_format(report->out, "%llu ", (unsigned long long)p->locations[profile_frame(p, s, k)].id);
        out_text(report->out, "\n");
        rc = write_labels(report, &l, s);
    }
    label_order_release(&l.order);
    buf_release(&l.text);
    free(l.entries);
    return rc;
}

/* ---- tables of the profile ----------------------------------------------------------------------------- */

static void write_line(struct report *report, const struct profile_line *l)
{
    const struct profile *p = report->profile;
    if (l->function == PROFILE_NONE) {
        out_text(report->out, "??\n");
        return;
    }
    const struct profile_function *f = &p->functions[l->function];
    out_str(report->out, profile_str(p, f->name));
    out_text(report->out, " ");
    out_str(report->out, profile_str(p, f->filename));
    out_format(report->out, ":%lld:%lld s=%lld", (long long)l->line, (long long)l->column,
               (long long)f->start_line);
    if (f->name != f->system_name) {
        out_text(report->out, "(");
        out_str(report->out, profile_str(p, f->system_name));
        out_text(report->out, ")");
    }
    out_text(report->out, "\n");
}

static void write_location(struct report *report, const struct profile_location *l)
{
    const struct profile *p = report->profile;
    out_format(report->out, "%6llu: 0x%llx ", (unsigned long long)l->id, (unsigned long long)l->address);
    if (l->mapping != PROFILE_NONE)
        out_format(report->out, "M=%llu ", (unsigned long long)p->mappings[l->mapping].id);
    out_text(report->out, l->folded ? "[F] " : "");
    if (l->n_lines == 0)
        out_text(report->out, "\n");
    for (size_t i = 0; i < l->n_lines; i++) {
        out_text(report->out, i ? "             " : "");
        write_line(report, &p->lines[l->line_at + i]);
    }
}

static void write_mapping(struct report *report, const struct profile_mapping *m)
{
    out_format(report->out, "%llu: 0x%llx/0x%llx/0x%llx ", (unsigned long long)m->id,
               (unsigned long long)m->start, (unsigned long long)m->limit, (unsigned long long)m->offset);
    out_str(report->out, profile_str(report->profile, m->file));
    out_text(report->out, " ");
    out_str(report->out, profile_str(report->profile, m->build_id));
    out_format(report->out, " %s%s%s%s\n", m->has_functions ? "[FN]" : "", m->has_filenames ? "[FL]" : "",
               m->has_line_numbers ? "[LN]" : "", m->has_inline_frames ? "[IN]" : "");
}

int raw_write(struct report *report)
{
    const struct profile *p = report->profile;
    write_header(report);
    if (write_sample_types(report) < 0 || write_samples(report) < 0)
        return -1;
    out_text(report->out, "Locations\n");
    for (size_t i = 0; i < p->n_locations; i++)
        write_location(report, &p->locations[i]);
    out_text(report->out, "Mappings\n");
    for (size_t i = 0; i < p->n_mappings; i++)
        write_mapping(report, &p->mappings[i]);
    return 0;
}
