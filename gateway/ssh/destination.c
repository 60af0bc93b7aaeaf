#include "gateway/ssh/destination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

int destination_copy(const struct destination *d, struct destination *ret, struct err *err)
{
    struct destination copy = {.port = d->port};
    if (d->host)
        copy.host = strdup(d->host);
    if (d->unix_path)
        copy.unix_path = strdup(d->unix_path);
    if ((d->host && !copy.host) || (d->unix_path && !copy.unix_path)) {
        destination_release(&copy);
        return err_nomem(err);
    }
    *ret = copy;
    return 0;
}

void destination_release(struct destination *d)
{
    free((void *)(uintptr_t)d->host);
    free((void *)(uintptr_t)d->unix_path);
    *d = (struct destination){0};
}

char *destination_name(const struct destination *d, char dst[DESTINATION_NAME])
{
    if (d->unix_path)
        snprintf(dst, DESTINATION_NAME, "%s", d->unix_path);
    else
        snprintf(dst, DESTINATION_NAME, "%s port %u", d->host, d->port);
    return dst;
}
