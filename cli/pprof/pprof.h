/*
 * The parts of `profgrab pprof`: flags, sources, outputs.
 *
 * Source: google/pprof internal/driver ("upstream"), whose flags, messages and exit codes are the standard.
 * docs/pprof.md lists the flags; the list is generated from the table in cli/pprof/flags.c.
 */
#ifndef CLI_PPROF_PPROF_H
#define CLI_PPROF_PPROF_H

#include <stdio.h>

#include "base/base.h"
#include "cli/args/options.h"
#include "cli/input/input.h"
#include "pprof/pprof.h"
#include "pprof/symbolize/symbolize.h"

/* The output formats. A command line selects at most one. */
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
    bool keep_output;   /* fail with ERR_EXISTS instead of replacing a file */
    enum pprof_output format;
    const char *sort, *granularity; /* the names of the flags that are set; NULL: none */

    const char *base;              /* the profile to subtract; NULL: none */
    bool diff_base;                /* percentages are relative to the total of `base` */
    struct pprof_texts identities; /* names of files; none: the usual keys */
    const char *passphrase_file;   /* NULL: ask the user */
    /* A caller that calls pprof_run several times sets `keys` and `budget`. If NULL, pprof_run makes the keys
     * from `identities`, and begins a budget. */
    struct input_keys *keys;
    /* The limits of reading and reporting together; each answer of a URL adds its size. For
     * pprof_write_report, NULL means that the limits depend on the size of the profile. */
    struct confined_budget *budget;
    bool is_diff;          /* set by `profgrab diff`, so that hints name that command */
    long seconds, timeout; /* -1: not set */
    const char *buildid, *add_comment, *symbolize; /* the values of these flags; NULL: not set */
    const char *tools;                             /* directories of programs: the value of -tools */
    const char *tls_cert, *tls_key, *tls_ca;       /* names of files; NULL: not set */
    bool all_frames;
    const char *http; /* the address of the page; NULL: none */
    bool no_browser;

    const char *binary; /* the program before the sources; NULL: none */
    char **sources;
    size_t n_sources;
};

enum pprof_parsed {
    PPROF_PARSED,
    PPROF_HELP,    /* a flag asked for the usage, which was printed */
    PPROF_INVALID, /* there was an error: in err, or already printed */
};

/* Parses argv as Go's package flag does: `-flag value`, `-flag=value`, one dash or two. The first word
 * without a dash ends the flags. Prints errors and the usage on stderr, with upstream's messages. */
enum pprof_parsed pprof_parse(int argc, char **argv, struct pprof_options *ret, struct err *err);

void pprof_print_usage(FILE *out);
/* Writes the table of flags for docs/pprof.md. */
void pprof_write_flag_table(FILE *out);

/* Sets *ret to flag i as an option, for completions: its name, the name of its value, its help. Returns false
 * after the last flag. */
bool pprof_flag_option(size_t i, struct option *ret);

/* Loads the sources, then writes the report or runs the shell. */
int pprof_run(const struct pprof_options *o, struct err *err);

/* Copies of the profiles that pprof_load has merged, to compare any two of them. More than PPROF_KEPT_MAX are
 * not kept. */
#define PPROF_KEPT_MAX 32
struct pprof_kept {
    struct strlist names;      /* of the sources, then of the bases; empty: nothing was kept */
    size_t n_sources;          /* the number of sources among them */
    struct profile **profiles; /* by name; NULL: the source failed, or there was no memory for a copy */
};
void pprof_kept_release(struct pprof_kept *kept);

/* Loads the sources and the bases into one profile that is ready for a report. The options must have keys.
 * keep: gets copies of two or more profiles; NULL: none. The caller releases *keep, also after a failure. */
int pprof_load(const struct pprof_options *o, struct pprof_kept *keep, struct profile **ret, struct err *err);
/* Two kept profiles, by number. */
struct pprof_change {
    size_t from; /* SIZE_MAX: none, so that `to` is shown alone */
    size_t to;
};
/* Makes a profile of a change, as pprof_load does. Takes the kept profiles. */
int pprof_load_kept(const struct pprof_options *o, struct pprof_kept *kept, struct pprof_change change,
                    struct profile **ret, struct err *err);

/* Saves a copy of a fetched profile in the directory that upstream uses, and prints the copy's path. Fails
 * only if no directory can be used; prints other errors. */
int pprof_save_copy(const struct profile *p, struct err *err);

/* Writes the report to its output. Takes ownership of the profile. */
int pprof_write_report(const struct pprof_options *o, struct profile *p, struct err *err);

/* Returns whether profgrab writes to the output directly: it is a FIFO, a socket or a device, or names a
 * descriptor, as /dev/stdout and /dev/fd/3 do. Any other output is a file, which gets its name once it is
 * complete. */
bool pprof_is_stream(const char *output);

/* A run of the shell: the files that it made for viewers. */
struct pprof_session {
    int cancel_fd; /* readable: the shell must end */
    struct strlist files;
    int64_t keep_until; /* the time until which the files must exist, because a viewer may still open one */
};
/* Works like pprof_write_report, but for a shell: does not change the profile, writes binary output to files,
 * and does not wait for viewers. If it fails with ERR_NONE, the error was already printed. ERR_CANCELLED:
 * Ctrl-C or cancel_fd ended the report. */
int pprof_write_shell_report(const struct pprof_options *o, struct profile *p, struct pprof_session *session,
                             struct err *err);
/* Waits until keep_until, then removes the files. */
void pprof_session_end(struct pprof_session *session);

/* Opens a file in `viewer`, a program and its arguments with blanks between them; "": in the first browser
 * that starts. The file is the last argument. If `session` is NULL, waits until the viewer ends. */
int pprof_open_viewer(const char *viewer, const char *path, struct pprof_session *session, struct err *err);

/* Opens a file in a browser, and does not wait for the browser's end. */
int pprof_open_browser(const char *file, struct err *err);

/* Serves the page of -http until a signal: ERR_CANCELLED. If it fails with ERR_NONE, the error was already
 * printed. */
int pprof_run_web(const struct pprof_options *o, struct err *err);

/* Runs the interactive shell to the end of its input. Takes ownership of the profile. */
int pprof_run_shell(const struct pprof_options *o, struct profile *p, struct err *err);

/* Prints an error and its hint on stderr, in pprof's form. */
void pprof_print_error(const struct err *err);
/* Prints and clears the error of a command that has pprof's exit codes. Returns the exit code. If the reader
 * of standard output has exited, leaves the error to main. */
int pprof_report_failure(struct err *err);
/* Makes a line safe for a terminal. Replaces tabs by blanks. If other characters are unprintable, replaces
 * every byte that is not printable ASCII by `?`. */
void pprof_make_printable(struct buf *line);
/* Prints lines on stderr, without a prefix, as pprof does. */
void pprof_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Makes glibc map large arrays separately, so that they grow without copying and return to the system when
 * they are freed. (By default glibc raises its threshold with each large array.) Applies to the whole
 * process. Call this before reading profiles.
 */
void pprof_tune_memory(void);

/* Creates PREFIX001SUFFIX in `dir` ("": the current directory), or a file with the next number that is free.
 * Returns the descriptor, or -1; *ret_path is a new string. */
int pprof_create_numbered(const char *dir, const char *prefix, const char *suffix, char **ret_path,
                          struct err *err);

/* ---- sources over HTTP --------------------------------------------------------------------------------- */

/* Returns whether the source may be a URL: it has a colon and names no file and no member. */
bool pprof_may_be_url(const char *source);
/* Gets the profile at a URL as the server sends it, up to ret->max bytes. The caller releases *ret, also
 * after a failure. Any thread may call this after http_global_init. */
int pprof_fetch(const struct pprof_options *o, const char *url, long timeout_s, struct buf *ret,
                struct err *err);

/* Asks the server of the URL `source` for the names of `addresses`, "0x…+0x…", at its symbol endpoint. The
 * answer may have up to ret->max bytes. */
int pprof_post_addresses(const struct pprof_options *o, const char *source, struct str addresses,
                         struct buf *ret, struct err *err);

#endif
