#include "bundle/readme.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "bundle/bundle.h"
#include "bundle/json_rows.h"
#include "bundle/path.h"
#include "bundle/redact/redact.h"
#include "base/banned.h"

/* ---- untrusted text ------------------------------------------------------------------------------------ */

/* Returns whether s[at] has a meaning in Markdown of GitLab or GitHub. Many names contain an underscore,
 * which has no meaning inside a word. The asterisk of Go's (*T) needs no escape: it can only open emphasis,
 * and every asterisk that could close it is escaped. No text begins a line, so a slash is never a quick
 * action. */
static bool has_markup_meaning(const char *s, size_t at)
{
    if (s[at] == '_')
        return at == 0 || !isalnum((unsigned char)s[at - 1]) || !isalnum((unsigned char)s[at + 1]);
    if (s[at] == '*')
        return at == 0 || s[at - 1] != '(' || !isalnum((unsigned char)s[at + 1]);
    if (strchr("\\`[]<|~#&", s[at]))
        return true;
    if (s[at] == '@') /* escape a mention, but not a mail address */
        return at == 0 || !isalnum((unsigned char)s[at - 1]);
    return at == 0 && strchr("-+=!:>", s[at]);
}

/* Returns the length of "[redacted]" if s begins with it and it is not a link, else 0. */
static size_t redacted_length(const char *s)
{
    size_t n = strlen(REDACTED);
    return strncmp(s, REDACTED, n) == 0 && (!s[n] || !strchr("([:", s[n])) ? n : 0;
}

/* Returns s, or "" if s is NULL because the manifest lacks the key. */
static const char *text_or_empty(const char *s)
{
    return s ? s : "";
}

static bool has_text(const char *s)
{
    return s && *s;
}

/* Adds untrusted text (or NULL) on one line, with Markdown escaped. The manifest of another program may not
 * be printable. */
static void add_text(struct buf *b, const char *text)
{
    char s[JSON_ROWS_TEXT_SIZE];
    text_printable(s, sizeof s, text_or_empty(text), strlen(text_or_empty(text)));
    for (size_t i = 0; s[i]; i++) {
        size_t n = redacted_length(s + i);
        if (n == 0 && has_markup_meaning(s, i))
            buf_addc(b, '\\');
        buf_add(b, s + i, n ? n : 1);
        i += n ? n - 1 : 0;
    }
}

/* Adds `label` unescaped and the text after it, unless the text is empty or NULL. */
static void add_labelled(struct buf *b, const char *label, const char *s)
{
    if (!has_text(s))
        return;
    buf_adds(b, label);
    add_text(b, s);
}

static void add_finding_list(struct buf *b, const struct manifest_finding *findings, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        buf_adds(b, "\n- ");
        add_text(b, findings[i].text);
    }
    buf_adds(b, n > 0 ? "\n" : "");
}

/* Adds only the first clause of a finding whose whole text is above, and refers to it. */
static void add_reference(struct buf *b, const char *words)
{
    char first[JSON_ROWS_TEXT_SIZE];
    snprintf(first, sizeof first, "%.*s", (int)text_first_clause_length(words), words);
    add_text(b, first);
    buf_adds(b, ", as above");
}

/* Adds the findings of an item, or references to those that are in `seen`. */
static void add_item_findings(struct buf *b, const struct manifest_item *item, struct name_map *seen)
{
    for (size_t i = 0; i < item->n_findings; i++) {
        const char *words = text_or_empty(item->findings[i].text);
        bool is_repeated = name_map_has(seen, words);
        buf_adds(b, i == 0 ? "" : "; ");
        (is_repeated ? add_reference : add_text)(b, words);
        if (name_map_set(seen, words, NULL, NULL) < 0)
            b->failed = b->out_of_memory = true;
    }
}

/* ---- all items with host and service ------------------------------------------------------------------- */

struct visitor {
    struct buf *b;
    const char *host; /* NULL for local files */
    const char *service;
    size_t n_missing; /* lines that add_missing has written */
};

typedef void visit_fn(struct visitor *v, const struct manifest_item *item);

static void visit_list(struct visitor *v, const struct manifest_item *items, size_t n, visit_fn *visit)
{
    for (size_t i = 0; i < n; i++)
        visit(v, &items[i]);
}

static void visit_items(struct visitor *v, const struct manifest *m, visit_fn *visit)
{
    for (size_t i = 0; i < m->n_hosts; i++)
        for (size_t k = 0; k < m->hosts[i].n_services; k++) {
            const struct manifest_service *service = &m->hosts[i].services[k];
            v->host = m->hosts[i].name;
            v->service = service->name;
            visit_list(v, service->items, service->n_items, visit);
        }
    v->host = v->service = NULL;
    visit_list(v, m->files, m->n_files, visit);
}

/* ---- the parts of the text --------------------------------------------------------------------------- */

/* Adds the findings on the profiles, each with its file. */
static void add_summary(struct buf *b, const struct manifest *m)
{
    buf_adds(b, m->n_summary > 0 ? "\n## What the profiles show\n\n" : "");
    for (size_t i = 0; i < m->n_summary; i++) {
        buf_adds(b, "- ");
        add_text(b, m->summary[i].text);
        add_labelled(b, " (", m->summary[i].file);
        buf_adds(b, has_text(m->summary[i].file) ? ")\n" : "\n");
    }
}

/* Lists the users who resumed the run, with the times. */
static void add_resumed(struct buf *b, const struct manifest *m)
{
    for (size_t i = 0; i < m->n_resumed; i++) {
        buf_adds(b, "- Resumed");
        add_labelled(b, " at ", m->resumed[i].time);
        add_labelled(b, " by ", m->resumed[i].user);
        add_labelled(b, " on ", m->resumed[i].workstation);
        buf_adds(b, "\n");
    }
}

/* Returns whether the service has no error and all its recorded items are complete. */
static bool is_complete_service(const struct manifest_service *service)
{
    for (size_t i = 0; i < service->n_items; i++)
        if (service->items[i].status != MANIFEST_OK)
            return false;
    return !has_text(service->error);
}

static bool is_complete_host(const struct manifest_host *host)
{
    for (size_t i = 0; i < host->n_services; i++)
        if (!is_complete_service(&host->services[i]))
            return false;
    return !has_text(host->error);
}

/* Adds the line of an incomplete bundle. If the capture was not interrupted and has several hosts, the line
 * has the number of incomplete hosts. */
static void add_incomplete(struct buf *b, const struct manifest *m)
{
    size_t n = m->n_hosts, complete = 0;
    for (size_t i = 0; i < n; i++)
        complete += is_complete_host(&m->hosts[i]);
    buf_addf(b, "- **Not complete**%s: ", m->interrupted ? ", since it was interrupted" : "");
    if (n > 1 && !m->interrupted)
        buf_addf(b, "of %zu hosts %zu lack%s something, ", n, n - complete, n - complete == 1 ? "s" : "");
    buf_adds(b, "see \"What is missing\" below\n");
}

static void add_head(struct buf *b, const struct manifest *m)
{
    buf_adds(b, "# ");
    add_text(b, m->name);
    buf_adds(b, "\n\n");
    buf_adds(b, "Performance profiles of running services, collected by profgrab");
    add_labelled(b, " ", m->tool_version);
    buf_adds(b,
             ".\n\n**Confidential.** Profiles name functions, files, hosts and builds; goroutine dumps, "
             "traces and labels may\nshow what the service was working on. Share them only with people who "
             "may read them.\n\n");
    add_labelled(b, "- Collected by ", m->user);
    add_labelled(b, has_text(m->user) ? " on " : "- Collected on ", m->workstation);
    buf_adds(b, has_text(m->user) || has_text(m->workstation) ? "\n" : "");
    add_labelled(b, "- From ", m->started);
    add_labelled(b, has_text(m->started) ? " to " : "- Until ", m->finished);
    buf_adds(b, has_text(m->started) || has_text(m->finished) ? " (UTC)\n" : "");
    add_resumed(b, m);
    add_labelled(b, "- Reason: ", m->reason);
    buf_adds(b, has_text(m->reason) ? "\n" : "");
    if (m->complete)
        buf_adds(b, "- Complete: it has every requested item\n");
    else
        add_incomplete(b, m);
}

static void add_recipients(struct buf *b, const struct manifest *m)
{
    for (size_t i = 0; i < m->handoff.n_recipients; i++) {
        buf_adds(b, i == 0 ? "- Encrypted to " : ", ");
        add_text(b, m->handoff.recipients[i]);
    }
    buf_adds(b, m->handoff.n_recipients > 0 ? "\n" : "");
}

static void add_unsearched(struct buf *b, const struct manifest *m)
{
    for (size_t i = 0; i < m->handoff.n_unsearched; i++) {
        buf_adds(b, "- Not searched: ");
        add_text(b, m->handoff.unsearched[i].file);
        buf_adds(b, ": ");
        add_text(b, m->handoff.unsearched[i].reason);
        buf_adds(b, "\n");
    }
}

static void add_redactions(struct buf *b, const struct manifest *m)
{
    if (m->handoff.n_redactions == 0)
        return;
    buf_adds(b, "\n| file | rule | redacted values |\n|---|---|---:|\n");
    for (size_t i = 0; i < m->handoff.n_redactions; i++) {
        buf_adds(b, "| ");
        add_text(b, m->handoff.redactions[i].file);
        buf_adds(b, " | ");
        add_text(b, m->handoff.redactions[i].rule);
        buf_addf(b, " | %lld |\n", (long long)m->handoff.redactions[i].count);
    }
}

/* Adds the sender and the recipients of a copy, and the changes to collected files. */
static void add_handoff(struct buf *b, const struct manifest *m)
{
    if (!m->has_handoff)
        return;
    buf_adds(b, "\n## Handed off\n\n");
    add_labelled(b, "- At ", m->handoff.time);
    add_labelled(b, ", by ", m->handoff.user);
    add_labelled(b, has_text(m->handoff.user) ? " on " : ", on ", m->handoff.workstation);
    buf_adds(b, "\n");
    add_recipients(b, m);
    if (!m->handoff.has_redactions)
        buf_adds(b, "- Every file is unchanged\n");
    else if (m->handoff.n_redactions == 0)
        buf_adds(b, "- Searched for secrets, and found none\n");
    else
        buf_adds(b, "- Text that looks like a secret was replaced by [redacted], see below\n");
    add_unsearched(b, m);
    add_redactions(b, m);
}

/* Adds "cpu=30s", or for the second item of a pair "heap, later". */
static void add_item_name(struct buf *b, const struct manifest_item *item)
{
    add_text(b, item->kind);
    add_labelled(b, "=", item->argument);
    buf_adds(b, item->pair == 2 ? ", later" : "");
}

static void add_row(struct buf *b, const struct manifest_item *item, struct name_map *seen)
{
    char size[32];
    buf_adds(b, "| ");
    add_item_name(b, item);
    buf_adds(b, " | ");
    add_text(b, item->status_text);
    buf_adds(b, " | ");
    if (item->file || item->bytes > 0)
        buf_adds(b, text_bytes(size, sizeof size, item->bytes));
    buf_adds(b, " | ");
    if (item->has_profile)
        buf_addf(b, "%llu", (unsigned long long)item->samples);
    buf_adds(b, " | ");
    add_text(b, item->file);
    buf_adds(b, " | ");
    add_item_findings(b, item, seen);
    buf_adds(b, " |\n");
}

static void add_table(struct buf *b, const struct manifest_item *items, size_t n, struct name_map *seen)
{
    if (n == 0)
        return;
    buf_adds(b, "\n| item | status | size | samples | file | findings |\n"
                "|---|---|---:|---:|---|---|\n");
    for (size_t i = 0; i < n; i++)
        add_row(b, &items[i], seen);
}

static void add_route(struct buf *b, const struct manifest_host *host)
{
    add_labelled(b, "\nAddress: ", host->address);
    add_labelled(b, has_text(host->address) ? "; route: " : "\nRoute: ", host->route);
    for (size_t i = 0; i < host->n_hops; i++) {
        add_labelled(b, i == 0 ? " through " : ", ", host->hops[i].address);
        if (host->hops[i].port)
            buf_addf(b, ":%u", host->hops[i].port);
    }
    buf_adds(b, has_text(host->address) || has_text(host->route) ? ".\n" : "");
}

static void add_service(struct buf *b, const struct manifest_service *service, struct name_map *seen)
{
    buf_adds(b, "\n### ");
    add_text(b, service->name);
    buf_adds(b, "\n");
    add_labelled(b, "\nURL, as the host sees it: ", service->url);
    buf_adds(b, has_text(service->url) ? "\n" : "");
    add_labelled(b, "\nBuilt with Go ", service->go_version);
    buf_adds(b, has_text(service->go_version) ? ".\n" : "");
    add_finding_list(b, service->findings, service->n_findings);
    add_table(b, service->items, service->n_items, seen);
}

static void add_host(struct buf *b, const struct manifest_host *host, struct name_map *seen)
{
    /* "What is missing" lists the hosts of which nothing was fetched. */
    if (has_text(host->error) && host->n_services == 0)
        return;
    buf_adds(b, "\n## ");
    add_text(b, host->name);
    buf_adds(b, "\n");
    add_route(b, host);
    add_finding_list(b, host->findings, host->n_findings);
    for (size_t i = 0; i < host->n_services; i++)
        add_service(b, &host->services[i], seen);
}

/* In a reason of this many bytes or more, add_server_words looks only for the whole message. profgrab's own
 * reasons are shorter. */
#define REASON_MAX 1024

/* Adds the server's message, unless the reason contains the message, or ends in ": " and the message's
 * beginning. */
static void add_server_words(struct visitor *v, const struct manifest_item *item, const char *why)
{
    const char *words = text_or_empty(item ? item->server_words : NULL);
    /* A hostile manifest may have a reason of megabytes. */
    for (const char *at = strlen(why) < REASON_MAX ? why : ""; (at = strstr(at, ": ")) != NULL; at++) {
        size_t n = strlen(at + 2);
        if (n > 0 && strlen(words) >= n && memcmp(words, at + 2, n) == 0)
            return;
    }
    if (!strstr(why, words))
        add_labelled(v->b, "; the server's message: ", words);
}

/* Adds a line for a missing item, or, if `item` is NULL, for a missing service or host. */
static void add_missing(struct visitor *v, const struct manifest_item *item, const char *why)
{
    buf_adds(v->b, "- ");
    add_text(v->b, v->host);
    add_labelled(v->b, has_text(v->host) ? " " : "", v->service);
    if (item) {
        buf_adds(v->b, has_text(v->host) ? " " : "");
        add_item_name(v->b, item);
        add_labelled(v->b, ": ", item->status_text);
    }
    if (!item || strcmp(why, text_or_empty(item->status_text)) != 0)
        add_labelled(v->b, ": ", why);
    add_server_words(v, item, why);
    buf_adds(v->b, "\n");
    v->n_missing++;
}

static void visit_missing(struct visitor *v, const struct manifest_item *item)
{
    if (item->status != MANIFEST_OK)
        add_missing(v, item, text_or_empty(item->error));
}

static void add_all_missing(struct buf *b, const struct manifest *m)
{
    struct visitor v = {.b = b};
    buf_adds(b, "\n## What is missing\n\n");
    for (size_t i = 0; i < m->n_hosts; i++) {
        const struct manifest_host *host = &m->hosts[i];
        v.host = host->name;
        v.service = NULL;
        if (has_text(host->error))
            add_missing(&v, NULL, host->error);
        for (size_t k = 0; k < host->n_services; k++) {
            v.service = host->services[k].name;
            if (has_text(host->services[k].error))
                add_missing(&v, NULL, host->services[k].error);
        }
    }
    visit_items(&v, m, visit_missing);
    if (v.n_missing == 0)
        buf_adds(b,
                 m->complete ? "Nothing.\n" : "Items that were not started before the collection ended.\n");
}

/* ---- commands to copy -------------------------------------------------------------------------------- */

struct examples {
    struct visitor v;
    const char *profile; /* paths, or NULL */
    const char *trace;
};

/* Returns whether a shell needs no quotes around the path. */
static bool needs_no_quotes(const char *path)
{
    for (; *path; path++)
        if (!isalnum((unsigned char)*path) && !strchr("/._-", *path))
            return false;
    return true;
}

static void visit_example(struct visitor *v, const struct manifest_item *item)
{
    struct examples *e = (struct examples *)v;
    if (!has_text(item->file) || item->status != MANIFEST_OK || !needs_no_quotes(item->file))
        return;
    if (!e->profile && item->has_profile)
        e->profile = item->file;
    if (!e->trace && strcmp(text_or_empty(item->kind), "trace") == 0)
        e->trace = item->file;
}

/* Adds a command with its argument, which is `name`, `between` and `file` joined: BUNDLE, BUNDLE:MEMBER or
 * DIRECTORY/FILE. */
static void add_command(struct buf *b, const char *command, const char *name, const char *between,
                        const char *file)
{
    buf_addf(b, "    %s %s%s%s\n", command, name, between, file);
}

/* Adds commands to run in the directory that contains the bundle. The name of a downloaded copy is unknown,
 * so the commands call it BUNDLE. */
static void add_commands(struct buf *b, const struct manifest *m)
{
    struct examples e = {.v.b = b};
    visit_items(&e.v, m, visit_example);
    const char *name = text_or_empty(m->name), *top = text_is_name(name) ? name : "NAME";
    bool is_copy = m->has_handoff;
    char file[300];
    snprintf(file, sizeof file, is_copy || top != name ? "BUNDLE" : "%s.tar.gz", name);
    buf_adds(b, "\n## How to read the profiles\n\n");
    if (m->report.file)
        buf_adds(b, "For all profiles as pictures, open `" PATH_REPORT
                    "` in a browser. It loads nothing from the network.\n\n");
    if (is_copy || top != name)
        buf_adds(
            b,
            "BUNDLE is the file that contains this README.md. If it is encrypted, the commands report how to "
            "name your key.\n\n");
    buf_adds(
        b,
        "With profgrab, in the directory of the bundle: show all profiles in a browser, print them as text, "
        "print\none profile, check every file:\n\n");
    add_command(b, "profgrab view", file, "", "");
    add_command(b, "profgrab report --text", file, "", "");
    if (e.profile)
        add_command(b, "profgrab pprof -top", file, ":", e.profile);
    add_command(b, "profgrab bundle verify", file, "", "");
    buf_adds(b, "\nWith Go, after unpacking it:\n\n");
    add_command(b, "tar xzf", file, "", "");
    add_command(b, "go tool pprof -http=:", top, "/", e.profile ? e.profile : "FILE");
    if (e.trace)
        add_command(b, "go tool trace", top, "/", e.trace);
    buf_adds(b, "\nAll other files are text. `" PATH_MANIFEST "` has the request of each file.\n");
}

static void write_text(const struct manifest *m, struct buf *ret)
{
    add_head(ret, m);
    add_summary(ret, m);
    add_handoff(ret, m);
    add_all_missing(ret, m);
    struct name_map seen = {0};
    for (size_t i = 0; i < m->n_hosts; i++)
        add_host(ret, &m->hosts[i], &seen);
    if (m->n_files > 0)
        buf_adds(ret, "\n## Files\n");
    add_table(ret, m->files, m->n_files, &seen);
    name_map_release(&seen);
    add_commands(ret, m);
}

int readme_write(const struct manifest *m, struct buf *ret, struct err *err)
{
    write_text(m, ret);
    return buf_check(ret, PATH_README, err);
}

int bundle_readme(const char *manifest, struct buf *ret, struct err *err)
{
    struct manifest *m = NULL;
    if (manifest_read(manifest, strlen(manifest), &m, err) < 0)
        return -1;
    int rc = readme_write(m, ret, err);
    manifest_free(m);
    return rc;
}
