#include "capture/counts.h"

#include "base/banned.h"

void counts_add_item(struct capture_counts *c, const struct fetch_item *item)
{
    if (item->status == FETCH_OK)
        return;
    if (item->file[0])
        c->damaged++;
    else
        c->missing++;
    c->permanent += item->permanent;
}

void counts_add_failure(struct capture_counts *c, const struct err *failure)
{
    c->missing++;
    c->wrong_requests += failure->kind == ERR_USAGE;
    c->permanent += failure->kind == ERR_USAGE;
}
