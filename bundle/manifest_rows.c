#include "bundle/manifest_rows.h"

#include "base/banned.h"

/* The rows of a table describe members of struct ROW_STRUCT. IN: a member; LIST: a list with the length
 * n_MEMBER; IF: the flag of a key that is present; ZERO_IF: see write_zero_if_set; ALWAYS: a key that is
 * always present. */
#define IN(member) ROW_MEMBER(struct ROW_STRUCT, member)
#define LIST(member)                                                                                         \
    ROW_MEMBER(struct ROW_STRUCT, member), .count = ROW_AT(struct ROW_STRUCT, n_##member),                   \
                                           .entry_size = sizeof *((struct ROW_STRUCT *)0)->member
/* A list of strings. */
// NOLINTBEGIN(bugprone-macro-parentheses): a member cannot have parentheses
#define TEXTS(list)                                                                                          \
    ROW_MEMBER(struct ROW_STRUCT, list.items), .count = ROW_AT(struct ROW_STRUCT, list.n),                   \
                                               .entry_size = sizeof(char *)
// NOLINTEND(bugprone-macro-parentheses)
#define IF(flag) .presence_flag = ROW_AT(struct ROW_STRUCT, flag)
#define ZERO_IF(member)                                                                                      \
    .write_zero_if_set = ROW_AT(struct ROW_STRUCT, member),                                                  \
    .zero_if_set_size = sizeof((struct ROW_STRUCT *)0)->member
#define ALWAYS .required = true, .write_if_zero = true

static const char argument_doc[] = "the argument of KIND=ARGUMENT";

/* ---- parts of hosts, services and items ---------------------------------------------------------------- */

#define ROW_STRUCT manifest_finding
static const struct json_row finding[] = {
    {.key = "rule",
     .type = ROW_TEXT,
     ALWAYS,
     IN(rule),
     .doc = "the name of the finding; docs/captures.md lists them"},
    {.key = "text", .type = ROW_TEXT, ALWAYS, IN(text), .doc = "the sentence"},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT
#define FINDINGS                                                                                             \
    {                                                                                                        \
        .key = "verdicts", .type = ROW_OBJECTS, .inner_rows = finding, LIST(findings),                       \
        .doc = "findings, in sentences"                                                                      \
    }

#define ROW_STRUCT manifest_hop
static const struct json_row hop[] = {
    {.key = "address", .type = ROW_TEXT, IN(address)},
    {.key = "port", .type = ROW_COUNT, .max = 65535, IN(port)},
    {.key = "user", .type = ROW_TEXT, IN(user)},
    {.key = "via",
     .type = ROW_TEXT,
     IN(via),
     .doc = "the SSH implementation: libssh2, or an ssh of the workstation"},
    {.key = "host_key_type", .type = ROW_TEXT, IN(host_key_type)},
    {.key = "host_key", .type = ROW_TEXT, IN(host_key), .doc = "the fingerprint: SHA256:base64"},
    {.key = "host_key_new",
     .type = ROW_FLAG,
     IN(host_key_new),
     .doc = "true if the key was unknown and accepted (--accept-new)"},
    {.key = "authentication", .type = ROW_TEXT, IN(authentication), .doc = "the authentication method"},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_listed_profile
static const struct json_row offer[] = {{.key = "name", .type = ROW_TEXT, .required = true, IN(name)},
                                        {.key = "count", .type = ROW_COUNT, IN(count), IF(has_count)},
                                        ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_planned
static const struct json_row planned[] = {
    {.key = "kind", .type = ROW_TEXT, .required = true, IN(kind)},
    {.key = "argument", .type = ROW_TEXT, IN(argument), .doc = argument_doc},
    {.key = "pair", .type = ROW_COUNT, .max = 2, IN(pair)},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_sample_type
static const struct json_row sample_type[] = {
    {.key = "type", .type = ROW_TEXT, ALWAYS, IN(type)},
    {.key = "unit", .type = ROW_TEXT, ALWAYS, IN(unit)},
    {.key = "total", .type = ROW_NUMBER, ALWAYS, IN(total), .doc = "the sum over all samples"},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
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
    {.key = "samples", .type = ROW_COUNT, ALWAYS, IN(samples)},
    {.key = "sample_types", .type = ROW_OBJECTS, ALWAYS, .inner_rows = sample_type, LIST(sample_types)},
    {.key = "duration_ns", .type = ROW_COUNT, IN(profile_duration_ns)},
    ROWS_END};

static const struct json_row original[] = {
    {.key = "bytes", .type = ROW_COUNT, .write_if_zero = true, IN(original_bytes)},
    {.key = "sha256", .type = ROW_TEXT, .write_if_zero = true, IN(original_sha256)},
    ROWS_END};

/* `file` and `sha256` have skip_check because manifest_json_read_file_entry() checks them. */
const struct json_row manifest_item_rows[] = {
    {.key = "kind", .type = ROW_TEXT, ALWAYS, IN(kind)},
    {.key = "argument", .type = ROW_TEXT, IN(argument), .doc = argument_doc},
    {.key = "pair", .type = ROW_COUNT, .max = 2, IN(pair), .doc = "--pair: the first or the second snapshot"},
    {.key = "late", .type = ROW_FLAG, IN(late), .doc = "it started after the common start instant"},
    {.key = "sync_skew_ms",
     .type = ROW_NUMBER,
     IN(sync_skew_ms),
     IF(has_sync_skew),
     .doc = "its start minus the common start; exact to a second if clock_skew_ms is 2 s or more"},
    {.key = "request", .type = ROW_TEXT, IN(request)},
    {.key = "status", .type = ROW_ENUM, .read_only = true, .words = manifest_statuses, IN(status)},
    {.key = "status",
     .type = ROW_TEXT,
     .required = true,
     IN(status_text),
     .doc = "damaged: the body failed its checks; failed: nothing usable arrived; interrupted: cancelled; "
            "left-out: beyond the budget"},
    {.key = "error", .type = ROW_TEXT, IN(error), .doc = "the reason if it is not ok"},
    {.key = "server_words", .type = ROW_TEXT, IN(server_words), .doc = "the server's message"},
    {.key = "file",
     .type = ROW_PATH,
     .skip_check = true,
     IN(file),
     .doc = "below HOST/SERVICE for an item of a service"},
    {.key = "http_status", .type = ROW_COUNT, IN(http_status)},
    {.key = "content_type", .type = ROW_TEXT, IN(content_type)},
    {.key = "started", .type = ROW_TIME, IN(started)},
    {.key = "duration_ms", .type = ROW_NUMBER, IN(duration_ms), ZERO_IF(started)},
    {.key = "bytes", .type = ROW_COUNT, IN(bytes), ZERO_IF(file)},
    {.key = "sha256", .type = ROW_TEXT, .skip_check = true, IN(sha256)},
    {.key = "profile",
     .type = ROW_OBJECT,
     .inner_rows = profile,
     IF(has_profile),
     .doc = "the header of a pprof profile"},
    FINDINGS,
    {.key = "original",
     .type = ROW_OBJECT,
     .skip_check = true,
     .inner_rows = original,
     IF(has_original),
     .doc = "in a copy: the file before redaction"},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT

/* ---- services and hosts -------------------------------------------------------------------------------- */

/* Limits on hostile manifests, because lookups are linear. Real manifests are far smaller. */
enum { MAX_SERVICES = 1024, MAX_ITEMS = 256 };

#define ROW_STRUCT manifest_service
static const struct json_row estimate[] = {
    {.key = "bytes", .type = ROW_COUNT, .write_if_zero = true, IN(estimate_bytes)},
    {.key = "profiled_ms",
     .type = ROW_COUNT,
     .write_if_zero = true,
     IN(profiled_ms),
     .doc = "the time of profiling"},
    ROWS_END};

const struct json_row manifest_service_rows[] = {
    {.key = "name", .type = ROW_NAME, .required = true, IN(name)},
    {.key = "url", .type = ROW_TEXT, IN(url), .doc = "the address as seen from the SSH host"},
    {.key = "offers",
     .type = ROW_OBJECTS,
     .inner_rows = offer,
     LIST(offers),
     .doc = "the profiles of the index page"},
    {.key = "clock_skew_ms",
     .type = ROW_NUMBER,
     IN(clock_skew_ms),
     IF(has_clock_skew),
     .doc = "the service's clock minus the workstation's"},
    {.key = "planned",
     .type = ROW_OBJECTS,
     .inner_rows = planned,
     .max = MAX_ITEMS,
     LIST(planned),
     .doc = "the planned items, in order"},
    {.key = "estimate",
     .type = ROW_OBJECT,
     .inner_rows = estimate,
     ZERO_IF(n_planned),
     .doc = "the rough estimate before fetching"},
    {.key = "error",
     .type = ROW_TEXT,
     IN(error),
     .doc = "the reason why no item was planned; in a resumed capture: no further item"},
    FINDINGS,
    {.key = "items",
     .type = ROW_OBJECTS,
     ALWAYS,
     .inner_rows = manifest_item_rows,
     .max = MAX_ITEMS,
     LIST(items)},
    {.key = "go_version",
     .type = ROW_TEXT,
     IN(go_version),
     .doc = "the Go version, from the profiles: 1.22, or a bound such as >= 1.21"},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_host
const struct json_row manifest_host_rows[] = {
    {.key = "name", .type = ROW_NAME, .required = true, IN(name), .doc = "the name in the inventory"},
    {.key = "address", .type = ROW_TEXT, IN(address)},
    {.key = "route", .type = ROW_TEXT, IN(route)},
    {.key = "against", .type = ROW_FLAG, IN(is_baseline), .doc = "a healthy host for comparison"},
    {.key = "hops",
     .type = ROW_OBJECTS,
     .inner_rows = hop,
     LIST(hops),
     .doc = "the jump hosts, the nearest first"},
    {.key = "error",
     .type = ROW_TEXT,
     IN(error),
     .doc = "the reason why no item was fetched; in a resumed capture: no further item"},
    FINDINGS,
    {.key = "services",
     .type = ROW_OBJECTS,
     ALWAYS,
     .inner_rows = manifest_service_rows,
     .max = MAX_SERVICES,
     LIST(services)},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT

/* ---- the request and the run --------------------------------------------------------------------------- */

#define ROW_STRUCT manifest_resumption
const struct json_row manifest_resumed_rows[] = {
    {.key = "time", .type = ROW_TEXT, .write_if_zero = true, IN(time)},
    {.key = "version", .type = ROW_TEXT, IN(version), .doc = "the version of profgrab"},
    {.key = "user", .type = ROW_TEXT, IN(user)},
    {.key = "workstation", .type = ROW_TEXT, IN(workstation)},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_target
static const struct json_row target[] = {{.key = "host", .type = ROW_NAME, .required = true, IN(host)},
                                         {.key = "service", .type = ROW_NAME, .required = true, IN(service)},
                                         {.key = "address",
                                          .type = ROW_TEXT,
                                          IN(address),
                                          .doc = "the argument of --host, for a host outside the inventory"},
                                         ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_request
static const struct json_row sample[] = {
    {.key = "of", .type = ROW_COUNT, ALWAYS, IN(sample_of), .doc = "the number of hosts to choose from"},
    {.key = "taken", .type = ROW_COUNT, ALWAYS, IN(sample_taken)},
    ROWS_END};

const struct json_row manifest_request_rows[] = {
    {.key = "kinds",
     .type = ROW_TEXTS,
     ALWAYS,
     TEXTS(kinds),
     .doc = "the words of the command line; empty: each service's own kinds"},
    {.key = "targets",
     .type = ROW_OBJECTS,
     ALWAYS,
     .inner_rows = target,
     LIST(targets),
     .doc = "in order, grouped by host"},
    {.key = "port",
     .type = ROW_COUNT,
     .max = 65535,
     IN(port),
     .doc = "this and the next three: the options of a service without an inventory"},
    {.key = "unix", .type = ROW_TEXT, IN(unix_path)},
    /* "" is the root, not the default path. */
    {.key = "path", .type = ROW_TEXT, .keep_empty = true, IN(path)},
    {.key = "https", .type = ROW_FLAG, IN(https)},
    {.key = "against", .type = ROW_TEXTS, TEXTS(baseline_hosts), .doc = "the healthy hosts"},
    {.key = "pair_ms", .type = ROW_COUNT, .max = INT64_C(24) * 3600 * 1000, IN(pair_ms)},
    {.key = "sample", .type = ROW_OBJECT, .inner_rows = sample, ZERO_IF(sample_of)},
    ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_run
static const struct json_row budget[] = {
    {.key = "bytes", .type = ROW_COUNT, IN(budget_bytes)},
    {.key = "profiled_ms", .type = ROW_COUNT, IN(budget_ms), .doc = "the maximum time of profiling"},
    ROWS_END};

static const struct json_row skew[] = {{.key = "p50", .type = ROW_COUNT, ALWAYS, IN(sync_p50_ms)},
                                       {.key = "p95", .type = ROW_COUNT, ALWAYS, IN(sync_p95_ms)},
                                       {.key = "max", .type = ROW_COUNT, ALWAYS, IN(sync_max_ms)},
                                       ROWS_END};

static const struct json_row sync_rows[] = {
    {.key = "at", .type = ROW_TIME, ALWAYS, IN(sync_at), .doc = "the first start instant"},
    {.key = "targets", .type = ROW_COUNT, ALWAYS, IN(sync_processes), .doc = "the number of processes"},
    {.key = "late",
     .type = ROW_COUNT,
     ALWAYS,
     IN(sync_late),
     .doc = "the number of processes that started late"},
    {.key = "skew_ms",
     .type = ROW_OBJECT,
     .inner_rows = skew,
     IF(has_sync_skew),
     .doc =
         "the distance from the start instant by the targets' clocks, without late profiles and clocks that "
         "are 2 s or more off"},
    ROWS_END};
#undef ROW_STRUCT

/* ---- the whole ----------------------------------------------------------------------------------------- */

#define ROW_STRUCT manifest_sentence
const struct json_row manifest_sentence_rows[] = {
    {.key = "rule",
     .type = ROW_TEXT,
     .write_if_zero = true,
     IN(rule),
     .doc = "the name of the finding; docs/reading.md lists them"},
    {.key = "text", .type = ROW_TEXT, .write_if_zero = true, IN(text), .doc = "the sentence"},
    {.key = "file", .type = ROW_TEXT, IN(file), .doc = "the file with the figure"},
    {.key = "look", .type = ROW_TEXT, IN(look_at), .doc = "the function to look at"},
    ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_report
static const struct json_row report[] = {
    {.key = "file", .type = ROW_PATH, .write_if_zero = true, IN(file)},
    {.key = "bytes", .type = ROW_COUNT, .write_if_zero = true, IN(bytes)},
    {.key = "sha256", .type = ROW_TEXT, .write_if_zero = true, IN(sha256)},
    ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_redaction
static const struct json_row redaction[] = {
    {.key = "file", .type = ROW_TEXT, .write_if_zero = true, IN(file)},
    {.key = "rule", .type = ROW_TEXT, .write_if_zero = true, IN(rule)},
    {.key = "count",
     .type = ROW_NUMBER,
     .write_if_zero = true,
     IN(count),
     .doc = "the number of removed values"},
    ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest_unsearched
static const struct json_row unsearched[] = {
    {.key = "file", .type = ROW_TEXT, .write_if_zero = true, IN(file)},
    {.key = "reason", .type = ROW_TEXT, .write_if_zero = true, IN(reason)},
    ROWS_END};
#undef ROW_STRUCT

/* bundle/copy.c adds these keys to the JSON of a copy. */
#define ROW_STRUCT manifest_handoff
static const struct json_row handoff[] = {
    {.key = "time", .type = ROW_TEXT, .write_if_zero = true, IN(time)},
    {.key = "user", .type = ROW_TEXT, IN(user), .doc = "the user who made the copy"},
    {.key = "workstation", .type = ROW_TEXT, IN(workstation)},
    {.key = "recipients",
     .type = ROW_TEXTS,
     LIST(recipients),
     .doc = "the recipients: age1..., TYPE SHA256:..., passphrase"},
    {.key = "redactions",
     .type = ROW_OBJECTS,
     .inner_rows = redaction,
     LIST(redactions),
     IF(has_redactions),
     .doc = "missing without redaction"},
    {.key = "unsearched",
     .type = ROW_OBJECTS,
     .inner_rows = unsearched,
     LIST(unsearched),
     .doc = "files that redaction did not search"},
    ROWS_END};
#undef ROW_STRUCT

#define ROW_STRUCT manifest
static const struct json_row tool[] = {{.key = "name", .type = ROW_TEXT, .write_if_zero = true, IN(tool)},
                                       {.key = "version", .type = ROW_TEXT, IN(tool_version)},
                                       ROWS_END};

static const struct json_row collector[] = {{.key = "user", .type = ROW_TEXT, IN(user)},
                                            {.key = "workstation", .type = ROW_TEXT, IN(workstation)},
                                            ROWS_END};

const struct json_row manifest_rows[] = {
    {.key = "format", .type = ROW_TEXT, .write_if_zero = true, IN(format)},
    {.key = "version", .type = ROW_COUNT, .write_if_zero = true, IN(version)},
    {.key = "name", .type = ROW_NAME, .required = true, IN(name), .doc = "the name of the top directory"},
    {.key = "tool", .type = ROW_OBJECT, .required = true, .inner_rows = tool},
    {.key = "collector",
     .type = ROW_OBJECT,
     .required = true,
     .inner_rows = collector,
     .doc = "the user and the workstation"},
    {.key = "reason", .type = ROW_TEXT, IN(reason), .doc = "the text of --reason"},
    {.key = "started", .type = ROW_TEXT, IN(started)},
    {.key = "asked",
     .type = ROW_OBJECT,
     .inner_rows = manifest_request_rows,
     IN(request),
     IF(has_request),
     .doc = "the request of the first run, for resume. It never has the route to a host"},
    {.key = "resumed",
     .type = ROW_OBJECTS,
     .inner_rows = manifest_resumed_rows,
     LIST(resumed),
     .doc = "the later runs that fetched missing items, in order"},
    {.key = "finished",
     .type = ROW_TEXT,
     .skip_check = true,
     IN(finished),
     .doc = "missing during the capture"},
    {.key = "interrupted",
     .type = ROW_FLAG,
     .write_if_zero = true,
     .skip_check = true,
     IN(interrupted),
     .doc = "by the user or a signal"},
    {.key = "complete",
     .type = ROW_FLAG,
     .write_if_zero = true,
     .skip_check = true,
     IN(complete),
     .doc = "it has every requested item"},
    {.key = "retries",
     .type = ROW_COUNT,
     IN(run.retries),
     .doc = "the maximum of retries; absent: none. This and the next three are those of the latest run"},
    {.key = "deadline_ms",
     .type = ROW_COUNT,
     IN(run.deadline_ms),
     .doc = "the deadline of the run; absent: none"},
    {.key = "deadline_reached",
     .type = ROW_FLAG,
     IN(run.deadline_reached),
     ZERO_IF(run.deadline_ms),
     .doc = "an item is missing because of the deadline"},
    {.key = "budget",
     .type = ROW_OBJECT,
     .inner_rows = budget,
     IN(run),
     .doc = "the budget of each process; absent: none"},
    {.key = "sync",
     .type = ROW_OBJECT,
     .inner_rows = sync_rows,
     IN(run),
     ZERO_IF(run.sync_at),
     .doc = "the common start of timed profiles; absent: without --sync. In a resumed capture, that of the "
            "latest run with --sync"},
    {.key = "summary",
     .type = ROW_OBJECTS,
     .skip_check = true,
     .inner_rows = manifest_sentence_rows,
     LIST(summary),
     .doc = "findings on the profiles, the most important first"},
    {.key = "hosts", .type = ROW_OBJECTS, ALWAYS, .inner_rows = manifest_host_rows, LIST(hosts)},
    {.key = "files",
     .type = ROW_OBJECTS,
     ALWAYS,
     .inner_rows = manifest_item_rows,
     LIST(files),
     .doc = "items without a host: local files"},
    {.key = "report",
     .type = ROW_OBJECT,
     .skip_check = true,
     .inner_rows = report,
     IN(report),
     ZERO_IF(report.file),
     .doc = "the page, if there is one"},
    {.key = "handoff",
     .type = ROW_OBJECT,
     .skip_check = true,
     .inner_rows = handoff,
     IN(handoff),
     IF(has_handoff),
     .doc = "in a copy only"},
    ROWS_END_SOURCE(struct ROW_STRUCT)};
#undef ROW_STRUCT
