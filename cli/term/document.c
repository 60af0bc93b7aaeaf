#include "cli/term/document.h"

#include <string.h>

#include "cli/term/standard_streams.h"
#include "base/banned.h"

int document_print(json_t *document, FILE *out, struct err *err)
{
    if (!document)
        return err_nomem(err);
    bool printed = json_dumpf(document, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF;
    json_decref(document);
    int rc = standard_stream_flush(out, err);
    return printed || rc < 0 ? rc : err_nomem(err);
}

struct part {
    FILE *out;
    unsigned depth;
};

/* Indents every line but the first. No string contains a line feed, because JSON escapes it. */
static int write_indented(const char *p, size_t n, void *ctx)
{
    const struct part *part = ctx;
    for (const char *end; (end = memchr(p, '\n', n)); n -= (size_t)(end + 1 - p), p = end + 1)
        fprintf(part->out, "%.*s\n%*s", (int)(end - p), p, (int)(2 * part->depth), "");
    fwrite(p, 1, n, part->out);
    return 0;
}

int document_print_part(json_t *value, unsigned depth, FILE *out, struct err *err)
{
    struct part part = {out, depth};
    if (!value)
        return err_nomem(err);
    int rc = json_dump_callback(value, write_indented, &part, JSON_INDENT(2));
    json_decref(value);
    return rc == 0 ? 0 : err_nomem(err);
}
