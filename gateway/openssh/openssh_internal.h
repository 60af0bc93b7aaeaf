/* The internals that openssh*.c and stream_openssh.c share. */
#ifndef GATEWAY_OPENSSH_OPENSSH_INTERNAL_H
#define GATEWAY_OPENSSH_OPENSSH_INTERNAL_H

#include "gateway/openssh/askpass.h"
#include "gateway/openssh/reaper.h"
#include "gateway/openssh/mux.h"
#include "gateway/openssh/openssh.h"
#include "gateway/ssh/cpu_budget.h"
#include "gateway/openssh/ssh_log.h"

struct openssh {
    char *path;               /* the master's socket */
    struct mux control;       /* open as long as the master lives */
    bool lost;                /* the control connection has ended */
    uint32_t last_request;    /* the number of the last request that was sent */
    uint32_t checks_answered; /* the number of the last alive check that the master has answered */
    char *directory;          /* private; NULL: not needed yet with the user's master */
    unsigned n_sockets;       /* created in that directory */

    /* These members belong to an ssh that profgrab started. */
    pid_t pid; /* 0: the master is the user's */
    struct cpu_budget cpu;
    struct reaper reaper;
    int log_fd;       /* the read end of the log's pipe */
    int log_write_fd; /* our own write end, kept open so that the pipe does not end before ssh opens it */
    int stderr_fd;    /* the read end of ssh's standard error */
    struct ssh_log ssh_log;
};

/* Creates a struct openssh that has no master yet; NULL without memory. */
struct openssh *openssh_new(struct err *err);
/* Sets *hop to the host's address, port and user, and clears the other facts. */
void openssh_describe_host(const struct ssh_config *config, struct gateway_hop *hop);
/* Creates o->directory. Its path is short enough for a master's socket. */
int openssh_create_directory(struct openssh *o, struct err *err);
/* Opens the control connection and sends an alive check. *ret_pid is the master's process ID. */
int openssh_connect_control(struct openssh *o, int cancel_fd, uint32_t *ret_pid, struct err *err);

/* A call of our own ssh, whose master socket and log are in o->directory. */
struct openssh_call {
    const struct openssh *o;
    const struct ssh_config *config;
    const struct login_options *options;
    bool can_ask; /* the user can answer */
};
/* Builds the arguments of the call; *ret begins with "ssh". */
int openssh_call_arguments(const struct openssh_call *call, struct strlist *ret, struct err *err);

/* Reads new bytes of the log and of standard error. */
void openssh_read_output(struct openssh *o);

/* Reads the master's answers to alive checks, and checks whether it has closed our control connection. */
bool openssh_is_disconnected(struct openssh *o);

/* Sends an alive check. The master has answered it when o->checks_answered reaches the returned number. */
uint32_t openssh_send_alive_check(struct openssh *o);

/* Creates a name for a socket in the private directory. The caller frees it. */
int openssh_socket_name(struct openssh *o, char **ret, struct err *err);

#endif
