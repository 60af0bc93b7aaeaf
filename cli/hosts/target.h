/*
 * The options of every command that opens hosts: they select hosts and services, and configure SSH.
 *
 * This folder has the commands `hosts`, `check` and `forward`. It also turns options into targets, for these
 * commands and for `grab`: it finds the inventory (inventory_file.h), queries discovery sources (discovery.h)
 * and selects the targets (resolve.h). suggest.h names the next command after a failure.
 */
#ifndef CLI_HOSTS_TARGET_H
#define CLI_HOSTS_TARGET_H

#include "cli/args/options.h"
#include "cli/term/prompt.h"
#include "fetch/fetch.h"
#include "inventory/inventory.h"

struct target_options {
    struct selection selection;
    /* The values of the options with these names; NULL: not given. */
    const char *inventory;
    const char *ssh_config;
    const char *scheme;
    const char *via;
    const char *compress;
    const char *passphrase_file;
    bool accept_new;
    unsigned parallel; /* 0: not given */
    int64_t timeout_ms;
    int64_t connect_timeout_ms;     /* 0: not given */
    int64_t ask_timeout_ms;         /* 0: not given */
    enum ssh_via ssh_via;           /* target_load sets it, from `via` */
    enum ssh_compress ssh_compress; /* target_load sets it, from `compress` */
    bool batch;
    const char *from; /* the value of --from, the only source of services; NULL: not given */
    bool refresh;     /* query the inventory's sources without the cache */
};
#define TARGET_OPTIONS_INIT                                                                                  \
    {                                                                                                        \
        .timeout_ms = FETCH_TIMEOUT_MS                                                                       \
    }

/* Rows for a command's table of options that select hosts and services. `type` is the command's struct,
 * `member` its struct target_options. */
// NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot be in parentheses
#define TARGET_SELECTION_ROWS(type, member)                                                                  \
    {"host",                                                                                                 \
     'H',                                                                                                    \
     OPTION_LIST,                                                                                            \
     "NAME[,...]",                                                                                           \
     "hosts of the inventory, patterns (file-*, file-[04-06]), or [user@]address",                           \
     offsetof(type, member.selection.hosts),                                                                 \
     0},                                                                                                     \
        {"group",                                                                                            \
         'g',                                                                                                \
         OPTION_LIST,                                                                                        \
         "NAME[,...]",                                                                                       \
         "groups of the inventory",                                                                          \
         offsetof(type, member.selection.groups),                                                            \
         0},                                                                                                 \
        {"label",                                                                                            \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "NAME=VALUE[,...]",                                                                                 \
         "only hosts, or discovered services, with that label; without --host and --group, from all hosts",  \
         offsetof(type, member.selection.labels),                                                            \
         0},                                                                                                 \
        {"exclude",                                                                                          \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "NAME[,...]",                                                                                       \
         "not these hosts, patterns or groups",                                                              \
         offsetof(type, member.selection.exclude),                                                           \
         0},                                                                                                 \
        {"service",                                                                                          \
         's',                                                                                                \
         OPTION_LIST,                                                                                        \
         "NAME[,...]",                                                                                       \
         "only these services (default: all of the host)",                                                   \
         offsetof(type, member.selection.services),                                                          \
         0},                                                                                                 \
        {"port",                                                                                             \
         'p',                                                                                                \
         OPTION_NUMBER,                                                                                      \
         "PORT",                                                                                             \
         "a service on that port of the host's localhost, without an inventory",                             \
         offsetof(type, member.selection.port),                                                              \
         65535},                                                                                             \
        {"unix",                                                                                             \
         0,                                                                                                  \
         OPTION_TEXT,                                                                                        \
         "PATH",                                                                                             \
         "a service on that Unix socket of the host, without an inventory",                                  \
         offsetof(type, member.selection.unix_path),                                                         \
         0},                                                                                                 \
        {"path",                                                                                             \
         0,                                                                                                  \
         OPTION_TEXT,                                                                                        \
         "PATH",                                                                                             \
         "the path of pprof (default /debug/pprof); with --port or --unix",                                  \
         offsetof(type, member.selection.path),                                                              \
         0},                                                                                                 \
        {"from",                                                                                             \
         0,                                                                                                  \
         OPTION_TEXT_ONCE,                                                                                   \
         "SOURCE",                                                                                           \
         "use only the services of this source: a name of the inventory, a file, a URL, KIND:FILE or "       \
         "KIND:URL (see hosts)",                                                                             \
         offsetof(type, member.from),                                                                        \
         0},                                                                                                 \
    {                                                                                                        \
        "scheme", 0, OPTION_TEXT, "SCHEME", "http (the default) or https; with --port or --unix",            \
            offsetof(type, member.scheme), 0                                                                 \
    }

/* These rows choose the inventory, and configure SSH and its timeouts. */
#define TARGET_ACCESS_ROWS(type, member)                                                                     \
    {"inventory",                                                                                            \
     'i',                                                                                                    \
     OPTION_TEXT,                                                                                            \
     "FILE",                                                                                                 \
     "the inventory (default: $PROFGRAB_INVENTORY, then your own, then /etc/profgrab)",                      \
     offsetof(type, member.inventory),                                                                       \
     0},                                                                                                     \
        {"refresh",                                                                                          \
         0,                                                                                                  \
         OPTION_FLAG,                                                                                        \
         NULL,                                                                                               \
         "query the discovery sources again, without the cache",                                             \
         offsetof(type, member.refresh),                                                                     \
         0},                                                                                                 \
        {"ssh-config",                                                                                       \
         'F',                                                                                                \
         OPTION_TEXT,                                                                                        \
         "FILE",                                                                                             \
         "an ssh configuration file instead of your own",                                                    \
         offsetof(type, member.ssh_config),                                                                  \
         0},                                                                                                 \
        {"via",                                                                                              \
         0,                                                                                                  \
         OPTION_TEXT,                                                                                        \
         "WHAT",                                                                                             \
         "the SSH implementation: libssh2, openssh, or auto (the default: openssh if libssh2 lacks a "       \
         "feature)",                                                                                         \
         offsetof(type, member.via),                                                                         \
         0},                                                                                                 \
        {"compress",                                                                                         \
         0,                                                                                                  \
         OPTION_TEXT,                                                                                        \
         "WHEN",                                                                                             \
         "compress the data from the host: yes, no, or auto (the default: as in ssh's configuration, and a " \
         "grab's text and traces if the round trip is long)",                                                \
         offsetof(type, member.compress),                                                                    \
         0},                                                                                                 \
        {"accept-new",                                                                                       \
         0,                                                                                                  \
         OPTION_FLAG,                                                                                        \
         NULL,                                                                                               \
         "trust an unknown host and append its key to known_hosts",                                          \
         offsetof(type, member.accept_new),                                                                  \
         0},                                                                                                 \
        {"batch",                                                                                            \
         0,                                                                                                  \
         OPTION_FLAG,                                                                                        \
         NULL,                                                                                               \
         "never prompt for a passphrase or password; fail instead",                                          \
         offsetof(type, member.batch),                                                                       \
         0},                                                                                                 \
        {"passphrase-file",                                                                                  \
         0,                                                                                                  \
         OPTION_TEXT,                                                                                        \
         "FILE",                                                                                             \
         "a file that only you can read, with the passphrase of every private key in its first line",        \
         offsetof(type, member.passphrase_file),                                                             \
         0},                                                                                                 \
        {"ask-timeout",                                                                                      \
         0,                                                                                                  \
         OPTION_DURATION,                                                                                    \
         "DURATION",                                                                                         \
         "the time limit for typing a password or touching a security key (default 2m)",                     \
         offsetof(type, member.ask_timeout_ms),                                                              \
         0},                                                                                                 \
        {"connect-timeout",                                                                                  \
         0,                                                                                                  \
         OPTION_DURATION,                                                                                    \
         "DURATION",                                                                                         \
         "the time limit for each step of opening a host (default 15s, or --timeout if that is less)",       \
         offsetof(type, member.connect_timeout_ms),                                                          \
         0},                                                                                                 \
    {                                                                                                        \
        "timeout", 't', OPTION_DURATION, "DURATION",                                                         \
            "the time limit for silence, in addition to a profile's length (default 30s; check: 10s)",       \
            offsetof(type, member.timeout_ms), 0                                                             \
    }

#define TARGET_OPTION_ROWS(type, member) TARGET_SELECTION_ROWS(type, member), TARGET_ACCESS_ROWS(type, member)

/* These rows are for commands that open many hosts. */
#define TARGET_PARALLEL_ROW(type, member)                                                                    \
    {                                                                                                        \
        "parallel", 0, OPTION_NUMBER, "N", "open N hosts at a time (default 16)",                            \
            offsetof(type, member.parallel), 1000                                                            \
    }
#define TARGET_MANY_ROWS(type, member)                                                                       \
    {"sample",                                                                                               \
     0,                                                                                                      \
     OPTION_NUMBER,                                                                                          \
     "N",                                                                                                    \
     "select N of the hosts at random",                                                                      \
     offsetof(type, member.selection.sample),                                                                \
     INVENTORY_MAX_HOSTS},                                                                                   \
        {"max-hosts",                                                                                        \
         0,                                                                                                  \
         OPTION_NUMBER,                                                                                      \
         "N",                                                                                                \
         "refuse to open more than N hosts",                                                                 \
         offsetof(type, member.selection.max_hosts),                                                         \
         INVENTORY_MAX_HOSTS},                                                                               \
        TARGET_PARALLEL_ROW(type, member)
// NOLINTEND(bugprone-macro-parentheses)

/* Returns whether the options select a host by name, label or source. */
bool target_is_given(const struct target_options *o);

/* Returns whether a word, given as a kind or a host, names a regular file. */
bool target_names_file(const char *word);
/* Adds a hint that names the command which shows the file. Returns -1. */
int target_hint_file(const char *file, struct err *err);

/* Checks the arguments of a command that takes hosts by options only. ERR_USAGE if there is an argument that
 * is not an option, or no host. */
int target_check_arguments(const struct target_options *o, const struct strlist *words, const char *command,
                           struct err *err);

/* Prints notes on the targets: the size of a sample, and hosts that are probably one machine. */
void target_print_notes(const struct targets *targets);

void target_options_release(struct target_options *o);

/* Parses the values of --scheme, --via and --compress, and loads the inventory. */
int target_load(struct target_options *o, struct inventory **ret_inventory, struct err *err);

/* Configures the command's prompt by --batch and --passphrase-file. A command has one prompt for its whole
 * run and calls this function before it opens hosts. The first call reads the file; if the file is a FIFO,
 * the call may wait for its writer. */
int target_configure_prompt(const struct target_options *o, struct prompt *prompt, struct err *err);

/* Returns the SSH settings of the command line. The options own the strings. */
struct ssh_settings target_ssh(const struct target_options *o);

/* Returns the settings for opening hosts. `ssh` and `prompt` must outlive the result. */
struct fetch_access target_access(const struct target_options *o, struct ssh_settings *ssh,
                                  struct prompt *prompt);
/* Fills the members of fetch_job that the resolved options determine; the caller sets the others. `ssh` and
 * `prompt` must outlive the result. */
struct fetch_job target_grab(const struct target_options *o, const struct targets *targets,
                             struct ssh_settings *ssh, struct prompt *prompt);

/* Call these before and after a run of fetch. target_begin initialises the libraries, and lowers the number
 * of parallel hosts to the number that the limit of open files allows. */
int target_begin(struct fetch_job *grab, struct err *err);
void target_end(void);

/* Prints that only `parallel` hosts are open at a time, because only `open_files` files may be open. */
void target_print_fewer_hosts(unsigned parallel, size_t open_files);

#endif
