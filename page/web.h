/* The page's own parts, which tools/embed-web makes from web/. */
#ifndef PAGE_WEB_H
#define PAGE_WEB_H

#include "base/base.h"

struct page_web {
    /* HTML with the placeholders <!--style-->, <!--data--> and <!--script-->. Its Content-Security-Policy
     * allows only the page's own script and style, by their hashes, and pictures in data: URLs. */
    struct str template;
    struct str style;   /* CSS */
    struct str script;  /* one JavaScript module */
    const char *policy; /* the Content-Security-Policy, for a server that sends the page */
};

extern const struct page_web page_web;

#endif
