/* One row for each key of a manifest. */
#include "bundle/manifest_rows.h"

#include "bundle/contents.h"
#include "bundle/manifest_inside.h"
#include "base/banned.h"

#define STORE_IN(member) ROW_MEMBER(struct ROW_STRUCT, member)
#define OFFSET_OF(member) ROW_AT(struct ROW_STRUCT, member)
#define ENTRIES_OF(type) .inside_size = sizeof(struct type)

/* ---- parts of hosts, services and items ---------------------------------------------------------------- */

#define ROW_STRUCT manifest_verdict
static const struct json_row verdict[] = {
    {.key = "rule", .type = ROW_TEXT, .needed = true, .write_if_zero = true, STORE_IN(rule)},
    {.key = "text", .type = ROW_TEXT, .needed = true, .write_if_zero = true, STORE_IN(text)},
    ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_hop
static const struct json_row hop[] = {{.key = "address", .type = ROW_TEXT, STORE_IN(address)},
                                      {.key = "port", .type = ROW_COUNT, .most = 65535, STORE_IN(port)},
                                      {.key = "user", .type = ROW_TEXT, STORE_IN(user)},
                                      {.key = "via", .type = ROW_TEXT, STORE_IN(via)},
                                      {.key = "host_key_type", .type = ROW_TEXT, STORE_IN(host_key_type)},
                                      {.key = "host_key", .type = ROW_TEXT, STORE_IN(host_key)},
                                      {.key = "host_key_new", .type = ROW_FLAG, STORE_IN(host_key_new)},
                                      {.key = "authentication", .type = ROW_TEXT, STORE_IN(authentication)},
                                      ROWS_END};
#undef ROW_STRUCT

static const struct json_row offer[] = {
    {.key = "name", .type = ROW_TEXT, .needed = true}, {.key = "count", .type = ROW_COUNT}, ROWS_END};

#define ROW_STRUCT manifest_planned
static const struct json_row planned[] = {{.key = "kind", .type = ROW_TEXT, .needed = true, STORE_IN(kind)},
                                          {.key = "argument", .type = ROW_TEXT, STORE_IN(argument)},
                                          {.key = "pair", .type = ROW_COUNT, .most = 2, STORE_IN(pair)},
                                          ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_sample_type
static const struct json_row sample_type[] = {
    {.key = "type", .type = ROW_TEXT, .needed = true, .write_if_zero = true, STORE_IN(type)},
    {.key = "unit", .type = ROW_TEXT, .needed = true, .write_if_zero = true, STORE_IN(unit)},
    {.key = "total",
     .type = ROW_NUMBER,
     .needed = true,
     .write_if_zero = true,
     STORE_IN(total),
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
    {.key = "samples", .type = ROW_COUNT, .needed = true, .write_if_zero = true, STORE_IN(samples)},
    {.key = "sample_types",
     .type = ROW_OBJECTS,
     .needed = true,
     .write_if_zero = true,
     .inside = sample_type,
     ENTRIES_OF(manifest_sample_type),
     STORE_IN(sample_types),
     .count = OFFSET_OF(n_sample_types)},
    {.key = "duration_ns", .type = ROW_COUNT, STORE_IN(profile_duration_ns)},
    ROWS_END};

/* items_file() (bundle/items.c) checks names, sizes and hashes of files. */
const struct json_row manifest_item_rows[] = {
    {.key = "kind", .type = ROW_TEXT, .needed = true, .write_if_zero = true, STORE_IN(kind)},
    {.key = "argument", .type = ROW_TEXT, STORE_IN(argument), .doc = "the argument of KIND=ARGUMENT"},
    {.key = "pair",
     .type = ROW_COUNT,
     .most = 2,
     STORE_IN(pair),
     .doc = "--pair: the first or the second snapshot"},
    {.key = "late", .type = ROW_FLAG, STORE_IN(late), .doc = "it started after the common start instant"},
    {.key = "sync_skew_ms",
     .type = ROW_NUMBER,
     STORE_IN(sync_skew_ms),
     .presence_flag = OFFSET_OF(has_sync_skew),
     .doc = "its start minus the common start; exact to a second if clock_skew_ms is 2 s or more"},
    {.key = "request", .type = ROW_TEXT, STORE_IN(request)},
    {.key = "status",
     .type = ROW_WORD,
     .needed = true,
     .words = manifest_statuses,
     STORE_IN(status),
     .doc = "damaged: the body failed its checks; failed: nothing usable arrived; interrupted: cancelled; "
            "left-out: beyond the budget"},
    {.key = "status", .type = ROW_TEXT, .again = true, STORE_IN(status_text)},
    {.key = "error", .type = ROW_TEXT, STORE_IN(error), .doc = "the reason if it is not ok"},
    {.key = "server_words", .type = ROW_TEXT, STORE_IN(server_words), .doc = "the server's message"},
    {.key = "file",
     .type = ROW_PATH,
     .skip_check = true,
     STORE_IN(file),
     .doc = "below HOST/SERVICE for an item of a service"},
    {.key = "http_status", .type = ROW_COUNT, STORE_IN(http_status)},
    {.key = "content_type", .type = ROW_TEXT, STORE_IN(content_type)},
    {.key = "started", .type = ROW_TIME, STORE_IN(started)},
    {.key = "duration_ms",
     .type = ROW_NUMBER,
     STORE_IN(duration_ms),
     .zero_if_set = OFFSET_OF(started),
     .zero_if_set_size = sizeof(int64_t)},
    {.key = "bytes",
     .type = ROW_COUNT,
     STORE_IN(bytes),
     .zero_if_set = OFFSET_OF(file),
     .zero_if_set_size = sizeof(char *)},
    {.key = "sha256", .type = ROW_TEXT, .skip_check = true, STORE_IN(sha256)},
    {.key = "profile",
     .type = ROW_OBJECT,
     .inside = profile,
     .presence_flag = OFFSET_OF(has_profile),
     .doc = "the header of a pprof profile"},
    {.key = "verdicts",
     .type = ROW_OBJECTS,
     .inside = verdict,
     ENTRIES_OF(manifest_verdict),
     STORE_IN(verdicts),
     .count = OFFSET_OF(n_verdicts)},
    ROWS_END};
#undef ROW_STRUCT

/* ---- services and hosts -------------------------------------------------------------------------------- */

/* Limits on hostile manifests, because lookups are linear. Real manifests are far smaller. */
enum { MAX_SERVICES = 1024, MAX_ITEMS = 256 };

#define ROW_STRUCT manifest_service
static const struct json_row estimate[] = {{.key = "bytes", .type = ROW_COUNT, STORE_IN(estimate_bytes)},
                                           {.key = "profiled_ms", .type = ROW_COUNT, STORE_IN(profiled_ms)},
                                           ROWS_END};

static const struct json_row service[] = {{.key = "name", .type = ROW_NAME, .needed = true, STORE_IN(name)},
                                          {.key = "url", .type = ROW_TEXT, STORE_IN(url)},
                                          {.key = "offers", .type = ROW_OBJECTS, .inside = offer},
                                          {.key = "clock_skew_ms",
                                           .type = ROW_NUMBER,
                                           STORE_IN(clock_skew_ms),
                                           .presence_flag = OFFSET_OF(has_clock_skew)},
                                          {.key = "go_version", .type = ROW_TEXT, STORE_IN(go_version)},
                                          {.key = "error", .type = ROW_TEXT, STORE_IN(error)},
                                          {.key = "verdicts",
                                           .type = ROW_OBJECTS,
                                           .inside = verdict,
                                           ENTRIES_OF(manifest_verdict),
                                           STORE_IN(verdicts),
                                           .count = OFFSET_OF(n_verdicts)},
                                          {.key = "planned",
                                           .type = ROW_OBJECTS,
                                           .inside = planned,
                                           .most = MAX_ITEMS,
                                           ENTRIES_OF(manifest_planned),
                                           STORE_IN(planned),
                                           .count = OFFSET_OF(n_planned)},
                                          {.key = "estimate", .type = ROW_OBJECT, .inside = estimate},
                                          {.key = "items",
                                           .type = ROW_OBJECTS,
                                           .needed = true,
                                           .inside = manifest_item_rows,
                                           .most = MAX_ITEMS,
                                           ENTRIES_OF(manifest_item),
                                           STORE_IN(items),
                                           .count = OFFSET_OF(n_items)},
                                          ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_host
static const struct json_row host[] = {{.key = "name", .type = ROW_NAME, .needed = true, STORE_IN(name)},
                                       {.key = "address", .type = ROW_TEXT, STORE_IN(address)},
                                       {.key = "route", .type = ROW_TEXT, STORE_IN(route)},
                                       {.key = "hops",
                                        .type = ROW_OBJECTS,
                                        .inside = hop,
                                        ENTRIES_OF(manifest_hop),
                                        STORE_IN(hops),
                                        .count = OFFSET_OF(n_hops)},
                                       {.key = "error", .type = ROW_TEXT, STORE_IN(error)},
                                       {.key = "against", .type = ROW_FLAG, STORE_IN(against)},
                                       {.key = "verdicts",
                                        .type = ROW_OBJECTS,
                                        .inside = verdict,
                                        ENTRIES_OF(manifest_verdict),
                                        STORE_IN(verdicts),
                                        .count = OFFSET_OF(n_verdicts)},
                                       {.key = "services",
                                        .type = ROW_OBJECTS,
                                        .needed = true,
                                        .inside = service,
                                        .most = MAX_SERVICES,
                                        ENTRIES_OF(manifest_service),
                                        STORE_IN(services),
                                        .count = OFFSET_OF(n_services)},
                                       ROWS_END};
#undef ROW_STRUCT

/* ---- the request and the run --------------------------------------------------------------------------- */

#define ROW_STRUCT manifest_resumption
static const struct json_row resumption[] = {{.key = "time", .type = ROW_TEXT, STORE_IN(time)},
                                             {.key = "name", .type = ROW_TEXT},
                                             {.key = "version", .type = ROW_TEXT},
                                             {.key = "user", .type = ROW_TEXT, STORE_IN(user)},
                                             {.key = "workstation", .type = ROW_TEXT, STORE_IN(workstation)},
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
static const struct json_row sentence[] = {{.key = "rule", .type = ROW_TEXT, STORE_IN(rule)},
                                           {.key = "text", .type = ROW_TEXT, STORE_IN(text)},
                                           {.key = "file", .type = ROW_TEXT, STORE_IN(file)},
                                           {.key = "look", .type = ROW_TEXT, STORE_IN(look)},
                                           ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_redaction
static const struct json_row redaction[] = {{.key = "file", .type = ROW_TEXT, STORE_IN(file)},
                                            {.key = "rule", .type = ROW_TEXT, STORE_IN(rule)},
                                            {.key = "count", .type = ROW_NUMBER, STORE_IN(count)},
                                            ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_unsearched
static const struct json_row unsearched[] = {{.key = "file", .type = ROW_TEXT, STORE_IN(file)},
                                             {.key = "reason", .type = ROW_TEXT, STORE_IN(reason)},
                                             ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_contents
static const struct json_row tool[] = {
    {.key = "name", .type = ROW_TEXT}, {.key = "version", .type = ROW_TEXT, STORE_IN(version)}, ROWS_END};

static const struct json_row collector[] = {{.key = "user", .type = ROW_TEXT, STORE_IN(user)},
                                            {.key = "workstation", .type = ROW_TEXT, STORE_IN(workstation)},
                                            ROWS_END};

static const struct json_row handoff[] = {
    {.key = "time", .type = ROW_TEXT, STORE_IN(sent)},
    {.key = "user", .type = ROW_TEXT, STORE_IN(sender)},
    {.key = "workstation", .type = ROW_TEXT, STORE_IN(sender_workstation)},
    {.key = "recipients",
     .type = ROW_TEXTS,
     .inside_size = sizeof(const char *),
     STORE_IN(recipients),
     .count = OFFSET_OF(n_recipients)},
    {.key = "redactions",
     .type = ROW_OBJECTS,
     .inside = redaction,
     ENTRIES_OF(manifest_redaction),
     STORE_IN(redactions),
     .count = OFFSET_OF(n_redactions),
     .presence_flag = OFFSET_OF(has_redactions)},
    {.key = "unsearched",
     .type = ROW_OBJECTS,
     .inside = unsearched,
     ENTRIES_OF(manifest_unsearched),
     STORE_IN(unsearched),
     .count = OFFSET_OF(n_unsearched)},
    ROWS_END};

static const struct json_row nothing[] = {ROWS_END};

const struct json_row manifest_rows[] = {
    {.key = "name", .type = ROW_NAME, .needed = true, STORE_IN(name)},
    {.key = "tool", .type = ROW_OBJECT, .needed = true, .inside = tool},
    {.key = "collector", .type = ROW_OBJECT, .needed = true, .inside = collector},
    {.key = "reason", .type = ROW_TEXT, STORE_IN(reason)},
    {.key = "started", .type = ROW_TEXT, STORE_IN(started)},
    {.key = "finished", .type = ROW_TEXT, .skip_check = true, STORE_IN(finished)},
    {.key = "interrupted", .type = ROW_FLAG, .skip_check = true, STORE_IN(interrupted)},
    {.key = "complete", .type = ROW_FLAG, .skip_check = true, STORE_IN(complete)},
    {.key = "asked", .type = ROW_OBJECT, .inside = asked},
    {.key = "resumed",
     .type = ROW_OBJECTS,
     .inside = resumption,
     ENTRIES_OF(manifest_resumption),
     STORE_IN(resumed),
     .count = OFFSET_OF(n_resumed)},
    {.key = "retries", .type = ROW_COUNT},
    {.key = "deadline_ms", .type = ROW_COUNT},
    {.key = "deadline_reached", .type = ROW_FLAG},
    {.key = "budget", .type = ROW_OBJECT, .inside = budget},
    {.key = "sync", .type = ROW_OBJECT, .inside = sync_rows},
    {.key = "summary",
     .type = ROW_OBJECTS,
     .skip_check = true,
     .inside = sentence,
     ENTRIES_OF(manifest_sentence),
     STORE_IN(summary),
     .count = OFFSET_OF(n_summary)},
    {.key = "hosts",
     .type = ROW_OBJECTS,
     .needed = true,
     .inside = host,
     ENTRIES_OF(manifest_host),
     STORE_IN(hosts),
     .count = OFFSET_OF(n_hosts)},
    {.key = "files",
     .type = ROW_OBJECTS,
     .needed = true,
     .inside = manifest_item_rows,
     ENTRIES_OF(manifest_item),
     STORE_IN(files),
     .count = OFFSET_OF(n_files)},
    {.key = "report",
     .type = ROW_OBJECT,
     .skip_check = true,
     .inside = nothing,
     .presence_flag = OFFSET_OF(has_report)},
    {.key = "handoff",
     .type = ROW_OBJECT,
     .skip_check = true,
     .inside = handoff,
     .presence_flag = OFFSET_OF(has_handoff)},
    ROWS_END};
