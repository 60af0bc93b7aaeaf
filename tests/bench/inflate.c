/* Inflates a file in memory and discards it: the minimum cost of reading a profile. */
#include <stdio.h>
#include <stdlib.h>

#include "proto/profile_store.h"
#include "base/banned.h"

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct region region = {0};
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!f || fseek(f, 0, SEEK_END) < 0)
        return 1;
    size_t n = (size_t)ftell(f);
    rewind(f);
    char *in = malloc(n);
    bool good = in && fread(in, 1, n, f) == n && region_inflate(in, n, (uint64_t)4 << 30, &region, &err) == 0;
    if (err.kind)
        fprintf(stderr, "inflate: %s\n", err.msg);
    region_release(&region);
    fclose(f);
    free(in);
    return good ? 0 : 1;
}
