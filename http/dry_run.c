/* Describes a request instead of sending it. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "http/client.h"
#include "base/banned.h"

/* A longer text is described by its length. */
#define SHORT_TEXT 80

static void describe_object(struct buf *out, const json_t *o);

/* Marks the buffer, so that buf_check reports that memory ran out. */
static void mark_out_of_memory(struct buf *out)
{
    out->failed = out->out_of_memory = true;
}

static void describe_value(struct buf *out, const char *key, const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_object(value)) {
        buf_addf(out, "%s: { ", key);
        describe_object(out, value);
        buf_adds(out, " }");
    } else if (text && strlen(text) > SHORT_TEXT) {
        buf_addf(out, "%s (%zu bytes)", key, strlen(text));
    } else {
        char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        buf_addf(out, "%s=%s", key, shown ? shown : "");
        if (!shown)
            mark_out_of_memory(out);
        free(shown);
    }
}

static void describe_object(struct buf *out, const json_t *o)
{
    const char *key = NULL, *comma = "";
    json_t *value = NULL;
    json_object_foreach((json_t *)o, key, value)
    {
        buf_adds(out, comma);
        describe_value(out, key, value);
        comma = ", ";
    }
}

static void describe_json(struct buf *out, const char *text)
{
    /* profgrab wrote this JSON, so the parser can fail only if memory runs out. */
    static const struct json_limits limits = {
        .what = "the request", .max_bytes = 16u << 20, .max_memory = 128u << 20, .max_depth = 64};
    json_t *root = NULL;
    if (json_parse(&limits, text, strlen(text), &root, NULL) < 0)
        mark_out_of_memory(out);
    describe_object(out, root);
    json_decref(root);
}

int http_describe_request(const struct http *h, const struct http_request *r, struct http_answer *ret,
                          struct err *err)
{
    struct buf url = BUF_INIT(8192), body = BUF_INIT(16384);
    buf_addf(&url, "%s%s", h->base_url, r->path);
    if (r->json)
        describe_json(&body, r->json);
    if (r->file && r->file->json)
        describe_json(&body, r->file->json);
    if (r->file) {
        char size[32];
        buf_addf(&body, "%sfile %s (%s)", body.len ? ", " : "", r->file->name,
                 text_bytes(size, sizeof size, r->file->size));
    }
    buf_adds(&ret->body, r->dry_answer ? r->dry_answer : "{}");
    bool ok = buf_check(&url, "the address", err) == 0 && buf_check(&body, "the request", err) == 0 &&
              buf_check(&ret->body, "the answer", err) == 0;
    if (ok && h->options.dry_request)
        h->options.dry_request(h->options.ctx,
                               &(struct http_dry_request){r->method, buf_str(&url), buf_str(&body)});
    buf_release(&url);
    buf_release(&body);
    return ok ? 0 : -1;
}
