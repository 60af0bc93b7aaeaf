/*
 * The words: the few sentences that an expert would write of what profiles show, each with its figure, the
 * file it is from and the function to look at. One table of rules (words_rules.c): what is looked at, from
 * where on it is worth saying, the sentence, where to look, and the source of the rule; docs/reading.md is
 * made from it.
 *
 * A share is held to be above its threshold only if it still is after two standard errors are taken off, so
 * that a handful of samples proves nothing.
 *
 * Sentences name functions, files, hosts and services, all made printable; never labels' values nor command
 * lines.
 */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include "proto/proto.h"
#include "report/goroutines.h"
#include "report/growth.h"
#include "report/peers.h"
#include "report/sides.h"

/* What a profile or a dump is of. NULL and "" are the same: not known. */
struct words_subject {
    const char *host, *service;
    const char *kind; /* "mutex": what the request was for; tells block from mutex, which look alike */
    const char *file; /* the bundle's member, or a path */
    const char *here, *there; /* of two sides: who they are, "file-03, file-04" */
    int64_t between_ns;       /* of two dumps: the time between them; 0: not known */
};

/* One sentence. What is not known is NULL. */
struct words_item {
    const char *rule; /* the table's */
    char *text;
    char *file;
    char *look;   /* a function, by its whole name */
    bool suspect; /* a problem, by the rule's threshold; else what is always worth knowing */
    /* Of suspects the part of the whole that is at stake; with it they are put in order. */
    double weight;

    char *host, *service;
    bool names_host; /* the text does */
    int part;        /* of what a rule says of several things, which: those are no doubles */
    int detail;      /* of two that say the same of one service the more detailed one stays */
};

/* A growing list. */
struct words {
    struct words_item *items;
    size_t n, cap;
};

#define WORDS_INIT                                                                                           \
    {                                                                                                        \
        0                                                                                                    \
    }

/* The most sentences that words_finish leaves. */
#define WORDS_MAX 8

/* Adds what the rules find in a profile. One of a kind that no rule knows adds nothing; dumps of goroutines
 * are for the other function. Takes memory for counters by function, and time for a few walks over the
 * samples. */
int words_add_profile(struct words *w, const struct profile *p, const struct words_subject *subject,
                      struct err *err);
/* Adds what they find in a dump of goroutines, or in two of the same process, the older one first. */
int words_add_goroutines(struct words *w, const struct goroutines *g, const struct words_subject *subject,
                         struct err *err);

/* Adds what one side does and the other does not; nothing if there is only one. */
int words_add_sides(struct words *w, const struct sides *s, const struct words_subject *subject,
                    struct err *err);
/* Adds what has grown in a process, and what it did meanwhile; or that it was restarted, and why that is
 * known. */
int words_add_growth(struct words *w, const struct growth *g, const struct words_subject *subject,
                     struct err *err);
int words_add_restart(struct words *w, const char *why, const struct words_subject *subject, struct err *err);
/* Adds which hosts of a group differ from it; they have been compared. */
int words_add_peers(struct words *w, const struct peers *h, const struct words_subject *subject,
                    struct err *err);

/* What a figure or a picture is from: one file, two sides of several, or two snapshots. */
enum words_source { WORDS_FROM_ONE, WORDS_FROM_SIDES, WORDS_FROM_GROWTH };
/* Of a rule's figure. */
enum words_source words_source_of(const char *rule);

/*
 * Puts the list in order: suspects before the rest, the heaviest first; of the rest CPU, memory, waiting. At
 * most WORDS_MAX stay, and of the rest each rule's heaviest rather than a sixth suspect. What says the same
 * of the same function on several hosts becomes one sentence; where there are several hosts or services, it
 * says which one is meant. Call it once, at the end.
 */
int words_finish(struct words *w, struct err *err);
void words_release(struct words *w);

/* One rule for people; in sentences {0} and the like stand for figures and names. */
struct words_rule_help {
    const char *name;
    const char *of; /* "CPU", "heap", … */
    bool suspect;
    const char *sentence;
    const char *evidence;
    double percent;        /* of all; 0: there is none */
    const char *threshold; /* in words; NULL: that percentage is all */
    const char *look;
    const char *source;
};
/* Rule i of the table; -1 behind the last. */
int words_rule_help(size_t i, struct words_rule_help *ret);

#endif
