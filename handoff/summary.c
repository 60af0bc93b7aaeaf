#include "handoff/summary.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "base/banned.h"

/* A note is read by people: the rest is in the bundle's README.md. */
#define MAX_SERVICES 50
#define MAX_VERDICTS 30
#define MAX_TEXT (32u << 10)
#define CUT "... cut here, for its length: the rest is in the bundle's README.md\n"

/* A summary while it is written. */
struct unfinished_summary {
    struct buf text;
    size_t services, verdicts;
    bool full; /* nothing more goes in */
    bool cut;  /* something was left out */
};

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

/* A whole line or none of it. Releases the line. */
static void add_line(struct unfinished_summary *s, struct buf *line)
{
    s->full = s->full || line->failed || s->text.len + line->len > MAX_TEXT;
    s->cut = s->cut || s->full;
    if (!s->full)
        buf_add(&s->text, buf_str(line), line->len);
    buf_release(line);
}

/* What the profiles show, as the bundle itself begins. */
static void add_words(struct unfinished_summary *s, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        struct buf line = BUF_INIT(MAX_TEXT);
        buf_addf(&line, "%s%s%s%s\n", text(one, "text"), *text(one, "file") ? " (" : "", text(one, "file"),
                 *text(one, "file") ? ")" : "");
        add_line(s, &line);
    }
}

static void add_head(struct unfinished_summary *s, const json_t *root)
{
    struct buf line = BUF_INIT(MAX_TEXT);
    const json_t *who = json_object_get(root, "collector");
    buf_addf(&line, "Collected by %s on %s, %s to %s UTC.\n", text(who, "user"), text(who, "workstation"),
             text(root, "started"), text(root, "finished"));
    if (!json_is_true(json_object_get(root, "complete")))
        buf_adds(&line, "Not everything that was asked for is in it.\n");
    add_line(s, &line);
    if (*text(root, "reason"))
        buf_addf(&line, "Reason: %s\n", text(root, "reason"));
    add_line(s, &line);
}

/* "goroutines=text"; of the later one of two "heap (later)". */
static void add_item_name(struct buf *line, const json_t *item)
{
    const char *name = text(item, "kind"), *argument = text(item, "argument");
    buf_addf(line, "%s%s%s", *name ? name : text(item, "file"), *argument ? "=" : "", argument);
    buf_adds(line, json_integer_value(json_object_get(item, "pair")) == 2 ? " (later)" : "");
}

/* "file-03, gitaly: cpu=30s, heap, goroutines (failed)" */
static void add_items(struct unfinished_summary *s, const char *host, const char *service,
                      const json_t *items)
{
    struct buf line = BUF_INIT(MAX_TEXT);
    buf_addf(&line, "%s%s%s: ", host, *service ? ", " : "", service);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *status = text(item, "status");
        buf_adds(&line, i ? ", " : "");
        add_item_name(&line, item);
        if (strcmp(status, "ok") != 0)
            buf_addf(&line, " (%s)", status);
    }
    buf_addc(&line, '\n');
    add_line(s, &line);
}

/* The findings. One that another service has already is only referred to, by its first words. */
static void add_verdicts(struct unfinished_summary *s, const char *where, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++, s->verdicts++) {
        struct buf line = BUF_INIT(MAX_TEXT);
        s->cut = s->cut || s->verdicts >= MAX_VERDICTS;
        if (s->verdicts >= MAX_VERDICTS)
            return;
        const char *words = text(json_array_get(list, i), "text");
        buf_addf(&line, "%s: %s\n", where, words);
        if (strstr(buf_str(&s->text), buf_str(&line))) {
            buf_clear(&line);
            buf_addf(&line, "%s: %.*s, as above\n", where, (int)text_first_clause(words), words);
        }
        add_line(s, &line);
    }
}

static void add_service(struct unfinished_summary *s, const char *host, const json_t *service)
{
    const json_t *items = json_object_get(service, "items");
    s->cut = s->cut || s->services >= MAX_SERVICES;
    if (s->services++ >= MAX_SERVICES)
        return;
    add_items(s, host, text(service, "name"), items);
    add_verdicts(s, text(service, "name"), json_object_get(service, "verdicts"));
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        add_verdicts(s, text(item, "kind"), json_object_get(item, "verdicts"));
    }
}

static void add_host(struct unfinished_summary *s, const json_t *host)
{
    const json_t *list = json_object_get(host, "services");
    struct buf line = BUF_INIT(MAX_TEXT);
    if (*text(host, "error"))
        buf_addf(&line, "%s: %s: %s\n", text(host, "name"),
                 json_array_size(list) ? "nothing more" : "nothing", text(host, "error"));
    add_line(s, &line);
    for (size_t i = 0; i < json_array_size(list); i++)
        add_service(s, text(host, "name"), json_array_get(list, i));
}

static int summarize(const json_t *root, char **ret, struct err *err)
{
    const json_t *hosts = json_object_get(root, "hosts");
    size_t files = json_array_size(json_object_get(root, "files"));
    struct unfinished_summary s = {.text = BUF_INIT(MAX_TEXT + sizeof CUT)};
    struct buf line = BUF_INIT(100);
    add_words(&s, json_object_get(root, "summary"));
    add_head(&s, root);
    if (files > 0)
        buf_addf(&line, "%zu local file%s\n", files, files == 1 ? "" : "s");
    add_line(&s, &line);
    for (size_t i = 0; i < json_array_size(hosts); i++)
        add_host(&s, json_array_get(hosts, i));
    if (s.cut)
        buf_adds(&s.text, CUT);
    int rc = buf_check(&s.text, "the summary", err);
    if (rc == 0)
        *ret = buf_take(&s.text);
    buf_release(&s.text);
    return rc;
}

/* It has another name there than here, and nobody knows where the reader keeps his key. */
static const char *reading(bool encrypted)
{
#define THEN "README.md in it says what was found; each profile opens with `go tool pprof`.\n"
    return encrypted ? "With profgrab, KEY being your private key that it is encrypted to:\n"
                       "    profgrab bundle verify -i KEY FILE\n"
                       "    profgrab bundle extract -i KEY FILE\n"
                       "With age and tar:\n"
                       "    age -d -i KEY FILE > profiles.tar.gz && tar -xzf profiles.tar.gz\n" THEN
                     : "    profgrab bundle verify FILE\n"
                       "    profgrab bundle extract FILE\n" THEN;
}

static int summarize_text(const char *manifest, char **ret, struct err *err)
{
    json_t *root = NULL;
    if (bundle_manifest_parse(manifest, strlen(manifest), &root, err) < 0)
        return -1;
    int rc = summarize(root, ret, err);
    json_decref(root);
    return rc;
}

int summary_text(const char *manifest, char **ret, struct err *err)
{
    struct buf tame = BUF_INIT(2 * MAX_TEXT);
    char *summary = NULL, shown[MAX_TEXT];
    if (summarize_text(manifest, &summary, err) < 0)
        return -1;
    for (char *line = summary, *end; *line; line = end + 1) {
        end = strchrnul(line, '\n');
        bool last = !*end;
        *end = '\0';
        buf_adds(&tame,
                 text_is_visible(line) ? line : text_printable(shown, sizeof shown, line, strlen(line)));
        buf_addc(&tame, '\n');
        if (last)
            break;
    }
    free(summary);
    int rc = buf_check(&tame, "the summary", err);
    if (rc == 0)
        *ret = buf_take(&tame);
    buf_release(&tame);
    return rc;
}

int summary_read(const char *manifest, bool encrypted, struct summary *ret, struct err *err)
{
    char *summary = NULL;
    if (summarize_text(manifest, &summary, err) < 0)
        return -1;
    *ret = (struct summary){.text = summary, .reading = reading(encrypted)};
    return 0;
}

void summary_release(struct summary *d)
{
    free(d->text);
    *d = (struct summary){0};
}
