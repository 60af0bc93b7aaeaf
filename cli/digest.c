#include "cli/digest.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "base/banned.h"

/* A note is read by people: more is in the bundle's README.md. */
#define MAX_SERVICES 50
#define MAX_VERDICTS 30
#define MAX_TEXT (64u << 10)

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void add_head(struct buf *b, const json_t *root)
{
    const json_t *who = json_object_get(root, "collector");
    buf_addf(b, "Collected by %s on %s, %s to %s UTC.\n", text(who, "user"), text(who, "workstation"),
             text(root, "started"), text(root, "finished"));
    if (*text(root, "reason"))
        buf_addf(b, "Reason: %s\n", text(root, "reason"));
    if (!json_is_true(json_object_get(root, "complete")))
        buf_adds(b, "Not everything that was asked for is in it.\n");
}

/* "file-03, gitaly: cpu, heap, goroutines (failed)" */
static void add_items(struct buf *b, const char *host, const char *service, const json_t *items)
{
    buf_addf(b, "%s%s%s: ", host, *service ? ", " : "", service);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *status = text(item, "status"), *name = text(item, "kind");
        buf_addf(b, "%s%s", i ? ", " : "", *name ? name : text(item, "file"));
        if (strcmp(status, "ok") != 0)
            buf_addf(b, " (%s)", status);
    }
    buf_addc(b, '\n');
}

static void add_verdicts(struct buf *b, const char *where, const json_t *list, size_t *n)
{
    for (size_t i = 0; i < json_array_size(list); i++, (*n)++)
        if (*n < MAX_VERDICTS)
            buf_addf(b, "%s: %s\n", where, text(json_array_get(list, i), "text"));
}

static void add_findings(struct buf *b, const json_t *service, size_t *n)
{
    const json_t *items = json_object_get(service, "items");
    add_verdicts(b, text(service, "name"), json_object_get(service, "verdicts"), n);
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        add_verdicts(b, text(item, "kind"), json_object_get(item, "verdicts"), n);
    }
}

static void summarize(struct buf *b, const json_t *root)
{
    const json_t *hosts = json_object_get(root, "hosts"), *files = json_object_get(root, "files");
    size_t services = 0, verdicts = 0;
    add_head(b, root);
    for (size_t i = 0; i < json_array_size(hosts); i++) {
        const json_t *host = json_array_get(hosts, i), *list = json_object_get(host, "services");
        if (*text(host, "error"))
            buf_addf(b, "%s: nothing: %s\n", text(host, "name"), text(host, "error"));
        for (size_t k = 0; k < json_array_size(list) && services < MAX_SERVICES; k++, services++) {
            const json_t *service = json_array_get(list, k);
            add_items(b, text(host, "name"), text(service, "name"), json_object_get(service, "items"));
            add_findings(b, service, &verdicts);
        }
    }
    if (json_array_size(files) > 0)
        buf_addf(b, "%zu local files\n", json_array_size(files));
    if (services == MAX_SERVICES || verdicts > MAX_VERDICTS)
        buf_adds(b, "... more in the bundle's README.md\n");
}

static void tell_reading(struct buf *b, const char *name, bool encrypted)
{
    const char *plain = "profiles.tar.gz";
    if (encrypted) {
        buf_adds(b, "With profgrab, and the key it is encrypted to:\n");
        buf_addf(b, "    profgrab bundle verify -i ~/.ssh/id_ed25519 %s\n", name);
        buf_addf(b, "    profgrab bundle extract -i ~/.ssh/id_ed25519 %s\n", name);
        buf_adds(b, "With age and tar:\n");
        buf_addf(b, "    age -d -i ~/.ssh/id_ed25519 %s > %s && tar -xzf %s\n", name, plain, plain);
    } else {
        buf_addf(b, "    profgrab bundle verify %s\n    profgrab bundle extract %s\n", name, name);
    }
    buf_adds(b, "README.md in it says what was found; each profile opens with `go tool pprof FILE`.\n");
}

int digest_read(const char *bundle, const char *copy, bool encrypted, struct digest *ret, struct err *err)
{
    char *manifest = NULL;
    struct buf summary = BUF_INIT(MAX_TEXT), reading = BUF_INIT(4096);
    if (bundle_manifest(bundle, NULL, &manifest, err) < 0)
        return -1;
    json_t *root = json_loads(manifest, 0, NULL);
    free(manifest);
    if (!root)
        return err_set(err, ERR_FAILED, "%s: its manifest cannot be read", bundle);
    summarize(&summary, root);
    tell_reading(&reading, file_base(copy), encrypted);
    json_decref(root);
    ret->summary = strdup(buf_str(&summary));
    ret->reading = strdup(buf_str(&reading));
    buf_release(&summary);
    buf_release(&reading);
    if (ret->summary && ret->reading)
        return 0;
    digest_release(ret);
    return err_nomem(err);
}

void digest_release(struct digest *d)
{
    free(d->summary);
    free(d->reading);
    *d = (struct digest){0};
}
