/* Derives the error of an ended or slow ssh from its complaints. */
#include <stdio.h>
#include <string.h>

#include "gateway/openssh/ssh_log.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* Returns the latest complaint that contains the text, or begins with it if the text begins with ^. Returns
 * NULL if there is none. */
static const char *find_complaint(const struct ssh_log_complaints *c, const char *text)
{
    size_t oldest = c->n > SSH_LOG_COMPLAINTS ? c->n - SSH_LOG_COMPLAINTS : 0;
    for (size_t n = c->n; n > oldest; n--) {
        const char *line = c->lines[(n - 1) % SSH_LOG_COMPLAINTS];
        if (text[0] == '^' ? strstr(line, text + 1) == line : strstr(line, text) != NULL)
            return line;
    }
    return NULL;
}

static const char *latest_complaint(const struct ssh_log_complaints *c)
{
    return c->lines[(c->n - 1) % SSH_LOG_COMPLAINTS];
}

/* ---- host keys ----------------------------------------------------------------------------------------- */

/* Extracts the host from "No TYPE host key is known for NAME and ...", "Host key for NAME has changed and
 * ..." or "The TYPE host key for NAME is marked as revoked.". Returns dst, or "the proxy or jump host". */
static char *name_host_on_route(const struct ssh_log_complaints *c, char *dst, size_t cap)
{
    static const char *const around[][2] = {{"host key is known for ", " and "},
                                            {"ost key for ", " has changed "},
                                            {"ost key for ", " is marked as revoked"}};
    snprintf(dst, cap, "the proxy or jump host");
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        const char *line = find_complaint(c, around[i][0]);
        const char *name = line ? strstr(line, around[i][0]) + strlen(around[i][0]) : NULL;
        const char *end = name ? strstr(name, around[i][1]) : NULL;
        if (end) {
            text_printable(dst, cap, name, (size_t)(end - name));
            break;
        }
    }
    return dst;
}

/* Sets the error of a refused host key. `where` is the host's name. `offered` is the key that the server
 * offered, "" if it is unknown. */
static int set_host_key_error(const struct ssh_log_complaints *c, const char *where, const char *offered,
                              struct err *err)
{
    const char *file = find_complaint(c, "Offending "), *unknown = find_complaint(c, "host key is known for");
    char offer[200], quoted[SSH_LOG_LINE + 20] = "";
    bool changed = find_complaint(c, "HOST IDENTIFICATION HAS CHANGED") != NULL;
    const char *quote = changed ? file : unknown;
    if (quote)
        snprintf(quoted, sizeof quoted, "; ssh says: %s", quote);
    if (!changed && find_complaint(c, "revoked")) {
        snprintf(offer, sizeof offer, "%s%s", offered, *offered ? " " : "");
        return failure_set(FAILURE_KEY_REVOKED_TO_SSH, FAILURE_DETAILS(where, offer), err);
    }
    failure_offered_key(offer, sizeof offer, offered);
    if (changed)
        return failure_set(FAILURE_KEY_CHANGED, FAILURE_DETAILS(where, offer, quoted, "the old key"), err);
    const char *fingerprint = *offered ? "that fingerprint" : "the fingerprint that your own ssh shows";
    return failure_set(FAILURE_KEY_UNKNOWN_TO_SSH, FAILURE_DETAILS(where, offer, quoted, fingerprint), err);
}

static int explain_host_key(const struct ssh_log *l, enum ssh_log_source source, const char *where,
                            struct err *err)
{
    char offered[160] = "a key that ssh did not name", name[300];
    const struct ssh_log_complaints *c = &l->complaints[source];
    /* The key in the log is that of the target, not of a host on the route. */
    if (source == SSH_STDERR)
        return set_host_key_error(c, name_host_on_route(c, name, sizeof name), "", err);
    if (l->host_key[0])
        snprintf(offered, sizeof offered, "%s %s", l->host_key_type, l->host_key);
    return set_host_key_error(c, where, offered, err);
}

/* ---- other reasons ------------------------------------------------------------------------------------- */

/* If one source complains several times, the first complaint in this table is the cause. */
static const struct reason {
    const char *text;
    enum {
        FROM_TARGET,    /* in the log: the target failed. In standard error: the host that the line names
                           failed, so the whole line is quoted. */
        FROM_JUMP_HOST, /* only the ssh of a jump host writes this line */
        FROM_EITHER,    /* the target failed, or a host on the route */
    } origin;
    enum failure failure;
    bool quotes_rest; /* the detail is the rest of ssh's line */
} reasons[] = {
    {"Bad configuration option: ", FROM_TARGET, FAILURE_UNKNOWN_OPTION, true},
    {"Bad owner or permissions on ", FROM_TARGET, FAILURE_BAD_MODE, true},
    {"terminating, ", FROM_TARGET, FAILURE_CONFIGURATION, true},
    {"Too many authentication failures", FROM_TARGET, FAILURE_TOO_MANY_KEYS, false},
    {"signing failed for ", FROM_TARGET, FAILURE_SIGNING, true},
    {"Permission denied (", FROM_TARGET, FAILURE_LOGIN_REFUSED_TO_SSH, true},
    {"Could not resolve hostname ", FROM_TARGET, FAILURE_RESOLVE, true},
    {"Connection timed out during banner exchange", FROM_EITHER, FAILURE_SERVER_SILENT, false},
    {"connect to host ", FROM_TARGET, FAILURE_CONNECT, true},
    {"no matching ", FROM_TARGET, FAILURE_NO_COMMON_ALGORITHM, true},
    {"open failed: administratively prohibited", FROM_JUMP_HOST, FAILURE_JUMP_FORBIDDEN, false},
    {"open failed: connect failed: ", FROM_JUMP_HOST, FAILURE_JUMP_UNREACHED, true},
    {"invalid characters", FROM_EITHER, FAILURE_NO_SSH_SERVER, false},
    {"Timeout, server ", FROM_EITHER, FAILURE_SSH_SESSION_SILENT, true},
    /* ssh writes two lines for this failure; this one names the host. */
    {"^Connection closed by ", FROM_EITHER, FAILURE_CLOSED_EARLY, false},
    {"^Connection reset by ", FROM_EITHER, FAILURE_RESET_EARLY, false},
    {"kex_exchange_identification: ", FROM_EITHER, FAILURE_CLOSED_EARLY, false},
    {"closed by remote host", FROM_EITHER, FAILURE_SSH_CLOSED, false},
    {"Broken pipe", FROM_EITHER, FAILURE_SSH_BROKEN_PIPE, false},
    {"Connection reset", FROM_EITHER, FAILURE_SSH_RESET, false},
    {"Connection to ", FROM_EITHER, FAILURE_SSH_ENDED, true},
};

/* Finds the cause among the complaints, and sets *ret_line to its line. Returns NULL if no complaint has a
 * known cause. */
static const struct reason *find_reason(const struct ssh_log_complaints *c, const char **ret_line)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        *ret_line = find_complaint(c, reasons[i].text);
        if (*ret_line)
            return &reasons[i];
    }
    return NULL;
}

/* Returns the kind of a reason. A server that refused a login is not too busy for it. */
static enum err_kind reason_kind(const struct reason *r, const struct ssh_log_complaints *c, const char *line)
{
    if (strstr(line, "timed out"))
        return ERR_TIMEOUT;
    enum err_kind kind = failure_kind(r->failure);
    return kind == ERR_BUSY && c->login_refused ? ERR_FAILED : kind;
}

/* Sets the error of a reason, but with the given kind. */
static int set_reason(const struct ssh_log *l, const struct reason *r, enum err_kind kind, const char *line,
                      struct err *err)
{
    char detail[SSH_LOG_LINE];
    bool busy = failure_kind(r->failure) == ERR_BUSY;
    snprintf(detail, sizeof detail, "%s",
             r->quotes_rest          ? strstr(line, r->text) + strlen(r->text)
             : busy && !l->banner[0] ? " before it sent any data"
                                     : "");
    size_t n = strlen(detail);
    while (n > 0 && (detail[n - 1] == ')' || detail[n - 1] == '.'))
        detail[--n] = '\0';
    failure_set(r->failure, FAILURE_DETAILS(detail), err);
    if (!err)
        return -1;
    err->kind = kind;
    if (busy && kind != ERR_BUSY)
        err->hint[0] = '\0';
    return -1;
}

/* Sets an error that quotes the line of a jump host's ssh or of another program on the route. */
static int quote_route(const struct ssh_log *l, struct err *err)
{
    const struct ssh_log_complaints *c = &l->complaints[SSH_STDERR];
    const char *line = NULL;
    const struct reason *r = find_reason(c, &line);
    if (!r)
        return failure_set(FAILURE_ROUTE_UNKNOWN, FAILURE_DETAILS(latest_complaint(c)), err);
    enum err_kind kind = reason_kind(r, c, line);
    if (r->origin == FROM_JUMP_HOST)
        return set_reason(l, r, kind, line, err);
    /* A usage error here is in another ssh's configuration, not in our arguments. */
    failure_set(kind == ERR_BUSY ? FAILURE_ROUTE_BUSY : FAILURE_ROUTE, FAILURE_DETAILS(line), err);
    if (err && kind != ERR_USAGE)
        err->kind = kind;
    if (failure_is_unreachable(r->failure))
        err_mark_unreachable(err);
    return -1;
}

/* Sets the error from a reason in ssh's own log, which is about the target. If the target sent no data, a
 * host on the route may have failed instead. */
static int set_target_error(const struct ssh_log *l, const struct reason *r, const char *line,
                            struct err *err)
{
    set_reason(l, r, reason_kind(r, &l->complaints[SSH_LOG], line), line, err);
    return r->origin == FROM_EITHER && l->has_proxy_process && !l->banner[0]
               ? err_wrap(err, "through the jump host or proxy on the way")
               : -1;
}

int ssh_log_explain_end(const struct ssh_log *l, const char *where, struct err *err)
{
    const struct ssh_log_complaints *own = &l->complaints[SSH_LOG], *route = &l->complaints[SSH_STDERR];
    const char *line = NULL, *ignored = NULL;
    /* ssh reports errors in its arguments before it opens its log. */
    if (own->n == 0 && !l->version[0])
        own = route;
    if (find_complaint(own, "Host key verification failed"))
        return explain_host_key(l, own == route ? SSH_STDERR : SSH_LOG, where, err);
    const struct reason *r = find_reason(own, &line);
    if (r && r->origin != FROM_EITHER)
        return set_target_error(l, r, line, err);
    if (find_complaint(route, "Host key verification failed"))
        return explain_host_key(l, SSH_STDERR, where, err);
    /* After the target sent its version, an unknown line of standard error is a login banner, not a cause. */
    if (route->n > 0 && (r || own->n == 0) && (!l->banner[0] || find_reason(route, &ignored)))
        return quote_route(l, err);
    if (r)
        return set_target_error(l, r, line, err);
    if (own->n == 0)
        return failure_set(FAILURE_SSH_SILENT, FAILURE_DETAILS(NULL), err);
    return failure_set(FAILURE_SSH_MESSAGE, FAILURE_DETAILS(latest_complaint(own)), err);
}

/* ---- a slow login -------------------------------------------------------------------------------------- */

int ssh_log_explain_delay(const struct ssh_log *l, int64_t ms, struct err *err)
{
    char limit[32], reached[sizeof l->latest_method + 40] = "";
    text_duration(limit, sizeof limit, ms);
    if (!l->banner[0])
        return failure_set(FAILURE_SERVER_NOT_REACHED, FAILURE_DETAILS(limit), err);
    if (l->latest_method[0])
        snprintf(reached, sizeof reached, "; the last method it tried is %s", l->latest_method);
    enum failure f = ssh_log_is_awaiting_agent(l)                   ? FAILURE_LOGIN_SLOW_AGENT
                     : strncmp(l->latest_method, "gssapi-", 7) == 0 ? FAILURE_LOGIN_SLOW_KERBEROS
                                                                    : FAILURE_LOGIN_SLOW;
    return failure_set(f, FAILURE_DETAILS(limit, reached), err);
}
