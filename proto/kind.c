#include "proto/kind.h"

#include <string.h>

#include "base/banned.h"

static const struct kind kinds[] = {
    {.name = "cpu",
     .alias = "profile",
     .endpoint = "profile",
     .file_name = "cpu",
     .rank = RANK_CPU,
     .format = BODY_PPROF,
     .arguments = KIND_ARG_SECONDS,
     .seconds = 30,
     .handler_seconds = 30,
     .sample_types = {"cpu"},
     .size = {.base_bytes = 1000, .second_bytes = 2000},
     .max_mb = 512,
     .help = "functions that use CPU time, sampled for the given duration"},
    {.name = "trace",
     .endpoint = "trace",
     .file_name = "trace",
     .rank = RANK_TRACE,
     .format = BODY_TRACE,
     .arguments = KIND_ARG_SECONDS | KIND_ARG_FRACTION,
     .seconds = 5,
     .handler_seconds = 1,
     .only_by_name = true,
     .size = {.base_bytes = 1000, .second_bytes = 1000000},
     .max_mb = 2048,
     .cost = "it records every scheduling event, which slows the process down, more so before Go 1.21; the "
             "trace of a busy process grows by some MB a second",
     .help = "execution trace: every scheduling event; slows the process more than other kinds"},
    {.name = "heap",
     .alias = "mem",
     .endpoint = "heap",
     .file_name = "heap",
     .format = BODY_PPROF,
     .arguments = KIND_ARG_GC,
     .standard = true,
     .in_index = true,
     .can_be_compared = true,
     .sample_types = {"inuse_space", "alloc_space"},
     .size = {.base_bytes = 500, .record_bytes = 150},
     .max_mb = 512,
     .help = "memory in use as of the last garbage collection; =gc runs a collection first"},
    {.name = "allocs",
     .endpoint = "allocs",
     .file_name = "allocs",
     .format = BODY_PPROF,
     .standard = true,
     .in_index = true,
     .can_be_compared = true,
     .size = {.base_bytes = 500, .record_bytes = 150},
     .max_mb = 512,
     .help = "memory allocated since the start"},
    {.name = "goroutines",
     .alias = "goroutine",
     .endpoint = "goroutine",
     .file_name = "goroutines",
     .format = BODY_PPROF,
     .arguments = KIND_ARG_TEXT_FORMS,
     .standard = true,
     .in_index = true,
     .can_be_compared = true,
     .sample_types = {"goroutine"},
     .size = {.base_bytes = 700, .record_bytes = 200, .max_records = 500},
     .max_mb = 512,
     .help = "stacks of all goroutines; without argument: proto and a text dump, which is grouped above "
             "10,000 goroutines"},
    {.name = "threadcreate",
     .endpoint = "threadcreate",
     .file_name = "threadcreate",
     .format = BODY_PPROF,
     .arguments = KIND_ARG_TEXT | KIND_ARG_DELTA,
     .standard = true,
     .in_index = true,
     .sample_types = {"threadcreate"},
     .size = {.base_bytes = 600},
     .max_mb = 512,
     .help = "stacks that led to new threads"},
    {.name = "block",
     .endpoint = "block",
     .file_name = "block",
     .format = BODY_PPROF,
     .delay = KIND_DELAY_BLOCK,
     .arguments = KIND_ARG_TEXT | KIND_ARG_DELTA,
     .standard = true,
     .in_index = true,
     .can_be_compared = true,
     .size = {.base_bytes = 500, .record_bytes = 150},
     .max_mb = 512,
     .help = "places where goroutines wait; empty unless the program enables it"},
    {.name = "mutex",
     .endpoint = "mutex",
     .file_name = "mutex",
     .format = BODY_PPROF,
     .delay = KIND_DELAY_MUTEX,
     .arguments = KIND_ARG_TEXT | KIND_ARG_DELTA,
     .standard = true,
     .in_index = true,
     .can_be_compared = true,
     .size = {.base_bytes = 500, .record_bytes = 150},
     .max_mb = 512,
     .help = "holders of contended locks; empty unless the program enables it"},
    {.name = "cmdline",
     .endpoint = "cmdline",
     .file_name = "cmdline",
     .format = BODY_RAW,
     .only_by_name = true,
     .size = {.base_bytes = 300},
     .max_mb = 4,
     .help = "the command line; may contain secrets"},
    {.name = "symbol",
     .endpoint = "symbol",
     .file_name = "symbol",
     .format = BODY_TEXT,
     .only_by_name = true,
     .size = {.base_bytes = 20},
     .max_mb = 4,
     .help = "whether the program can name its addresses"},
    {.name = "goroutineleak",
     .endpoint = "goroutineleak",
     .file_name = "goroutineleak",
     .rank = RANK_INTRUSIVE,
     .format = BODY_PPROF,
     .in_index = true,
     .only_by_name = true,
     .size = {.base_bytes = 700, .record_bytes = 200, .max_records = 500},
     .max_mb = 512,
     .cost = "it forces a special garbage collection",
     .help = "goroutines that are blocked forever; forces a special garbage collection"},
    {.name = "fgprof",
     .endpoint = "/fgprof",
     .file_name = "fgprof",
     .rank = RANK_CPU,
     .format = BODY_PPROF,
     .arguments = KIND_ARG_SECONDS,
     .seconds = 30,
     .handler_seconds = 30,
     .in_index = true,
     .only_by_name = true,
     .size = {.base_bytes = 2000, .second_bytes = 1000},
     .max_mb = 512,
     .help = "wall-clock profile of all goroutines, if the index page lists it or the inventory's `kinds` "
             "has it"},
};

const struct kind *kind_at(size_t i)
{
    return i < sizeof kinds / sizeof *kinds ? &kinds[i] : NULL;
}

const struct kind *kind_find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0 || (kinds[i].alias && strcmp(kinds[i].alias, name) == 0))
            return &kinds[i];
    return NULL;
}

const struct kind *kind_of_endpoint(const char *endpoint)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].endpoint + (kinds[i].endpoint[0] == '/'), endpoint) == 0)
            return &kinds[i];
    return NULL;
}

const char *kind_of_sample_type(const char *sample_type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t t = 0; t < sizeof kinds[i].sample_types / sizeof *kinds[i].sample_types; t++)
            if (kinds[i].sample_types[t] && strcmp(kinds[i].sample_types[t], sample_type) == 0)
                return kinds[i].name;
    /* Profiles of block and mutex have the same types. */
    return strcmp(sample_type, "contentions") == 0 ? "contention" : NULL;
}
