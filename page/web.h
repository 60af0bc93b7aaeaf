/* The parts of the pages, which tools/embed-web makes from web/. */
#ifndef PAGE_WEB_H
#define PAGE_WEB_H

#include "base/base.h"

struct page_web {
    struct str template; /* HTML with placeholders */
    struct str style;    /* CSS */
    struct str script;   /* one JavaScript module */
    const char *policy;  /* the Content-Security-Policy, for a server that sends the page */
};

/* report.html. The placeholders of its template are <!--style-->, <!--data--> and <!--script-->. Its
 * Content-Security-Policy allows only the page's own script and style, by their hashes, and pictures in data:
 * URLs. */
extern const struct page_web page_web;

/* The page of `pprof -http`, at /ui/VIEW. The placeholder of its template is <!--data-->, in place of
 * `<script type="application/json" id="view">` with the view's JSON. The page loads the script from
 * /web/pprof.js and the style from /web/pprof.css. Its Content-Security-Policy allows scripts, styles and
 * requests of its own origin only. */
extern const struct page_web page_web_pprof;

/* One view of that page as a file, which loads nothing. The placeholders of its template are those of
 * report.html; the data is that of page_web_pprof, with the member `frozen`. */
extern const struct page_web page_web_frozen;

#endif
