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

/* One attempt of login_run. */
struct login_attempt {
    struct login *login;
    const struct ssh_config *config; /* the hop's */
    struct known_hosts known;
    struct session *session;
    int64_t connect_ms;  /* the duration of connecting */
    int fd;              /* the connection; the session owns it once there is one */
    struct proxy *proxy; /* the ProxyCommand at the other end of fd; owned like fd. NULL: none */
};

/* Dials through the previous hop. A failure of that hop must cause no retry and no switch to OpenSSH here. */
static int dial_through_hop(struct login_attempt *attempt, const struct destination *to, struct err *err)
{
    const struct hop *previous = attempt->login->hop->previous;
    if (previous->dial(previous, to, &attempt->fd, err) == 0)
        return 0;
    if (err->kind == ERR_BUSY || err->kind == ERR_UNSUPPORTED || err->kind == ERR_LOST)
        err->kind = ERR_FAILED;
    return -1;
}

static int open_connection(struct login_attempt *attempt, const struct destination *to, struct err *err)
{
    static const int families[] = {
        [ADDRESS_ANY] = AF_UNSPEC, [ADDRESS_IPV4] = AF_INET, [ADDRESS_IPV6] = AF_INET6};
    const struct ssh_limits *limits = &attempt->login->hop->options->limits;
    int64_t timeout = attempt->config->connect.timeout_s ? attempt->config->connect.timeout_s * INT64_C(1000)
                                                         : limits->step_timeout_ms;
    struct connect_options options = {.family = families[attempt->config->connect.family],
                                      .bind_address = attempt->config->connect.bind_address,
                                      .deadline = clock_deadline(timeout),
                                      .cancel_fd = limits->cancel_fd};
    if (attempt->login->hop->previous)
        return dial_through_hop(attempt, to, err);
    if (attempt->config->connect.proxy_command)
        return proxy_start(attempt->config->connect.proxy_command, &attempt->fd, &attempt->proxy, err);
    attempt->fd = connect_tcp(to->host, to->port, &options, err);
    return attempt->fd < 0 ? -1 : 0;
}

static int connect_step(struct login_attempt *attempt, struct err *err)
{
    struct steps *steps = attempt->login->steps;
    struct destination to = {.host = attempt->config->hostname, .port = attempt->config->port};
    char name[DESTINATION_NAME], ip[CONNECT_PEER_IP] = "";
    steps_begin(steps, GATEWAY_CONNECT);
    int rc = open_connection(attempt, &to, err);
    attempt->connect_ms = clock_now() - steps->since;
    if (rc == 0)
        connect_peer_ip(attempt->fd, ip);
    bool differs = ip[0] && strcmp(ip, to.host) != 0;
    snprintf(steps->current.detail, sizeof steps->current.detail, "%s%s%s%s", destination_name(&to, name),
             differs ? " (" : "", differs ? ip : "", differs ? ")" : "");
    if (rc == 0 && attempt->login->connect_reported)
        return 0;
    attempt->login->connect_reported = rc == 0;
    return steps_end(steps, rc, err);
}

/* Looks up the host in the known_hosts files. The handshake requests keys of the known types, so this part of
 * the host key step runs before it. */
static int find_known_keys(struct login_attempt *attempt, struct err *err)
{
    const struct ssh_config *c = attempt->config;
    struct proc_limits limits = ssh_program_limits(&attempt->login->hop->options->limits);
    struct known_name name = {c->hostname, c->port};
    if (c->host_key.alias)
        name = (struct known_name){c->host_key.alias, 0};
    steps_begin(attempt->login->steps, GATEWAY_HOST_KEY);
    if (known_hosts_find(&c->host_key.files, name, &limits, &attempt->known, err) < 0)
        return steps_end(attempt->login->steps, -1, err);
    if (known_hosts_check_usable(&attempt->known, err) < 0)
        return steps_end(attempt->login->steps, -1, err);
    return 0;
}

static int handshake_step(struct login_attempt *attempt, struct err *err)
{
    const struct hop *hop = attempt->login->hop;
    struct steps *steps = attempt->login->steps;
    int fd = attempt->fd, rc = -1;
    attempt->fd = -1;
    steps_begin(steps, GATEWAY_HANDSHAKE);
    if (session_new(fd, attempt->config, &hop->options->limits, &attempt->session, err) == 0) {
        session_set_proxy(attempt->session, attempt->proxy);
        attempt->proxy = NULL;
        if (hop->previous)
            session_record_round_trip(attempt->session, attempt->connect_ms);
        rc = session_handshake(attempt->session, attempt->config, &attempt->known, err);
        attempt->login->server_is_busy =
            rc < 0 && err->kind == ERR_BUSY && session_has_received(attempt->session);
    }
    if (rc == 0)
        session_describe(attempt->session, steps->current.detail, sizeof steps->current.detail);
    return steps_end(steps, rc, err);
}

static int host_key_step(struct login_attempt *attempt, struct err *err)
{
    struct host_key_trust trust = {0};
    struct gateway_hop *facts = session_facts(attempt->session);
    struct gateway_step *step = &attempt->login->steps->current;
    steps_begin(attempt->login->steps, GATEWAY_HOST_KEY);
    int rc = host_key_check(attempt->session, attempt->config, &attempt->known, &trust, err);
    int n = snprintf(step->detail, sizeof step->detail, "%s%s%s", facts->host_key_type,
                     facts->host_key[0] ? " " : "", facts->host_key);
    if (rc == 0)
        snprintf(step->detail + n, sizeof step->detail - (size_t)n, ", %s", trust.text);
    step->always_print = trust.is_new;
    return steps_end(attempt->login->steps, rc, err);
}

static int auth_step(struct login_attempt *attempt, struct err *err)
{
    struct gateway_step *step = &attempt->login->steps->current;
    steps_begin(attempt->login->steps, GATEWAY_AUTH);
    int rc = auth_run(attempt->session, attempt->login->hop, err);
    /* The server itself refused, unless the connection merely broke. */
    if (rc < 0 && err->kind == ERR_FAILED && !session_is_cut_off(attempt->session))
        err->kind = ERR_DENIED;
    snprintf(step->detail, sizeof step->detail, "%s", session_facts(attempt->session)->authentication);
    return steps_end(attempt->login->steps, rc, err);
}

int login_run(struct login *l, struct err *err)
{
    struct login_attempt attempt = {.login = l, .config = l->hop->config, .fd = -1};
    int rc = -1;
    if (connect_step(&attempt, err) == 0 && find_known_keys(&attempt, err) == 0 &&
        handshake_step(&attempt, err) == 0 && host_key_step(&attempt, err) == 0 &&
        auth_step(&attempt, err) == 0)
        rc = 0;
    if (rc == 0) {
        l->session = attempt.session;
        attempt.session = NULL;
    }
    session_close(attempt.session);
    known_hosts_release(&attempt.known);
    fd_close(&attempt.fd);
    proxy_stop(attempt.proxy);
    return rc;
}
