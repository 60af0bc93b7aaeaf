/* The parameters of a view in its address. */
#include <string.h>

#include "cli/pprof/shell.h"
#include "cli/pprof/web.h"
#include "base/banned.h"

static const struct web_parameter parameters[] = {
    {"calltree", "call_tree", true},
    {"rel", "relative_percentages", true},
    {"unit", "unit", true},
    {"compact", "compact_labels", true},
    {"intel", "intel_syntax", true},
    {"mean", "mean", true},
    {"si", "sample_index", false},
    {"norm", "normalize", true},
    {"sort", "sort", true},
    {NULL, "tagroot", true},
    {NULL, "tagleaf", true},
    {"dropneg", "drop_negative", true},
    {"n", "nodecount", true},
    {"nf", "nodefraction", true},
    {"ef", "edgefraction", true},
    {"trim", "trim", true},
    {"f", "focus", true},
    {"i", "ignore", true},
    {"prunefrom", "prune_from", true},
    {"h", "hide", true},
    {"s", "show", true},
    {"sf", "show_from", true},
    {"tf", "tagfocus", true},
    {"ti", "tagignore", true},
    {"ts", "tagshow", true},
    {"th", "taghide", true},
    {"noinlines", "noinlines", true},
    {"showcolumns", "showcolumns", true},
    {"g", "granularity", true},
};

const struct web_parameter *web_parameter_at(size_t i)
{
    return i < sizeof parameters / sizeof *parameters ? &parameters[i] : NULL;
}

int web_read_query(const struct pprof_options *from, const struct delegate_request *r,
                   struct pprof_options *ret, struct err *err)
{
    if (shell_options_init(ret, from, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        const struct web_parameter *p = &parameters[i];
        const char *value = p->name ? delegate_parameter(r, p->name) : NULL;
        if (value && *value && shell_set_option(ret, p->option, value, err) < 0) {
            shell_options_release(ret);
            return err_wrap(err, "error setting config field %s", p->option);
        }
    }
    return 0;
}
