/* The receivers of bundles: trackers, teams with their recipients, and the user. */
#ifndef INVENTORY_TEAM_H
#define INVENTORY_TEAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/* The properties of a kind of tracker by which the inventory checks the settings of a tracker. handoff/ has
 * the table handoff_tracker_kinds, and the requests of each kind in struct tracker_type. */
struct tracker_kind {
    const char *name;     /* the value of the key `kind`: "gitlab" */
    const char *title;    /* the product's own name: "GitLab" */
    const char *project;  /* the meaning of the key `project`: "a project's path" */
    bool has_labels;      /* its issues have labels */
    size_t max_assignees; /* of one issue */
};

/* An issue tracker. */
struct tracker {
    char *name;
    const struct tracker_kind *kind;
    char *url; /* https://HOST[:PORT][/PATH], without a trailing slash; http:// only with a loopback host */
    struct secret_ref token;
    char *ca; /* the absolute path of a PEM file of trusted authorities; NULL: the system's */
};

/* An encryption recipient: a key itself ("age1...", "ssh-ed25519 AAAA..."), or a file of keys. */
struct recipient {
    char *text; /* the key, or the absolute path of the file */
    bool is_file;
    size_t line; /* its line in the inventory */
};
struct recipient_list {
    struct recipient *items;
    size_t n;
    size_t cap;
};

/* The maximum length of a project's name, so that it fits, encoded, into the URLs of requests. */
#define TRACKER_PROJECT_MAX 180

/* A team that receives bundles. */
struct team {
    char *name;
    struct recipient_list recipients;
    const struct tracker *tracker; /* NULL: none */
    char *project; /* the project's name at the tracker: "group/project", an identifier, a queue; NULL only
                      without a tracker; at most TRACKER_PROJECT_MAX bytes */
    struct strlist labels;
    struct strlist assignees;
    bool signature_required; /* do not hand off a bundle without a signature */
};

/* The user of this profgrab. */
struct self {
    struct recipient_list recipients; /* every encrypted copy is also encrypted to them */
    char *sign_with;                  /* a key file or its FILE.pub, absolute; NULL: bundles are not signed */
};

struct inventory;

/* Find a team or a tracker by its name. ERR_USAGE with the nearest names for an unknown name. */
int inventory_team(const struct inventory *inv, const char *name, const struct team **ret, struct err *err);
int inventory_tracker(const struct inventory *inv, const char *name, const struct tracker **ret,
                      struct err *err);
/* Returns the section `self`: never NULL; empty if the file has no such section. */
const struct self *inventory_self(const struct inventory *inv);
/* Returns the name of team i of the file; NULL after the last. */
const char *inventory_team_name(const struct inventory *inv, size_t i);

#endif
