#include "bundle/readme.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "bundle/bundle.h"
#include "bundle/fields.h"
#include "bundle/items.h"
#include "bundle/path.h"
#include "bundle/redact/redact.h"
#include "base/banned.h"

/* ---- untrusted text ------------------------------------------------------------------------------------ */

/* Whether s[at] has a meaning in Markdown of GitLab or GitHub. An underscore inside a word has none, and many
 * names contain one. The asterisk of Go's (*T) can only open emphasis, and every one that could close it is
 * escaped. No text begins a line, so a slash is never a quick action. */
static bool is_active(const char *s, size_t at)
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

/* The length of "[redacted]" if s begins with it and it is not a link. */
static size_t plain_mark(const char *s)
{
    size_t n = strlen(REDACTED);
    return strncmp(s, REDACTED, n) == 0 && (!s[n] || !strchr("([:", s[n])) ? n : 0;
}

/* Adds untrusted text on one line, with Markdown escaped. Our own manifests are printable; one read back from
 * a disk may not be. */
static void add_text(struct buf *b, const char *words)
{
    char s[FIELDS_MAX_TEXT + 8];
    text_printable(s, sizeof s, words, strlen(words));
    for (size_t i = 0; s[i]; i++) {
        size_t n = plain_mark(s + i);
        if (n == 0 && is_active(s, i))
            buf_addc(b, '\\');
        buf_add(b, s + i, n ? n : 1);
        i += n ? n - 1 : 0;
    }
}

/* Adds `label` unescaped and the text after it, unless the text is empty. */
static void add_labelled(struct buf *b, const char *label, const char *s)
{
    if (!*s)
        return;
    buf_adds(b, label);
    add_text(b, s);
}

static const char *get_string(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void add_verdicts(struct buf *b, const json_t *list, const char *before, const char *between)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_adds(b, i == 0 ? before : between);
        add_text(b, get_string(json_array_get(list, i), "text"));
    }
}

/* Refers to a finding that the page already contains, by its first words. */
static void add_reference(struct buf *b, const char *words)
{
    char first[FIELDS_MAX_TEXT + 8];
    snprintf(first, sizeof first, "%.*s", (int)text_first_clause(words), words);
    add_text(b, first);
    buf_adds(b, ", as above");
}

/* Adds the findings of an item; refers to those whose words are keys of `seen`. */
static void add_findings(struct buf *b, const json_t *list, json_t *seen)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *words = get_string(json_array_get(list, i), "text");
        bool again = json_object_get(seen, words) != NULL;
        buf_adds(b, i == 0 ? "" : "; ");
        (again ? add_reference : add_text)(b, words);
        if (json_object_set_new(seen, words, json_true()) < 0)
            b->failed = b->starved = true;
    }
}

/* ---- all items with host and service ------------------------------------------------------------------- */

struct visit {
    struct buf *b;
    const char *host; /* "" for local files */
    const char *service;
    size_t count; /* the visitor's counter */
};

static void each_of_list(struct visit *v, const json_t *items, void (*visit)(struct visit *, const json_t *))
{
    for (size_t i = 0; i < json_array_size(items); i++)
        visit(v, json_array_get(items, i));
}

static void each_item(struct visit *v, const json_t *root, void (*visit)(struct visit *, const json_t *))
{
    const json_t *hosts = json_object_get(root, "hosts");
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *host = json_array_get(hosts, i), *services = json_object_get(host, "services");
        for (size_t j = 0; j < json_array_size(services); j++) {
            const json_t *service = json_array_get(services, j);
            v->host = get_string(host, "name");
            v->service = get_string(service, "name");
            each_of_list(v, json_object_get(service, "items"), visit);
        }
    }
    v->host = v->service = "";
    each_of_list(v, json_object_get(root, "files"), visit);
}

/* ---- the parts of the page --------------------------------------------------------------------------- */

/* Adds what the profiles show, as in the manifest, with the file and the function to look at. */
static void add_summary(struct buf *b, const json_t *list)
{
    buf_adds(b, json_array_size(list) ? "\n## What the profiles show\n\n" : "");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        buf_adds(b, "- ");
        add_text(b, get_string(one, "text"));
        add_labelled(b, " (", get_string(one, "file"));
        buf_adds(b, *get_string(one, "file") ? ")\n" : "\n");
    }
}

/* Lists who resumed the run, and when. */
static void add_resumed(struct buf *b, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *run = json_array_get(list, i);
        buf_adds(b, "- Resumed");
        add_labelled(b, " at ", get_string(run, "time"));
        add_labelled(b, " by ", get_string(run, "user"));
        add_labelled(b, " on ", get_string(run, "workstation"));
        buf_adds(b, "\n");
    }
}

/* Whether all requested items of that service are present. */
static bool is_whole(const json_t *service)
{
    const json_t *items = json_object_get(service, "items");
    for (size_t i = 0; i < json_array_size(items); i++)
        if (strcmp(get_string(json_array_get(items, i), "status"), "ok") != 0)
            return false;
    return !*get_string(service, "error");
}

static bool is_whole_host(const json_t *host)
{
    const json_t *services = json_object_get(host, "services");
    for (size_t i = 0; i < json_array_size(services); i++)
        if (!is_whole(json_array_get(services, i)))
            return false;
    return !*get_string(host, "error");
}

/* With many hosts, the number of affected ones comes first. */
static void add_not_complete(struct buf *b, const json_t *root)
{
    const json_t *hosts = json_object_get(root, "hosts");
    bool interrupted = json_is_true(json_object_get(root, "interrupted"));
    size_t n = json_array_size(hosts), whole = 0;
    for (size_t i = 0; i < n; i++)
        whole += is_whole_host(json_array_get(hosts, i));
    buf_addf(b, "- **Not complete**%s: ", interrupted ? ", since it was interrupted" : "");
    if (n > 1 && !interrupted)
        buf_addf(b, "of %zu hosts %zu lack%s something, ", n, n - whole, n - whole == 1 ? "s" : "");
    buf_adds(b, "see \"What is missing\" below\n");
}

static void add_head(struct buf *b, const json_t *root)
{
    const json_t *who = json_object_get(root, "collector");
    buf_adds(b, "# ");
    add_text(b, get_string(root, "name"));
    buf_adds(b, "\n\n");
    buf_adds(b, "Performance profiles of running services, collected by profgrab");
    add_labelled(b, " ", get_string(json_object_get(root, "tool"), "version"));
    buf_adds(b, ".\n\n**Confidential.** Profiles name functions, files, hosts and builds; goroutine dumps, "
                "traces and labels may\nshow what the service was working on. Hand them on only to those who "
                "are to read them.\n\n");
    add_labelled(b, "- Collected by ", get_string(who, "user"));
    add_labelled(b, *get_string(who, "user") ? " on " : "- Collected on ", get_string(who, "workstation"));
    buf_adds(b, *get_string(who, "user") || *get_string(who, "workstation") ? "\n" : "");
    add_labelled(b, "- From ", get_string(root, "started"));
    add_labelled(b, *get_string(root, "started") ? " to " : "- Until ", get_string(root, "finished"));
    buf_adds(b, *get_string(root, "started") || *get_string(root, "finished") ? " (UTC)\n" : "");
    add_resumed(b, json_object_get(root, "resumed"));
    add_labelled(b, "- Reason: ", get_string(root, "reason"));
    buf_adds(b, *get_string(root, "reason") ? "\n" : "");
    if (json_is_true(json_object_get(root, "complete")))
        buf_adds(b, "- Complete: everything asked for is here\n");
    else
        add_not_complete(b, root);
}

static void add_list(struct buf *b, const char *label, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *s = json_string_value(json_array_get(list, i));
        buf_adds(b, i == 0 ? label : ", ");
        add_text(b, s ? s : "");
    }
    buf_adds(b, json_array_size(list) ? "\n" : "");
}

static void add_unsearched(struct buf *b, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        buf_adds(b, "- Not searched: ");
        add_text(b, get_string(one, "file"));
        buf_adds(b, ": ");
        add_text(b, get_string(one, "reason"));
        buf_adds(b, "\n");
    }
}

static void add_redactions(struct buf *b, const json_t *list)
{
    if (json_array_size(list) == 0)
        return;
    buf_adds(b, "\n| file | what went | how often |\n|---|---|---:|\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        buf_adds(b, "| ");
        add_text(b, get_string(one, "file"));
        buf_adds(b, " | ");
        add_text(b, get_string(one, "rule"));
        buf_addf(b, " | %lld |\n", (long long)json_integer_value(json_object_get(one, "count")));
    }
}

/* For a copy: who made it, for whom, and the changes to collected files. */
static void add_handoff(struct buf *b, const json_t *handoff)
{
    const json_t *redactions = json_object_get(handoff, "redactions");
    if (!handoff)
        return;
    buf_adds(b, "\n## Handed off\n\n");
    add_labelled(b, "- At ", get_string(handoff, "time"));
    add_labelled(b, ", by ", get_string(handoff, "user"));
    add_labelled(b, *get_string(handoff, "user") ? " on " : ", on ", get_string(handoff, "workstation"));
    buf_adds(b, "\n");
    add_list(b, "- Encrypted to ", json_object_get(handoff, "recipients"));
    if (!redactions)
        buf_adds(b, "- Every file is as it was collected\n");
    else if (json_array_size(redactions) == 0)
        buf_adds(b, "- Searched for secrets: none was found\n");
    else
        buf_adds(b, "- What looked like a secret was replaced by [redacted], see below\n");
    add_unsearched(b, json_object_get(handoff, "unsearched"));
    add_redactions(b, redactions);
}

/* "cpu=30s"; for the later one of a pair "heap, later". */
static void add_item_name(struct buf *b, const json_t *item)
{
    add_text(b, get_string(item, "kind"));
    add_labelled(b, "=", get_string(item, "argument"));
    buf_adds(b, json_integer_value(json_object_get(item, "pair")) == 2 ? ", later" : "");
}

/* One row of the table. */
static void add_row(struct buf *b, const json_t *item, json_t *seen)
{
    const json_t *bytes = json_object_get(item, "bytes");
    const json_t *profile = json_object_get(item, "profile");
    char size[32];
    buf_adds(b, "| ");
    add_item_name(b, item);
    buf_adds(b, " | ");
    add_text(b, get_string(item, "status"));
    buf_adds(b, " | ");
    if (bytes)
        buf_adds(b, text_bytes(size, sizeof size, (uint64_t)json_integer_value(bytes)));
    buf_adds(b, " | ");
    if (profile)
        buf_addf(b, "%lld", (long long)json_integer_value(json_object_get(profile, "samples")));
    buf_adds(b, " | ");
    add_text(b, get_string(item, "file"));
    buf_adds(b, " | ");
    add_findings(b, json_object_get(item, "verdicts"), seen);
    buf_adds(b, " |\n");
}

static void add_table(struct buf *b, const json_t *items, json_t *seen)
{
    if (json_array_size(items) == 0)
        return;
    buf_adds(b, "\n| item | status | size | samples | file | findings |\n"
                "|---|---|---:|---:|---|---|\n");
    for (size_t i = 0; i < json_array_size(items); i++)
        add_row(b, json_array_get(items, i), seen);
}

static void add_route(struct buf *b, const json_t *host)
{
    const json_t *hops = json_object_get(host, "hops");
    add_labelled(b, "\nAddress: ", get_string(host, "address"));
    add_labelled(b, *get_string(host, "address") ? "; route: " : "\nRoute: ", get_string(host, "route"));
    for (size_t i = 0; i < json_array_size(hops); i++) {
        const json_t *hop = json_array_get(hops, i), *port = json_object_get(hop, "port");
        add_labelled(b, i == 0 ? " through " : ", ", get_string(hop, "address"));
        if (port)
            buf_addf(b, ":%lld", (long long)json_integer_value(port));
    }
    buf_adds(b, *get_string(host, "address") || *get_string(host, "route") ? ".\n" : "");
}

static void add_list_of_verdicts(struct buf *b, const json_t *of)
{
    add_verdicts(b, json_object_get(of, "verdicts"), "\n- ", "\n- ");
    buf_adds(b, json_object_get(of, "verdicts") ? "\n" : "");
}

static void add_host(struct buf *b, const json_t *host, json_t *seen)
{
    const json_t *services = json_object_get(host, "services");
    /* "What is missing" lists the hosts that could not be opened. */
    if (*get_string(host, "error") && json_array_size(services) == 0)
        return;
    buf_adds(b, "\n## ");
    add_text(b, get_string(host, "name"));
    buf_adds(b, "\n");
    add_route(b, host);
    add_list_of_verdicts(b, host);
    for (size_t i = 0; i < json_array_size(services); i++) {
        const json_t *service = json_array_get(services, i);
        buf_adds(b, "\n### ");
        add_text(b, get_string(service, "name"));
        buf_adds(b, "\n");
        add_labelled(b, "\nURL, as the host sees it: ", get_string(service, "url"));
        buf_adds(b, *get_string(service, "url") ? "\n" : "");
        add_labelled(b, "\nBuilt with Go ", get_string(service, "go_version"));
        buf_adds(b, *get_string(service, "go_version") ? ".\n" : "");
        add_list_of_verdicts(b, service);
        add_table(b, json_object_get(service, "items"), seen);
    }
}

/* profgrab's own reasons are shorter. */
#define REASON_MAX 1024

/* Adds the server's text, unless the reason ends with the same words, or a cut form of them. */
static void add_server_words(struct visit *v, const json_t *item, const char *why)
{
    const char *words = get_string(item, "server_words");
    /* A hostile manifest may have a reason of megabytes. */
    for (const char *at = strlen(why) < REASON_MAX ? why : ""; (at = strstr(at, ": ")) != NULL; at++) {
        size_t n = strlen(at + 2);
        if (n > 0 && strlen(words) >= n && memcmp(words, at + 2, n) == 0)
            return;
    }
    if (!strstr(why, words))
        add_labelled(v->b, "; the server's own words: ", words);
}

/* A line for a missing item, or (NULL) a missing service or host. */
static void add_missing(struct visit *v, const json_t *item, const char *why)
{
    buf_adds(v->b, "- ");
    add_text(v->b, v->host);
    add_labelled(v->b, *v->host ? " " : "", v->service);
    if (item) {
        buf_adds(v->b, *v->host ? " " : "");
        add_item_name(v->b, item);
        add_labelled(v->b, ": ", get_string(item, "status"));
    }
    if (!item || strcmp(why, get_string(item, "status")) != 0)
        add_labelled(v->b, ": ", why);
    add_server_words(v, item, why);
    buf_adds(v->b, "\n");
    v->count++;
}

static void visit_missing(struct visit *v, const json_t *item)
{
    if (strcmp(get_string(item, "status"), "ok") != 0)
        add_missing(v, item, get_string(item, "error"));
}

static void add_all_missing(struct buf *b, const json_t *root)
{
    struct visit v = {.b = b};
    const json_t *hosts = json_object_get(root, "hosts");
    buf_adds(b, "\n## What is missing\n\n");
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *host = json_array_get(hosts, i), *services = json_object_get(host, "services");
        v.host = get_string(host, "name");
        v.service = "";
        if (*get_string(host, "error"))
            add_missing(&v, NULL, get_string(host, "error"));
        for (size_t j = 0; j < json_array_size(services); j++) {
            const json_t *service = json_array_get(services, j);
            v.service = get_string(service, "name");
            if (*get_string(service, "error"))
                add_missing(&v, NULL, get_string(service, "error"));
        }
    }
    each_item(&v, root, visit_missing);
    if (v.count == 0)
        buf_adds(b, json_is_true(json_object_get(root, "complete"))
                        ? "Nothing.\n"
                        : "What had not been begun when the collection ended.\n");
}

/* ---- commands to copy -------------------------------------------------------------------------------- */

struct examples {
    struct visit v;
    const char *profile; /* paths, or NULL */
    const char *trace;
};

/* Whether a shell reads the path as one plain word. */
static bool is_plain(const char *path)
{
    for (; *path; path++)
        if (!isalnum((unsigned char)*path) && !strchr("/._-", *path))
            return false;
    return true;
}

static void visit_example(struct visit *v, const json_t *item)
{
    struct examples *e = (struct examples *)v;
    const char *file = get_string(item, "file");
    if (!*file || strcmp(get_string(item, "status"), "ok") != 0 || !is_plain(file))
        return;
    if (!e->profile && json_object_get(item, "profile"))
        e->profile = file;
    if (!e->trace && strcmp(get_string(item, "kind"), "trace") == 0)
        e->trace = file;
}

/* A command with its file, for the bundle as it is or unpacked. */
static void add_command(struct buf *b, const char *command, const char *name, const char *between,
                        const char *file)
{
    buf_addf(b, "    %s %s%s%s\n", command, name, between, file);
}

/* Commands for the directory of the bundle's file. A copy's file name differs after its download. */
static void add_commands(struct buf *b, const json_t *root)
{
    struct examples e = {.v.b = b};
    each_item(&e.v, root, visit_example);
    const char *name = get_string(root, "name"), *top = text_is_name(name) ? name : "NAME";
    bool copy = json_object_get(root, "handoff") != NULL;
    char file[300];
    snprintf(file, sizeof file, copy || top != name ? "BUNDLE" : "%s.tar.gz", name);
    buf_adds(b, "\n## Reading on\n\n");
    if (json_object_get(root, "report"))
        buf_adds(b, "All of it, drawn: open `" PATH_REPORT "` in a browser. It loads nothing.\n\n");
    if (copy || top != name)
        buf_adds(b,
                 "BUNDLE is the file that this came in; a command that finds it encrypted says how to name "
                 "your key.\n\n");
    buf_adds(b,
             "With profgrab, where the bundle lies: everything in a browser; as text; one profile; whether "
             "every file is what\nwas collected:\n\n");
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
    buf_adds(b, "\nEverything else is text. `" PATH_MANIFEST "` says how each file was made.\n");
}

void readme_write(const json_t *root, struct buf *ret)
{
    const json_t *hosts = json_object_get(root, "hosts"), *files = json_object_get(root, "files");
    add_head(ret, root);
    add_summary(ret, json_object_get(root, "summary"));
    add_handoff(ret, json_object_get(root, "handoff"));
    add_all_missing(ret, root);
    json_t *seen = json_object();
    if (!seen)
        ret->failed = ret->starved = true;
    for (size_t i = 0; i < json_array_size(hosts); i++)
        add_host(ret, json_array_get(hosts, i), seen);
    if (json_array_size(files) > 0)
        buf_adds(ret, "\n## Files\n");
    add_table(ret, files, seen);
    json_decref(seen);
    add_commands(ret, root);
}

int bundle_readme(const char *manifest, struct buf *ret, struct err *err)
{
    json_t *root = NULL;
    if (items_parse(manifest, strlen(manifest), &root, err) < 0)
        return -1;
    readme_write(root, ret);
    json_decref(root);
    return buf_check(ret, PATH_README, err);
}
