#include "handoff/summary.h"

#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "base/banned.h"

/* The limits of a note, so that people can read it. The bundle's README.md lists everything. */
#define MAX_SERVICES 50
#define MAX_FINDINGS 30
#define MAX_TEXT (32u << 10)
#define CUT "... cut because of its length: the rest is in the bundle's README.md\n"

/* A summary that is being written. */
struct unfinished_summary {
    struct buf text;
    size_t n_services, n_findings;
    bool full; /* no further line fits */
    bool cut;  /* a line was omitted */
};

/* Returns "" for NULL, which stands for a missing key. */
static const char *text_or_empty(const char *s)
{
    return s ? s : "";
}

/* Adds the whole line or nothing, and releases it. */
static void add_line(struct unfinished_summary *s, struct buf *line)
{
    s->full = s->full || line->failed || s->text.len + line->len > MAX_TEXT;
    s->cut = s->cut || s->full;
    if (!s->full)
        buf_add(&s->text, buf_str(line), line->len);
    buf_release(line);
}

/* Adds the sentences on the profiles, in the order of the manifest. */
static void add_sentences(struct unfinished_summary *s, const struct manifest *m)
{
    for (size_t i = 0; i < m->n_summary; i++) {
        const char *file = text_or_empty(m->summary[i].file);
        struct buf line = BUF_INIT(MAX_TEXT);
        buf_addf(&line, "%s%s%s%s\n", text_or_empty(m->summary[i].text), *file ? " (" : "", file,
                 *file ? ")" : "");
        add_line(s, &line);
    }
}

static void add_head(struct unfinished_summary *s, const struct manifest *m)
{
    struct buf line = BUF_INIT(MAX_TEXT);
    buf_addf(&line, "Collected by %s on %s, %s to %s UTC.\n", text_or_empty(m->user),
             text_or_empty(m->workstation), text_or_empty(m->started), text_or_empty(m->finished));
    if (!m->complete)
        buf_adds(&line, "Some requested items are missing.\n");
    add_line(s, &line);
    if (*text_or_empty(m->reason))
        buf_addf(&line, "Reason: %s\n", m->reason);
    add_line(s, &line);
}

/* Adds a name such as "goroutines=text", or "heap (later)" for the second profile of a pair. */
static void add_item_name(struct buf *line, const struct manifest_item *item)
{
    const char *name = text_or_empty(item->kind), *argument = text_or_empty(item->argument);
    buf_addf(line, "%s%s%s", *name ? name : text_or_empty(item->file), *argument ? "=" : "", argument);
    buf_adds(line, item->pair == 2 ? " (later)" : "");
}

/* Adds a line such as "file-03, gitaly: cpu=30s, heap, goroutines (failed)". */
static void add_items(struct unfinished_summary *s, const char *host, const struct manifest_service *service)
{
    struct buf line = BUF_INIT(MAX_TEXT);
    const char *name = text_or_empty(service->name);
    buf_addf(&line, "%s%s%s: ", host, *name ? ", " : "", name);
    for (size_t i = 0; i < service->n_items; i++) {
        const struct manifest_item *item = &service->items[i];
        buf_adds(&line, i ? ", " : "");
        add_item_name(&line, item);
        if (item->status != MANIFEST_OK)
            buf_addf(&line, " (%s)", text_or_empty(item->status_text));
    }
    buf_addc(&line, '\n');
    add_line(s, &line);
}

/* Adds the findings. For a repeated finding, adds only its first clause, and "as above". */
static void add_findings(struct unfinished_summary *s, const char *where, const struct manifest_finding *list,
                         size_t n)
{
    for (size_t i = 0; i < n; i++, s->n_findings++) {
        struct buf line = BUF_INIT(MAX_TEXT);
        s->cut = s->cut || s->n_findings >= MAX_FINDINGS;
        if (s->n_findings >= MAX_FINDINGS)
            return;
        const char *text = text_or_empty(list[i].text);
        buf_addf(&line, "%s: %s\n", where, text);
        if (strstr(buf_str(&s->text), buf_str(&line))) {
            buf_clear(&line);
            buf_addf(&line, "%s: %.*s, as above\n", where, (int)text_first_clause_length(text), text);
        }
        add_line(s, &line);
    }
}

static void add_service(struct unfinished_summary *s, const char *host,
                        const struct manifest_service *service)
{
    s->cut = s->cut || s->n_services >= MAX_SERVICES;
    if (s->n_services++ >= MAX_SERVICES)
        return;
    add_items(s, host, service);
    add_findings(s, text_or_empty(service->name), service->findings, service->n_findings);
    for (size_t i = 0; i < service->n_items; i++) {
        const struct manifest_item *item = &service->items[i];
        add_findings(s, text_or_empty(item->kind), item->findings, item->n_findings);
    }
}

static void add_host(struct unfinished_summary *s, const struct manifest_host *host)
{
    struct buf line = BUF_INIT(MAX_TEXT);
    if (*text_or_empty(host->error))
        buf_addf(&line, "%s: %s: %s\n", text_or_empty(host->name),
                 host->n_services > 0 ? "nothing more" : "nothing", host->error);
    add_line(s, &line);
    for (size_t i = 0; i < host->n_services; i++)
        add_service(s, text_or_empty(host->name), &host->services[i]);
}

static int summarize_contents(const struct manifest *m, char **ret, struct err *err)
{
    struct unfinished_summary s = {.text = BUF_INIT(MAX_TEXT + sizeof CUT)};
    struct buf line = BUF_INIT(100);
    add_sentences(&s, m);
    add_head(&s, m);
    if (m->n_files > 0)
        buf_addf(&line, "%zu local file%s\n", m->n_files, text_plural_s(m->n_files));
    add_line(&s, &line);
    for (size_t i = 0; i < m->n_hosts; i++)
        add_host(&s, &m->hosts[i]);
    if (s.cut)
        buf_adds(&s.text, CUT);
    if (buf_check(&s.text, "the summary", err) < 0) {
        buf_release(&s.text);
        return -1;
    }
    *ret = buf_detach(&s.text);
    return 0;
}

/* Returns the commands that read the bundle. FILE, KEY and PROFILE are placeholders, because the file has
 * another name at the tracker, and only the reader knows the key. */
static const char *choose_commands(bool encrypted)
{
#define READ_ONE_PROFILE                                                                                     \
    "README.md in it states the findings. To read one profile of it, use one of these commands:\n"           \
    "    profgrab pprof -top PROFILE\n"                                                                      \
    "    go tool pprof PROFILE\n"
    return encrypted
               ? "With profgrab, KEY being your private key that it is encrypted to:\n"
                 "    profgrab view -i KEY FILE\n"
                 "    profgrab bundle verify -i KEY FILE\n"
                 "    profgrab bundle extract -i KEY FILE\n"
                 "With age and tar:\n"
                 "    age -d -i KEY FILE > profiles.tar.gz && tar -xzf profiles.tar.gz\n" READ_ONE_PROFILE
               : "    profgrab view FILE\n"
                 "    profgrab bundle verify FILE\n"
                 "    profgrab bundle extract FILE\n" READ_ONE_PROFILE;
}

static int summarize_text(const char *manifest, char **ret, struct err *err)
{
    struct manifest *m = NULL;
    if (manifest_read(manifest, strlen(manifest), &m, err) < 0)
        return -1;
    int rc = summarize_contents(m, ret, err);
    manifest_free(m);
    return rc;
}

int summary_text(const char *manifest, char **ret, struct err *err)
{
    struct buf printable = BUF_INIT(2 * MAX_TEXT);
    char *summary = NULL, shown[MAX_TEXT];
    if (summarize_text(manifest, &summary, err) < 0)
        return -1;
    for (char *line = summary, *end; *line; line = end + 1) {
        end = strchrnul(line, '\n');
        bool last = !*end;
        *end = '\0';
        buf_adds(&printable,
                 text_is_visible(line) ? line : text_printable(shown, sizeof shown, line, strlen(line)));
        buf_addc(&printable, '\n');
        if (last)
            break;
    }
    free(summary);
    int rc = buf_check(&printable, "the summary", err);
    if (rc == 0)
        *ret = buf_detach(&printable);
    buf_release(&printable);
    return rc;
}

int summary_read(const char *manifest, bool encrypted, struct summary *ret, struct err *err)
{
    char *summary = NULL;
    if (summarize_text(manifest, &summary, err) < 0)
        return -1;
    *ret = (struct summary){.text = summary, .reading = choose_commands(encrypted)};
    return 0;
}

void summary_release(struct summary *s)
{
    free(s->text);
    *s = (struct summary){0};
}
