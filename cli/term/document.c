#include "cli/term/document.h"

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
