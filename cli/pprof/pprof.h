/*
 * `profgrab pprof`, inside: flags, sources, outputs.
 *
 * Source: google/pprof internal/driver, whose flags, messages and exit codes are the standard. docs/pprof.md
 * has the list of flags, made from the table of cli/pprof/flags.c.
 */
#ifndef CLI_PPROF_PPROF_H
#define CLI_PPROF_PPROF_H

#include <stdio.h>

#include "base/base.h"
#include "cli/args/options.h"
#include "cli/input/input.h"
#include "pprof/pprof.h"
#include "pprof/symbolize/symbolize.h"

/* The outputs. A command line selects one. */
enum pprof_output {
    PPROF_CALLGRIND,
    PPROF_COMMENTS,
    PPROF_DISASM,
    PPROF_DOT,
    PPROF_EOG,
    PPROF_EVINCE,
    PPROF_FOLDED,
    PPROF_GIF,
    PPROF_GV,
    PPROF_KCACHEGRIND,
    PPROF_LIST,
    PPROF_PDF,
    PPROF_PEEK,
    PPROF_PNG,
    PPROF_PROTO,
    PPROF_PS,
    PPROF_RAW,
    PPROF_SPEEDSCOPE,
    PPROF_SVG,
    PPROF_TAGS,
    PPROF_TEXT,
    PPROF_TOP,
    PPROF_TOPPROTO,
    PPROF_TRACES,
    PPROF_TREE,
    PPROF_WEB,
    PPROF_WEBLIST,
    PPROF_OUTPUTS, /* the number of outputs; also means none */
};

/* The values of a flag that may be repeated. */
struct pprof_texts {
    char *items[16];
    size_t n;
};

/* The command line. Texts point into argv. */
struct pprof_options {
    struct report_settings report;
    const char *output; /* a file; NULL or empty: standard output, or a viewer */
    bool keep_output;   /* ERR_EXISTS instead of replacing a file */
    enum pprof_output wanted;
    const char *sort, *granularity; /* the flag that selected it; NULL: none */
    bool intel_syntax;

    const char *base;
    bool diff_base;
    struct pprof_texts identities; /* files; none: the usual keys */
    const char *passphrase_file;   /* NULL: ask the user */
    struct input_keys *keys; /* NULL: derived from `identities`. Set by callers that read several times */
    /* The limits of reading and reporting together. NULL: each report has the limits of its profile's size.
     * Set by callers that read several times, otherwise by pprof_make. */
    const struct confined_budget *budget;
    bool is_diff;          /* hints name `profgrab diff`, which sets this */
    long seconds, timeout; /* -1: not set */
    const char *buildid, *add_comment, *symbolize;
    const char *tools; /* directories of programs: the value of -tools */
    const char *tls_cert, *tls_key, *tls_ca;
    bool all_frames;

    const char *binary; /* the program before the sources; NULL: none */
    char **sources;
    size_t n_sources;
};

enum pprof_parsed {
    PPROF_GO_ON,
    PPROF_HELPED, /* printed the usage */
    PPROF_WRONG,  /* an error, in err or already printed */
};

/* Parses argv as Go's package flag does: `-flag value`, `-flag=value`, one dash or two. The first word
 * without a dash ends the flags. Prints upstream's messages on stderr. */
enum pprof_parsed pprof_parse(int argc, char **argv, struct pprof_options *ret, struct err *err);

void pprof_usage(FILE *out);
/* Writes the table of flags of docs/pprof.md. */
void pprof_flag_list(FILE *out);

/* Flag i for completions: its name, the name of its value, its help. Returns false after the last flag. */
bool pprof_flag_option(size_t i, struct option *ret);

/* Loads the sources, then writes the report or runs the shell. */
int pprof_make(const struct pprof_options *o, struct err *err);

/* Loads the sources and the bases into one profile that is ready for a report. The options must have keys and
 * a budget. */
int pprof_sources(const struct pprof_options *o, struct profile **ret, struct err *err);

/* Saves a copy of a fetched profile in upstream's directory, and prints its path. Fails only without such a
 * directory; prints other errors. */
int pprof_keep(const struct profile *p, struct err *err);

/* Fails for an output that profgrab does not have, with a hint for another one. */
int pprof_can_make(const struct pprof_options *o, struct err *err);
/* Writes the report to its output. Takes ownership of the profile. */
int pprof_output(const struct pprof_options *o, struct profile *p, struct err *err);

/* Returns whether an output is written directly: a FIFO, a device, /dev/stdout, /dev/fd/3. Other outputs are
 * files, which get their name once they are complete. */
bool pprof_is_stream(const char *output);

/* The files that viewers show during a shell. */
struct pprof_session {
    int cancel_fd; /* readable: the shell must end */
    struct strlist files;
    int64_t look_until; /* the time by which the last viewer has opened its file */
};
/* Works like pprof_output, for a shell: does not change the profile, writes binary output to files, does not
 * wait for viewers. A failure with ERR_NONE was already printed. ERR_CANCELLED: Ctrl-C or cancel_fd ended the
 * report. */
int pprof_output_again(const struct pprof_options *o, struct profile *p, struct pprof_session *session,
                       struct err *err);
/* Removes the files. */
void pprof_session_end(struct pprof_session *session);

/* Shows a file in a viewer, or for "" in the first browser that starts. Waits for its end unless there is a
 * session. */
int pprof_view(const char *viewer, const char *path, struct pprof_session *session, struct err *err);

/* Runs the interactive shell to the end of its input. Takes ownership of the profile. */
int pprof_shell(const struct pprof_options *o, struct profile *p, struct err *err);

/* Prints an error and its hint on stderr, in pprof's form. */
void pprof_say_error(const struct err *err);
/* Prints and clears the error of a command that has pprof's exit codes. Returns the exit code.
 * Keeps the error of a standard output without a reader for main. */
int pprof_failed(struct err *err);
/* Makes a line safe for a terminal: replaces other characters than printable text by `?`. */
void pprof_tame(struct buf *line);
/* Prints lines on stderr, without a prefix, as pprof does. */
void pprof_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Has glibc map large arrays separately, so that they grow without copying and return to the system when they
 * are freed. By default glibc raises its threshold with each large array. Applies to the whole process; call
 * it before reading profiles.
 */
void pprof_tune_memory(void);

/* Creates PREFIX001SUFFIX in `dir`, or 002 and so on. Returns its descriptor; *ret_path is a new string. */
int pprof_new_file(const char *dir, const char *prefix, const char *suffix, char **ret_path, struct err *err);

/* ---- sources over HTTP --------------------------------------------------------------------------------- */

/* Makes the URL of a source: adds `?seconds=`, and the path of Go's CPU profiles if it has no path. Leaves
 * *ret unchanged if the source is no URL. The caller frees ret->url. */
struct pprof_url {
    char *url;
    long timeout_s; /* the time limit of the server */
};
int pprof_url(const char *source, long seconds, long timeout, struct pprof_url *ret, struct err *err);
/* Fetches a profile. Any thread may call it after http_global_init. */
int pprof_fetch(const struct pprof_options *o, const char *url, long timeout_s, struct profile **ret,
                struct err *err);

/* Asks the symbol endpoint next to a profile's URL for the names of addresses, `0x…+0x…`. The buffer's
 * maximum limits the answer. */
int pprof_post(const struct pprof_options *o, const char *source, struct str addresses, struct buf *ret,
               struct err *err);

#endif
