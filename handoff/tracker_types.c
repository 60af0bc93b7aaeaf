#include "handoff/job.h"
#include "base/banned.h"

#define POINTER_TO_KIND(type) &(type).kind,
const struct tracker_kind *const handoff_tracker_kinds[] = {TRACKER_TYPES(POINTER_TO_KIND) NULL};

#define POINTER_TO_TYPE(type) &(type),
const struct tracker_type *tracker_type_of(const struct tracker_kind *kind)
{
    static const struct tracker_type *const types[] = {TRACKER_TYPES(POINTER_TO_TYPE)};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (&types[i]->kind == kind)
            return types[i];
    return NULL;
}
