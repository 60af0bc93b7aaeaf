#include "gateway/openssh/ssh_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

/* Returns the text after `start` if the line begins with it, else NULL. */
static const char *after_prefix(const char *line, const char *start)
{
    size_t n = strlen(start);
    return strncmp(line, start, n) == 0 ? line + n : NULL;
}

static void copy_printable(char *dst, size_t cap, const char *s, size_t n)
{
    text_printable(dst, cap, s, n);
}

/* ---- facts --------------------------------------------------------------------------------------------- */

/* A server's text can imitate lines of the log, because ssh logs the text with its newlines. So we read the
 * version, the banner and the host key only from the first line that has them. */

static void read_proxy(struct ssh_log *l, const char *rest)
{
    (void)rest;
    l->has_proxy_process = true;
}

/* Reads ssh's version from the start of the log. A later line of this form may be a server's text. */
static void read_version(struct ssh_log *l, const char *rest)
{
    char version[160];
    if (l->version[0])
        return;
    snprintf(version, sizeof version, "OpenSSH_%.*s", (int)strcspn(rest, " ,"), rest);
    copy_printable(l->version, sizeof l->version, version, strlen(version));
}

static void read_banner(struct ssh_log *l, const char *rest)
{
    const char *software = strstr(rest, ", remote software version ");
    char banner[160];
    if (!software || l->banner[0])
        return;
    snprintf(banner, sizeof banner, "SSH-%.*s-%s", (int)strcspn(rest, ","), rest, software + 26);
    copy_printable(l->banner, sizeof l->banner, banner, strlen(banner));
}

static void read_host_key(struct ssh_log *l, const char *rest)
{
    size_t n = strcspn(rest, " ");
    if (l->host_key[0])
        return;
    copy_printable(l->host_key_type, sizeof l->host_key_type, rest, n);
    rest += n + (rest[n] == ' ');
    copy_printable(l->host_key, sizeof l->host_key, rest, strcspn(rest, " "));
}

/* Records a new host: ssh writes the key, or fails to write it, only for an unknown host. */
static void read_new_host_key(struct ssh_log *l, const char *rest)
{
    (void)rest;
    l->host_key_new = l->host_key_new || !l->methods[0];
}

/* "HOST ([IP]:PORT) using "METHOD".", or "HOST (via proxy) using ...". */
static void read_authenticated(struct ssh_log *l, const char *rest)
{
    const char *peer = strstr(rest, " (["), *method = strstr(rest, " using \"");
    if (!method)
        return;
    if (peer && peer < method)
        copy_printable(l->server_ip, sizeof l->server_ip, peer + 3, strcspn(peer + 3, "]"));
    copy_printable(l->accepted_method, sizeof l->accepted_method, method + 8, strcspn(method + 8, "\""));
}

static void read_latest_method(struct ssh_log *l, const char *rest)
{
    copy_printable(l->latest_method, sizeof l->latest_method, rest, strlen(rest));
}

static void read_accepted_key(struct ssh_log *l, const char *rest)
{
    copy_printable(l->accepted_key, sizeof l->accepted_key, rest, strlen(rest));
}

static void read_allowed_methods(struct ssh_log *l, const char *rest)
{
    copy_printable(l->methods, sizeof l->methods, rest, strlen(rest));
}

/* ---- channels ------------------------------------------------------------------------------------------ */

/* Rewrites "HOST:PORT" as "HOST port PORT", like the names of destinations. */
static void read_tcp_destination(struct ssh_log *l, const char *rest)
{
    const char *colon = strrchr(rest, ':');
    if (colon)
        snprintf(l->next_channel, sizeof l->next_channel, "%.*s port %s", (int)(colon - rest), rest,
                 colon + 1);
}

/* "port -2 forwarding to PATH port -2 requested." */
static void read_unix_destination(struct ssh_log *l, const char *rest)
{
    const char *to = strstr(rest, " forwarding to "), *end = strstr(rest, " port -2 requested.");
    if (to && end && end > to)
        snprintf(l->next_channel, sizeof l->next_channel, "%.*s", (int)(end - to - 15), to + 15);
}

/* "N: new stdio-forward [...]"; older versions omit the type. */
static void read_new_channel(struct ssh_log *l, const char *rest)
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

/* Finds the latest channel of that number, because ssh reuses numbers. Returns -1 if there is none. */
static int find_channel(const struct ssh_log *l, const char *number)
{
    unsigned wanted = (unsigned)strtoul(number, NULL, 10);
    size_t oldest = l->n_channels > SSH_LOG_CHANNELS ? l->n_channels - SSH_LOG_CHANNELS : 0;
    for (size_t n = l->n_channels; n > oldest; n--)
        if (l->channels[(n - 1) % SSH_LOG_CHANNELS].number == wanted)
            return (int)((n - 1) % SSH_LOG_CHANNELS);
    return -1;
}

/* "N: open failed: REASON: THE SERVER'S TEXT". */
static void read_refusal(struct ssh_log *l, const char *rest)
{
    const char *reason = strstr(rest, ": open failed: ");
    int i = find_channel(l, rest);
    if (reason && i >= 0)
        copy_printable(l->channels[i].reason, sizeof l->channels[i].reason, reason + 15, strlen(reason + 15));
}

/* "...: channel N: open confirm ...". */
static void read_confirmation(struct ssh_log *l, const char *rest)
{
    const char *number = strstr(rest, ": channel ");
    int i = number ? find_channel(l, number + 10) : -1;
    if (i >= 0)
        l->channels[i].confirmed = true;
}

bool ssh_log_pop_confirmation(struct ssh_log *l, const struct destination *to)
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

bool ssh_log_pop_refusal(struct ssh_log *l, const struct destination *to, char *dst, size_t cap)
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

/* Reads the line if it is a known fact. Returns whether it is one. */
static bool read_fact(struct ssh_log *l, const char *line)
{
    static const struct {
        const char *start;
        void (*read)(struct ssh_log *l, const char *rest);
    } facts[] = {
        {"OpenSSH_", read_version},
        {"debug1: Executing proxy command: ", read_proxy},
        {"debug1: Local version string SSH-2.0-OpenSSH_", read_version},
        {"debug1: Remote protocol version ", read_banner},
        {"debug1: Server host key: ", read_host_key},
        {"Warning: Permanently added '", read_new_host_key},
        {"Failed to add the host to the list of known hosts", read_new_host_key},
        {"debug1: Next authentication method: ", read_latest_method},
        {"debug1: Server accepts key: ", read_accepted_key},
        {"debug1: Authentications that can continue: ", read_allowed_methods},
        {"Authenticated to ", read_authenticated},
        {"debug1: channel_connect_stdio_fwd: ", read_tcp_destination},
        {"debug1: Connection to ", read_unix_destination},
        {"debug1: channel ", read_new_channel},
        {"debug2: channels.c:channel_input_open_confirmation()", read_confirmation},
        {"channel ", read_refusal},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *rest = after_prefix(line, facts[i].start);
        if (rest) {
            facts[i].read(l, rest);
            return true;
        }
    }
    return false;
}

/* Checks whether the line is usual output of -v, and so no complaint. */
static bool is_no_complaint(const char *line)
{
    static const char *const starts[] = {"debug",        "OpenSSH_",          "Authenticated to ",
                                         "Transferred:", "Bytes per second:", "@@@@"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (after_prefix(line, starts[i]))
            return true;
    return !line[0];
}

/* Checks whether the line says only that a connection ended, not why. The ssh of a jump host that itself
 * connects through a jump host logs nothing else when its connection ends. */
static bool has_no_cause(const char *line)
{
    return after_prefix(line, "Connection closed by UNKNOWN ") ||
           after_prefix(line, "Connection reset by UNKNOWN ");
}

/* Tracks the progress of a login at any host on the route. */
static void track_login(struct ssh_log_complaints *c, enum ssh_log_source source, const char *line)
{
    if (after_prefix(line, "debug1: Authentications that can continue: "))
        c->login_refused = true;
    if (!after_prefix(line, "Authenticated to "))
        return;
    c->login_refused = false;
    /* After the jump host's login succeeded, its earlier output is no cause of a failure. */
    if (source == SSH_STDERR)
        c->n = 0;
}

static void read_line(struct ssh_log *l, enum ssh_log_source source, const char *text, size_t n)
{
    struct ssh_log_complaints *c = &l->complaints[source];
    char line[SSH_LOG_LINE];
    copy_printable(line, sizeof line, text, n);
    track_login(c, source, line);
    if ((source == SSH_LOG ? read_fact(l, line) : has_no_cause(line)) || is_no_complaint(line))
        return;
    memcpy(c->lines[c->n++ % SSH_LOG_COMPLAINTS], line, sizeof line);
}

void ssh_log_drop_complaints(struct ssh_log *l)
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
            read_line(l, source, text, *len);
            *len = 0;
        } else if (*len < SSH_LOG_LINE) {
            text[(*len)++] = p[i];
        }
    }
}

/* ---- questions about the log --------------------------------------------------------------------------- */

/* A key is "PATH TYPE FINGERPRINT [explicit] [agent] [token] [authenticator]". Returns the text from its
 * fingerprint on, or NULL. */
static const char *find_fingerprint(const char *key)
{
    return strstr(key, " SHA256:");
}

static const char *find_flags(const char *fingerprint)
{
    return fingerprint + 1 + strcspn(fingerprint + 1, " ");
}

bool ssh_log_marks_server_prompts(const struct ssh_log *l)
{
    static const char name[] = "OpenSSH_";
    if (!after_prefix(l->version, name))
        return false;
    char *point = NULL;
    unsigned long major = strtoul(l->version + sizeof name - 1, &point, 10);
    unsigned long minor = *point == '.' ? strtoul(point + 1, NULL, 10) : 0;
    return major > 8 || (major == 8 && minor >= 5);
}

bool ssh_log_is_awaiting_agent(const struct ssh_log *l)
{
    const char *fingerprint = find_fingerprint(l->accepted_key);
    return !l->accepted_method[0] && strcmp(l->latest_method, "publickey") == 0 && fingerprint &&
           strstr(find_flags(fingerprint), " agent");
}

/* Describes a key as logins over libssh2 do in gateway_hop.authentication: "key PATH" or "agent TYPE
 * FINGERPRINT". */
static void describe_key(const char *key, char *dst, size_t cap)
{
    const char *fingerprint = find_fingerprint(key);
    const char *type = fingerprint;
    while (type && type > key && type[-1] != ' ')
        type--;
    if (!fingerprint || type == key) {
        snprintf(dst, cap, "publickey %s", key);
        return;
    }
    const char *flags = find_flags(fingerprint);
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
    snprintf(hop->server_ip, sizeof hop->server_ip, "%s", l->server_ip);
    snprintf(hop->host_key_type, sizeof hop->host_key_type, "%s", l->host_key_type);
    snprintf(hop->host_key, sizeof hop->host_key, "%s", l->host_key);
    hop->host_key_new = l->host_key_new;
    snprintf(hop->banner, sizeof hop->banner, "%s", l->banner);
    if (strcmp(l->accepted_method, "publickey") == 0 && l->accepted_key[0])
        describe_key(l->accepted_key, hop->authentication, sizeof hop->authentication);
    else
        snprintf(hop->authentication, sizeof hop->authentication, "%s", l->accepted_method);
}
