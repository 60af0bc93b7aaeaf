/* Where a report is written: pieces gathered into blocks for the sink, and a failure that sticks. */
#ifndef REPORT_OUT_H
#define REPORT_OUT_H

#include "report/report.h"

struct out {
    report_sink_fn *sink;
    void *ctx;
    struct err *err;
    size_t n;
    bool failed;
    char block[65536];
};

void out_init(struct out *o, report_sink_fn *sink, void *ctx, struct err *err);
void out_add(struct out *o, const void *p, size_t n);
void out_str(struct out *o, struct str s);
void out_text(struct out *o, const char *s);
/* As JSON has strings, with quotes; bytes that are no UTF-8 become U+FFFD. */
void out_json(struct out *o, struct str s);
/* At the right end of so many columns, as Go's %10s: a column is a character, or a byte that is none. */
void out_right(struct out *o, size_t columns, struct str s);
/* How many characters of UTF-8 there are, and bytes that are none. */
size_t out_columns(struct str s);
/* For short pieces: what is longer than 1000 bytes is cut. */
void out_format(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Hands over what is left: 0, or -1 if anything went wrong since the beginning. */
int out_end(struct out *o);

#endif
