#include "cli/document.h"

#include "base/banned.h"

int document_print(json_t *document, FILE *out, struct err *err)
{
    if (!document)
        return err_nomem(err);
    bool printed = json_dumpf(document, out, JSON_INDENT(2)) == 0 && fputc('\n', out) != EOF;
    json_decref(document);
    return printed && fflush(out) == 0 ? 0 : err_sys(err, "cannot write to standard output");
}
