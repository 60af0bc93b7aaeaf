#include "cli/hosts/resolve.h"

#include "cli/hosts/discovery.h"
#include "base/banned.h"

int resolve_sources(struct target_options *o, struct prompt *prompt, const struct inventory *inventory,
                    struct targets *t, struct err *err)
{
    if (o->from && targets_select_source(inventory, t, o->from, &o->selection, err) < 0)
        return -1;
    return discovery_apply(
        &(struct discovery_command){.inventory = inventory,
                                    .targets = t,
                                    .options = o,
                                    .prompt = prompt,
                                    .policy = o->refresh ? DISCOVERY_REFRESH : DISCOVERY_AS_NEEDED},
        NULL, err);
}

int resolve_targets(struct target_options *o, struct prompt *prompt, struct inventory **ret_inventory,
                    struct targets *t, struct err *err)
{
    /* A port or a socket needs no discovery. */
    bool discover = o->from || (!o->selection.port && !o->selection.unix_path);
    if (target_load(o, ret_inventory, err) < 0 ||
        (discover && resolve_sources(o, prompt, *ret_inventory, t, err) < 0))
        return -1;
    return inventory_select(*ret_inventory, &o->selection, t, err);
}
