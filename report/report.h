/* Everything of this folder that others use, until findings/ and page/ take it. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "report/goroutines.h"
#include "report/page.h"
#include "report/peers.h"
#include "report/sides.h"
#include "report/words.h"

#endif
