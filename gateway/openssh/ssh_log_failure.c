/* Derives the error of an ended or slow ssh from its complaints. */
#include <stdio.h>
#include <string.h>

#include "gateway/openssh/ssh_log.h"
#include "base/banned.h"

/* Returns the latest complaint that has the words. Words after ^ must begin the complaint. Returns NULL
 * without one. */
static const char *complaint_with(const struct ssh_log_complaints *c, const char *words)
{
    size_t oldest = c->n > SSH_LOG_COMPLAINTS ? c->n - SSH_LOG_COMPLAINTS : 0;
    for (size_t n = c->n; n > oldest; n--) {
        const char *line = c->lines[(n - 1) % SSH_LOG_COMPLAINTS];
        if (words[0] == '^' ? strstr(line, words + 1) == line : strstr(line, words) != NULL)
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
 * ..." or "The TYPE host key for NAME is marked as revoked.". Returns dst, or "what leads to the server". */
static char *name_host_on_route(const struct ssh_log_complaints *c, char *dst, size_t cap)
{
    static const char *const around[][2] = {{"host key is known for ", " and "},
                                            {"ost key for ", " has changed "},
                                            {"ost key for ", " is marked as revoked"}};
    snprintf(dst, cap, "what leads to the server");
    for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
        const char *line = complaint_with(c, around[i][0]);
        const char *name = line ? strstr(line, around[i][0]) + strlen(around[i][0]) : NULL;
        const char *end = name ? strstr(name, around[i][1]) : NULL;
        if (end) {
            text_printable(dst, cap, name, (size_t)(end - name));
            break;
        }
    }
    return dst;
}

/* `offered` is the key, "" if it is not certain. */
static int host_key_failure(const struct ssh_log_complaints *c, const char *where, const char *offered,
                            struct err *err)
{
    const char *file = complaint_with(c, "Offending "), *blank = *offered ? " " : "";
    const char *it_offered = *offered ? ": it offered " : "";
    if (complaint_with(c, "HOST IDENTIFICATION HAS CHANGED")) {
        err_set(err, ERR_HOST_KEY, "%s: HOST KEY HAS CHANGED%s%s%s%s", where, it_offered, offered,
                file ? "; ssh says: " : "", file ? file : "");
        return err_hint(err,
                        "someone may be in between; only if you know why it changed, remove the old key");
    }
    if (complaint_with(c, "revoked"))
        return err_set(err, ERR_HOST_KEY, "%s: host key %s%sis revoked", where, offered, blank);
    const char *unknown = complaint_with(c, "host key is known for");
    err_set(err, ERR_HOST_KEY, "%s: host key is not known%s%s%s%s", where, it_offered, offered,
            unknown ? "; ssh says: " : "", unknown ? unknown : "");
    return err_hint(err, "compare %s with someone who runs the host, then accept it once with your own ssh",
                    *offered ? "that fingerprint" : "the fingerprint that your own ssh shows");
}

static int host_key_refused(const struct ssh_log *l, enum ssh_log_source source, const char *where,
                            struct err *err)
{
    char offered[160] = "one that ssh did not tell", name[300];
    const struct ssh_log_complaints *c = &l->complaints[source];
    /* The log has only the server's own key. */
    if (source == SSH_STDERR)
        return host_key_failure(c, name_host_on_route(c, name, sizeof name), "", err);
    if (l->host_key[0])
        snprintf(offered, sizeof offered, "%s %s", l->host_key_type, l->host_key);
    return host_key_failure(c, where, offered, err);
}

/* ---- other reasons ------------------------------------------------------------------------------------- */

#define CLOSED_HINT                                                                                          \
    "is it an SSH server? a busy one turns connections away too (MaxStartups): take fewer hosts at a time "  \
    "(--parallel 4)"

/* `says` is our message. If it ends in a blank, the rest of ssh's line follows. Of several complaints from
 * one source, the first in this table is the cause. */
static const struct reason {
    const char *words;
    enum err_kind kind;
    enum {
        OF_SERVER, /* a line from standard error is quoted instead, because it names its host */
        OF_JUMP,   /* only the ssh of a jump host writes it */
        OF_EITHER, /* it may only result from a failure on the route */
    } whose;
    const char *says;
    const char *hint;
} reasons[] = {
    {"Bad configuration option: ", ERR_USAGE, OF_SERVER,
     "ssh's configuration has an option it does not know: ", NULL},
    {"Bad owner or permissions on ", ERR_USAGE, OF_SERVER,
     "ssh does not trust its configuration, bad owner or mode: ", NULL},
    {"terminating, ", ERR_USAGE, OF_SERVER, "ssh finds errors in its configuration: ", NULL},
    {"Too many authentication failures", ERR_DENIED, OF_SERVER,
     "the server ended the session: Too many authentication failures",
     "it counts every key that is offered: name the one for this host (IdentityFile) and add "
     "\"IdentitiesOnly yes\""},
    {"signing failed for ", ERR_DENIED, OF_SERVER, "the server takes a key that ssh cannot sign with: ",
     "is the key's token plugged in, its PIN right, its agent willing? `ssh -v` to the same host shows more"},
    {"Permission denied (", ERR_DENIED, OF_SERVER,
     "the server let nobody in with what was offered; it takes: ",
     "`ssh -v` to the same host shows what was tried"},
    {"Could not resolve hostname ", ERR_FAILED, OF_SERVER, "cannot resolve ",
     "is the name right, and is this workstation on the network (VPN) that knows it?"},
    {"Connection timed out during banner exchange", ERR_TIMEOUT, OF_EITHER,
     "it accepts the connection but says nothing", "is the port right, and is the host alive?"},
    {"connect to host ", ERR_FAILED, OF_SERVER, "cannot connect to ", NULL},
    {"no matching ", ERR_DENIED, OF_SERVER, "no agreement on keys and ciphers: no matching ", NULL},
    {"open failed: administratively prohibited", ERR_FAILED, OF_JUMP,
     "a jump host does not allow forwarding to the next host",
     "sshd_config there: AllowTcpForwarding, PermitOpen, DisableForwarding; or the key's restrict and "
     "permitopen options"},
    {"open failed: connect failed: ", ERR_FAILED, OF_JUMP,
     "a jump host cannot connect to the next host: ", NULL},
    {"invalid characters", ERR_FAILED, OF_EITHER, "this is no SSH server", "is the port right?"},
    {"Timeout, server ", ERR_LOST, OF_EITHER, "the SSH session is dead: ssh heard nothing from the server ",
     NULL},
    /* Of ssh's two lines for this failure, this one names the host. */
    {"^Connection closed by ", ERR_BUSY, OF_EITHER, "the server closed the connection", CLOSED_HINT},
    {"^Connection reset by ", ERR_BUSY, OF_EITHER, "the server reset the connection", CLOSED_HINT},
    {"kex_exchange_identification: ", ERR_BUSY, OF_EITHER, "the server closed the connection", CLOSED_HINT},
    {"closed by remote host", ERR_FAILED, OF_EITHER, "the server closed the connection", NULL},
    {"Broken pipe", ERR_FAILED, OF_EITHER, "the connection broke", NULL},
    {"Connection reset", ERR_FAILED, OF_EITHER, "the connection was reset", NULL},
    {"Connection to ", ERR_FAILED, OF_EITHER, "the connection ended: Connection to ", NULL},
};

/* Checks for a refused or unanswered connection. */
static bool is_unreached(const struct reason *r)
{
    static const char *const words[] = {"Connection timed out during banner exchange", "connect to host ",
                                        "open failed: connect failed: "};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(r->words, words[i]) == 0)
            return true;
    return false;
}

/* Finds the cause among the complaints and its line. Returns NULL without a known one. */
static const struct reason *reason_among(const struct ssh_log_complaints *c, const char **ret_line)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        *ret_line = complaint_with(c, reasons[i].words);
        if (*ret_line)
            return &reasons[i];
    }
    return NULL;
}

/* A server that has judged a login is not too busy for it. */
static enum err_kind kind_of(const struct reason *r, const struct ssh_log_complaints *c, const char *line)
{
    if (strstr(line, "timed out"))
        return ERR_TIMEOUT;
    return r->kind == ERR_BUSY && c->judged ? ERR_FAILED : r->kind;
}

static int say(const struct ssh_log *l, const struct reason *r, enum err_kind kind, const char *line,
               struct err *err)
{
    const char *when = r->kind == ERR_BUSY && !l->banner[0] ? " before it said anything" : "";
    bool more = r->says[strlen(r->says) - 1] == ' ';
    const char *rest = more ? strstr(line, r->words) + strlen(r->words) : "";
    size_t n = strlen(rest);
    while (n > 0 && (rest[n - 1] == ')' || rest[n - 1] == '.'))
        n--;
    err_set(err, kind, "%s%.*s%s", r->says, (int)n, rest, when);
    if (is_unreached(r))
        err_unreached(err);
    return r->hint && (r->kind != ERR_BUSY || kind == ERR_BUSY) ? err_hint(err, "%s", r->hint) : -1;
}

/* Quotes the line of ssh or of another program on the route. */
static int quote_route(const struct ssh_log *l, struct err *err)
{
    const struct ssh_log_complaints *c = &l->complaints[SSH_STDERR];
    const char *line = NULL;
    const struct reason *r = reason_among(c, &line);
    if (!r)
        return err_set(err, ERR_FAILED, "what leads to the server failed: %s", latest_complaint(c));
    enum err_kind kind = kind_of(r, c, line);
    if (r->whose == OF_JUMP)
        return say(l, r, kind, line, err);
    /* A usage error here is in another ssh's configuration, not in our arguments. */
    err_set(err, kind == ERR_USAGE ? ERR_FAILED : kind, "what leads to the server: %s", line);
    if (is_unreached(r))
        err_unreached(err);
    return kind == ERR_BUSY ? err_hint(err, CLOSED_HINT) : -1;
}

/* Sets the error from the server's log. Silence may also result from a failure on the route. */
static int describe_server(const struct ssh_log *l, const struct reason *r, const char *line, struct err *err)
{
    say(l, r, kind_of(r, &l->complaints[SSH_LOG], line), line, err);
    return r->whose == OF_EITHER && l->proxied && !l->banner[0]
               ? err_wrap(err, "through the jump host or proxy on the way")
               : -1;
}

int ssh_log_failure(const struct ssh_log *l, const char *where, struct err *err)
{
    const struct ssh_log_complaints *own = &l->complaints[SSH_LOG], *way = &l->complaints[SSH_STDERR];
    const char *line = NULL, *ignored = NULL;
    /* ssh reports errors in its arguments before it opens its log. */
    if (own->n == 0 && !l->version[0])
        own = way;
    if (complaint_with(own, "Host key verification failed"))
        return host_key_refused(l, own == way ? SSH_STDERR : SSH_LOG, where, err);
    const struct reason *r = reason_among(own, &line);
    if (r && r->whose != OF_EITHER)
        return describe_server(l, r, line, err);
    if (complaint_with(way, "Host key verification failed"))
        return host_key_refused(l, SSH_STDERR, where, err);
    /* After the server's banner, an unknown line is a banner rather than a cause. */
    if (way->n > 0 && (r || own->n == 0) && (!l->banner[0] || reason_among(way, &ignored)))
        return quote_route(l, err);
    if (r)
        return describe_server(l, r, line, err);
    if (own->n == 0)
        return err_set(err, ERR_FAILED, "ssh ended without a word");
    return err_set(err, ERR_FAILED, "ssh says: %s", latest_complaint(own));
}

/* ---- what is waited for -------------------------------------------------------------------------------- */

int ssh_log_delay(const struct ssh_log *l, int64_t ms, struct err *err)
{
    char limit[32];
    text_duration(limit, sizeof limit, ms);
    if (!l->banner[0]) {
        err_set(err, ERR_TIMEOUT, "ssh did not reach the server within %s", limit);
        err_unreached(err);
        return err_hint(err, "is the host up, and does this workstation reach its network (VPN, firewall)?");
    }
    err_set(err, ERR_TIMEOUT, "ssh did not log in within %s%s%s", limit,
            l->trying[0] ? "; it came as far as " : "", l->trying);
    if (ssh_log_awaits_agent(l))
        return err_hint(
            err,
            "does the agent's key wait for a touch or a confirmation? --ask-timeout says how long it may");
    if (strncmp(l->trying, "gssapi-", 7) == 0)
        return err_hint(
            err, "can the KDC of your realm be reached? `ssh -v` to the same host shows where it stops");
    return err_hint(err, "`ssh -v` to the same host shows where it stops");
}
