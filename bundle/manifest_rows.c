/* One row for each key of a manifest. */
#include "bundle/manifest_rows.h"

#include "bundle/contents.h"
#include "bundle/manifest_inside.h"
#include "base/banned.h"

#define AT(member) ROW_MEMBER(struct ROW_STRUCT, member)
#define PLACE(member) ROW_AT(struct ROW_STRUCT, member)
#define LIST_OF(type) .inside_size = sizeof(struct type)

/* ---- parts of hosts, services and items ---------------------------------------------------------------- */

#define ROW_STRUCT manifest_verdict
static const struct json_row verdict[] = {
    {.key = "rule", .type = ROW_TEXT, .needed = true, .zero = true, AT(rule)},
    {.key = "text", .type = ROW_TEXT, .needed = true, .zero = true, AT(text)},
    ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_hop
static const struct json_row hop[] = {{.key = "address", .type = ROW_TEXT, AT(address)},
                                      {.key = "port", .type = ROW_COUNT, .most = 65535, AT(port)},
                                      {.key = "user", .type = ROW_TEXT, AT(user)},
                                      {.key = "via", .type = ROW_TEXT, AT(via)},
                                      {.key = "host_key_type", .type = ROW_TEXT, AT(host_key_type)},
                                      {.key = "host_key", .type = ROW_TEXT, AT(host_key)},
                                      {.key = "host_key_new", .type = ROW_FLAG, AT(host_key_new)},
                                      {.key = "authentication", .type = ROW_TEXT, AT(authentication)},
                                      ROWS_END};
#undef ROW_STRUCT

static const struct json_row offer[] = {
    {.key = "name", .type = ROW_TEXT, .needed = true}, {.key = "count", .type = ROW_COUNT}, ROWS_END};

#define ROW_STRUCT manifest_planned
static const struct json_row planned[] = {{.key = "kind", .type = ROW_TEXT, .needed = true, AT(kind)},
                                          {.key = "argument", .type = ROW_TEXT, AT(argument)},
                                          {.key = "pair", .type = ROW_COUNT, .most = 2, AT(pair)},
                                          ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_sample_type
static const struct json_row sample_type[] = {
    {.key = "type", .type = ROW_TEXT, .needed = true, .zero = true, AT(type)},
    {.key = "unit", .type = ROW_TEXT, .needed = true, .zero = true, AT(unit)},
    {.key = "total",
     .type = ROW_NUMBER,
     .needed = true,
     .zero = true,
     AT(total),
     .doc = "the sum over all samples"},
    ROWS_END};
#undef ROW_STRUCT

/* ---- items --------------------------------------------------------------------------------------------- */

const char *const manifest_statuses[] = {[MANIFEST_OK] = "ok",
                                         [MANIFEST_DAMAGED] = "damaged",
                                         [MANIFEST_FAILED] = "failed",
                                         [MANIFEST_INTERRUPTED] = "interrupted",
                                         [MANIFEST_LEFT_OUT] = "left-out",
                                         NULL};

#define ROW_STRUCT manifest_item
static const struct json_row profile[] = {
    {.key = "samples", .type = ROW_COUNT, .needed = true, .zero = true, AT(samples)},
    {.key = "sample_types",
     .type = ROW_OBJECTS,
     .needed = true,
     .zero = true,
     .inside = sample_type,
     LIST_OF(manifest_sample_type),
     AT(sample_types),
     .count = PLACE(n_sample_types)},
    {.key = "duration_ns", .type = ROW_COUNT, AT(profile_duration_ns)},
    ROWS_END};

/* items_file checks names, sizes and hashes of files. */
const struct json_row manifest_item_rows[] = {
    {.key = "kind", .type = ROW_TEXT, .needed = true, .zero = true, AT(kind)},
    {.key = "argument", .type = ROW_TEXT, AT(argument), .doc = "the argument of KIND=ARGUMENT"},
    {.key = "pair",
     .type = ROW_COUNT,
     .most = 2,
     AT(pair),
     .doc = "--pair: the first or the second snapshot"},
    {.key = "late", .type = ROW_FLAG, AT(late), .doc = "it started after the common start instant"},
    {.key = "sync_skew_ms",
     .type = ROW_NUMBER,
     AT(sync_skew_ms),
     .has = PLACE(has_sync_skew),
     .doc = "its start minus the common start; exact to a second if clock_skew_ms is 2 s or more"},
    {.key = "request", .type = ROW_TEXT, AT(request)},
    {.key = "status",
     .type = ROW_WORD,
     .needed = true,
     .words = manifest_statuses,
     AT(status),
     .doc = "damaged: the body failed its checks; failed: nothing usable arrived; interrupted: cancelled; "
            "left-out: beyond the budget"},
    {.key = "status", .type = ROW_TEXT, .again = true, AT(status_text)},
    {.key = "error", .type = ROW_TEXT, AT(error), .doc = "the reason if it is not ok"},
    {.key = "server_words", .type = ROW_TEXT, AT(server_words), .doc = "the server's message"},
    {.key = "file",
     .type = ROW_PATH,
     .unchecked = true,
     AT(file),
     .doc = "below HOST/SERVICE for an item of a service"},
    {.key = "http_status", .type = ROW_COUNT, AT(http_status)},
    {.key = "content_type", .type = ROW_TEXT, AT(content_type)},
    {.key = "started", .type = ROW_TIME, AT(started)},
    {.key = "duration_ms",
     .type = ROW_NUMBER,
     AT(duration_ms),
     .with = PLACE(started),
     .with_size = sizeof(int64_t)},
    {.key = "bytes", .type = ROW_COUNT, AT(bytes), .with = PLACE(file), .with_size = sizeof(char *)},
    {.key = "sha256", .type = ROW_TEXT, .unchecked = true, AT(sha256)},
    {.key = "profile",
     .type = ROW_OBJECT,
     .inside = profile,
     .has = PLACE(has_profile),
     .doc = "the header of a pprof profile"},
    {.key = "verdicts",
     .type = ROW_OBJECTS,
     .inside = verdict,
     LIST_OF(manifest_verdict),
     AT(verdicts),
     .count = PLACE(n_verdicts)},
    ROWS_END};
#undef ROW_STRUCT

/* ---- services and hosts -------------------------------------------------------------------------------- */

/* Each requested target needs a linear search of a host's services and a service's items. These bounds are
 * far above real numbers and limit that time. */
enum { MAX_SERVICES = 1024, MAX_ITEMS = 256 };

#define ROW_STRUCT manifest_service
static const struct json_row estimate[] = {{.key = "bytes", .type = ROW_COUNT, AT(estimate_bytes)},
                                           {.key = "profiled_ms", .type = ROW_COUNT, AT(profiled_ms)},
                                           ROWS_END};

static const struct json_row service[] = {
    {.key = "name", .type = ROW_NAME, .needed = true, AT(name)},
    {.key = "url", .type = ROW_TEXT, AT(url)},
    {.key = "offers", .type = ROW_OBJECTS, .inside = offer},
    {.key = "clock_skew_ms", .type = ROW_NUMBER, AT(clock_skew_ms), .has = PLACE(has_clock_skew)},
    {.key = "go_version", .type = ROW_TEXT, AT(go_version)},
    {.key = "error", .type = ROW_TEXT, AT(error)},
    {.key = "verdicts",
     .type = ROW_OBJECTS,
     .inside = verdict,
     LIST_OF(manifest_verdict),
     AT(verdicts),
     .count = PLACE(n_verdicts)},
    {.key = "planned",
     .type = ROW_OBJECTS,
     .inside = planned,
     .most = MAX_ITEMS,
     LIST_OF(manifest_planned),
     AT(planned),
     .count = PLACE(n_planned)},
    {.key = "estimate", .type = ROW_OBJECT, .inside = estimate},
    {.key = "items",
     .type = ROW_OBJECTS,
     .needed = true,
     .inside = manifest_item_rows,
     .most = MAX_ITEMS,
     LIST_OF(manifest_item),
     AT(items),
     .count = PLACE(n_items)},
    ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_host
static const struct json_row host[] = {{.key = "name", .type = ROW_NAME, .needed = true, AT(name)},
                                       {.key = "address", .type = ROW_TEXT, AT(address)},
                                       {.key = "route", .type = ROW_TEXT, AT(route)},
                                       {.key = "hops",
                                        .type = ROW_OBJECTS,
                                        .inside = hop,
                                        LIST_OF(manifest_hop),
                                        AT(hops),
                                        .count = PLACE(n_hops)},
                                       {.key = "error", .type = ROW_TEXT, AT(error)},
                                       {.key = "against", .type = ROW_FLAG, AT(against)},
                                       {.key = "verdicts",
                                        .type = ROW_OBJECTS,
                                        .inside = verdict,
                                        LIST_OF(manifest_verdict),
                                        AT(verdicts),
                                        .count = PLACE(n_verdicts)},
                                       {.key = "services",
                                        .type = ROW_OBJECTS,
                                        .needed = true,
                                        .inside = service,
                                        .most = MAX_SERVICES,
                                        LIST_OF(manifest_service),
                                        AT(services),
                                        .count = PLACE(n_services)},
                                       ROWS_END};
#undef ROW_STRUCT

/* ---- the request and the run --------------------------------------------------------------------------- */

#define ROW_STRUCT manifest_resumption
static const struct json_row resumption[] = {{.key = "time", .type = ROW_TEXT, AT(time)},
                                             {.key = "name", .type = ROW_TEXT},
                                             {.key = "version", .type = ROW_TEXT},
                                             {.key = "user", .type = ROW_TEXT, AT(user)},
                                             {.key = "workstation", .type = ROW_TEXT, AT(workstation)},
                                             ROWS_END};
#undef ROW_STRUCT

static const struct json_row target[] = {{.key = "host", .type = ROW_NAME, .needed = true},
                                         {.key = "service", .type = ROW_NAME, .needed = true},
                                         {.key = "address", .type = ROW_TEXT},
                                         ROWS_END};

static const struct json_row sample[] = {{.key = "of", .type = ROW_COUNT, .needed = true},
                                         {.key = "taken", .type = ROW_COUNT, .needed = true},
                                         ROWS_END};

static const struct json_row asked[] = {
    {.key = "kinds", .type = ROW_TEXTS, .needed = true},
    {.key = "targets", .type = ROW_OBJECTS, .needed = true, .inside = target},
    {.key = "port", .type = ROW_COUNT, .most = 65535},
    {.key = "unix", .type = ROW_TEXT},
    {.key = "path", .type = ROW_TEXT},
    {.key = "https", .type = ROW_FLAG},
    {.key = "against", .type = ROW_TEXTS},
    {.key = "pair_ms", .type = ROW_COUNT, .most = INT64_C(24) * 3600 * 1000},
    {.key = "sample", .type = ROW_OBJECT, .inside = sample},
    ROWS_END};

static const struct json_row budget[] = {
    {.key = "bytes", .type = ROW_COUNT}, {.key = "profiled_ms", .type = ROW_COUNT}, ROWS_END};

static const struct json_row skew[] = {{.key = "p50", .type = ROW_COUNT, .needed = true},
                                       {.key = "p95", .type = ROW_COUNT, .needed = true},
                                       {.key = "max", .type = ROW_COUNT, .needed = true},
                                       ROWS_END};

static const struct json_row sync_rows[] = {{.key = "at", .type = ROW_TEXT, .needed = true},
                                            {.key = "targets", .type = ROW_COUNT, .needed = true},
                                            {.key = "late", .type = ROW_COUNT, .needed = true},
                                            {.key = "skew_ms", .type = ROW_OBJECT, .inside = skew},
                                            ROWS_END};

/* ---- the whole ----------------------------------------------------------------------------------------- */

#define ROW_STRUCT manifest_sentence
static const struct json_row sentence[] = {{.key = "rule", .type = ROW_TEXT, AT(rule)},
                                           {.key = "text", .type = ROW_TEXT, AT(text)},
                                           {.key = "file", .type = ROW_TEXT, AT(file)},
                                           {.key = "look", .type = ROW_TEXT, AT(look)},
                                           ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_redaction
static const struct json_row redaction[] = {{.key = "file", .type = ROW_TEXT, AT(file)},
                                            {.key = "rule", .type = ROW_TEXT, AT(rule)},
                                            {.key = "count", .type = ROW_NUMBER, AT(count)},
                                            ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_unsearched
static const struct json_row unsearched[] = {
    {.key = "file", .type = ROW_TEXT, AT(file)}, {.key = "reason", .type = ROW_TEXT, AT(reason)}, ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_contents
static const struct json_row tool[] = {
    {.key = "name", .type = ROW_TEXT}, {.key = "version", .type = ROW_TEXT, AT(version)}, ROWS_END};

static const struct json_row collector[] = {{.key = "user", .type = ROW_TEXT, AT(user)},
                                            {.key = "workstation", .type = ROW_TEXT, AT(workstation)},
                                            ROWS_END};

static const struct json_row handoff[] = {{.key = "time", .type = ROW_TEXT, AT(sent)},
                                          {.key = "user", .type = ROW_TEXT, AT(sender)},
                                          {.key = "workstation", .type = ROW_TEXT, AT(sender_workstation)},
                                          {.key = "recipients",
                                           .type = ROW_TEXTS,
                                           .inside_size = sizeof(const char *),
                                           AT(recipients),
                                           .count = PLACE(n_recipients)},
                                          {.key = "redactions",
                                           .type = ROW_OBJECTS,
                                           .inside = redaction,
                                           LIST_OF(manifest_redaction),
                                           AT(redactions),
                                           .count = PLACE(n_redactions),
                                           .has = PLACE(has_redactions)},
                                          {.key = "unsearched",
                                           .type = ROW_OBJECTS,
                                           .inside = unsearched,
                                           LIST_OF(manifest_unsearched),
                                           AT(unsearched),
                                           .count = PLACE(n_unsearched)},
                                          ROWS_END};

static const struct json_row nothing[] = {ROWS_END};

const struct json_row manifest_rows[] = {
    {.key = "name", .type = ROW_NAME, .needed = true, AT(name)},
    {.key = "tool", .type = ROW_OBJECT, .needed = true, .inside = tool},
    {.key = "collector", .type = ROW_OBJECT, .needed = true, .inside = collector},
    {.key = "reason", .type = ROW_TEXT, AT(reason)},
    {.key = "started", .type = ROW_TEXT, AT(started)},
    {.key = "finished", .type = ROW_TEXT, .unchecked = true, AT(finished)},
    {.key = "interrupted", .type = ROW_FLAG, .unchecked = true, AT(interrupted)},
    {.key = "complete", .type = ROW_FLAG, .unchecked = true, AT(complete)},
    {.key = "asked", .type = ROW_OBJECT, .inside = asked},
    {.key = "resumed",
     .type = ROW_OBJECTS,
     .inside = resumption,
     LIST_OF(manifest_resumption),
     AT(resumed),
     .count = PLACE(n_resumed)},
    {.key = "retries", .type = ROW_COUNT},
    {.key = "deadline_ms", .type = ROW_COUNT},
    {.key = "deadline_reached", .type = ROW_FLAG},
    {.key = "budget", .type = ROW_OBJECT, .inside = budget},
    {.key = "sync", .type = ROW_OBJECT, .inside = sync_rows},
    {.key = "summary",
     .type = ROW_OBJECTS,
     .unchecked = true,
     .inside = sentence,
     LIST_OF(manifest_sentence),
     AT(summary),
     .count = PLACE(n_summary)},
    {.key = "hosts",
     .type = ROW_OBJECTS,
     .needed = true,
     .inside = host,
     LIST_OF(manifest_host),
     AT(hosts),
     .count = PLACE(n_hosts)},
    {.key = "files",
     .type = ROW_OBJECTS,
     .needed = true,
     .inside = manifest_item_rows,
     LIST_OF(manifest_item),
     AT(files),
     .count = PLACE(n_files)},
    {.key = "report", .type = ROW_OBJECT, .unchecked = true, .inside = nothing, .has = PLACE(has_report)},
    {.key = "handoff", .type = ROW_OBJECT, .unchecked = true, .inside = handoff, .has = PLACE(has_handoff)},
    ROWS_END};
