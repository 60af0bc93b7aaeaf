/* The page's own parts, which tools/embed-web makes from web/. */
#ifndef PAGE_WEB_H
#define PAGE_WEB_H

#include "base/base.h"

struct page_web {
    /* HTML with the placeholders <!--csp-->, <!--style-->, <!--data--> and <!--script--> */
    struct str template;
    struct str style;  /* CSS */
    struct str script; /* one JavaScript module */
};

extern const struct page_web page_web;

#endif
