/* The page's own parts, which tools/embed-web makes from web/. */
#ifndef REPORT_PAGE_SOURCE_H
#define REPORT_PAGE_SOURCE_H

#include "base/base.h"

struct page_source {
    struct str template; /* HTML with the places <!--csp-->, <!--style-->, <!--data--> and <!--script--> */
    struct str style;    /* CSS */
    struct str script;   /* one JavaScript module */
};

extern const struct page_source page_source;

#endif
