/* A service: a Go program that serves profiles, at an address that its host can reach. */
#ifndef INVENTORY_SERVICE_H
#define INVENTORY_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/* How to check a service's certificate, and the client certificate to send. Files are PEM, paths absolute. */
struct service_tls {
    char *ca;          /* the authorities to trust; NULL: the system's */
    char *cert;        /* the client certificate; NULL: none */
    char *key;         /* its key; NULL: in the certificate's file */
    char *server_name; /* the name to request and to check; NULL: the service's host */
    bool insecure;     /* do not check the certificate */
};

/* Basic authentication if there is a user, else a bearer token. */
struct service_auth {
    char *user;               /* NULL: bearer */
    struct secret_ref secret; /* the password or the token; SECRET_NONE: none is sent */
};

struct label {
    char *name;
    char *value;
};

struct source_use;

#define SERVICE_PATH "/debug/pprof"
struct service {
    char *name;
    char *family; /* the common name of several discovered services on one host, each named NAME-PORT; NULL:
                     none */
    const struct source_use *source; /* the source that listed it (source.h); NULL: the inventory itself */
    char *host;       /* the name or address to connect to from the host; "localhost" by default */
    bool host_is_set; /* the inventory sets `host` */
    unsigned port;    /* 1 to 65535; 0 with a Unix socket */
    char *unix_path;  /* a Unix socket on the host, instead of host and port; NULL: none */
    bool https;       /* scheme: https */
    bool adhoc;       /* from a port or socket of the selection, not in the inventory */
    struct service_tls tls;
    struct service_auth auth;
    char *path;  /* pprof's path with a leading and without a trailing slash, "" for the root; SERVICE_PATH by
                    default */
    char *query; /* "a=1&b=2", escaped: added to every request; NULL: nothing */
    char *host_header;    /* NULL: the destination */
    char *hint;           /* the hint for a service that does not answer; NULL: none */
    struct strlist kinds; /* the kinds to fetch if the user names none; may be empty */
    struct label *labels; /* of the discovered target; an inventory's service has none */
    size_t n_labels;
};

/* Creates a service with the defaults. NULL if out of memory. */
struct service *service_new(const char *name, unsigned port);
void service_free(struct service *s);

/* Copies all fields of `from` except its name, family, source, port, labels and `adhoc`. */
int service_copy(struct service *to, const struct service *from, struct err *err);

/* Set pprof's path, or the path of a Unix socket. ERR_USAGE for an invalid path. */
int service_set_path(struct service *service, const char *path, struct err *err);
int service_set_unix(struct service *service, const char *path, struct err *err);

/* Checks whether both services have the same address, so that on one host they are one process. */
bool service_shares_address(const struct service *a, const struct service *b);

#endif
