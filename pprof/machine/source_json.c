/* The data of -weblist as JSON. machine.h documents it. */
#include <inttypes.h>
#include <string.h>

#include "pprof/machine/formats.h"
#include "pprof/machine/listing.h"
#include "base/banned.h"

#define FILES_MAX 50

static void write_value(struct listing *l, const char *key, int64_t value, bool with_zero)
{
    char text[MEASURE_TEXT] = "", share[MEASURE_TEXT] = "";
    if (value != 0 || with_zero) {
        report_format_value(l->report, text, value);
        measure_percentage(share, value, l->report->total);
    }
    out_format(l->out, ",\"%s\":", key);
    out_json(l->out, str_of(text));
    if (*share)
        out_format(l->out, ",\"%sShare\":\"%s\"", key, share + strspn(share, " "));
}

/* A function has its values even if they are 0; a line or an instruction then has empty texts. */
static void write_values(struct listing *l, int64_t flat, int64_t cum, bool with_zero)
{
    write_value(l, "flat", flat, with_zero);
    write_value(l, "cum", cum, with_zero);
}

static void begin_file(struct listing *l, struct str path)
{
    out_text(l->out, l->n_files ? ",\n{\"path\":" : "\n{\"path\":");
    out_json(l->out, path);
    out_text(l->out, ",\"functions\":[");
}

static void begin_function(struct listing *l, const struct listing_function *f)
{
    out_text(l->out, l->n_functions ? ",\n{\"name\":" : "\n{\"name\":");
    out_json(l->out, f->name);
    write_values(l, f->flat, f->cum, true);
    out_text(l->out, ",\"lines\":[");
}

static void begin_line(struct listing *l, const struct listing_line *line)
{
    out_format(l->out, "%s\n{\"n\":%" PRId64, l->n_lines ? "," : "", line->n);
    write_values(l, line->flat, line->cum, false);
    out_text(l->out, ",\"text\":");
    out_json(l->out, line->text);
    out_text(l->out, ",\"code\":[");
}

/* Writes the inlined calls that the instruction above does not have. */
static int write_inlined(struct listing *l, const struct listing_code *code)
{
    const struct profile *p = l->report->profile;
    for (size_t i = code->n_same; i < code->n_inlined; i++) {
        const struct code_call *call = &code->inlined[code->n_inlined - 1 - i];
        struct str text;
        if (listing_source(l, call->file, call->line, &text) < 0)
            return -1;
        out_text(l->out, i > code->n_same ? ",{\"text\":" : "{\"text\":");
        out_json(l->out, text.p ? str_trim(text) : STR(""));
        out_text(l->out, ",\"file\":");
        out_json(l->out, path_base(profile_str(p, call->file)));
        out_format(l->out, ",\"line\":%" PRId64 "}", call->line);
    }
    return 0;
}

static int write_code(struct listing *l, const struct listing_code *code)
{
    const struct code *c = code->code;
    struct str file = profile_str(l->report->profile, c->file);
    struct buf place = BUF_INIT(REPORT_NAME_MAX);
    out_format(l->out, "%s\n{\"at\":\"%" PRIx64 "\"", l->n_code ? "," : "", c->file_address);
    write_values(l, c->flat, c->cum, false);
    out_text(l->out, ",\"text\":");
    out_json(l->out, c->text);
    if (file.n) {
        struct str base = path_base(file);
        buf_add(&place, base.p, base.n);
        buf_addf(&place, ":%" PRId64, c->line);
    }
    out_text(l->out, ",\"place\":");
    out_json(l->out, (struct str){buf_str(&place), place.len});
    out_text(l->out, ",\"file\":");
    out_json(l->out, file);
    out_format(l->out, ",\"line\":%" PRId64 ",\"inlined\":[", c->line);
    int rc = buf_check(&place, "a place", l->report->err);
    buf_release(&place);
    if (rc == 0)
        rc = write_inlined(l, code);
    out_text(l->out, "]}");
    return rc;
}

static void end_line(struct listing *l, const struct listing_line *line)
{
    (void)line;
    out_text(l->out, "]}");
}

static void end_list(struct listing *l)
{
    out_text(l->out, "]}");
}

int source_json_write(struct report *report)
{
    static const struct listing_writer writer = {begin_file, begin_function, begin_line, write_code,
                                                 end_line,   end_list,       end_list};
    struct listing l;
    int rc = listing_init(&l, report);
    if (rc == 0) {
        out_text(report->out, "{\"note\":");
        out_json(report->out, (struct str){buf_str(&l.map.note), l.map.note.len});
        out_text(report->out, ",\"files\":[");
        rc = listing_write(&l, &writer, FILES_MAX);
        out_text(report->out, "]}\n");
    }
    listing_release(&l);
    return rc;
}
