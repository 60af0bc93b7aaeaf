#include "gateway/ssh/login.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "gateway/ssh/auth.h"
#include "gateway/ssh/connect.h"
#include "gateway/ssh/destination.h"
#include "gateway/ssh/host_key.h"
#include "gateway/ssh/knownhosts.h"
#include "gateway/ssh/proxy.h"
#include "base/banned.h"

/* One attempt. */
struct login_attempt {
    struct login *login;
    const struct ssh_config *config; /* the hop's */
    struct known_hosts known;
    struct session *session;
    int64_t connect_ms;  /* the duration of connecting */
    int fd;              /* the connection; the session owns it once there is one */
    struct proxy *proxy; /* the process behind fd; the session owns it too */
};

/* Dials through the previous hop. A failure of that hop must cause no retry and no switch to OpenSSH here. */
static int dial_through_hop(struct login_attempt *t, const struct destination *to, struct err *err)
{
    const struct hop *previous = t->login->hop->previous;
    if (previous->dial(previous, to, &t->fd, err) == 0)
        return 0;
    if (err->kind == ERR_BUSY || err->kind == ERR_UNSUPPORTED || err->kind == ERR_LOST)
        err->kind = ERR_FAILED;
    return -1;
}

static int open_connection(struct login_attempt *t, const struct destination *to, struct err *err)
{
    static const int families[] = {
        [ADDRESS_ANY] = AF_UNSPEC, [ADDRESS_IPV4] = AF_INET, [ADDRESS_IPV6] = AF_INET6};
    const struct ssh_limits *limits = &t->login->hop->options->limits;
    int64_t timeout =
        t->config->connect.timeout_s ? t->config->connect.timeout_s * INT64_C(1000) : limits->step_timeout_ms;
    struct connect_options options = {.family = families[t->config->connect.family],
                                      .bind_address = t->config->connect.bind_address,
                                      .deadline = clock_deadline(timeout),
                                      .cancel_fd = limits->cancel_fd};
    if (t->login->hop->previous)
        return dial_through_hop(t, to, err);
    if (t->config->connect.proxy_command)
        return proxy_start(t->config->connect.proxy_command, &t->fd, &t->proxy, err);
    t->fd = connect_tcp(to->host, to->port, &options, err);
    return t->fd < 0 ? -1 : 0;
}

static int connect_step(struct login_attempt *t, struct err *err)
{
    struct steps *steps = t->login->steps;
    struct destination to = {.host = t->config->hostname, .port = t->config->port};
    char name[DESTINATION_NAME], ip[CONNECT_PEER_IP] = "";
    steps_begin(steps, GATEWAY_CONNECT);
    int rc = open_connection(t, &to, err);
    t->connect_ms = clock_now() - steps->since;
    if (rc == 0)
        connect_peer_ip(t->fd, ip);
    bool other = ip[0] && strcmp(ip, to.host) != 0;
    snprintf(steps->current.detail, sizeof steps->current.detail, "%s%s%s%s", destination_name(&to, name),
             other ? " (" : "", other ? ip : "", other ? ")" : "");
    if (rc == 0 && t->login->connected)
        return 0;
    t->login->connected = rc == 0;
    return steps_end(steps, rc, err);
}

/* Looks up the host in the known_hosts files. The handshake requests keys of the known types, so this part of
 * the host key step runs before it. */
static int find_known_keys(struct login_attempt *t, struct err *err)
{
    const struct ssh_config *c = t->config;
    struct proc_limits limits = ssh_limits_program(&t->login->hop->options->limits);
    struct known_name name = {c->hostname, c->port};
    if (c->host_key.alias)
        name = (struct known_name){c->host_key.alias, 0};
    steps_begin(t->login->steps, GATEWAY_HOST_KEY);
    if (known_hosts_find(&c->host_key.files, name, &limits, &t->known, err) < 0)
        return steps_end(t->login->steps, -1, err);
    if (known_hosts_check_usable(&t->known, err) < 0)
        return steps_end(t->login->steps, -1, err);
    return 0;
}

static int handshake_step(struct login_attempt *t, struct err *err)
{
    const struct hop *hop = t->login->hop;
    struct steps *steps = t->login->steps;
    int fd = t->fd, rc = -1;
    t->fd = -1;
    steps_begin(steps, GATEWAY_HANDSHAKE);
    if (session_new(fd, t->config, &hop->options->limits, &t->session, err) == 0) {
        session_set_proxy(t->session, t->proxy);
        t->proxy = NULL;
        if (hop->previous)
            session_record_round_trip(t->session, t->connect_ms);
        rc = session_handshake(t->session, t->config, &t->known, err);
        t->login->server_is_busy = rc < 0 && err->kind == ERR_BUSY && session_has_received(t->session);
    }
    if (rc == 0)
        session_describe(t->session, steps->current.detail, sizeof steps->current.detail);
    return steps_end(steps, rc, err);
}

static int host_key_step(struct login_attempt *t, struct err *err)
{
    struct host_key_trust trust = {0};
    struct gateway_hop *facts = session_facts(t->session);
    struct gateway_step *step = &t->login->steps->current;
    steps_begin(t->login->steps, GATEWAY_HOST_KEY);
    int rc = host_key_check(t->session, t->config, &t->known, &trust, err);
    int n = snprintf(step->detail, sizeof step->detail, "%s%s%s", facts->host_key_type,
                     facts->host_key[0] ? " " : "", facts->host_key);
    if (rc == 0)
        snprintf(step->detail + n, sizeof step->detail - (size_t)n, ", %s", trust.text);
    step->always_print = trust.is_new;
    return steps_end(t->login->steps, rc, err);
}

static int auth_step(struct login_attempt *t, struct err *err)
{
    struct gateway_step *step = &t->login->steps->current;
    steps_begin(t->login->steps, GATEWAY_AUTH);
    int rc = auth_run(t->session, t->login->hop, err);
    /* The server itself refused, unless the connection merely broke. */
    if (rc < 0 && err->kind == ERR_FAILED && !session_is_cut_off(t->session))
        err->kind = ERR_DENIED;
    snprintf(step->detail, sizeof step->detail, "%s", session_facts(t->session)->authentication);
    return steps_end(t->login->steps, rc, err);
}

int login_run(struct login *l, struct err *err)
{
    struct login_attempt t = {.login = l, .config = l->hop->config, .fd = -1};
    int rc = -1;
    if (connect_step(&t, err) == 0 && find_known_keys(&t, err) == 0 && handshake_step(&t, err) == 0 &&
        host_key_step(&t, err) == 0 && auth_step(&t, err) == 0)
        rc = 0;
    if (rc == 0) {
        l->session = t.session;
        t.session = NULL;
    }
    session_close(t.session);
    known_hosts_release(&t.known);
    fd_close(&t.fd);
    proxy_stop(t.proxy);
    return rc;
}
