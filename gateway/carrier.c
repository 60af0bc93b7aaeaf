/* A login first waits in the queue of its server (login_queue_enter). If the server is busy, log_in retries
 * a little later. open_carrier chooses between the user's master connection, libssh2 and our own ssh. */
#include "gateway/carrier.h"

#include <stdio.h>
#include <string.h>

#include <libssh2.h>

#include "gateway/login_queue.h"
#include "gateway/openssh/openssh.h"
#include "gateway/ssh/destination.h"
#include "gateway/ssh/failure.h"
#include "gateway/ssh/login.h"
#include "base/banned.h"

/* If a server reports that it is busy, we retry until the step's timeout. A server that only closes the
 * connection may have another reason, so we retry for a shorter time. */
#define FIRST_PAUSE_MS 100
#define UNEXPLAINED_RETRY_MS 3000

/* A carrier that is being opened. */
struct opening {
    const struct hop *hop;
    const struct ssh_config *config; /* the hop's */
    struct steps steps;
    struct login login;       /* over libssh2 */
    struct openssh *openssh;  /* once opened; NULL over libssh2 */
    struct gateway_hop facts; /* the facts about the hop that OpenSSH reports */
};

static int log_in_libssh2(struct opening *o, struct err *err)
{
    return login_run(&o->login, err);
}

/* ---- OpenSSH ------------------------------------------------------------------------------------------- */

/* Reports that ssh itself trusted an unknown host (accept-new). */
static void report_new_host(struct opening *o)
{
    steps_begin(&o->steps, GATEWAY_HOST_KEY);
    snprintf(o->steps.current.detail, sizeof o->steps.current.detail, "%s %s, new: trusted by ssh",
             o->facts.host_key_type, o->facts.host_key);
    o->steps.current.always_print = true;
    steps_end(&o->steps, 0, NULL);
}

static int log_in_openssh(struct opening *o, struct err *err)
{
    int64_t began = clock_now();
    int rc = openssh_start(o->config, o->hop->options, &o->facts, &o->openssh, err);
    o->login.server_is_busy = false;
    if (rc == 0 && o->facts.host_key_new)
        report_new_host(o);
    steps_begin(&o->steps, rc < 0 && err->kind == ERR_HOST_KEY ? GATEWAY_HOST_KEY : GATEWAY_AUTH);
    o->steps.since = began;
    if (rc == 0)
        snprintf(o->steps.current.detail, sizeof o->steps.current.detail, "%s%s%s", o->facts.authentication,
                 o->facts.host_key[0] ? ", host key " : "", o->facts.host_key);
    return steps_end(&o->steps, rc, err);
}

static void report_via(struct opening *o, const char *via, const char *reason)
{
    steps_begin(&o->steps, GATEWAY_VIA);
    snprintf(o->steps.current.detail, sizeof o->steps.current.detail, "%s%s%s", via, *reason ? ": " : "",
             reason);
    o->steps.current.always_print = true;
    steps_end(&o->steps, 0, NULL);
}

/* ---- retries ------------------------------------------------------------------------------------------- */

/*
 * Names the queue of a login by all its hops, because an address can mean another host behind another jump
 * host, and because a login must never wait in the same queue as the login to its jump host. Our own ssh
 * waits in the queue of its first jump host, because ssh logs in there first.
 */
static void name_queue(const struct hop *hop, bool openssh, char *dst, size_t cap)
{
    const struct ssh_config *c = openssh ? hop->outermost : hop->config;
    size_t n = 0;
    if (hop->previous && !openssh) {
        name_queue(hop->previous, false, dst, cap);
        n = strlen(dst);
    }
    snprintf(dst + n, cap - n, "%s%s port %u", n ? " > " : "", c->hostname, c->port);
}

/* Waits in the queue, then logs in. Retries while the server is busy. */
static int log_in(struct opening *o, int (*attempt)(struct opening *o, struct err *err), struct err *err)
{
    const struct login_options *options = o->hop->options;
    int64_t began = clock_now(), pause = FIRST_PAUSE_MS;
    char queue[1024];
    name_queue(o->hop, attempt == log_in_openssh, queue, sizeof queue);
    for (unsigned tries = 1;; tries++, pause *= 2) {
        struct err why = ERR_INIT;
        if (login_queue_enter(o->hop->queues, queue, options->limits.cancel_fd, err) < 0)
            return -1;
        int rc = attempt(o, &why);
        login_queue_leave(o->hop->queues, queue, rc < 0 && why.kind == ERR_BUSY);
        if (rc == 0)
            return 0;
        int64_t limit = o->login.server_is_busy ? options->limits.step_timeout_ms : UNEXPLAINED_RETRY_MS;
        bool again = why.kind == ERR_BUSY && clock_now() - began + pause < limit;
        if (again) {
            fd_wait(-1, 0, clock_deadline(clock_jitter(pause)), options->limits.cancel_fd, &why);
            again = why.kind == ERR_TIMEOUT;
        }
        if (!again) {
            *err = why;
            return tries > 1 && why.kind == ERR_BUSY ? err_wrap(err, "tried %u times", tries) : -1;
        }
    }
}

/* ---- the choice between libssh2 and OpenSSH ------------------------------------------------------------ */

static int use_libssh2(struct opening *o, struct err *err)
{
    if (o->config->only_openssh[0])
        return failure_set(FAILURE_OPTION_BEYOND_LIBSSH2, FAILURE_DETAILS(o->config->only_openssh), err);
    return log_in(o, log_in_libssh2, err);
}

static int use_openssh(struct opening *o, const char *reason, struct err *err)
{
    report_via(o, "OpenSSH", reason);
    return log_in(o, log_in_openssh, err);
}

static int open_carrier(struct opening *o, struct err *err)
{
    enum ssh_via via = o->hop->via;
    if (via != SSH_VIA_LIBSSH2 && o->hop->may_use_master &&
        openssh_find(o->config, o->hop->options, &o->facts, &o->openssh, NULL) == 0) {
        report_via(o, o->facts.via, "");
        return 0;
    }
    /* first_hop (gateway.c) skipped the earlier hops, because this hop had a master connection, which is
     * closed now, or because this hop needs OpenSSH. Only ssh can open the skipped hops. */
    bool earlier_hops_skipped = o->hop->number > 0 && !o->hop->previous;
    if (via == SSH_VIA_OPENSSH || earlier_hops_skipped)
        return use_openssh(o, "", err);
    struct err why = ERR_INIT;
    if (use_libssh2(o, &why) == 0)
        return 0;
    if (why.kind == ERR_UNSUPPORTED && via == SSH_VIA_AUTO)
        return use_openssh(o, why.msg, err);
    *err = why;
    return -1;
}

/* Moves the open carrier and its facts to the caller. */
static void return_carrier(struct opening *o, struct carrier *ret, struct gateway_hop *ret_hop)
{
    struct session *session = o->login.session;
    *ret = (struct carrier){.session = session, .openssh = o->openssh};
    *ret_hop = session ? *session_facts(session) : o->facts;
    if (session)
        snprintf(ret_hop->via, sizeof ret_hop->via, "libssh2 %s", libssh2_version(0));
}

/* Reports a failure that is not reported yet, and adds the host's name if the message has none. */
static void finish_failure(struct opening *o, struct err *why)
{
    char name[DESTINATION_NAME];
    if (why->kind == ERR_UNSUPPORTED && o->hop->via == SSH_VIA_LIBSSH2)
        failure_set(FAILURE_ONLY_OPENSSH_CAN, FAILURE_DETAILS(why->msg), why);
    if (o->steps.unreported)
        steps_report(&o->steps, why);
    if (o->steps.current.kind != GATEWAY_CONNECT && why->kind != ERR_HOST_KEY)
        err_wrap(why, "%s", hop_name(o->hop, name, sizeof name));
}

int carrier_open(const struct hop *hop, struct carrier *ret, struct gateway_hop *ret_hop, struct err *err)
{
    struct opening o = {.hop = hop, .config = hop->config, .steps = {.hop = hop}, .login = {.hop = hop}};
    struct err why = ERR_INIT;
    o.login.steps = &o.steps;
    int rc = open_carrier(&o, &why);
    if (rc == 0) {
        return_carrier(&o, ret, ret_hop);
    } else {
        finish_failure(&o, &why);
        if (err)
            *err = why;
    }
    return rc;
}

void carrier_close(struct carrier *c)
{
    session_close(c->session);
    openssh_close(c->openssh);
    *c = (struct carrier){0};
}
