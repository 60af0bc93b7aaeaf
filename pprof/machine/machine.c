#include "pprof/machine/machine.h"

#include "pprof/machine/formats.h"
#include "base/banned.h"

int machine_write(struct report *report)
{
    switch (report->settings->format) {
    case REPORT_DISASM:
        return disasm_write(report);
    case REPORT_WEBLIST:
        return weblist_write(report);
    default:
        return source_json_write(report);
    }
}
