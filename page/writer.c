#include "page/writer.h"

#include <stdlib.h>
#include <string.h>

#include "page/jsontext.h"
#include "page/data.h"
#include "page/web.h"
#include "base/banned.h"

/* The most bytes of the list of entries. The JSON of the bundle, which contains the list and the manifest,
 * may have twice as many. */
#define MAX_ENTRIES ((size_t)256 << 20)

struct page_writer {
    page_sink_fn *sink;
    void *ctx;
    uint64_t max_bytes, written;
    size_t n_drawn, n_entries;
    struct buf entries; /* as JSON */
    /* Indexed by enum finding_input. Each map leads from the name of a file to the index of its first entry,
     * plus 1. The name of an entry without a picture is "". */
    struct name_map first_entries[FINDING_FROM_GROWTH + 1];
};

static int write_bytes(struct page_writer *writer, const void *bytes, size_t n, struct err *err)
{
    writer->written += n;
    return writer->sink(writer->ctx, bytes, n, err);
}

static int write_text(struct page_writer *writer, const char *text, struct err *err)
{
    return write_bytes(writer, text, strlen(text), err);
}

/* ---- template ------------------------------------------------------------------------------------------ */

/* Return the template's text before a placeholder, or after it. */
static struct str text_before(struct str template, const char *placeholder)
{
    const char *at = memmem(template.p, template.n, placeholder, strlen(placeholder));
    return (struct str){template.p, at ? (size_t)(at - template.p) : template.n};
}

static struct str text_after(struct str template, const char *placeholder)
{
    size_t n = text_before(template, placeholder).n + strlen(placeholder);
    return n > template.n ? STR("") : (struct str){template.p + n, template.n - n};
}

static struct str text_between(const char *from, const char *to)
{
    return text_before(text_after(page_web.template, from), to);
}

static int write_str(struct page_writer *writer, struct str s, struct err *err)
{
    return write_bytes(writer, s.p, s.n, err);
}

int page_writer_new(page_sink_fn *sink, void *ctx, uint64_t max_bytes, struct page_writer **ret,
                    struct err *err)
{
    struct page_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return err_nomem(err);
    writer->sink = sink;
    writer->ctx = ctx;
    writer->max_bytes = max_bytes;
    buf_init(&writer->entries, MAX_ENTRIES);
    for (int from = FINDING_FROM_ONE; from <= FINDING_FROM_GROWTH; from++)
        writer->first_entries[from].copies_names = true;
    if (write_str(writer, text_before(page_web.template, "<!--style-->"), err) < 0 ||
        write_text(writer, "<style>", err) < 0 || write_str(writer, page_web.style, err) < 0 ||
        write_text(writer, "</style>", err) < 0 ||
        write_str(writer, text_between("<!--style-->", "<!--data-->"), err) < 0) {
        page_writer_free(writer);
        return -1;
    }
    *ret = writer;
    return 0;
}

void page_writer_free(struct page_writer *writer)
{
    if (!writer)
        return;
    buf_release(&writer->entries);
    for (int from = FINDING_FROM_ONE; from <= FINDING_FROM_GROWTH; from++)
        name_map_release(&writer->first_entries[from]);
    free(writer);
}

void page_writer_raise_limit(struct page_writer *writer, uint64_t more_bytes)
{
    writer->max_bytes += more_bytes;
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* Adds an entry to the list. `form` is "none" for an entry without a picture. */
static int list_entry(struct page_writer *writer, const struct page_entry *entry, const char *form,
                      const char *why, struct err *err)
{
    static const char *const from[] = {
        [FINDING_FROM_ONE] = NULL, [FINDING_FROM_COMPARISON] = "sides", [FINDING_FROM_GROWTH] = "growth"};
    struct buf *b = &writer->entries;
    buf_adds(b, writer->n_entries++ > 0 ? ",\n{\"id\":" : "{\"id\":");
    if (why)
        buf_adds(b, "null");
    else
        buf_addf(b, "\"data-%zu\"", writer->n_drawn++);
    jsontext_text(b, "form", form);
    jsontext_text(b, "title", entry->title);
    if (entry->from == FINDING_FROM_ONE)
        jsontext_text(b, "file", entry->file);
    jsontext_text(b, "kind", entry->kind);
    jsontext_text(b, "host", entry->host);
    jsontext_text(b, "service", entry->service);
    jsontext_text(b, "from", from[entry->from]);
    jsontext_text(b, "here", entry->target);
    jsontext_text(b, "there", entry->baseline);
    jsontext_text(b, "why", why);
    buf_addc(b, '}');
    struct name_map *first_entries = &writer->first_entries[entry->from];
    const char *file = why || !entry->file ? "" : entry->file;
    return name_map_has(first_entries, file)
               ? 0
               : name_map_add(first_entries, file, (const void *)(uintptr_t)writer->n_entries, err);
}

int page_writer_add_undrawn(struct page_writer *writer, const struct page_entry *entry, const char *why,
                            struct err *err)
{
    return list_entry(writer, entry, "none", why, err);
}

/* Writes data as an element of the page. */
static int write_data(struct page_writer *writer, const struct buf *data, struct err *err)
{
    struct buf b = BUF_INIT(PAGE_MAX_ENTRY * 2);
    void *gzip = NULL;
    size_t n = 0;
    if (gzip_compress(data->data, data->len, &gzip, &n, err) < 0)
        return -1;
    buf_addf(&b, "<script type=\"application/octet-stream\" id=\"data-%zu\">", writer->n_drawn);
    base64_add(&b, BASE64_PADDED, gzip, n);
    buf_adds(&b, "</script>\n");
    free(gzip);
    int rc = buf_check(&b, "the entry", err);
    if (rc == 0 && writer->written + b.len > writer->max_bytes)
        rc = err_set(err, ERR_FAILED, "the page is full");
    if (rc == 0)
        rc = write_bytes(writer, b.data, b.len, err);
    buf_release(&b);
    return rc;
}

static int write_entry(struct page_writer *writer, const struct page_entry *entry, const char *form,
                       const struct buf *data, struct err *err)
{
    if (buf_check(data, "the data of an entry of the page", err) < 0 || write_data(writer, data, err) < 0)
        return -1;
    return list_entry(writer, entry, form, NULL, err);
}

int page_writer_add_profile(struct page_writer *writer, const struct page_entry *entry,
                            struct profile *profile, struct err *err)
{
    struct buf data = BUF_INIT(PAGE_MAX_ENTRY);
    int rc = page_data_profile(profile, &(struct page_tree){.with_sums = true}, &data, err);
    if (rc == 0)
        rc = write_entry(writer, entry, "profile", &data, err);
    buf_release(&data);
    return rc;
}

int page_writer_add_goroutines(struct page_writer *writer, const struct page_entry *entry,
                               const struct goroutines *goroutines, struct err *err)
{
    struct buf data = BUF_INIT(PAGE_MAX_ENTRY);
    int rc = page_data_goroutines(goroutines, &data, err);
    if (rc == 0)
        rc = write_entry(writer, entry, "goroutines", &data, err);
    buf_release(&data);
    return rc;
}

int page_writer_add_comparison(struct page_writer *writer, const struct page_entry *entry,
                               const struct comparison *comparison, struct err *err)
{
    struct buf data = BUF_INIT(PAGE_MAX_ENTRY);
    int rc = page_data_comparison(comparison, &data, err);
    if (rc == 0)
        rc = write_entry(writer, entry, "sides", &data, err);
    buf_release(&data);
    return rc;
}

/* ---- overview ------------------------------------------------------------------------------------------ */

static void add_sentence(struct buf *b, const struct page_writer *writer, const struct page_sentence *s)
{
    /* The number of the entry that the sentence is about, plus 1; 0: none. */
    size_t entry = s->file ? (size_t)(uintptr_t)name_map_get(&writer->first_entries[s->from], s->file) : 0;
    buf_adds(b, "{\"rule\":");
    jsontext_name(b, str_of(s->rule));
    jsontext_text(b, "text", s->text);
    if (entry > 0)
        buf_addf(b, ",\"data\":%zu", entry - 1);
    else
        buf_adds(b, ",\"data\":null");
    if (s->look_at)
        jsontext_text(b, "look", s->look_at);
    else
        buf_adds(b, ",\"look\":null");
    if (s->look_type)
        jsontext_text(b, "type", s->look_type);
    buf_addc(b, '}');
}

static void add_bundle(struct buf *b, const struct page_writer *writer, const struct page_bundle *bundle)
{
    buf_adds(b, "<script type=\"application/json\" id=\"bundle\">{\"version\":1");
    jsontext_text(b, "tool", bundle->tool);
    jsontext_text(b, "name", bundle->name);
    jsontext_text(b, "made", bundle->made);
    buf_adds(b, ",\n\"summary\":[");
    for (size_t i = 0; i < bundle->n_summary; i++) {
        if (i > 0)
            buf_adds(b, ",\n");
        add_sentence(b, writer, &bundle->summary[i]);
    }
    buf_addc(b, ']');
    for (size_t i = 0; i < bundle->n_fleets; i++) {
        buf_adds(b, i == 0 ? ",\n\"groups\":[" : ",\n");
        page_data_fleet(&bundle->fleets[i], b);
    }
    buf_adds(b, bundle->n_fleets > 0 ? "],\n\"data\":[" : ",\n\"data\":[");
    buf_add(b, buf_str(&writer->entries), writer->entries.len);
    buf_adds(b, "],\n\"manifest\":");
    jsontext_json(b, bundle->manifest.n ? bundle->manifest : STR("null"));
    buf_adds(b, "}</script>\n");
}

int page_writer_finish(struct page_writer *writer, const struct page_bundle *bundle, struct err *err)
{
    struct buf b = BUF_INIT(MAX_ENTRIES * 2);
    int rc = buf_check(&writer->entries, "the page's list of entries", err);
    if (rc == 0) {
        add_bundle(&b, writer, bundle);
        rc = buf_check(&b, "the page's data on the bundle", err);
    }
    if (rc == 0 && (write_bytes(writer, b.data, b.len, err) < 0 ||
                    write_str(writer, text_between("<!--data-->", "<!--script-->"), err) < 0 ||
                    write_text(writer, "<script type=\"module\">", err) < 0 ||
                    write_str(writer, page_web.script, err) < 0 || write_text(writer, "</script>", err) < 0 ||
                    write_str(writer, text_after(page_web.template, "<!--script-->"), err) < 0))
        rc = -1;
    buf_release(&b);
    return rc;
}

const char *page_policy(void)
{
    return page_web.policy;
}

void page_add_text(struct buf *to, struct str text)
{
    jsontext_string(to, text);
}

void page_add_json(struct buf *to, struct str json)
{
    jsontext_json(to, json);
}
