/* JSON and YAML: manifests and their README, discovery from a source's text to the named services, and
 * inventories. */
#include "tests/cost/cost.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/manifest_json.h"
#include "bundle/manifest_internal.h"
#include "bundle/readme.h"
#include "handoff/handoff.h"
#include "handoff/summary.h"
#include "page/builder.h"
#include "discovery/discovery.h"
#include "base/data/yaml_tree.h"

#include "base/banned.h"

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static const struct cost_grammar texts[] = {
    {"empty objects", "[", "{},", "{}]", NULL, 0},
    {"empty lists", "[", "[],", "[]]", NULL, 0},
    {"numbers", "[", "1,", "1]", NULL, 0},
    {"long numbers", "[", "1", "]", NULL, 0},
    {"long fractions", "[1.", "1", "]", NULL, 0},
    {"empty texts", "[", "\"\",", "\"\"]", NULL, 0},
    {"one text", "[\"", "a", "\"]", NULL, 0},
    {"one escaped text", "[\"", "\\u20ac", "\"]", NULL, 0},
    {"keys", "{", "\"\1\":1,", "\"\":1}", NULL, 0},
    {"equal keys", "{", "\"a\":1,", "\"a\":1}", NULL, 0},
    {"opened lists", "", "[", "", NULL, 0},
    {"opened objects", "", "{\"a\":", "", NULL, 0},
    {"commas", "[", ",", "]", NULL, 0},
    {"blanks", "[", " ", "]", NULL, 0},
    {"quotes", "", "\"", "", NULL, 0},
    {"backslashes", "[\"", "\\", "\"]", NULL, 0},
    {0},
};

static void parse_json(const char *p, size_t n)
{
    static const struct json_limits limits = {.what = "it",
                                              .max_bytes = SIZE_MAX,
                                              .max_memory = (size_t)224 << 20,
                                              .max_depth = 64,
                                              .accept_any_value = true};
    json_t *root = NULL;
    if (json_parse(&limits, p, n, &root, NULL) == 0)
        json_decref(root);
}

/* ---- manifests ----------------------------------------------------------------------------------------- */

#define HEAD                                                                                                 \
    "{\"format\":\"profgrab-bundle\",\"version\":1,\"name\":\"b\",\"tool\":{\"name\":\"a\",\"version\":"     \
    "\"1\"}"
#define SHA "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""
#define ITEM(file)                                                                                           \
    "{\"kind\":\"heap\",\"status\":\"ok\",\"file\":\"" file "\",\"bytes\":1,\"sha256\":" SHA "},"
/* An item of a pair; the argument is a different one for each pair. */
#define PAIR_ITEM(pair, file)                                                                                \
    "{\"kind\":\"k\",\"argument\":\"\1\",\"status\":\"ok\",\"profile\":{},\"pair\":" pair                    \
    ",\"file\":\"" file "\"},"
#define ITEMS HEAD ",\"hosts\":[{\"name\":\"h\",\"services\":[{\"name\":\"s\",\"items\":["
#define LAST_ITEM "{\"kind\":\"heap\",\"status\":\"failed\"}"

/* Half of the bytes are entries of the page, half are sentences on files that have no entry. */
static void make_sentences_on_files(struct buf *to, size_t n)
{
    buf_adds(to, HEAD ",\"files\":[");
    for (unsigned i = 0; to->len < n / 2; i++)
        buf_addf(to, "{\"kind\":\"heap\",\"status\":\"damaged\",\"file\":\"files/%x\"},", i);
    buf_adds(to, "{}],\"summary\":[");
    for (unsigned i = 0; to->len < n; i++)
        buf_addf(to, "{\"rule\":\"r\",\"text\":\"t\",\"file\":\"x%x\"},", i);
    buf_adds(to, "{}]}");
}

static const struct cost_grammar manifests[] = {
    {"empty hosts", HEAD ",\"hosts\":[", "{},", "{}]}", NULL, 0},
    {"empty files", HEAD ",\"files\":[", "{},", "{}]}", NULL, 0},
    {"hosts", HEAD ",\"hosts\":[", "{\"name\":\"h\1\",\"services\":[]},", "{\"name\":\"h\"}]}", NULL, 0},
    {"hosts of one name", HEAD ",\"hosts\":[", "{\"name\":\"h\"},", "{\"name\":\"h\"}]}", NULL, 0},
    {"services", HEAD ",\"hosts\":[{\"name\":\"h\",\"services\":[", "{\"name\":\"s\1\",\"items\":[]},",
     "{}]}]}", NULL, 0},
    {"services of one name", HEAD ",\"hosts\":[{\"name\":\"h\",\"services\":[", "{\"name\":\"s\"},",
     "{\"name\":\"s\"}]}]}", NULL, 0},
    {"items", HEAD ",\"hosts\":[{\"name\":\"h\",\"services\":[{\"name\":\"s\",\"items\":[",
     ITEM("h/s/\1.pb.gz"), LAST_ITEM "]}]}]}", NULL, 0},
    {"items of one file", HEAD ",\"hosts\":[{\"name\":\"h\",\"services\":[{\"name\":\"s\",\"items\":[",
     ITEM("h/s/a.pb.gz"), LAST_ITEM "]}]}]}", NULL, 0},
    {"files", HEAD ",\"files\":[", ITEM("files/\1"), "{}]}", NULL, 0},
    {"planned", HEAD ",\"hosts\":[{\"name\":\"h\",\"services\":[{\"name\":\"s\",\"planned\":[",
     "{\"kind\":\"k\1\"},", "{\"kind\":\"k\"}]}]}]}", NULL, 0},
    {"offers", HEAD ",\"hosts\":[{\"name\":\"h\",\"services\":[{\"name\":\"s\",\"offers\":[",
     "{\"name\":\"k\1\"},", "{\"name\":\"k\"}]}]}]}", NULL, 0},
    {"verdicts", HEAD ",\"hosts\":[{\"name\":\"h\",\"services\":[{\"name\":\"s\",\"verdicts\":[",
     "{\"rule\":\"r\1\",\"text\":\"t\"},", "{}]}]}]}", NULL, 0},
    {"sentences", HEAD ",\"summary\":[", "{\"rule\":\"r\",\"text\":\"t\1\",\"file\":\"f\1\"},", "{}]}", NULL,
     0},
    {"sentences on as many files", NULL, NULL, NULL, make_sentences_on_files, 30},
    {"goroutine profiles", ITEMS,
     "{\"kind\":\"goroutines\",\"status\":\"ok\",\"profile\":{},\"file\":\"h/s/\1\"},", LAST_ITEM "]}]}]}",
     NULL, 30},
    {"pairs", ITEMS, PAIR_ITEM("1", "h/s/\1.a") PAIR_ITEM("2", "h/s/\1.b"), LAST_ITEM "]}]}]}", NULL, 30},
    {"pairs without a second snapshot", ITEMS, PAIR_ITEM("1", "h/s/\1"), LAST_ITEM "]}]}]}", NULL, 30},
    {"one long reason", HEAD ",\"reason\":\"", "*`<", "\"}", NULL, 0},
    {"one long error", HEAD ",\"hosts\":[{\"name\":\"h\",\"error\":\"", "\\n# ", "\"}]}", NULL, 0},
    {0},
};

static void load_manifest(const char *p, size_t n)
{
    struct manifest *m = NULL;
    struct buf text = BUF_INIT((size_t)256 << 20);
    if (manifest_read_for_resume(p, n, &m, NULL) < 0)
        return;
    (void)manifest_check_request(m, NULL);
    (void)manifest_print(m, &text, NULL);
    buf_release(&text);
    manifest_free(m);
}

static int add_file_size(void *ctx, json_t *item, const struct file_entry *file, struct err *err)
{
    (void)item, (void)err;
    *(size_t *)ctx += file->bytes;
    return 0;
}

static void write_readme(const char *p, size_t n)
{
    struct buf text = BUF_INIT((size_t)256 << 20);
    json_t *root = NULL;
    size_t total = 0;
    if (manifest_json_parse(p, n, &root, NULL) < 0)
        return;
    struct manifest *m = NULL;
    if (manifest_read_json(root, &m, NULL) == 0)
        (void)readme_write(m, &text, NULL);
    manifest_free(m);
    (void)manifest_json_visit_items(root, add_file_size, &total, NULL);
    buf_release(&text);
    json_decref(root);
}

static void format_summary(const char *p, size_t n)
{
    char *text = NULL;
    struct summary d = {0};
    (void)n;
    if (summary_text(p, &text, NULL) == 0)
        free(text);
    if (summary_read(p, false, &d, NULL) == 0)
        summary_release(&d);
}

static int add_to_page(void *ctx, const void *p, size_t n, struct err *err)
{
    buf_add(ctx, p, n);
    return buf_check(ctx, "the page", err);
}

/* Draws the page of a manifest whose files are all missing. */
static void draw_manifest(const char *p, size_t n)
{
    struct page_builder d = {0};
    struct page_bundle b = {0};
    struct manifest *m = NULL;
    struct buf page = BUF_INIT((size_t)256 << 20);
    if (manifest_read(p, n, &m, NULL) == 0 &&
        page_builder_init(&d, &page_limits_on_request, m,
                          &(struct page_output){.sink = add_to_page, .ctx = &page}, NULL) == 0 &&
        page_builder_compare_finish(&d, NULL) == 0 && page_builder_add_rest(&d, NULL) == 0)
        (void)page_builder_finish(&d, &b, NULL);
    page_builder_release(&d);
    manifest_free(m);
    buf_release(&page);
}

/* ---- sources of services ------------------------------------------------------------------------------- */

static void add_addresses(struct buf *to, size_t n)
{
    for (unsigned i = 1; to->len + 80 < n; i++) {
        buf_addf(to, "%s\"127.%u.%u.%u:80\"", i > 1 ? "," : "", i >> 16 & 255, i >> 8 & 255, i & 255);
    }
}

/* Targets of one job and one port, each at another loopback address: they get the names NAME-PORT-2,
 * NAME-PORT-3 and so on. */
static void make_equal_ports(struct buf *to, size_t n)
{
    buf_adds(to, "[{\"targets\":[");
    add_addresses(to, n);
    buf_adds(to, "],\"labels\":{\"job\":\"web\"}}]");
}

static void make_equal_addresses(struct buf *to, size_t n)
{
    buf_adds(to, "[{\"targets\":[");
    for (unsigned i = 1; to->len + 80 < n; i++)
        buf_addf(to, "%s\"127.0.0.1:%u\"", i > 1 ? "," : "", i % 65535 + 1);
    buf_adds(to, "],\"labels\":{\"job\":\"web\"}}]");
}

/* Jobs whose names equal the names of other jobs' services. */
static void make_names_of_others(struct buf *to, size_t n)
{
    buf_adds(to, "[{\"targets\":[");
    add_addresses(to, n / 3);
    buf_adds(to, "],\"labels\":{\"job\":\"web\"}}");
    for (unsigned i = 2; to->len + 80 < n; i++)
        buf_addf(to, ",{\"targets\":[\"127.0.0.1:1\"],\"labels\":{\"job\":\"web-80-%u\"}}", i);
    buf_adds(to, "]");
}

static const struct cost_grammar groups[] = {
    {"equal ports", NULL, NULL, NULL, make_equal_ports, 0},
    {"equal addresses", NULL, NULL, NULL, make_equal_addresses, 0},
    {"names of others", NULL, NULL, NULL, make_names_of_others, 0},
    {"equal targets", "[{\"targets\":[", "\"h0:80\",", "\"h0:80\"],\"labels\":{\"job\":\"web\"}}]", NULL, 0},
    {"jobs", "[", "{\"targets\":[\"h0:80\"],\"labels\":{\"job\":\"j\1\"}},", "{}]", NULL, 0},
    {"groups", "[", "{},", "{}]", NULL, 0},
    {"unknown hosts", "[{\"targets\":[", "\"x\1:80\",", "\"x:80\"]}]", NULL, 0},
    {"no addresses", "[{\"targets\":[", "\"?\",", "\"?\"]}]", NULL, 0},
    {"labels", "[{\"labels\":{", "\"a\1\":\"b\",", "\"job\":\"web\"}}]", NULL, 0},
    {"equal labels", "[{\"labels\":{", "\"job\":\"b\1\",", "\"job\":\"web\"}}]", NULL, 0},
    {"escapes", "[{\"targets\":[", "\"\\u0068\\u0030:80\",", "\"h0:80\"]}]", NULL, 0},
    {"opened lists", "[{\"x\":", "[", "", NULL, 0},
    {"blanks", "[", " ", "]", NULL, 0},
    {0},
};

/* Addresses that take long to match, because each has as many characters as a name may have. */
#define TEN_PIECES "r-1r-1r-1r-1r-1r-1r-1r-1r-1r-1"
#define LONG_NAME TEN_PIECES TEN_PIECES TEN_PIECES TEN_PIECES TEN_PIECES TEN_PIECES TEN_PIECES TEN_PIECES
static const struct cost_grammar addresses[] = {
    {"long names", "[{\"targets\":[", "\"" LONG_NAME ":80\",", "\"h0:80\"]}]", NULL, 0},
    {"short names", "[{\"targets\":[", "\"r\1-1:80\",", "\"h0:80\"]}]", NULL, 0},
    {0},
};

static const struct cost_grammar prometheus[] = {
    {"targets", "{\"status\":\"success\",\"data\":{\"activeTargets\":[",
     "{\"scrapeUrl\":\"http://h0:\1/\",\"labels\":{\"job\":\"j\1\"}},", "{}]}}", NULL, 0},
    {"dropped targets", "{\"status\":\"success\",\"data\":{\"droppedTargets\":[", "{\"a\":{}},",
     "{}],\"activeTargets\":[]}}", NULL, 0},
    {0},
};

static const struct cost_grammar yaml_groups[] = {
    {"jobs", "", "- targets: ['h0:80']\n  labels: { job: j\1 }\n", "", NULL, 0},
    {"jobs of one name", "", "- targets: ['h0:80']\n  labels: { job: web }\n", "", NULL, 0},
    {"targets", "- targets:\n", "  - h0:80\n", "", NULL, 0},
    {"labels", "- targets: ['h0:80']\n  labels:\n", "    a\1: b\n", "", NULL, 0},
    {"flow lists", "- targets: ", "[", "", NULL, 0},
    {"dashes", "", "- ", "", NULL, 0},
    {"questions", "", "? ", "", NULL, 0},
    {"indents", "a:", "\n  ", "", NULL, 0},
    {"items of a flow list", "[", "a,", "]", NULL, 0},
    {"keys without values", "[{", "a,", "}]", NULL, 0},
    {"different keys without values", "[{", "\1,", "}]", NULL, 0},
    {"flow mappings of two keys", "[", "{a,b},", "]", NULL, 0},
    {"empty flow lists", "[", "[],", "]", NULL, 0},
    {"items of a block list", "", "-\n", "", NULL, 0},
    {0},
};

static const struct cost_grammar configs[] = {
    {"jobs", "scrape_configs:\n",
     "- job_name: j\1\n  static_configs: [{ targets: ['h0:80'] }]\n  profiling_config: { path_prefix: /a }\n",
     "", NULL, 0},
    {"groups of jobs", "scrape_configs:\n- job_name: a\n  static_configs:\n",
     "  - { targets: ['h0:80'], labels: { job: j\1 } }\n", "", NULL, 0},
    {"params", "scrape_configs:\n- job_name: a\n  params:\n", "    p\1: [b]\n", "", NULL, 0},
    {"profiles", "scrape_configs:\n- job_name: a\n  profiling_config:\n    pprof_config:\n",
     "      p\1: { enabled: true, path: /x }\n", "", NULL, 0},
    {"keys that are not understood", "scrape_configs:\n- job_name: a\n", "  a\1_sd_configs: []\n", "", NULL,
     0},
    {0},
};

/* Host h0 has the targets on loopback. */
static const char inventory_text[] = "version: 1\nservices: { s: { port: 1 } }\n"
                                     "hosts:\n  h0: { services: [s] }\n  h1: { services: [s] }\n"
                                     "discovery:\n  - { http_sd: 'http://x/', host: h0 }\n"
                                     "  - { http_sd: 'http://y/', match: '([a-z0-9-]+-[0-9]+)[.]stor' }\n";

/* Makes named services from the targets of the inventory's source with that index, and lists the names. */
static void run_discovery(struct discovered *f, size_t source)
{
    struct inventory *inv = NULL;
    struct targets targets = {0};
    struct source_use *use = NULL;
    struct discovered_counts counts;
    size_t n = 0;
    if (inventory_parse("inv", str_of(inventory_text), NULL, &inv, NULL) < 0 ||
        targets_use_source(&targets, inventory_sources(inv, &n)[source], &use, NULL) < 0)
        abort();
    struct discovery d = DISCOVERY_INIT(inv, &targets);
    (void)discovery_add(&d, use, f, &counts, NULL);
    if (discovery_finish(&d, NULL) == 0)
        for (size_t i = 0; targets_discovered_name(&targets, i); i++)
            continue;
    discovery_release(&d);
    targets_release(&targets);
    inventory_free(inv);
}

static void discover_from(enum source_kind kind, size_t source, const char *p, size_t n)
{
    struct discovered f = {0};
    struct discovered_reader *r = NULL;
    struct buf text = BUF_INIT(SOURCE_MAX_BYTES);
    if (discovered_reader_new(kind, &f, &r, NULL) < 0)
        return;
    if (discovered_reader_feed(r, p, n, NULL) == 0 && discovered_reader_end(r, NULL) == 0) {
        (void)discovered_write(&f, &text, NULL);
        run_discovery(&f, source);
    }
    discovered_reader_free(r);
    discovered_release(&f);
    buf_release(&text);
}

static void discover_groups(const char *p, size_t n)
{
    discover_from(SOURCE_HTTP_SD, 0, p, n);
}

static void discover_matches(const char *p, size_t n)
{
    discover_from(SOURCE_HTTP_SD, 1, p, n);
}

static void discover_prometheus(const char *p, size_t n)
{
    discover_from(SOURCE_PROMETHEUS, 0, p, n);
}

static void discover_yaml(const char *p, size_t n)
{
    struct discovered f = {0};
    if (discovered_parse(&(struct discovered_file){"sd.yml", NULL, SOURCE_FILE_SD, {p, n}}, &f, NULL) == 0)
        run_discovery(&f, 0);
    discovered_release(&f);
}

static void discover_configs(const char *p, size_t n)
{
    for (int parca = 0; parca < 2; parca++) {
        struct discovered f = {0};
        if (discovered_parse(
                &(struct discovered_file){
                    "p.yml", NULL, parca ? SOURCE_PARCA : SOURCE_SCRAPE_CONFIGS, {p, n}},
                &f, NULL) == 0)
            run_discovery(&f, 0);
        discovered_release(&f);
    }
}

/* ---- inventories --------------------------------------------------------------------------------------- */

#define SERVICE "version: 1\nservices: { s: { port: 1 } }\n"
static const struct cost_grammar inventories[] = {
    {"hosts", SERVICE "hosts:\n", "  h\1: { services: [s] }\n", "", NULL, 0},
    {"hosts that differ by case", SERVICE "hosts:\n", "  H\1: { services: [s] }\n", "", NULL, 0},
    {"services", "version: 1\nservices:\n", "  s\1: { port: 1 }\n", "hosts: { h: {} }\n", NULL, 0},
    {"services of a host", SERVICE "hosts:\n  h:\n    services:\n", "      - s\n", "", NULL, 0},
    {"labels", SERVICE "hosts:\n  h:\n    services: [s]\n    labels:\n", "      l\1: a\n", "", NULL, 0},
    {"groups", SERVICE "hosts: { h: { services: [s] } }\ngroups:\n", "  g\1: [h]\n", "", NULL, 0},
    {"groups of groups", SERVICE "hosts: { h: { services: [s] } }\ngroups:\n  g: [h]\n", "  g\1: [g, h]\n",
     "", NULL, 0},
    {"members of a group", SERVICE "hosts: { h: { services: [s] } }\ngroups:\n  g:\n", "    - h\n", "", NULL,
     0},
    {"ranges", SERVICE "hosts:\n", "  'h\1-[1-4]': { services: [s] }\n", "", NULL, 0},
    {"sources", SERVICE "hosts: { h: {} }\ndiscovery:\n", "  - { http_sd: 'http://x/\1' }\n", "", NULL, 0},
    {"unknown keys", SERVICE "hosts:\n", "  h\1: { servises: [s] }\n", "", NULL, 0},
    {"unknown services", SERVICE "hosts:\n", "  h\1: { services: [t] }\n", "", NULL, 0},
    {"texts of many lines", SERVICE "hosts:\n  h: { address: \"", "a\\\n", "\" }\n", NULL, 0},
    {"anchors", "", "&a ", "", NULL, 0},
    {"flow mappings", "", "{", "", NULL, 0},
    {"indents", "", "a:\n ", "", NULL, 0},
    {"deep blocks", "", "- - - - ", "", NULL, 0},
    {"quotes", "a: '", "''", "'", NULL, 0},
    {"colons", "", "a: ", "", NULL, 0},
    {"comments", "", "#", "", NULL, 0},
    {0},
};

static void load_inventory(const char *p, size_t n)
{
    struct inventory *inv = NULL;
    struct inventory_options options = {.tracker_kinds = handoff_tracker_kinds};
    if (inventory_parse("inv", (struct str){p, n}, &options, &inv, NULL) == 0)
        inventory_free(inv);
}

const struct cost_parser cost_json_parsers[] = {
    {"json_parse", parse_json, texts, 100, 0},
    {"manifest_read_for_resume", load_manifest, manifests, 100, 0},
    {"readme_write", write_readme, manifests, 112, 0},
    {"summary_text, summary_read", format_summary, manifests, 100, 0},
    {"page_builder_init of a manifest", draw_manifest, manifests, 200, 0},
    {"discovered_reader_feed of http_sd", discover_groups, groups, 68, 8u << 20},
    {"discovered_reader_feed of http_sd with match", discover_matches, addresses, 68, 512u << 10},
    {"discovered_reader_feed of Prometheus", discover_prometheus, prometheus, 7, 8u << 20},
    {"discovered_parse of files", discover_yaml, yaml_groups, 70, 4u << 20},
    {"discovered_parca_read of configurations", discover_configs, configs, 23, 4u << 20},
    {"inventory_parse", load_inventory, inventories, 107, 4u << 20},
    {0},
};
