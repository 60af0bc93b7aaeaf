/* The views of the page of -http, one row for each. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/pprof/picture.h"
#include "cli/pprof/web_view.h"
#include "page/page.h"
#include "pprof/machine/machine.h"
#include "base/banned.h"

#define TEXT_BYTES ((size_t)64 << 20)
/* The bytes of a text, and the values of a label, that one answer has. The page asks for the next ones. */
#define PIECE_BYTES ((size_t)1 << 20)
#define PIECE_VALUES 1000
#define FIRST_VALUES 100
/* Files whose text the reader has pasted. */
#define PASTED_MAX 100
/* Limits of upstream's page. */
#define TOP_ROWS 500
#define DISASM_ROUTINES 50

/* ---- reports ------------------------------------------------------------------------------------------- */

/* The destination of a report: its bytes go to `text`, its messages to `messages`. */
struct collected {
    struct buf *text, *messages;
    uint64_t skip; /* the bytes that are left out before the text */
    size_t most;   /* the report ends when the text has so many bytes; 0: no limit */
    bool is_full;  /* it ended for that reason */
};

static int collect(void *ctx, const void *p, size_t n, struct err *err)
{
    struct collected *c = ctx;
    size_t skipped = c->skip < n ? (size_t)c->skip : n;
    c->skip -= skipped;
    c->is_full = c->most > 0 && c->text->len + n - skipped >= c->most;
    buf_add(c->text, (const char *)p + skipped, n - skipped);
    if (buf_check(c->text, "the view", err) < 0)
        return -1;
    return c->is_full ? err_set(err, ERR_FAILED, "the report goes on") : 0;
}

static void say(void *ctx, const char *line)
{
    struct buf *messages = ((const struct collected *)ctx)->messages;
    buf_adds(messages, line);
    buf_addc(messages, '\n');
}

static int begin_program(int *ret_cancel_fd, struct err *err)
{
    (void)err;
    *ret_cancel_fd = -1;
    return 0;
}

static int make_report_into(struct view *v, enum report_format format, struct collected *to, struct err *err)
{
    struct programs programs = {.directories = v->options.tools, .begin = begin_program};
    const struct report_machine machine = {.write = machine_write, .run = programs_run, .ctx = &programs};
    const struct report_callbacks callbacks = {.sink = collect, .say = say, .ctx = to, .machine = &machine};
    v->options.report.format = format;
    return report_make(v->profile, &v->options.report, &callbacks, err);
}

static int make_report(struct view *v, enum report_format format, struct buf *ret, struct err *err)
{
    return make_report_into(v, format, &(struct collected){.text = ret, .messages = &v->messages}, err);
}

/* Reads the parameter `at`, from which byte or value on the page lacks the view. Without it, *ret is 0. */
static int read_position(const struct view *v, uint64_t *ret, struct err *err)
{
    const char *at = delegate_parameter(v->request, "at");
    *ret = 0;
    return at && text_to_uint(at, UINT64_MAX, ret) < 0 ? err_set(err, ERR_USAGE, "at=%s is no position", at)
                                                       : 0;
}

/* Makes a piece of a report, whole lines, as the member `text` of the data. The member `next` is the position
 * of the next piece, if there is one. */
static int make_text(struct view *v, enum report_format format, struct buf *ret, struct err *err)
{
    struct buf text = BUF_INIT(TEXT_BYTES);
    struct collected piece = {.text = &text, .messages = &v->messages, .most = PIECE_BYTES};
    uint64_t at;
    if (read_position(v, &at, err) < 0)
        return -1;
    piece.skip = at;
    int rc = make_report_into(v, format, &piece, err);
    if (piece.is_full && buf_check(&text, "the view", err) == 0) {
        const char *last = memrchr(text.data, '\n', text.len);
        text.len = last ? (size_t)(last + 1 - text.data) : text.len;
        rc = 0;
    }
    buf_adds(ret, "{\"text\":");
    if (rc == 0)
        page_add_text(ret, (struct str){buf_str(&text), text.len});
    if (piece.is_full)
        buf_addf(ret, ",\"next\":%" PRIu64, at + text.len);
    buf_addc(ret, '}');
    buf_release(&text);
    return rc;
}

/* ---- views --------------------------------------------------------------------------------------------- */

static int add_totals(struct view *v, struct err *err)
{
    const struct profile *p = v->profile;
    int64_t *totals = calloc(p->n_sample_types + 1, sizeof *totals);
    if (!totals)
        return err_nomem(err);
    report_totals(p, &v->options.report, totals);
    for (size_t i = 0; i < p->n_sample_types; i++)
        buf_addf(&v->totals, "%s%" PRId64, i > 0 ? "," : "[", totals[i]);
    buf_addc(&v->totals, ']');
    free(totals);
    return 0;
}

/* Returns the sample type of the command line, or else the profile's own. Links have numbers of nodes, and
 * the page shows all sample types from one answer: the order of the nodes must not depend on the request's
 * type. */
static int find_ordering_type(const struct view *v, size_t *ret, struct err *err)
{
    struct err unknown = ERR_INIT;
    return report_sample_index(v->profile, v->defaults->report.sample_index, ret, &unknown) < 0
               ? report_sample_index(v->profile, NULL, ret, err)
               : 0;
}

/* Changes the profile to what the flame graph shows. Shares refer to all samples, or with the parameter `rel`
 * to those that pass the filters. */
static int filter_calls(struct view *v, struct err *err)
{
    struct collected c = {.messages = &v->messages};
    const struct report_callbacks callbacks = {.say = say, .ctx = &c};
    struct report_settings *s = &v->options.report;
    size_t type = 0, ordering = 0;
    s->call_tree = true;
    s->trim = false;
    if (!v->options.granularity)
        s->granularity = REPORT_BY_FILEFUNCTION;
    if ((!s->relative_percentages && add_totals(v, err) < 0) ||
        report_filter(v->profile, s, &callbacks, err) < 0 ||
        (s->relative_percentages && add_totals(v, err) < 0) ||
        report_sample_index(v->profile, s->sample_index, &type, err) < 0 ||
        find_ordering_type(v, &ordering, err) < 0)
        return -1;
    v->profile->default_sample_type = v->profile->sample_types[ordering].type;
    return report_name_places(v->profile, err);
}

/* Reads numbers of functions, "3.17.4", as the caller's new array. */
static int read_numbers(const char *parameter, const char *text, uint32_t **ret, size_t *ret_n,
                        struct err *err)
{
    uint32_t *numbers = calloc(strlen(text) / 2 + 1, sizeof *numbers);
    size_t n = 0;
    if (!numbers)
        return err_nomem(err);
    for (const char *at = text; *at;) {
        char one[16];
        uint64_t number;
        size_t length = strcspn(at, ".");
        snprintf(one, sizeof one, "%.*s", length < sizeof one ? (int)length : 0, at);
        if (text_to_uint(one, UINT32_MAX - 1, &number) < 0) {
            free(numbers);
            return err_set(err, ERR_USAGE, "%s=%.100s is no list of functions' numbers", parameter, text);
        }
        numbers[n++] = (uint32_t)number;
        at += length + (at[length] == '.');
    }
    *ret = numbers;
    *ret_n = n;
    return 0;
}

/* The parameters `under` and `through` name functions by the numbers that the flame graph of the same profile
 * and filters has sent. `through_name` has the name of a function that this graph may lack. */
static int make_flamegraph(struct view *v, struct buf *ret, struct err *err)
{
    const char *under = delegate_parameter(v->request, "under"),
               *through = delegate_parameter(v->request, "through");
    uint32_t *path = NULL, *function = NULL;
    struct page_tree wanted = {.through_name = delegate_parameter(v->request, "through_name")};
    size_t n = 0;
    int rc = under ? read_numbers("under", under, &path, &wanted.n_under, err) : 0;
    if (rc == 0 && through)
        rc = read_numbers("through", through, &function, &n, err);
    wanted.under = path;
    wanted.through = n > 0 ? function : NULL;
    /* The page asks for the sums of functions only where it shows them at once: they take as long as the
     * tree. */
    wanted.with_sums = v->is_frozen || wanted.through || wanted.through_name;
    if (rc == 0 && (rc = filter_calls(v, err)) == 0)
        rc = page_data_profile(v->profile, &wanted, ret, err);
    free(path);
    free(function);
    return rc;
}

static int make_graph(struct view *v, struct buf *ret, struct err *err)
{
    struct buf svg = BUF_INIT(TEXT_BYTES);
    int graph = file_create_scratch(err), rc = -1;
    struct buf dot = BUF_INIT(TEXT_BYTES);
    if (graph >= 0 && make_report(v, REPORT_DOT, &dot, err) == 0)
        rc = fd_write_all(graph, dot.data, dot.len, err);
    buf_release(&dot);
    if (rc == 0 && (rc = picture_draw("svg", graph, &svg, err)) < 0 && err->kind != ERR_CANCELLED)
        err_set(err, ERR_UNSUPPORTED, "Could not execute dot; may need to install graphviz.");
    buf_adds(ret, "{\"svg\":");
    if (rc == 0)
        page_add_text(ret, (struct str){buf_str(&svg), svg.len});
    buf_addc(ret, '}');
    buf_release(&svg);
    fd_close(&graph);
    return rc;
}

static int make_top(struct view *v, struct buf *ret, struct err *err)
{
    v->options.report.nodecount = TOP_ROWS;
    return make_report(v, REPORT_TOP_JSON, ret, err);
}

/* As upstream, the parameter f both filters the samples and selects what peek, source and disasm show. */
static void select_focus(struct view *v)
{
    const char *focus = delegate_parameter(v->request, "f");
    v->options.report.symbol = focus ? focus : "";
}

static int make_peek(struct view *v, struct buf *ret, struct err *err)
{
    select_focus(v);
    v->options.report.granularity = REPORT_BY_LINE;
    return make_text(v, REPORT_PEEK, ret, err);
}

/* Reads the texts that the reader has pasted in place of files. The body has the path of each, a NUL, the
 * text and a NUL. *ret is the caller's new array. */
static int read_pasted(struct str body, struct report_pasted **ret, size_t *ret_n, struct err *err)
{
    struct report_pasted *pasted = calloc(PASTED_MAX, sizeof *pasted);
    const char *at = body.p, *end = body.p + body.n;
    size_t n = 0;
    if (!pasted)
        return err_nomem(err);
    while (at < end) {
        const char *text = memchr(at, '\0', (size_t)(end - at));
        const char *text_end = text ? memchr(text + 1, '\0', (size_t)(end - text - 1)) : NULL;
        if (!text_end || n == PASTED_MAX) {
            free(pasted);
            return err_set(err, ERR_USAGE, "the body has no list of at most %d files", PASTED_MAX);
        }
        pasted[n++] = (struct report_pasted){at, {text + 1, (size_t)(text_end - text - 1)}};
        at = text_end + 1;
    }
    *ret = pasted;
    *ret_n = n;
    return 0;
}

static int make_source(struct view *v, struct buf *ret, struct err *err)
{
    struct report_settings *s = &v->options.report;
    struct report_pasted *pasted = NULL;
    if (read_pasted(v->request->body, &pasted, &s->n_pasted, err) < 0)
        return -1;
    select_focus(v);
    s->pasted = pasted;
    int rc = make_report(v, REPORT_SOURCE, ret, err);
    s->pasted = NULL;
    free(pasted);
    return rc;
}

static int make_disasm(struct view *v, struct buf *ret, struct err *err)
{
    select_focus(v);
    v->options.report.most_routines = DISASM_ROUTINES;
    return make_text(v, REPORT_DISASM, ret, err);
}

/* The parameter `label` asks for more values of one label. */
static int make_tags(struct view *v, struct buf *ret, struct err *err)
{
    struct report_tags *tags = &v->options.report.tags;
    uint64_t at;
    if (read_position(v, &at, err) < 0)
        return -1;
    tags->key = delegate_parameter(v->request, "label");
    tags->from = at < SIZE_MAX ? (size_t)at : SIZE_MAX;
    tags->most = tags->key ? PIECE_VALUES : FIRST_VALUES;
    return make_report(v, REPORT_TAGS_JSON, ret, err);
}

static const struct view_type view_types[] = {
    {"flamegraph", make_flamegraph}, {"graph", make_graph}, {"top", make_top},   {"source", make_source},
    {"disasm", make_disasm},         {"peek", make_peek},   {"tags", make_tags},
};

const struct view_type *web_find_view(const char *name)
{
    for (size_t i = 0; i < sizeof view_types / sizeof *view_types; i++)
        if (strcmp(view_types[i].name, name) == 0)
            return &view_types[i];
    return NULL;
}
