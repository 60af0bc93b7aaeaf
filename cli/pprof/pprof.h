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

/* What can be asked for, one at a time. */
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
    PPROF_OUTPUTS, /* how many; also: none */
};

/* The command line. Texts point into argv. */
struct pprof_options {
    struct report_settings report;
    const char *output; /* a file; NULL or empty: standard output, or a viewer */
    bool keep_output;   /* a file of that name is ERR_EXISTS, not replaced */
    enum pprof_output wanted;
    const char *sort, *granularity; /* the flag that chose it; NULL: none did */
    bool intel_syntax;

    const char *base;
    bool diff_base;
    const char *identity;        /* a file; NULL: the usual keys */
    const char *passphrase_file; /* NULL: a person is asked */
    struct input_keys *keys;     /* NULL: made of the identity. Set by callers that read several times */
    /* What reading and the report may cost; NULL: each report what the bytes of the profile allow. Set by
     * callers that read several times, otherwise by pprof_make. */
    const struct confined_budget *budget;
    bool is_diff;          /* hints name `profgrab diff`. Set by that command */
    long seconds, timeout; /* -1: not set */
    const char *buildid, *add_comment, *symbolize;
    const char *tools; /* directories of programs, as -tools has them */
    const char *tls_cert, *tls_key, *tls_ca;
    bool all_frames;

    const char *binary; /* in front of the sources; NULL: none */
    char **sources;
    size_t n_sources;
};

enum pprof_parsed {
    PPROF_GO_ON,
    PPROF_HELPED, /* the usage was asked for, and said */
    PPROF_WRONG,  /* what is wrong was said, or is in err */
};

/* Reads argv as Go's package flag does: `-flag value`, `-flag=value`, one dash or two, flags end at the first
 * word that is none. Says what upstream says, on stderr. */
enum pprof_parsed pprof_parse(int argc, char **argv, struct pprof_options *ret, struct err *err);

void pprof_usage(FILE *out);
/* Every flag and what is done for it, as docs/pprof.md has them. */
void pprof_flag_list(FILE *out);

/* Flag i as completions want it: its name, its argument's and what it is. False behind the last. */
bool pprof_flag_option(size_t i, struct option *ret);

/* Gets the sources and makes what was asked for: a report, or the shell. */
int pprof_make(const struct pprof_options *o, struct err *err);

/* Gets the sources, and those of the base, into one profile that is ready for a report. Keys and budget are
 * set. */
int pprof_sources(const struct pprof_options *o, struct profile **ret, struct err *err);

/* Keeps a copy of what came from elsewhere where upstream does, and says where. That it cannot is said, and
 * no failure; that there is no place for it is one. */
int pprof_keep(const struct profile *p, struct err *err);

/* Whether there is such an output here, or the shell; the error says what else to do. */
int pprof_can_make(const struct pprof_options *o, struct err *err);
/* Makes the report and brings it to where it is wanted. Takes the profile. */
int pprof_output(const struct pprof_options *o, struct profile *p, struct err *err);

/* Whether an output is written to as it stands: a FIFO, a device, /dev/stdout, /dev/fd/3. All others are
 * files, which get their name when they are whole. */
bool pprof_is_stream(const char *output);

/* What reports leave behind in a shell: files that viewers look at. */
struct pprof_session {
    int cancel_fd; /* readable: the shell is to end */
    struct strlist files;
    int64_t look_until; /* when the last viewer has surely opened its file */
};
/* As pprof_output, for a shell: the profile stays as it is, what is no text goes to files, viewers are not
 * waited for. Of ERR_NONE it was said what is wrong. ERR_CANCELLED: Ctrl-C ended it, or cancel_fd. */
int pprof_output_again(const struct pprof_options *o, struct profile *p, struct pprof_session *session,
                       struct err *err);
/* Removes the files. */
void pprof_session_end(struct pprof_session *session);

/* Starts a program that shows a file, or the first browser there is (""), and waits for its end unless there
 * is a session. */
int pprof_view(const char *viewer, const char *path, struct pprof_session *session, struct err *err);

/* The interactive shell: reads commands until there are no more. Takes the profile. */
int pprof_shell(const struct pprof_options *o, struct profile *p, struct err *err);

/* An error on stderr, as pprof says it, and the hint. */
void pprof_say_error(const struct err *err);
/* Says the error of a command whose exit codes are pprof's, clears it, and returns the exit code. */
int pprof_failed(struct err *err);
/* Makes a line such that a terminal may have it: what is no ordinary text becomes `?`. */
void pprof_tame(struct buf *line);
/* A line on stderr, or several: without a prefix, as pprof's are. */
void pprof_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Large columns become memory of the system's own, which grows without being copied and is given back when it
 * is freed: left to itself, glibc keeps more and more of it the larger the columns were. For the whole
 * process, before it reads profiles.
 */
void pprof_settle_memory(void);

/* A new file PREFIX001SUFFIX, 002 and so on, in `dir`. Returns its descriptor; *ret_path is a new string. */
int pprof_new_file(const char *dir, const char *prefix, const char *suffix, char **ret_path, struct err *err);

/* ---- sources over HTTP -----------------------------------------------------------------------------------
 */

/* Whether a source is a URL, or can be made one: with `?seconds=` as asked for, and Go's handler for CPU
 * profiles where it names none. *ret_url: a new string, NULL if it is none. *ret_timeout_s: how long the
 * server may take. */
int pprof_url(const char *source, long seconds, long timeout, char **ret_url, long *ret_timeout_s,
              struct err *err);
/* Gets a profile from there. From any thread, once fetch_global_init was called. */
int pprof_fetch(const struct pprof_options *o, const char *url, long timeout_s, struct profile **ret,
                struct err *err);

/* Asks the symbol endpoint beside the URL a profile came from for the names of addresses, `0x…+0x…`; the
 * buffer's maximum is what it may answer. */
int pprof_post(const struct pprof_options *o, const char *source, struct str addresses, struct buf *ret,
               struct err *err);

#endif
