#include "gateway/ssh_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* What stands behind `start` when the line begins with it, else NULL. */
static const char *behind(const char *line, const char *start)
{
    size_t n = strlen(start);
    return strncmp(line, start, n) == 0 ? line + n : NULL;
}

static void keep(char *dst, size_t cap, const char *s, size_t n)
{
    text_printable(dst, cap, s, n);
}

/* ---- facts --------------------------------------------------------------------------------------------- */

static void take_proxy(struct ssh_log *l, const char *rest)
{
    (void)rest;
    l->proxied = true;
}

static void take_version(struct ssh_log *l, const char *rest)
{
    keep(l->version, sizeof l->version, rest, strcspn(rest, " ,"));
}

static void take_banner(struct ssh_log *l, const char *rest)
{
    const char *software = strstr(rest, ", remote software version ");
    char banner[160];
    if (!software)
        return;
    snprintf(banner, sizeof banner, "SSH-%.*s-%s", (int)strcspn(rest, ","), rest, software + 26);
    keep(l->banner, sizeof l->banner, banner, strlen(banner));
}

static void take_host_key(struct ssh_log *l, const char *rest)
{
    size_t n = strcspn(rest, " ");
    keep(l->host_key_type, sizeof l->host_key_type, rest, n);
    rest += n + (rest[n] == ' ');
    keep(l->host_key, sizeof l->host_key, rest, strcspn(rest, " "));
}

/* "HOST ([IP]:PORT) using "METHOD".", or "HOST (via proxy) using ...". */
static void take_authenticated(struct ssh_log *l, const char *rest)
{
    const char *peer = strstr(rest, " (["), *method = strstr(rest, " using \"");
    if (!method)
        return;
    if (peer && peer < method)
        keep(l->peer, sizeof l->peer, peer + 3, strcspn(peer + 3, "]"));
    keep(l->method, sizeof l->method, method + 8, strcspn(method + 8, "\""));
}

static void take_key(struct ssh_log *l, const char *rest)
{
    keep(l->key, sizeof l->key, rest, strlen(rest));
}

static void take_methods(struct ssh_log *l, const char *rest)
{
    keep(l->methods, sizeof l->methods, rest, strlen(rest));
}

/* ---- channels ------------------------------------------------------------------------------------------ */

/* "HOST:PORT", made "HOST port PORT", as destinations are named. */
static void take_tcp(struct ssh_log *l, const char *rest)
{
    const char *colon = strrchr(rest, ':');
    if (colon)
        snprintf(l->next_channel, sizeof l->next_channel, "%.*s port %s", (int)(colon - rest), rest,
                 colon + 1);
}

/* "port -2 forwarding to PATH port -2 requested." */
static void take_unix(struct ssh_log *l, const char *rest)
{
    const char *to = strstr(rest, " forwarding to "), *end = strstr(rest, " port -2 requested.");
    if (to && end && end > to)
        snprintf(l->next_channel, sizeof l->next_channel, "%.*s", (int)(end - to - 15), to + 15);
}

/* "N: new stdio-forward [...]", or without the type in older ones. */
static void take_new_channel(struct ssh_log *l, const char *rest)
{
    if (!strstr(rest, ": new ") || (!strstr(rest, "stdio-forward") && !strstr(rest, "direct-streamlocal")) ||
        !l->next_channel[0])
        return;
    size_t i = l->n_channels++ % SSH_LOG_CHANNELS;
    l->channels[i].number = (unsigned)strtoul(rest, NULL, 10);
    l->channels[i].reason[0] = '\0';
    l->channels[i].confirmed = false;
    memcpy(l->channels[i].to, l->next_channel, sizeof l->channels[i].to);
    l->next_channel[0] = '\0';
}

/* The place of a channel, -1 if there is none of that number. Numbers are used again: the latest counts. */
static int find_channel(const struct ssh_log *l, const char *number)
{
    unsigned wanted = (unsigned)strtoul(number, NULL, 10);
    size_t oldest = l->n_channels > SSH_LOG_CHANNELS ? l->n_channels - SSH_LOG_CHANNELS : 0;
    for (size_t n = l->n_channels; n > oldest; n--)
        if (l->channels[(n - 1) % SSH_LOG_CHANNELS].number == wanted)
            return (int)((n - 1) % SSH_LOG_CHANNELS);
    return -1;
}

/* "N: open failed: REASON: THE SERVER'S WORDS". */
static void take_refusal(struct ssh_log *l, const char *rest)
{
    const char *reason = strstr(rest, ": open failed: ");
    int i = find_channel(l, rest);
    if (reason && i >= 0)
        keep(l->channels[i].reason, sizeof l->channels[i].reason, reason + 15, strlen(reason + 15));
}

/* "...: channel N: open confirm ...". */
static void take_confirmation(struct ssh_log *l, const char *rest)
{
    const char *number = strstr(rest, ": channel ");
    int i = number ? find_channel(l, number + 10) : -1;
    if (i >= 0)
        l->channels[i].confirmed = true;
}

bool ssh_log_confirmation(struct ssh_log *l, const struct destination *to)
{
    char name[DESTINATION_NAME];
    destination_name(to, name);
    for (size_t i = 0; i < SSH_LOG_CHANNELS; i++) {
        if (!l->channels[i].confirmed || strcmp(l->channels[i].to, name) != 0)
            continue;
        l->channels[i].confirmed = false;
        return true;
    }
    return false;
}

bool ssh_log_refusal(struct ssh_log *l, const struct destination *to, char *dst, size_t cap)
{
    char name[DESTINATION_NAME];
    destination_name(to, name);
    for (size_t i = 0; i < SSH_LOG_CHANNELS; i++) {
        if (!l->channels[i].reason[0] || strcmp(l->channels[i].to, name) != 0)
            continue;
        snprintf(dst, cap, "%s", l->channels[i].reason);
        l->channels[i].reason[0] = '\0';
        return true;
    }
    return false;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* True when the line told a fact, and is for nobody else. */
static bool take_fact(struct ssh_log *l, const char *line)
{
    static const struct {
        const char *start;
        void (*take)(struct ssh_log *l, const char *rest);
    } facts[] = {
        {"debug1: Executing proxy command: ", take_proxy},
        {"debug1: Local version string SSH-2.0-", take_version},
        {"debug1: Remote protocol version ", take_banner},
        {"debug1: Server host key: ", take_host_key},
        {"debug1: Server accepts key: ", take_key},
        {"debug1: Authentications that can continue: ", take_methods},
        {"Authenticated to ", take_authenticated},
        {"debug1: channel_connect_stdio_fwd: ", take_tcp},
        {"debug1: Connection to ", take_unix},
        {"debug1: channel ", take_new_channel},
        {"debug2: channels.c:channel_input_open_confirmation()", take_confirmation},
        {"channel ", take_refusal},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *rest = behind(line, facts[i].start);
        if (rest) {
            facts[i].take(l, rest);
            return true;
        }
    }
    return false;
}

/* What ssh says at this level of detail that is no complaint. */
static bool is_chatter(const char *line)
{
    static const char *const starts[] = {"debug",        "OpenSSH_",          "Authenticated to ",
                                         "Transferred:", "Bytes per second:", "@@@@"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (behind(line, starts[i]))
            return true;
    return !line[0];
}

/* The ssh of a jump host that is reached through another knows no more than that. */
static bool tells_nothing(const char *line)
{
    return behind(line, "Connection closed by UNKNOWN ") || behind(line, "Connection reset by UNKNOWN ");
}

/* Where a login stands, of whichever host on the way. */
static void follow(struct ssh_log_complaints *c, enum ssh_log_source source, const char *line)
{
    if (behind(line, "debug1: Authentications that can continue: "))
        c->judged = true;
    if (!behind(line, "Authenticated to "))
        return;
    c->judged = false;
    /* Whatever a jump host's ssh, or that host's banner, said before did not keep it from getting through. */
    if (source == SSH_STDERR)
        c->n = 0;
}

static void take_line(struct ssh_log *l, enum ssh_log_source source, const char *text, size_t n)
{
    struct ssh_log_complaints *c = &l->complaints[source];
    char line[SSH_LOG_LINE];
    keep(line, sizeof line, text, n);
    follow(c, source, line);
    if ((source == SSH_LOG ? take_fact(l, line) : tells_nothing(line)) || is_chatter(line))
        return;
    memcpy(c->lines[c->n++ % SSH_LOG_COMPLAINTS], line, sizeof line);
}

void ssh_log_settle(struct ssh_log *l)
{
    for (size_t i = 0; i < SSH_SOURCES; i++)
        l->complaints[i].n = 0;
}

void ssh_log_feed(struct ssh_log *l, enum ssh_log_source source, const char *p, size_t n)
{
    char *text = l->partial[source].text;
    size_t *len = &l->partial[source].n;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n') {
            take_line(l, source, text, *len);
            *len = 0;
        } else if (*len < SSH_LOG_LINE) {
            text[(*len)++] = p[i];
        }
    }
}

/* ---- what is made of it -------------------------------------------------------------------------------- */

/* "PATH TYPE FINGERPRINT [explicit] [agent] [token] [authenticator]", in the words used for our own logins.
 */
static void describe_key(const char *key, char *dst, size_t cap)
{
    const char *fingerprint = strstr(key, " SHA256:");
    const char *type = fingerprint;
    while (type && type > key && type[-1] != ' ')
        type--;
    if (!fingerprint || type == key) {
        snprintf(dst, cap, "publickey %s", key);
        return;
    }
    const char *flags = fingerprint + 1 + strcspn(fingerprint + 1, " ");
    int path = (int)(type - key - 1);
    if (strstr(flags, " agent"))
        snprintf(dst, cap, "agent %.*s", (int)(flags - type), type);
    else
        snprintf(dst, cap, "%s %.*s",
                 strstr(flags, " authenticator") ? "security key"
                 : strstr(flags, " token")       ? "token"
                                                 : "key",
                 path, key);
}

void ssh_log_describe(const struct ssh_log *l, struct gateway_hop *hop)
{
    snprintf(hop->via, sizeof hop->via, "%s", l->version[0] ? l->version : "OpenSSH");
    snprintf(hop->peer, sizeof hop->peer, "%s", l->peer);
    snprintf(hop->host_key_type, sizeof hop->host_key_type, "%s", l->host_key_type);
    snprintf(hop->host_key, sizeof hop->host_key, "%s", l->host_key);
    snprintf(hop->banner, sizeof hop->banner, "%s", l->banner);
    if (strcmp(l->method, "publickey") == 0 && l->key[0])
        describe_key(l->key, hop->authentication, sizeof hop->authentication);
    else
        snprintf(hop->authentication, sizeof hop->authentication, "%s", l->method);
}

/* The latest complaint that holds the words, or begins with what stands behind ^; NULL for none. */
static const char *complaint_with(const struct ssh_log_complaints *c, const char *words)
{
    size_t oldest = c->n > SSH_LOG_COMPLAINTS ? c->n - SSH_LOG_COMPLAINTS : 0;
    for (size_t n = c->n; n > oldest; n--) {
        const char *line = c->lines[(n - 1) % SSH_LOG_COMPLAINTS];
        if (words[0] == '^' ? behind(line, words + 1) != NULL : strstr(line, words) != NULL)
            return line;
    }
    return NULL;
}

static const char *latest(const struct ssh_log_complaints *c)
{
    return c->lines[(c->n - 1) % SSH_LOG_COMPLAINTS];
}

/* ---- host keys ----------------------------------------------------------------------------------------- */

/* "No TYPE host key is known for NAME and ...", "Host key for NAME has changed and ...", "The TYPE host key
 * for NAME is marked as revoked.": which host ssh means. Returns dst, "what leads to the server" without. */
static char *host_on_the_way(const struct ssh_log_complaints *c, char *dst, size_t cap)
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
            keep(dst, cap, name, (size_t)(end - name));
            break;
        }
    }
    return dst;
}

/* `offered` is the key, "" where it is not known for sure. */
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
    /* The log tells of the server's key only. */
    if (source == SSH_STDERR)
        return host_key_failure(c, host_on_the_way(c, name, sizeof name), "", err);
    if (l->host_key[0])
        snprintf(offered, sizeof offered, "%s %s", l->host_key_type, l->host_key);
    return host_key_failure(c, where, offered, err);
}

/* ---- other reasons ------------------------------------------------------------------------------------- */

#define CLOSED_HINT                                                                                          \
    "is it an SSH server? a busy one turns connections away too (MaxStartups): take fewer hosts at a time "  \
    "(--parallel 4)"

/* Ours is `says` alone, or with what stands behind ssh's words where it ends in a blank. Of several
 * complaints of one source the one highest in the table is the cause. */
static const struct reason {
    const char *words;
    enum err_kind kind;
    enum {
        OF_SERVER, /* from standard error it is quoted instead: ssh's line names the host it speaks of */
        OF_JUMP,   /* only the ssh of a jump host says so */
        OF_EITHER, /* it may be no more than what comes of a failure on the way */
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
    {"Permission denied (", ERR_DENIED, OF_SERVER,
     "the server let nobody in with what was offered; it takes: ",
     "`ssh -v` to the same host shows what was tried"},
    {"Could not resolve hostname ", ERR_FAILED, OF_SERVER, "cannot resolve ",
     "is the name right, and is this workstation on the network (VPN) that knows it?"},
    {"Connection timed out during banner exchange", ERR_TIMEOUT, OF_EITHER,
     "it accepts the connection but says nothing", "is the port right, and is the host alive?"},
    {"connect to host ", ERR_FAILED, OF_SERVER, "cannot connect to ", NULL},
    {"no matching ", ERR_FAILED, OF_SERVER, "no agreement on keys and ciphers: no matching ", NULL},
    {"open failed: administratively prohibited", ERR_FAILED, OF_JUMP,
     "a jump host does not allow forwarding to the next host",
     "sshd_config there: AllowTcpForwarding, PermitOpen, DisableForwarding; or the key's restrict and "
     "permitopen options"},
    {"open failed: connect failed: ", ERR_FAILED, OF_JUMP,
     "a jump host cannot connect to the next host: ", NULL},
    {"invalid characters", ERR_FAILED, OF_EITHER, "this is no SSH server", "is the port right?"},
    {"Timeout, server ", ERR_LOST, OF_EITHER, "the SSH session is dead: ssh heard nothing from the server ",
     NULL},
    /* Of the two lines that ssh then has this is the one that names the host. */
    {"^Connection closed by ", ERR_BUSY, OF_EITHER, "the server closed the connection", CLOSED_HINT},
    {"^Connection reset by ", ERR_BUSY, OF_EITHER, "the server reset the connection", CLOSED_HINT},
    {"kex_exchange_identification: ", ERR_BUSY, OF_EITHER, "the server closed the connection", CLOSED_HINT},
    {"closed by remote host", ERR_FAILED, OF_EITHER, "the server closed the connection", NULL},
    {"Broken pipe", ERR_FAILED, OF_EITHER, "the connection broke", NULL},
    {"Connection reset", ERR_FAILED, OF_EITHER, "the connection was reset", NULL},
    {"Connection to ", ERR_FAILED, OF_EITHER, "the connection ended: Connection to ", NULL},
};

/* The cause among the complaints, with the line that tells it; NULL when we know none of them. */
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
    return r->hint && (r->kind != ERR_BUSY || kind == ERR_BUSY) ? err_hint(err, "%s", r->hint) : -1;
}

/* In ssh's own words, or those of whatever else leads there. */
static int say_of_the_way(const struct ssh_log *l, struct err *err)
{
    const struct ssh_log_complaints *c = &l->complaints[SSH_STDERR];
    const char *line = NULL;
    const struct reason *r = reason_among(c, &line);
    if (!r)
        return err_set(err, ERR_FAILED, "what leads to the server failed: %s", latest(c));
    enum err_kind kind = kind_of(r, c, line);
    if (r->whose == OF_JUMP)
        return say(l, r, kind, line, err);
    /* It is the configuration of another ssh, not what we were asked with. */
    err_set(err, kind == ERR_USAGE ? ERR_FAILED : kind, "what leads to the server: %s", line);
    return kind == ERR_BUSY ? err_hint(err, CLOSED_HINT) : -1;
}

/* What the log tells. That nothing came may as well be due to what was to bring it. */
static int say_of_server(const struct ssh_log *l, const struct reason *r, const char *line, struct err *err)
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
    /* What is wrong with how ssh was called it says before it opens its log. */
    if (own->n == 0 && !l->version[0])
        own = way;
    if (complaint_with(own, "Host key verification failed"))
        return host_key_refused(l, own == way ? SSH_STDERR : SSH_LOG, where, err);
    const struct reason *r = reason_among(own, &line);
    if (r && r->whose != OF_EITHER)
        return say_of_server(l, r, line, err);
    if (complaint_with(way, "Host key verification failed"))
        return host_key_refused(l, SSH_STDERR, where, err);
    /* Once the server has spoken, words that we do not know are a banner rather than a cause. */
    if (way->n > 0 && (r || own->n == 0) && (!l->banner[0] || reason_among(way, &ignored)))
        return say_of_the_way(l, err);
    if (r)
        return say_of_server(l, r, line, err);
    if (own->n == 0)
        return err_set(err, ERR_FAILED, "ssh ended without a word");
    return err_set(err, ERR_FAILED, "ssh says: %s", latest(own));
}
