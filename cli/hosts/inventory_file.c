#include "cli/hosts/inventory_file.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/term/message.h"
#include "handoff/handoff.h"
#include "base/banned.h"

int inventory_file_load(const char *option, struct inventory **ret, struct err *err)
{
    char *path = NULL;
    struct mistakes mistakes = {.n = 0};
    struct inventory_options options = {.tracker_kinds = handoff_tracker_kinds, .mistakes = &mistakes};
    if (inventory_find(option, &path, err) < 0)
        return -1;
    int rc = inventory_load(path, &options, ret, err);
    for (size_t i = 0; rc < 0 && mistakes.n > 1 && i < mistakes.n; i++)
        message_print_error(stderr, &mistakes.items[i]);
    free(path);
    return rc;
}
