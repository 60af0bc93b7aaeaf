/*
 * The options and the run of a hand-off, for `profgrab attach` and for captures with --for or --to.
 *
 * This folder has the commands on finished bundles: `attach` and the verbs of `bundle`, each in a file of its
 * own. bundle/, seal/ and handoff/ do the work; this folder reads options and keys, and prints.
 */
#ifndef CLI_BUNDLE_HANDOFF_H
#define CLI_BUNDLE_HANDOFF_H

#include "cli/args/options.h"
#include "cli/term/prompt.h"
#include "handoff/handoff.h"

/* Rows for a command's table of options. `type` is the command's struct, `member` its struct
 * delivery_options. */
// NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot be in parentheses
#define HANDOFF_OPTION_ROWS(type, member)                                                                    \
    {"for",                                                                                                  \
     0,                                                                                                      \
     OPTION_TEXT_ONCE,                                                                                       \
     "TEAM",                                                                                                 \
     "hand the bundle over to a team of the inventory: encrypted to it, on a confidential issue",            \
     offsetof(type, member.team),                                                                            \
     0},                                                                                                     \
        {"to",                                                                                               \
         0,                                                                                                  \
         OPTION_TEXT_ONCE,                                                                                   \
         "PLACE",                                                                                            \
         "the place: TRACKER:PROJECT, or TRACKER:PROJECT#ISSUE (default: a new issue in the team's "         \
         "project)",                                                                                         \
         offsetof(type, member.to),                                                                          \
         0},                                                                                                 \
        {"encrypt-to",                                                                                       \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "RECIPIENT",                                                                                        \
         "encrypt also to this public key (age1..., ssh-ed25519 AAAA...), or to those of a file",            \
         offsetof(type, member.encrypt_to),                                                                  \
         0},                                                                                                 \
        {"title",                                                                                            \
         0,                                                                                                  \
         OPTION_TEXT,                                                                                        \
         "TEXT",                                                                                             \
         "title of a new issue; others may read it before profgrab has checked that the issue is "           \
         "confidential",                                                                                     \
         offsetof(type, member.title),                                                                       \
         0},                                                                                                 \
        {"issue-label",                                                                                      \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "NAME[,...]",                                                                                       \
         "labels of a new issue, in addition to the team's",                                                 \
         offsetof(type, member.labels),                                                                      \
         0},                                                                                                 \
        {"assignee",                                                                                         \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "NAME[,...]",                                                                                       \
         "assignees of a new issue, instead of the team's",                                                  \
         offsetof(type, member.assignees),                                                                   \
         0},                                                                                                 \
        {"redact-label",                                                                                     \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "GLOB[,...]",                                                                                       \
         "remove the values of these profile labels too (user, email, token, ... are always removed)",       \
         offsetof(type, member.redact_labels),                                                               \
         0},                                                                                                 \
    {                                                                                                        \
        "plaintext-i-know", 0, OPTION_FLAG, NULL,                                                            \
            "hand over in plain text even if people outside the team can read it",                           \
            offsetof(type, member.plaintext_i_know), 0                                                       \
    }
// NOLINTEND(bugprone-macro-parentheses)

struct handoff_report {
    struct delivery_result result;
    struct err failure; /* the reason why the hand-off failed or did not begin; ERR_NONE: none */
    char *repeat;       /* the printed command that repeats the hand-off; NULL: none was printed */
};
void handoff_report_release(struct handoff_report *r);

/* The bundle of a hand-off, and the settings of the command that runs it. */
struct handoff_caller {
    const char *bundle;
    const char *inventory; /* the value of --inventory, or NULL */
    struct prompt *prompt;
    bool quiet;
    bool json; /* the caller prints JSON on stdout: print nothing else there */
};

/*
 * Runs the hand-off that `d` describes. Prints the address on stdout (without a tracker: the copy's
 * path). After a failure, prints on stderr the reason, the data that has left the workstation, and the
 * command that repeats the hand-off. Returns the exit code; ret->failure has the error.
 */
int handoff_command(const struct delivery *d, const struct handoff_caller *caller,
                    struct handoff_report *ret);

/* Prints the command that repeats the hand-off, and stores it in ret->repeat. */
void handoff_print_repeat(const struct delivery *d, const struct handoff_caller *caller,
                          struct handoff_report *ret);

#endif
