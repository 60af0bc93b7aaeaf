#include "fetch/profiler_owner.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define DUMP_MAX (64u << 20)

/* A function on a goroutine's stack, and the program that it belongs to. Agents come first: they may also run
 * inside net/http. */
static const struct {
    const char *function;
    const char *client;
    enum { USES_BOTH, USES_CPU, USES_TRACE } profiler;
} markers[] = {
    {"DataDog/dd-trace-go", "Datadog's profiler inside the program", USES_BOTH},
    {"grafana/pyroscope-go", "Pyroscope's agent inside the program", USES_BOTH},
    {"pyroscope-io/client", "Pyroscope's agent inside the program", USES_BOTH},
    {"cloud.google.com/go/profiler", "Google Cloud Profiler's agent inside the program", USES_BOTH},
    {"go.elastic.co/apm", "Elastic APM's agent inside the program", USES_BOTH},
    {"getsentry/sentry-go", "Sentry's profiler inside the program", USES_BOTH},
    {"newrelic/go-agent", "New Relic's agent inside the program", USES_BOTH},
    {"net/http/pprof.Profile+",
     "another client that takes a CPU profile over HTTP (a colleague, or a scraper "
     "such as Parca or Pyroscope)",
     USES_CPU},
    {"net/http/pprof.Trace+", "another client that takes a trace over HTTP", USES_TRACE},
    {"trace.(*FlightRecorder)", "a flight recorder inside the program", USES_TRACE},
    {"pkg/profile.", "the package pkg/profile inside the program", USES_BOTH},
};

static void match_line(struct profiler_owner *o)
{
    o->line[o->n] = '\0';
    for (size_t i = 0; !o->client && i < sizeof markers / sizeof *markers; i++)
        if (markers[i].profiler != (o->for_tracer ? USES_CPU : USES_TRACE) &&
            strstr(o->line, markers[i].function))
            o->client = markers[i].client;
    o->n = 0;
}

void profiler_owner_feed(struct profiler_owner *o, const char *p, size_t n)
{
    for (const char *end = p + n; p < end && !o->client; p++) {
        if (*p == '\n')
            match_line(o);
        else if (o->n + 1 < sizeof o->line)
            o->line[o->n++] = *p;
    }
}

struct dump_reader {
    struct profiler_owner owner;
    size_t size; /* bytes read */
};

/* Searches a piece of the page. Reads on after a match, so that the connection can be reused. */
static int feed_dump(void *ctx, const void *p, size_t n, struct err *err)
{
    struct dump_reader *d = ctx;
    profiler_owner_feed(&d->owner, p, n);
    d->size += n;
    return d->size > DUMP_MAX ? err_set(err, ERR_FAILED, "more than %u MB", DUMP_MAX >> 20) : 0;
}

const char *profiler_owner_find(struct transfer *t, const struct service *service, bool for_tracer,
                                int64_t limit_ms)
{
    struct dump_reader d = {.owner.for_tracer = for_tracer};
    struct http_response response;
    char request_target[400];
    snprintf(request_target, sizeof request_target, "%.300s/goroutine?debug=1", service->path);
    struct http_get get = {.ctx = &d, .body = feed_dump, .limit_ms = limit_ms};
    transfer_get(t, request_target, &get, &response, NULL);
    return d.owner.client;
}
