#include "gateway/hop.h"

#include <stdio.h>
#include <string.h>

#include "gateway/auth.h"
#include "gateway/connect.h"
#include "gateway/destination.h"
#include "gateway/hub.h"
#include "gateway/knownhosts.h"
#include "gateway/session.h"
#include "base/banned.h"

struct opening {
    const struct hop_request *request;
    const struct ssh_config *config; /* the request's */
    struct known_hosts known;
    struct session *session;
    struct gateway_step step; /* the one under way */
    int64_t since;            /* when it began */
    int fd;                   /* connected; the session's once there is one */
};

/* A step ended with rc, which is returned: tells of it, and begins the next. */
static int told(struct opening *o, enum gateway_step_kind kind, int rc, const struct err *why)
{
    const struct gateway_options *options = o->request->options;
    o->step.kind = kind;
    o->step.hop = o->request->number;
    o->step.duration_ms = clock_now() - o->since;
    o->step.failure = rc < 0 ? why : NULL;
    if (options->step)
        options->step(options->step_ctx, &o->step);
    o->step.detail[0] = '\0';
    o->since = clock_now();
    return rc;
}

static int reach(struct opening *o, const struct destination *to, struct err *err)
{
    const struct gateway_options *options = o->request->options;
    int64_t timeout = o->config->connect_timeout_s ? o->config->connect_timeout_s * INT64_C(1000)
                                                   : options->step_timeout_ms;
    if (o->request->before)
        return hub_dial(o->request->before, to, &o->fd, err);
    o->fd = connect_tcp(to->host, to->port, clock_deadline(timeout), options->cancel_fd, err);
    return o->fd < 0 ? -1 : 0;
}

static int connect_step(struct opening *o, struct err *err)
{
    struct destination to = {.host = o->config->hostname, .port = o->config->port};
    char name[DESTINATION_NAME], peer[CONNECT_PEER] = "";
    int rc = reach(o, &to, err);
    if (rc == 0)
        connect_peer(o->fd, peer);
    bool other = peer[0] && strcmp(peer, to.host) != 0;
    snprintf(o->step.detail, sizeof o->step.detail, "%s%s%s%s", destination_name(&to, name),
             other ? " (" : "", other ? peer : "", other ? ")" : "");
    return told(o, GATEWAY_CONNECT, rc, err);
}

/* What the files say of the host. It is a part of judging the host key that comes early, since the handshake
 * asks for keys of the known types. */
static int find_known(struct opening *o, struct err *err)
{
    const struct ssh_config *c = o->config;
    struct proc_limits limits = session_limits(o->request->options);
    bool alias = c->host_key_alias != NULL;
    if (known_hosts_find(&c->known_hosts, alias ? c->host_key_alias : c->hostname, alias ? 0 : c->port,
                         &limits, &o->known, err) < 0)
        return told(o, GATEWAY_HOST_KEY, -1, err);
    o->since = clock_now();
    return 0;
}

static int handshake_step(struct opening *o, struct err *err)
{
    int fd = o->fd, rc = -1;
    o->fd = -1;
    if (session_new(fd, o->config, o->request->options, &o->session, err) == 0)
        rc = session_handshake(o->session, o->config, &o->known, err);
    if (rc == 0) {
        LIBSSH2_SESSION *ssh = o->session->ssh;
        const char *exchange = libssh2_session_methods(ssh, LIBSSH2_METHOD_KEX);
        const char *cipher = libssh2_session_methods(ssh, LIBSSH2_METHOD_CRYPT_SC);
        snprintf(o->step.detail, sizeof o->step.detail, "%s, %s, %s", o->session->hop.banner,
                 exchange ? exchange : "?", cipher ? cipher : "?");
    }
    return told(o, GATEWAY_HANDSHAKE, rc, err);
}

static int host_key_step(struct opening *o, struct err *err)
{
    const struct known_key *known = NULL;
    const struct gateway_hop *hop = &o->session->hop;
    int rc = session_check_host_key(o->session, &o->known, &o->config->known_hosts, &known, err);
    int n = snprintf(o->step.detail, sizeof o->step.detail, "%s%s%s", hop->host_key_type,
                     hop->host_key[0] ? " " : "", hop->host_key);
    if (rc == 0)
        snprintf(o->step.detail + n, sizeof o->step.detail - (size_t)n, ", known in %s line %u", known->file,
                 known->line);
    return told(o, GATEWAY_HOST_KEY, rc, err);
}

static int auth_step(struct opening *o, struct err *err)
{
    int rc = auth_run(o->session, o->config, err);
    snprintf(o->step.detail, sizeof o->step.detail, "%s", o->session->hop.authentication);
    return told(o, GATEWAY_AUTH, rc, err);
}

/* Names the host where the message does not do so itself. */
static void name_host(const struct opening *o, struct err *why)
{
    struct destination to = {.host = o->config->hostname, .port = o->config->port};
    char name[DESTINATION_NAME];
    if (o->step.kind != GATEWAY_CONNECT && why->kind != ERR_HOST_KEY)
        err_wrap(why, "%s", destination_name(&to, name));
}

int hop_open(const struct hop_request *request, struct session **ret, struct err *err)
{
    struct opening o = {.request = request, .config = request->config, .since = clock_now(), .fd = -1};
    struct err why = ERR_INIT;
    int rc = -1;
    if (connect_step(&o, &why) == 0 && find_known(&o, &why) == 0 && handshake_step(&o, &why) == 0 &&
        host_key_step(&o, &why) == 0 && auth_step(&o, &why) == 0) {
        *ret = o.session;
        o.session = NULL;
        rc = 0;
    } else {
        name_host(&o, &why);
        if (err)
            *err = why;
    }
    session_close(o.session);
    known_hosts_release(&o.known);
    fd_close(&o.fd);
    return rc;
}
