/* Handing a bundle over to those who will read it: what `profgrab attach` does, and `--for` behind a grab. */
#ifndef CLI_HANDOVER_H
#define CLI_HANDOVER_H

#include "cli/args/options.h"
#include "cli/term/prompt.h"
#include "handoff/handoff.h"
#include "inventory/inventory.h"
#include "seal/seal.h"

struct handover_options {
    const char *team;
    const char *to;
    struct strlist encrypt_to;
    const char *title;
    struct strlist labels;
    struct strlist assignees;
    struct strlist redact_labels;
    bool plaintext_i_know;
    bool dry_run; /* attach alone has an option for it: the copy is made, no request is sent */
};

/* The rows of a command's table of options; its struct has them as `member`. */
// NOLINTBEGIN(bugprone-macro-parentheses): a type and a member cannot stand in parentheses
#define HANDOVER_OPTION_ROWS(type, member)                                                                   \
    {"for",                                                                                                  \
     0,                                                                                                      \
     OPTION_ONE,                                                                                             \
     "TEAM",                                                                                                 \
     "hand the bundle over to a team of the inventory: encrypted to it, on a confidential issue",            \
     offsetof(type, member.team),                                                                            \
     0},                                                                                                     \
        {"to",                                                                                               \
         0,                                                                                                  \
         OPTION_ONE,                                                                                         \
         "PLACE",                                                                                            \
         "where to: TRACKER:PROJECT, or TRACKER:PROJECT#ISSUE (default: the team's project, a new issue)",   \
         offsetof(type, member.to),                                                                          \
         0},                                                                                                 \
        {"encrypt-to",                                                                                       \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "RECIPIENT",                                                                                        \
         "also to this public key (age1..., ssh-ed25519 AAAA...), or those of a file",                       \
         offsetof(type, member.encrypt_to),                                                                  \
         0},                                                                                                 \
        {"title",                                                                                            \
         0,                                                                                                  \
         OPTION_TEXT,                                                                                        \
         "TEXT",                                                                                             \
         "title of a new issue; keep secrets out: it is visible before the issue is known to be "            \
         "confidential",                                                                                     \
         offsetof(type, member.title),                                                                       \
         0},                                                                                                 \
        {"issue-label",                                                                                      \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "NAME[,...]",                                                                                       \
         "of a new issue, beside the team's",                                                                \
         offsetof(type, member.labels),                                                                      \
         0},                                                                                                 \
        {"assignee",                                                                                         \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "NAME[,...]",                                                                                       \
         "of a new issue, instead of the team's",                                                            \
         offsetof(type, member.assignees),                                                                   \
         0},                                                                                                 \
        {"redact-label",                                                                                     \
         0,                                                                                                  \
         OPTION_LIST,                                                                                        \
         "GLOB[,...]",                                                                                       \
         "take out the values of profile labels of that name too (user, email, token, ... go anyway)",       \
         offsetof(type, member.redact_labels),                                                               \
         0},                                                                                                 \
    {                                                                                                        \
        "plaintext-i-know", 0, OPTION_FLAG, NULL,                                                            \
            "hand over in plain text even where others than the team can read it",                           \
            offsetof(type, member.plaintext_i_know), 0                                                       \
    }
// NOLINTEND(bugprone-macro-parentheses)

/* What the options come to. */
struct handover {
    const struct handover_options *options;
    const struct self *self;
    const struct team *team;           /* NULL: none is named */
    const struct tracker *tracker;     /* NULL: the copy is made, and goes nowhere */
    char *project, *issue;             /* issue: NULL for a new one */
    struct age_recipients *recipients; /* NULL: in plain text */
    struct strlist labels, assignees;
};

/* Whether any hand-over is asked for; ERR_USAGE (-1) for options that have no meaning without one. */
int handover_wanted(const struct handover_options *o, bool *ret, struct err *err);

/* Resolves team, place and recipients, and looks at all that can be known of the hand-off without asking
 * anybody: whether the tracker's kind can do it, the token is there (a command for it is not run), a
 * signature that the team requires may be had. What is wrong is said before anything is collected, all of it
 * ERR_USAGE. */
int handover_prepare(const struct handover_options *o, const struct inventory *inventory,
                     struct handover *ret, struct err *err);
void handover_release(struct handover *h);
void handover_options_release(struct handover_options *o);

struct handover_result {
    char *copy; /* the path of what was handed over; NULL: there is none */
    struct handoff_result handoff;
    bool attached;
    struct err why; /* of a hand-off that failed or was not begun; else its kind is ERR_NONE */
    char *repeat;   /* the line that repeats it; NULL: it was not said */
};
void handover_result_release(struct handover_result *r);

/* Makes the copy of `bundle` (redacted, signed, encrypted) and attaches it. Talks on stderr, unless `quiet`.
 * -1: err says why; the bundle is as it was, *ret says what has left. */
struct handover_run {
    const char *bundle;
    struct prompt *prompt;
    bool quiet;
    bool silent; /* nothing on stdout either */
};
int handover_run(const struct handover *h, const struct handover_run *run, struct handover_result *ret,
                 struct err *err);

/*
 * The same for a command: prints the issue's address (or where there is no tracker the copy's path) on
 * stdout, or says what went wrong, what has left the workstation, and the line that repeats it. `inventory`
 * is the option that it was read by, or NULL. Returns the exit code; what went wrong is in ret->why.
 */
int handover_command(const struct handover *h, const struct handover_run *run, const char *inventory,
                     struct handover_result *ret);

/* Says the line that hands the bundle over, and keeps it in *ret. */
void handover_say_repeat(const struct handover *h, const char *inventory, const char *bundle,
                         struct handover_result *ret);

#endif
