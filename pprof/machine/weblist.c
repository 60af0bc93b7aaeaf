/*
 * -weblist: one HTML page with the sources, and below each line its instructions.
 *
 * The page has no script and loads nothing. Its policy allows only its own style. All texts of the profile,
 * the binary and the sources are escaped, and characters that hide or reorder text are replaced.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "pprof/heading.h"
#include "pprof/machine/formats.h"
#include "pprof/machine/listing.h"
#include "base/banned.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1c1f24;--page:#fff;--quiet:#5d6066;--line:#e2dfd8;--code:#f4f2ee}"
    "@media(prefers-color-scheme:dark){:root{--ink:#eceae6;--page:#15181d;--quiet:#a3a6ad;--line:#2b2f37;"
    "--code:#1e222a}}"
    "body{margin:1.5rem;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}"
    "h1{font-size:1.4rem}h2{font-size:1.1rem;margin:2rem 0 0;overflow-wrap:anywhere}"
    "p,ul.about{margin:.3rem 0;color:var(--quiet);overflow-wrap:anywhere}"
    "ul.about{list-style:none;padding:0}p.note{color:var(--ink);border-left:3px solid;padding-left:.6rem}"
    ".lines{overflow-x:auto;border:1px solid var(--line);font:13px/1.5 ui-monospace,monospace}"
    ".row{display:flex;gap:1rem;white-space:pre;tab-size:8;min-width:max-content;padding:0 .5rem}"
    ".row>b{font-weight:400;min-width:10ch;text-align:right}"
    ".row>i{font-style:normal;color:var(--quiet);min-width:6ch;text-align:right}"
    ".row>code{font:inherit;min-width:60ch}.row>em{font-style:normal;color:var(--quiet)}"
    ".none,.call{color:var(--quiet)}.head{border-bottom:1px solid var(--line);color:var(--quiet)}"
    "summary{cursor:pointer;list-style:none}summary::-webkit-details-marker{display:none}"
    "summary:hover,summary:focus-visible{background:var(--code)}"
    ".code{background:var(--code);border-block:1px solid var(--line)}.code i{min-width:10ch}";

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Writes a character. Replaces bytes that are not UTF-8, and characters that hide or reorder text. */
static void write_character(struct out *out, const char *p, size_t n)
{
    char character[5] = {0};
    switch (n == 1 ? *p : 0) {
    case '&':
        out_text(out, "&amp;");
        return;
    case '<':
        out_text(out, "&lt;");
        return;
    case '>':
        out_text(out, "&gt;");
        return;
    case '"':
        out_text(out, "&quot;");
        return;
    case '\t':
        out_text(out, "\t");
        return;
    default:
        memcpy(character, p, n);
        out_text(out, character[0] && text_is_visible(character) ? character : "?");
    }
}

static void write_text(struct out *out, struct str s)
{
    for (size_t at = 0, n; at < s.n; at += n) {
        uint32_t c;
        n = text_decode(s.p + at, s.n - at, &c);
        n = n ? n : 1;
        write_character(out, s.p + at, n);
    }
}

static void write_value(struct listing *l, int64_t value)
{
    char text[MEASURE_TEXT];
    out_text(l->out, "<b>");
    write_text(l->out, str_of(machine_value_or_dot(l->report, text, value)));
    out_text(l->out, "</b>");
}

/* ---- the head ------------------------------------------------------------------------------------------ */

/* Writes the hash of the style, as the policy names it. */
static int write_style_hash(struct report *report)
{
    char hex[SHA256_HEX];
    unsigned char bytes[32];
    struct buf text = BUF_INIT(100);
    struct sha256 *h = sha256_new(report->err);
    if (!h)
        return -1;
    sha256_add(h, style, sizeof style - 1);
    int rc = sha256_hex(h, hex, report->err);
    sha256_free(h);
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(text_hex_digit(hex[2 * i]) << 4 | text_hex_digit(hex[2 * i + 1]));
    base64_add(&text, BASE64_PADDED, bytes, sizeof bytes);
    rc = buf_check(&text, "a hash", report->err);
    out_text(report->out, buf_str(&text));
    buf_release(&text);
    return rc;
}

/* Writes the lines about the profile, as a list. */
static int write_about(struct report *report)
{
    char total[MEASURE_TEXT];
    struct heading lines = HEADING_INIT;
    heading_add_profile(report, &lines);
    int rc = buf_check(&lines.text, "the heading of the report", report->err);
    struct str rest = {buf_str(&lines.text), lines.text.len};
    out_text(report->out, "<ul class=\"about\">");
    for (const char *end; rest.n && (end = memchr(rest.p, '\n', rest.n));) {
        size_t n = (size_t)(end - rest.p);
        out_text(report->out, "<li>");
        write_text(report->out, (struct str){rest.p, n});
        out_text(report->out, "</li>\n");
        rest = (struct str){end + 1, rest.n - n - 1};
    }
    report_format_value(report, total, report->total);
    out_text(report->out, "<li>Total: ");
    write_text(report->out, str_of(total));
    out_text(report->out, "</li></ul>\n");
    buf_release(&lines.text);
    return rc;
}

static int write_head(struct report *report, const struct buf *note)
{
    struct out *out = report->out;
    out_text(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'sha256-");
    if (write_style_hash(report) < 0)
        return -1;
    out_text(out, "'; base-uri 'none'; form-action 'none'\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n"
                  "<title>Sources and machine code</title><style>");
    out_text(out, style);
    out_text(out, "</style></head>\n<body><h1>Sources and machine code</h1>\n");
    if (write_about(report) < 0)
        return -1;
    if (note->len) {
        out_text(out, "<p class=\"note\">Note: ");
        write_text(out, (struct str){buf_str(note), note->len});
        out_text(out, "</p>\n");
    }
    out_text(out, "<p>A line with instructions opens on a click.</p>\n<main>\n");
    return 0;
}

/* ---- the listing --------------------------------------------------------------------------------------- */

static void begin_file(struct listing *l, struct str path)
{
    (void)path;
    out_text(l->out, "<section>\n");
}

static void begin_function(struct listing *l, const struct listing_function *f)
{
    char flat[MEASURE_TEXT], cum[MEASURE_TEXT], share[MEASURE_TEXT];
    report_format_value(l->report, flat, f->flat);
    report_format_value(l->report, cum, f->cum);
    measure_percentage(share, f->cum, l->report->total);
    out_text(l->out, "<h2>");
    write_text(l->out, f->name);
    out_text(l->out, "</h2>\n<p>");
    write_text(l->out, f->path);
    out_text(l->out, "</p>\n<p>flat ");
    write_text(l->out, str_of(flat));
    out_text(l->out, ", cum ");
    write_text(l->out, str_of(cum));
    out_text(l->out, ", ");
    write_text(l->out, str_trim(str_of(share)));
    out_text(l->out, " of the total</p>\n<div class=\"lines\">\n<div class=\"row head\"><b>flat</b><b>cum</b>"
                     "<i>line</i><code>source</code></div>\n");
}

static void begin_line(struct listing *l, const struct listing_line *line)
{
    out_text(l->out, line->has_code ? "<details><summary class=\"row\">" : "<div class=\"row none\">");
    write_value(l, line->flat);
    write_value(l, line->cum);
    out_format(l->out, "<i>%" PRId64 "</i><code>", line->n);
    write_text(l->out, line->text);
    out_text(l->out, line->has_code ? "</code></summary><div class=\"code\">\n" : "</code></div>\n");
}

static void indent(struct listing *l, size_t depth)
{
    for (size_t i = 0; i < l->indent + 4 + 4 * depth; i++)
        out_text(l->out, " ");
}

static void write_place(struct listing *l, uint32_t file, int64_t line)
{
    struct str path = profile_str(l->report->profile, file);
    if (path.n) {
        out_text(l->out, "<em>");
        write_text(l->out, path_base(path));
        out_format(l->out, ":%" PRId64 "</em>", line);
    }
    out_text(l->out, "</div>\n");
}

/* Writes the inlined calls that the instruction above does not have. */
static int write_inlined(struct listing *l, const struct listing_code *code)
{
    for (size_t i = code->n_same; i < code->n_inlined; i++) {
        const struct code_call *call = &code->inlined[code->n_inlined - 1 - i];
        struct str text;
        if (listing_source(l, call->file, call->line, &text) < 0)
            return -1;
        out_text(l->out, "<div class=\"row call\"><b></b><b></b><i></i><code>");
        indent(l, i);
        if (text.p)
            write_text(l->out, str_trim(text));
        out_text(l->out, "</code>");
        write_place(l, call->file, call->line);
    }
    return 0;
}

static int write_code(struct listing *l, const struct listing_code *code)
{
    const struct code *c = code->code;
    if (code->is_gap)
        out_text(l->out, "<div class=\"row call\"><b></b><b></b><i></i><code>...</code></div>\n");
    if (write_inlined(l, code) < 0)
        return -1;
    if (c->text.n == 0)
        return 0;
    out_text(l->out, "<div class=\"row\">");
    write_value(l, c->flat);
    write_value(l, c->cum);
    out_format(l->out, "<i>%" PRIx64 "</i><code>", c->file_address);
    indent(l, code->n_inlined);
    write_text(l->out, c->text);
    out_text(l->out, "</code>");
    write_place(l, c->file, c->line);
    return 0;
}

static void end_line(struct listing *l, const struct listing_line *line)
{
    if (line->has_code)
        out_text(l->out, "</div></details>\n");
}

static void end_function(struct listing *l)
{
    out_text(l->out, "</div>\n");
}

static void end_file(struct listing *l)
{
    out_text(l->out, "</section>\n");
}

int weblist_write(struct report *report)
{
    static const struct listing_writer writer = {begin_file, begin_function, begin_line, write_code,
                                                 end_line,   end_function,   end_file};
    struct listing l;
    int rc = listing_init(&l, report);
    if (rc == 0)
        rc = write_head(report, &l.map.note);
    if (rc == 0)
        rc = listing_write(&l, &writer, 0);
    if (rc == 0)
        out_text(report->out, "</main></body></html>\n");
    listing_release(&l);
    return rc;
}
