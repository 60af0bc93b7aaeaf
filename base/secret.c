#include "base/secret.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

void secret_ref_release(struct secret_ref *ref)
{
    free(ref->where);
    *ref = (struct secret_ref){0};
}
