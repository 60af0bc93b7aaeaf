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

static void take_line(struct ssh_log *l, enum ssh_log_source source, const char *text, size_t n)
{
    char line[SSH_LOG_LINE];
    keep(line, sizeof line, text, n);
    if (source == SSH_LOG && take_fact(l, line))
        return;
    if (is_chatter(line))
        return;
    memcpy(l->complaints[l->n_complaints++ % SSH_LOG_COMPLAINTS], line, sizeof line);
    if (source == SSH_STDERR)
        memcpy(l->proxy_words, line, sizeof line);
}

void ssh_log_settle(struct ssh_log *l)
{
    l->n_complaints = 0;
    l->proxy_words[0] = '\0';
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

/* The latest complaint that holds the words, NULL for none. */
static const char *complaint_with(const struct ssh_log *l, const char *words)
{
    size_t oldest = l->n_complaints > SSH_LOG_COMPLAINTS ? l->n_complaints - SSH_LOG_COMPLAINTS : 0;
    for (size_t n = l->n_complaints; n > oldest; n--) {
        const char *line = l->complaints[(n - 1) % SSH_LOG_COMPLAINTS];
        if (strstr(line, words))
            return line;
    }
    return NULL;
}

static int host_key_failure(const struct ssh_log *l, const char *where, struct err *err)
{
    char offered[160] = "one that ssh did not tell";
    const char *file = complaint_with(l, "Offending ");
    if (l->host_key[0])
        snprintf(offered, sizeof offered, "%s %s", l->host_key_type, l->host_key);
    if (complaint_with(l, "HOST IDENTIFICATION HAS CHANGED")) {
        err_set(err, ERR_HOST_KEY, "%s: HOST KEY HAS CHANGED: it offered %s%s%s", where, offered,
                file ? "; ssh says: " : "", file ? file : "");
        return err_hint(err,
                        "someone may be in between; only if you know why it changed, remove the old key");
    }
    if (complaint_with(l, "revoked"))
        return err_set(err, ERR_HOST_KEY, "%s: host key %s is revoked", where, offered);
    const char *unknown = complaint_with(l, "host key is known for");
    err_set(err, ERR_HOST_KEY, "%s: host key is not known: it offered %s%s%s", where, offered,
            unknown ? "; ssh says: " : "", unknown ? unknown : "");
    return err_hint(err, "compare that fingerprint with someone who runs the host, then accept it once with "
                         "your own ssh");
}

/* Ours is `says` alone, or with what stands behind ssh's words where it ends in a blank. Of several
 * complaints the one highest in the table is the cause; what jump hosts meet makes the connection through
 * them fail too.
 */
static const struct reason {
    const char *words;
    enum err_kind kind;
    const char *says;
    const char *hint;
} reasons[] = {
    {"Bad configuration option: ", ERR_USAGE, "ssh's configuration has an option it does not know: ", NULL},
    {"Bad owner or permissions on ", ERR_USAGE,
     "ssh does not trust its configuration, bad owner or mode: ", NULL},
    {"terminating, ", ERR_USAGE, "ssh finds errors in its configuration: ", NULL},
    {"Too many authentication failures", ERR_FAILED,
     "the server ended the session: Too many authentication failures",
     "it counts every key that is offered: name the one for this host (IdentityFile) and add "
     "\"IdentitiesOnly "
     "yes\""},
    {"Permission denied (", ERR_FAILED, "the server let nobody in with what was offered; it takes: ",
     "`ssh -v` to the same host shows what was tried"},
    {"Could not resolve hostname ", ERR_FAILED, "cannot resolve ",
     "is the name right, and is this workstation on the network (VPN) that knows it?"},
    {"Connection timed out during banner exchange", ERR_TIMEOUT, "it accepts the connection but says nothing",
     "is the port right, and is the host alive?"},
    {"connect to host ", ERR_FAILED, "cannot connect to ", NULL},
    {"no matching ", ERR_FAILED, "no agreement on keys and ciphers: no matching ", NULL},
    {"open failed: administratively prohibited", ERR_FAILED,
     "a jump host does not allow forwarding to the next host",
     "sshd_config there: AllowTcpForwarding, PermitOpen, DisableForwarding; or the key's restrict and "
     "permitopen "
     "options"},
    {"open failed: connect failed: ", ERR_FAILED, "a jump host cannot connect to the next host: ", NULL},
    {"invalid characters", ERR_FAILED, "this is no SSH server", "is the port right?"},
    {"Timeout, server ", ERR_LOST, "the SSH session is dead: ssh heard nothing from the server ", NULL},
    {"kex_exchange_identification: ", ERR_BUSY, "the server closed the connection before it said anything",
     "is it an SSH server? a busy one turns connections away too (MaxStartups): take fewer hosts at a time "
     "(--parallel 4)"},
    {"closed by remote host", ERR_FAILED, "the server closed the connection", NULL},
    {"Broken pipe", ERR_FAILED, "the connection broke", NULL},
    {"Connection reset", ERR_FAILED, "the connection was reset", NULL},
    {"Connection to ", ERR_FAILED, "the connection ended: Connection to ", NULL},
};

int ssh_log_failure(const struct ssh_log *l, const char *where, struct err *err)
{
    if (complaint_with(l, "Host key verification failed"))
        return host_key_failure(l, where, err);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const struct reason *r = &reasons[i];
        const char *line = complaint_with(l, r->words);
        if (!line)
            continue;
        /* Nothing came because what leads there failed; that has told why, in words we do not know. */
        if (r->kind == ERR_BUSY && l->proxy_words[0])
            return err_set(err, ERR_FAILED, "what leads to the server failed: %s", l->proxy_words);
        bool more = r->says[strlen(r->says) - 1] == ' ';
        const char *rest = strstr(line, r->words) + strlen(r->words);
        size_t n = strlen(rest);
        while (n > 0 && (rest[n - 1] == ')' || rest[n - 1] == '.'))
            n--;
        bool slow = strstr(line, "timed out") != NULL;
        err_set(err, slow ? ERR_TIMEOUT : r->kind, "%s%.*s", r->says, more ? (int)n : 0, rest);
        return r->hint ? err_hint(err, "%s", r->hint) : -1;
    }
    if (l->n_complaints == 0)
        return err_set(err, ERR_FAILED, "ssh ended without a word");
    return err_set(err, ERR_FAILED, "ssh says: %s",
                   l->complaints[(l->n_complaints - 1) % SSH_LOG_COMPLAINTS]);
}
