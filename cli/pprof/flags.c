/* The flags of pprof: one table for parsing, usage and documentation. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/columns.h"
#include "cli/pprof/flags.h"
#include "base/banned.h"

/* The values of all flags. */
struct values {
    struct pprof_options options; /* must be first: offsets in it are offsets in struct values too */
    bool selected[PPROF_OUTPUTS];
    const char *regex[PPROF_OUTPUTS]; /* the argument of a format that has one */
    bool functions, filefunctions, files, lines, addresses, cum, flat;
    const char *base, *diff_base, *http;
    bool no_browser;
    bool has_printed_hint; /* the error that was printed had a hint */
    bool inuse_space, inuse_objects, alloc_space, alloc_objects, total_delay, contentions, mean_delay;
};

#define IN_VALUES(member) offsetof(struct values, member)
#define IN_OPTIONS(member) offsetof(struct pprof_options, member)
#define IN_REPORT(member) offsetof(struct pprof_options, report.member)

static const char note_objdump[] = "through objdump; see Machine code";
static const char note_profgrab_only[] = "not in `go tool pprof`";
static const char note_identity[] = "not in `go tool pprof`; repeatable; default: the usual keys of ~/.ssh";
static const char note_no_script[] = "through graphviz; the picture has no script for panning";

static const struct pprof_flag flags[] = {
    {"callgrind", BOOL, FORMAT, IN_VALUES(selected[PPROF_CALLGRIND]), "",
     "the call graph for KCachegrind and similar tools", NULL},
    {"comments", BOOL, FORMAT, IN_VALUES(selected[PPROF_COMMENTS]), "", "the comments in the profile", NULL},
    {"disasm", TEXT, FORMAT, IN_VALUES(regex[PPROF_DISASM]), "",
     "machine code with samples, for matching functions", note_objdump},
    {"dot", BOOL, FORMAT, IN_VALUES(selected[PPROF_DOT]), "", "the call graph in graphviz's language", NULL},
    {"eog", BOOL, FORMAT, IN_VALUES(selected[PPROF_EOG]), "", "the call graph as a picture, in eog", NULL},
    {"evince", BOOL, FORMAT, IN_VALUES(selected[PPROF_EVINCE]), "", "the call graph as a picture, in evince",
     NULL},
    {"folded", BOOL, FORMAT, IN_VALUES(selected[PPROF_FOLDED]), "",
     "folded stacks, a line each: root;caller;leaf 12", note_profgrab_only},
    {"gif", BOOL, FORMAT, IN_VALUES(selected[PPROF_GIF]), "", "the call graph as a GIF", "through graphviz"},
    {"gv", BOOL, FORMAT, IN_VALUES(selected[PPROF_GV]), "", "the call graph as PostScript, in gv", NULL},
    {"kcachegrind", BOOL, FORMAT, IN_VALUES(selected[PPROF_KCACHEGRIND]), "",
     "the call graph, in KCachegrind", NULL},
    {"list", TEXT, FORMAT, IN_VALUES(regex[PPROF_LIST]), "",
     "source lines with samples, for matching functions", "sources are regular files only"},
    {"pdf", BOOL, FORMAT, IN_VALUES(selected[PPROF_PDF]), "", "the call graph as a PDF", "through graphviz"},
    {"peek", TEXT, FORMAT, IN_VALUES(regex[PPROF_PEEK]), "", "callers and callees of matching functions",
     NULL},
    {"png", BOOL, FORMAT, IN_VALUES(selected[PPROF_PNG]), "", "the call graph as a PNG", "through graphviz"},
    {"proto", BOOL, FORMAT, IN_VALUES(selected[PPROF_PROTO]), "",
     "the profile after merging and filtering, gzip'ed", NULL},
    {"ps", BOOL, FORMAT, IN_VALUES(selected[PPROF_PS]), "", "the call graph as PostScript",
     "through graphviz"},
    {"raw", BOOL, FORMAT, IN_VALUES(selected[PPROF_RAW]), "", "the whole profile as text", NULL},
    {"speedscope", BOOL, FORMAT, IN_VALUES(selected[PPROF_SPEEDSCOPE]), "", "JSON for speedscope",
     note_profgrab_only},
    {"svg", BOOL, FORMAT, IN_VALUES(selected[PPROF_SVG]), "", "the call graph as an SVG", note_no_script},
    {"tags", BOOL, FORMAT, IN_VALUES(selected[PPROF_TAGS]), "", "the labels with the total of each value",
     NULL},
    {"text", BOOL, FORMAT, IN_VALUES(selected[PPROF_TEXT]), "", "the heaviest entries, one a line", NULL},
    {"top", BOOL, FORMAT, IN_VALUES(selected[PPROF_TOP]), "", "the heaviest entries, one a line, as -text",
     NULL},
    {"topproto", BOOL, FORMAT, IN_VALUES(selected[PPROF_TOPPROTO]), "", "the entries of -top, as a profile",
     NULL},
    {"traces", BOOL, FORMAT, IN_VALUES(selected[PPROF_TRACES]), "", "every sample with its stack", NULL},
    {"tree", BOOL, FORMAT, IN_VALUES(selected[PPROF_TREE]), "",
     "the heaviest entries with their callers and callees", NULL},
    {"web", BOOL, FORMAT, IN_VALUES(selected[PPROF_WEB]), "", "the call graph, in the web browser",
     note_no_script},
    {"weblist", TEXT, FORMAT, IN_VALUES(regex[PPROF_WEBLIST]), "",
     "source lines and machine code, in the web browser", note_objdump},

    {"call_tree", BOOL, OPTION, IN_REPORT(call_tree), "",
     "a node for each call path, in pictures and -callgrind", NULL},
    {"compact_labels", BOOL, OPTION, IN_REPORT(compact_labels), "", "fewer lines above the report", NULL},
    {"divide_by", FLOAT, OPTION, IN_REPORT(divide_by), "1", "divide all values by this number", NULL},
    {"drop_negative", BOOL, OPTION, IN_REPORT(drop_negative), "", "leave out negative values of a difference",
     NULL},
    {"edgefraction", FLOAT, OPTION, IN_REPORT(edgefraction), "0.001",
     "leave out calls below this fraction of the total", NULL},
    {"focus", TEXT, OPTION, IN_REPORT(focus), "", "only samples with a frame that matches", NULL},
    {"hide", TEXT, OPTION, IN_REPORT(hide), "", "leave out frames that match", NULL},
    {"ignore", TEXT, OPTION, IN_REPORT(ignore), "", "leave out samples with a frame that matches", NULL},
    {"intel_syntax", BOOL, OPTION, IN_REPORT(intel_syntax), "", "machine code as Intel writes it", NULL},
    {"mean", BOOL, OPTION, IN_REPORT(mean), "", "divide the values of a sample by its first value, the count",
     NULL},
    {"nodecount", INT, OPTION, IN_REPORT(nodecount), "-1",
     "the maximum number of entries; -1: the format's default", NULL},
    {"nodefraction", FLOAT, OPTION, IN_REPORT(nodefraction), "0.005",
     "leave out entries below this fraction of the total", NULL},
    {"noinlines", BOOL, OPTION, IN_REPORT(noinlines), "", "attribute inlined calls to their callers", NULL},
    {"normalize", BOOL, OPTION, IN_REPORT(normalize), "", "scale the profile to the sum of its base", NULL},
    {"output", TEXT, OPTION, IN_OPTIONS(output), "", "write to this file, not to stdout", NULL},
    {"prune_from", TEXT, OPTION, IN_REPORT(prune_from), "", "cut off the callees of matching frames", NULL},
    {"relative_percentages", BOOL, OPTION, IN_REPORT(relative_percentages), "",
     "percentages of the filtered total", NULL},
    {"sample_index", TEXT, OPTION, IN_REPORT(sample_index), "",
     "the sample type: its name, or its number from 0", NULL},
    {"show", TEXT, OPTION, IN_REPORT(show), "", "only frames that match", NULL},
    {"show_from", TEXT, OPTION, IN_REPORT(show_from), "",
     "cut off the callers of the outermost matching frame", NULL},
    {"showcolumns", BOOL, OPTION, IN_REPORT(showcolumns), "", "one entry for each column of a line", NULL},
    {"source_path", TEXT, OPTION, IN_REPORT(source_path), "", "directories to search for source files", NULL},
    {"tagfocus", TEXT, OPTION, IN_REPORT(tagfocus), "", "only samples whose labels match, or are in a range",
     NULL},
    {"taghide", TEXT, OPTION, IN_REPORT(taghide), "", "leave out labels whose keys match", NULL},
    {"tagignore", TEXT, OPTION, IN_REPORT(tagignore), "",
     "leave out samples whose labels match, or are in a range", NULL},
    {"tagleaf", TEXT, OPTION, IN_REPORT(tagleaf), "", "add these labels as frames below each stack", NULL},
    {"tagroot", TEXT, OPTION, IN_REPORT(tagroot), "", "add these labels as frames above each stack", NULL},
    {"tagshow", TEXT, OPTION, IN_REPORT(tagshow), "", "only labels whose keys match", NULL},
    {"trim", BOOL, OPTION, IN_REPORT(trim), "true", "leave out small entries; -trim=false shows all", NULL},
    {"trim_path", TEXT, OPTION, IN_REPORT(trim_path), "", "prefixes to cut off source paths", NULL},
    {"unit", TEXT, OPTION, IN_REPORT(unit), "minimum", "the unit of values; minimum: one that fits all",
     NULL},

    {"functions", BOOL, GRANULARITY, IN_VALUES(functions), "true", "one entry for each function", NULL},
    {"filefunctions", BOOL, GRANULARITY, IN_VALUES(filefunctions), "", "one entry for each function and file",
     NULL},
    {"files", BOOL, GRANULARITY, IN_VALUES(files), "", "one entry for each file", NULL},
    {"lines", BOOL, GRANULARITY, IN_VALUES(lines), "", "one entry for each source line", NULL},
    {"addresses", BOOL, GRANULARITY, IN_VALUES(addresses), "", "one entry for each address", NULL},
    {"cum", BOOL, SORT, IN_VALUES(cum), "", "sort by the value of an entry and its callees", NULL},
    {"flat", BOOL, SORT, IN_VALUES(flat), "true", "sort by the entry's own value", NULL},

    {"seconds", INT, SOURCE, IN_OPTIONS(seconds), "-1", "the length of the profile that the service takes",
     NULL},
    {"timeout", INT, SOURCE, IN_OPTIONS(timeout), "-1", "the time limit for fetching a profile, in seconds",
     NULL},
    {"buildid", TEXT, SOURCE, IN_OPTIONS(buildid), "", "the build ID of the first binary", NULL},
    {"add_comment", TEXT, SOURCE, IN_OPTIONS(add_comment), "", "a comment to add to the profile", NULL},
    {"diff_base", TEXT, SOURCE, IN_VALUES(diff_base), "",
     "the profile to subtract; percentages are relative to its total", NULL},
    {"base", TEXT, SOURCE, IN_VALUES(base), "", "the profile to subtract", NULL},
    {"symbolize", TEXT, SOURCE, IN_OPTIONS(symbolize), "",
     "the sources of names: none, local, fastlocal, remote, force, demangle=full, none or templates",
     "through llvm-symbolizer or addr2line, nm and c++filt; see Names"},
    {"identity", TEXTS, SOURCE, IN_OPTIONS(identities), "",
     "an age identity or SSH private key that decrypts the bundle", note_identity},
    {"passphrase-file", TEXT, SOURCE, IN_OPTIONS(passphrase_file), "",
     "a file whose first line is the passphrase of the key or the bundle", note_profgrab_only},
    {"tls_cert", TEXT, SOURCE, IN_OPTIONS(tls_cert), "", "client certificate, for https sources", NULL},
    {"tls_key", TEXT, SOURCE, IN_OPTIONS(tls_key), "", "key of -tls_cert", NULL},
    {"tls_ca", TEXT, SOURCE, IN_OPTIONS(tls_ca), "", "trusted certificate authorities", NULL},

    {"http", TEXT, MISC, IN_VALUES(http), "", "serve a web page at this address, HOST:PORT",
     "`-http` alone chooses a free port; see The web page"},
    {"no_browser", BOOL, MISC, IN_VALUES(no_browser), "", "with -http: do not open a web browser", NULL},
    {"tools", TEXT, MISC, IN_OPTIONS(tools), "$PPROF_TOOLS", "directories of addr2line and similar programs",
     "for llvm-symbolizer, addr2line, nm, objdump and c++filt"},
    {"all_frames", BOOL, MISC, IN_OPTIONS(all_frames), "", "ignore drop_frames of the profile", NULL},

    {"inuse_space", BOOL, LEGACY, IN_VALUES(inuse_space), "", "-sample_index=inuse_space", NULL},
    {"inuse_objects", BOOL, LEGACY, IN_VALUES(inuse_objects), "", "-sample_index=inuse_objects", NULL},
    {"alloc_space", BOOL, LEGACY, IN_VALUES(alloc_space), "", "-sample_index=alloc_space", NULL},
    {"alloc_objects", BOOL, LEGACY, IN_VALUES(alloc_objects), "", "-sample_index=alloc_objects", NULL},
    {"total_delay", BOOL, LEGACY, IN_VALUES(total_delay), "", "-sample_index=delay", NULL},
    {"contentions", BOOL, LEGACY, IN_VALUES(contentions), "", "-sample_index=contentions", NULL},
    {"mean_delay", BOOL, LEGACY, IN_VALUES(mean_delay), "", "-mean -sample_index=delay", NULL},
};
#define FLAGS (sizeof flags / sizeof *flags)

const struct pprof_flag *pprof_flag_at(size_t i)
{
    return i < FLAGS ? &flags[i] : NULL;
}

const struct pprof_flag *pprof_flag_find(const char *name, size_t n)
{
    for (size_t i = 0; i < FLAGS; i++)
        if (strlen(flags[i].name) == n && memcmp(flags[i].name, name, n) == 0)
            return &flags[i];
    return NULL;
}

/* ---- lists of flags ------------------------------------------------------------------------------------ */

/* The position of the second column. */
#define USAGE_COLUMN 24

static void put_row(FILE *out, const char *name, const char *help)
{
    fprintf(out, "  %-*s", USAGE_COLUMN - 2, name);
    columns_print_folded(out, help, USAGE_COLUMN, USAGE_COLUMN);
}

static void put_group(FILE *out, enum flag_group group)
{
    for (size_t i = 0; i < FLAGS; i++) {
        char name[64], help[200];
        const char *note = flags[i].note && strncmp(flags[i].note, "refused", 7) == 0 ? flags[i].note : "";
        snprintf(name, sizeof name, "-%s", flags[i].name);
        snprintf(help, sizeof help, "%s%s%s", flags[i].help, *note ? "; " : "", note);
        if (flags[i].group == group)
            put_row(out, name, help);
    }
}

void pprof_print_usage(FILE *out)
{
    static const struct {
        enum flag_group group;
        const char *title;
    } titles[] = {{FORMAT, "Formats, one of"},
                  {OPTION, "Options of the report"},
                  {GRANULARITY, "Granularity, one of"},
                  {SORT, "Order, one of"},
                  {SOURCE, "Sources"},
                  {MISC, "Other flags"},
                  {LEGACY, "Abbreviations"}};
    fputs("usage: ", out);
    columns_print_folded(out, "profgrab pprof [-FORMAT] [-OPTION...] [BINARY] SOURCE...", 7, 11);
    fputc('\n', out);
    columns_print_folded(
        out,
        "Takes the flags of `go tool pprof` and prints the same reports. A SOURCE is a file, BUNDLE:MEMBER, "
        "or the address of a service (http://HOST:PORT/debug/pprof/heap, HOST:PORT). Several sources are "
        "merged. A flag has one dash or two. Its value is the next word, or follows a =. Regular expressions "
        "are Go's. Without a format, a shell reads commands.",
        0, 0);
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++) {
        fprintf(out, "\n%s:\n", titles[i].title);
        put_group(out, titles[i].group);
    }
    fputs("\nEnvironment:\n", out);
    put_row(out, "PPROF_TMPDIR", "the directory for copies of fetched profiles (default: $HOME/pprof)");
    put_row(out, "PROFGRAB_PPROF_MAX",
            "the maximum size of an inflated profile, such as 8GB (default: 4 GiB; as a URL or "
            "a pipe sends it: 256 MiB)");
}

void pprof_write_flag_table(FILE *out)
{
    static const char *const kinds[] = {"", "number", "number", "text", "text"};
    fputs("| flag | value | default | effect | in profgrab |\n|---|---|---|---|---|\n", out);
    for (size_t i = 0; i < FLAGS; i++)
        fprintf(out, "| `-%s` | %s | %s | %s | %s |\n", flags[i].name, kinds[flags[i].type],
                flags[i].default_value, flags[i].help, flags[i].note ? flags[i].note : "the same");
}

/* Returns the name of a flag's value, or NULL for a boolean. Completion offers files for "FILE". */
static const char *name_argument(const struct pprof_flag *f)
{
    static const char *const files[] = {"output", "base",        "diff_base", "tls_cert",       "tls_key",
                                        "tls_ca", "source_path", "identity",  "passphrase-file"};
    if (f->type == BOOL)
        return NULL;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (strcmp(files[i], f->name) == 0)
            return "FILE";
    return f->type == TEXT ? "TEXT" : "NUMBER";
}

bool pprof_flag_option(size_t i, struct option *ret)
{
    if (i >= FLAGS)
        return false;
    *ret =
        (struct option){.name = flags[i].name, .argument = name_argument(&flags[i]), .help = flags[i].help};
    return true;
}

/* ---- parsing ------------------------------------------------------------------------------------------- */

int pprof_read_bool(const char *s, bool *ret)
{
    static const char *const yes[] = {"1", "t", "T", "true", "TRUE", "True"};
    static const char *const no[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        if (strcmp(s, yes[i]) == 0 || strcmp(s, no[i]) == 0) {
            *ret = strcmp(s, yes[i]) == 0;
            return 0;
        }
    return -1;
}

/* Parses an integer as Go does (0x, 0o and 0b; no blanks). Returns NULL on success, or the error. */
static const char *read_long(const char *s, long *ret)
{
    const char *digits = s + (*s == '-' || *s == '+');
    int base = 10;
    char *end = NULL;
    if (digits[0] == '0' && digits[1]) {
        base = strchr("xX", digits[1]) ? 16 : strchr("bB", digits[1]) ? 2 : 8;
        digits += strchr("xXbBoO", digits[1]) ? 2 : 1;
    }
    if (!strchr("0123456789abcdefABCDEF", *digits) || !*digits)
        return "parse error";
    errno = 0;
    long n = strtol(digits, &end, base);
    if (*end || end == digits)
        return "parse error";
    if (errno)
        return "value out of range";
    *ret = *s == '-' ? -n : n;
    return NULL;
}

const char *pprof_read_float(const char *s, double *ret)
{
    char *end = NULL;
    errno = 0;
    double number = strtod(s, &end);
    /* Refuse the forms that only C accepts: blanks, nan(...), and a hexadecimal float without an exponent. */
    bool lacks_exponent = strpbrk(s, "xX") && !strpbrk(s, "pP");
    if (end == s || *end || strchr(" \t\n\v\f\r", *s) || strchr(s, '(') || lacks_exponent)
        return "parse error";
    if (errno == ERANGE && (number > 1 || number < -1))
        return "value out of range";
    *ret = number;
    return NULL;
}

/* Returns NULL on success, or the error. An empty value adds nothing. */
static const char *add_text(struct pprof_texts *texts, const char *value)
{
    if (!*value)
        return NULL;
    if (texts->n == sizeof texts->items / sizeof *texts->items)
        return "given too often";
    texts->items[texts->n++] = (char *)(uintptr_t)value;
    return NULL;
}

/* Sets a flag's value. Prints errors. */
static int set_flag(const struct pprof_flag *f, const char *value, struct values *values)
{
    void *at = (char *)values + f->offset;
    const char *wrong = NULL;
    switch (f->type) {
    case BOOL:
        if (pprof_read_bool(value, at) == 0)
            return 0;
        pprof_print("invalid boolean value \"%s\" for -%s: parse error", value, f->name);
        return -1;
    case INT:
        wrong = read_long(value, at);
        break;
    case FLOAT:
        wrong = pprof_read_float(value, at);
        break;
    case TEXT:
        *(const char **)at = value;
        break;
    case TEXTS:
        wrong = add_text(at, value);
        break;
    }
    if (wrong)
        pprof_print("invalid value \"%s\" for flag -%s: %s", value, f->name, wrong);
    return wrong ? -1 : 0;
}

static bool is_help(const char *name, size_t n)
{
    return (n == 1 && *name == 'h') || (n == 4 && memcmp(name, "help", 4) == 0);
}

/* Returns the flag that does the same as a short option of the other commands, or NULL. */
static const char *find_flag_for_short_option(const char *name)
{
    static const struct {
        const char *option, *flag;
    } shorts[] = {{"i", "identity"}, {"o", "output"}};
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
        if (strcmp(shorts[i].option, name) == 0)
            return shorts[i].flag;
    return NULL;
}

static void print_nearest(const char *name, size_t n)
{
    char typed[64];
    struct nearest near = NEAREST_INIT(typed);
    snprintf(typed, sizeof typed, "%.*s", (int)n, name);
    const char *meant = find_flag_for_short_option(typed);
    for (size_t i = 0; i < FLAGS; i++)
        nearest_add(&near, flags[i].name);
    if (!meant && near.n > 0)
        meant = near.best[0].name;
    if (meant)
        pprof_print("hint: did you mean -%s? `profgrab pprof -h` lists all flags", meant);
    else
        pprof_print("hint: `profgrab pprof -h` lists all flags");
}

/* Returns whether a word is the value of -http: HOST:PORT, and no source. */
static bool is_address(const char *word)
{
    const char *colon = word ? strrchr(word, ':') : NULL;
    return colon && !colon[1 + strspn(colon + 1, "0123456789")] && !file_exists(word);
}

/* Parses a word with a dash. If argv[*at], the next word, is the flag's value, increments *at. */
static enum pprof_parsed read_flag(const char *word, char **argv, int *at, struct values *values)
{
    const char *name = word + 1 + (word[1] == '-');
    size_t n = strcspn(name, "=");
    if (!*name || *name == '-' || *name == '=') {
        pprof_print("bad flag syntax: %s", word);
        return PPROF_INVALID;
    }
    const struct pprof_flag *f = pprof_flag_find(name, n);
    if (!f && is_help(name, n))
        return PPROF_HELP;
    if (!f) {
        pprof_print("flag provided but not defined: -%.*s", (int)n, name);
        print_nearest(name, n);
        values->has_printed_hint = true;
        return PPROF_INVALID;
    }
    const char *value = name[n] ? name + n + 1 : f->type == BOOL ? "true" : argv[*at];
    bool is_free = !name[n] && strcmp(f->name, "http") == 0 && !is_address(argv[*at]);
    if (!value && !is_free) {
        pprof_print("flag needs an argument: -%s", f->name);
        return PPROF_INVALID;
    }
    if (is_free)
        value = ":";
    else if (!name[n] && f->type != BOOL)
        ++*at;
    return set_flag(f, value, values) < 0 ? PPROF_INVALID : PPROF_PARSED;
}

/* Parses the flags at the start of argv. Afterwards argv[*at] is the first word that is not a flag. */
static enum pprof_parsed read_flags(int argc, char **argv, int *at, struct values *values)
{
    enum pprof_parsed parsed = PPROF_PARSED;
    while (parsed == PPROF_PARSED && *at < argc) {
        const char *word = argv[*at];
        if (word[0] != '-' || !word[1])
            return PPROF_PARSED;
        ++*at;
        if (strcmp(word, "--") == 0)
            return PPROF_PARSED;
        parsed = read_flag(word, argv, at, values);
    }
    return parsed;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

/* Sets *ret to the name of the group's flag that is set; NULL: none is set. ERR_USAGE: several are set. */
static int find_flag_of_group(const struct values *values, enum flag_group group, const char **ret,
                              struct err *err)
{
    char names[200] = "";
    size_t n_set = 0;
    *ret = NULL;
    for (size_t i = 0; i < FLAGS; i++) {
        if (flags[i].group != group || !*(const bool *)((const char *)values + flags[i].offset))
            continue;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", n_set++ ? " " : "", flags[i].name);
        *ret = flags[i].name;
    }
    return n_set > 1 ? err_set(err, ERR_USAGE, "conflicting options set: [%s]", names) : 0;
}

void pprof_apply_choices(struct pprof_options *options)
{
    static const struct {
        const char *name;
        enum report_granularity granularity;
    } granularities[] = {{"functions", REPORT_BY_FUNCTION},
                         {"filefunctions", REPORT_BY_FILEFUNCTION},
                         {"files", REPORT_BY_FILE},
                         {"lines", REPORT_BY_LINE},
                         {"addresses", REPORT_BY_ADDRESS}};
    options->report.cum = options->sort && strcmp(options->sort, "cum") == 0;
    for (size_t i = 0; options->granularity && i < sizeof granularities / sizeof *granularities; i++)
        if (strcmp(granularities[i].name, options->granularity) == 0)
            options->report.granularity = granularities[i].granularity;
}

static int choose_output(const struct values *values, struct pprof_options *o, struct err *err)
{
    o->format = PPROF_OUTPUTS;
    for (int i = 0; i < PPROF_OUTPUTS; i++) {
        bool has_regex = values->regex[i] && *values->regex[i];
        if (!values->selected[i] && !has_regex)
            continue;
        if (o->format != PPROF_OUTPUTS)
            return err_set(err, ERR_USAGE, "must set at most one output format");
        o->format = (enum pprof_output)i;
        o->report.symbol = has_regex ? values->regex[i] : NULL;
    }
    return 0;
}

/* Sets the sample index from the flags of LEGACY, unless -sample_index is given. If several are set, the
 * first in `aliases` counts. */
static void choose_sample_index(const struct values *values, struct report_settings *r)
{
    const struct {
        bool is_set;
        const char *type, *flag;
    } aliases[] = {{values->total_delay, "delay", "-total_delay"},
                   {values->mean_delay, "delay", "-mean_delay"},
                   {values->contentions, "contentions", "-contentions"},
                   {values->inuse_space, "inuse_space", "-inuse_space"},
                   {values->inuse_objects, "inuse_objects", "-inuse_objects"},
                   {values->alloc_space, "alloc_space", "-alloc_space"},
                   {values->alloc_objects, "alloc_objects", "-alloc_objects"}};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (!aliases[i].is_set)
            continue;
        if (r->sample_index && *r->sample_index)
            pprof_print("Multiple value selections, ignoring %s", aliases[i].flag);
        else
            r->sample_index = aliases[i].type;
    }
    r->mean = r->mean || values->mean_delay;
}

static int check_flags(const struct values *values, struct pprof_options *o, struct err *err)
{
    bool has_http = values->http && *values->http, has_base = values->base && *values->base,
         has_diff_base = values->diff_base && *values->diff_base;
    if (find_flag_of_group(values, SORT, &o->sort, err) < 0 ||
        find_flag_of_group(values, GRANULARITY, &o->granularity, err) < 0 ||
        choose_output(values, o, err) < 0)
        return -1;
    pprof_apply_choices(o);
    if (o->format != PPROF_OUTPUTS && has_http)
        return err_set(err, ERR_USAGE, "-http is not compatible with an output format on the command line");
    if (values->no_browser && !has_http)
        return err_set(err, ERR_USAGE, "-no_browser only makes sense with -http");
    choose_sample_index(values, &o->report);
    if (has_base && has_diff_base)
        return err_set(err, ERR_USAGE, "-base and -diff_base flags cannot both be specified");
    if (o->report.normalize && !has_base && !has_diff_base)
        return err_set(err, ERR_USAGE, "must have base profile to normalize by");
    o->http = has_http ? values->http : NULL;
    o->no_browser = values->no_browser;
    o->base = has_diff_base ? values->diff_base : has_base ? values->base : NULL;
    o->diff_base = has_diff_base;
    return 0;
}

/* Returns whether the first bytes of a file are those of a program or an object file. */
static bool is_binary(const char *path)
{
    static const struct str begins[] = {{"\177ELF", 4},          {"MZ", 2},
                                        {"!<arch>\n", 8},        {"\xfe\xed\xfa", 3},
                                        {"\xcf\xfa\xed\xfe", 4}, {"\xce\xfa\xed\xfe", 4},
                                        {"\xca\xfe\xba\xbe", 4}};
    unsigned char head[8] = {0};
    bool matches = false;
    int fd = file_open(path, NULL);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;
    for (size_t i = 0; n > 0 && i < sizeof begins / sizeof *begins; i++)
        matches = matches || ((size_t)n >= begins[i].n && memcmp(head, begins[i].p, begins[i].n) == 0);
    fd_close(&fd);
    return matches;
}

enum pprof_parsed pprof_parse(int argc, char **argv, struct pprof_options *ret, struct err *err)
{
    struct values values = {.options = {.report = REPORT_SETTINGS_INIT, .seconds = -1, .timeout = -1}};
    int at = 0;
    enum pprof_parsed parsed = read_flags(argc, argv, &at, &values);
    if (parsed == PPROF_INVALID && !values.has_printed_hint)
        pprof_print("hint: `profgrab pprof -h` lists all flags");
    if (parsed == PPROF_HELP || (parsed == PPROF_PARSED && at == argc))
        pprof_print_usage(stderr);
    if (parsed != PPROF_PARSED)
        return parsed;
    if (at == argc) {
        err_set(err, ERR_USAGE, "no profile source specified");
        return PPROF_INVALID;
    }
    *ret = values.options;
    if (!ret->tools)
        ret->tools = getenv("PPROF_TOOLS");
    if (argc - at > 1 && is_binary(argv[at]))
        ret->binary = argv[at++];
    ret->sources = argv + at;
    ret->n_sources = (size_t)(argc - at);
    return check_flags(&values, ret, err) < 0 ? PPROF_INVALID : PPROF_PARSED;
}
