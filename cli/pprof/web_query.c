/* The parameters in the URL of a view. */
#include <string.h>

#include "cli/pprof/shell.h"
#include "cli/pprof/web.h"
#include "base/banned.h"

static const struct web_parameter parameters[] = {
    {"calltree", "call_tree", true, false},
    {"rel", "relative_percentages", true, false},
    {"unit", "unit", true, false},
    {"compact", "compact_labels", true, false},
    {"intel", "intel_syntax", true, false},
    {"mean", "mean", true, false},
    {"si", "sample_index", false, false},
    {"norm", "normalize", true, false},
    {"sort", "sort", true, false},
    {NULL, "tagroot", true, false},
    {NULL, "tagleaf", true, false},
    {"dropneg", "drop_negative", true, false},
    {"n", "nodecount", true, false},
    {"nf", "nodefraction", true, false},
    {"ef", "edgefraction", true, false},
    {"trim", "trim", true, false},
    {"f", "focus", true, true},
    {"i", "ignore", true, true},
    {"prunefrom", "prune_from", true, true},
    {"h", "hide", true, true},
    {"s", "show", true, true},
    {"sf", "show_from", true, true},
    {"tf", "tagfocus", true, true},
    {"ti", "tagignore", true, true},
    {"ts", "tagshow", true, true},
    {"th", "taghide", true, true},
    {"noinlines", "noinlines", true, false},
    {"showcolumns", "showcolumns", true, false},
    {"g", "granularity", true, false},
};

const struct web_parameter *web_parameter_at(size_t i)
{
    return i < sizeof parameters / sizeof *parameters ? &parameters[i] : NULL;
}

/* Whether a list of names with commas has this name. */
static bool has_name(const char *list, const char *name)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");
        if (str_equal((struct str){at, n}, str_of(name)))
            return true;
        at += n + (at[n] == ',');
    }
    return false;
}

int web_read_query(const struct pprof_options *from, const struct delegate_request *r,
                   struct pprof_options *ret, struct err *err)
{
    const char *without = delegate_parameter(r, "without");
    if (shell_options_init(ret, from, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        const struct web_parameter *p = &parameters[i];
        const char *value = p->name ? delegate_parameter(r, p->name) : NULL;
        bool removed = without && p->filter && has_name(without, p->name);
        if (value && !*value)
            value = NULL;
        if ((value || removed) && shell_set_option(ret, p->option, value ? value : "", err) < 0) {
            shell_options_release(ret);
            return err_wrap(err, "error setting config field %s", p->option);
        }
    }
    return 0;
}
