#include "pprof/machine/machine.h"

#include "pprof/machine/formats.h"
#include "base/banned.h"

int machine_write(struct report *report)
{
    if (report->settings->format == REPORT_DISASM)
        return disasm_write(report);
    return err_set(report->err, ERR_UNSUPPORTED, "sources with machine code are not written yet");
}
