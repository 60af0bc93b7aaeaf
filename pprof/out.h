/* The output of a report: collects pieces into blocks for the sink. After the first failure all further
 * output is ignored. */
#ifndef PPROF_OUT_H
#define PPROF_OUT_H

#include "pprof/pprof.h"

struct out {
    report_sink_fn *sink;
    void *ctx;
    struct err *err;
    size_t n; /* bytes in `block` */
    bool failed;
    char block[65536];
};

void out_init(struct out *o, report_sink_fn *sink, void *ctx, struct err *err);
void out_add(struct out *o, const void *p, size_t n);
void out_str(struct out *o, struct str s);
void out_text(struct out *o, const char *s);
/* Adds a JSON string with quotes. Invalid UTF-8 becomes U+FFFD. */
void out_json(struct out *o, struct str s);
/* Adds a string aligned to the right, like Go's %10s. A column is a character or an invalid byte. */
void out_right(struct out *o, size_t columns, struct str s);
/* Returns the number of characters and invalid bytes. */
size_t out_columns(struct str s);
/* Adds a formatted text; cuts it after 999 bytes. */
void out_format(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Flushes the output. Returns -1 after any failure since the beginning. */
int out_end(struct out *o);

#endif
