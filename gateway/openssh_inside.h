/* What openssh*.c and stream_openssh.c know of a master connection together. */
#ifndef GATEWAY_OPENSSH_INSIDE_H
#define GATEWAY_OPENSSH_INSIDE_H

#include "gateway/askpass.h"
#include "gateway/keeper.h"
#include "gateway/mux.h"
#include "gateway/openssh.h"
#include "gateway/ssh_log.h"

struct openssh {
    char *path;         /* where the master listens */
    struct mux control; /* stands as long as the master does: its end is the master's */
    bool lost;
    uint32_t asked; /* how often it was asked whether it lives, and how often it said so */
    uint32_t answered;
    char *directory;    /* private; NULL until the user's master needs one */
    unsigned n_sockets; /* made in it */

    /* Of our own ssh only. */
    pid_t pid; /* 0: the master is the user's */
    struct keeper keeper;
    int log; /* both ends of the pipe its log goes through: it must not look closed before ssh opens it */
    int log_keeper; /* ... */
    int complaints; /* its standard error */
    struct ssh_log said;
};

/* One that knows no master yet; NULL without memory. */
struct openssh *openssh_new(struct err *err);
/* Fills in whom it leads to. */
void openssh_describe_host(const struct ssh_config *config, struct gateway_hop *hop);
/* Makes o->directory, where there is room for a master's socket. */
int openssh_directory(struct openssh *o, struct err *err);
/* Opens the control connection and asks whether somebody is there: *ret_pid says who. */
int openssh_greet(struct openssh *o, int cancel_fd, uint32_t *ret_pid, struct err *err);

/* The arguments for our own ssh, whose master socket and log lie in o->directory. `ask`: there is somebody
 * to ask. */
int openssh_call(const struct openssh *o, const struct ssh_config *config,
                 const struct gateway_options *options, bool ask, struct strlist *ret, struct err *err);

/* Takes what its ssh said until now. */
void openssh_hear(struct openssh *o);

/* Whether the master's end can be seen already. */
bool openssh_is_gone(struct openssh *o);

/* Asks whether it lives. Once o->answered has reached what is returned, it did when it was asked. */
uint32_t openssh_ask(struct openssh *o);

/* A new string: a name for a socket in the private directory. */
int openssh_socket_name(struct openssh *o, char **ret, struct err *err);

#endif
