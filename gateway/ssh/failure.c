#include "gateway/ssh/failure.h"

#include <stdio.h>
#include <string.h>

#include "base/banned.h"

#define CLOSED_HINT                                                                                          \
    "is it an SSH server? a busy one turns connections away too (MaxStartups): take fewer hosts at a time "  \
    "(--parallel 4)"
#define FORBIDDEN_HINT                                                                                       \
    "sshd_config there: AllowTcpForwarding, PermitOpen, DisableForwarding; or the key's restrict and "       \
    "permitopen options"

#define INSTALL_HINT "install OpenSSH's client tools (Debian: openssh-client)"
#define PROXY_HINT "ProxyCommand in ssh's configuration: `ssh -v` to the same address shows what it does"
#define SLOW_LOGIN "ssh did not log in within {}{}"

/* {} are the host's name, failure_offered_key and the known key. */
#define KEY_CHANGED "{}: HOST KEY HAS CHANGED{}{}"
#define KEY_UNKNOWN "{}: host key is not known{}{}"

static const struct row {
    enum err_kind kind;
    bool unreached; /* a connection was refused or not answered */
    const char *message;
    const char *hint; /* NULL: none */
} rows[] = {
    [FAILURE_KEY_CHANGED] =
        {ERR_HOST_KEY, false, KEY_CHANGED,
         "another machine may intercept the connection; only if you know why it changed, remove {}"},
    [FAILURE_KEY_CHANGED_OR_SIGNED] =
        {ERR_HOST_KEY, false, KEY_CHANGED,
         "another machine may intercept the connection, unless the host's certificate is "
         "signed by the authority of {}: --via openssh checks that"},
    [FAILURE_KEY_UNKNOWN] = {ERR_HOST_KEY, false, KEY_UNKNOWN,
                             "compare that fingerprint with someone who runs the host, then trust it with "
                             "--accept-new, or accept it once with your own ssh"},
    [FAILURE_KEY_UNKNOWN_OR_SIGNED] = {ERR_HOST_KEY, false, KEY_UNKNOWN,
                                       "the host's certificate may be signed by the authority of {}: --via "
                                       "openssh checks that"},
    [FAILURE_KEY_UNKNOWN_AT_PORT] = {ERR_HOST_KEY, false, KEY_UNKNOWN,
                                     "{} has another key for the host without the port; compare the "
                                     "fingerprint with someone who runs the host, then trust it with "
                                     "--accept-new or your own ssh"},
    [FAILURE_KEY_UNKNOWN_TO_SSH] = {ERR_HOST_KEY, false, KEY_UNKNOWN,
                                    "compare {} with someone who runs the host, then accept it once with "
                                    "your own ssh"},
    [FAILURE_KEY_OF_OTHER_TYPE] =
        {ERR_HOST_KEY, false, KEY_UNKNOWN,
         "another machine may intercept the connection; only if you know why the host "
         "no longer has that key, remove {}"},
    [FAILURE_KEY_REVOKED] = {ERR_HOST_KEY, false, "{}: host key {} is revoked by {}",
                             "the person who revoked it knows the reason and the present key of the host"},
    [FAILURE_KEY_REVOKED_TO_SSH] = {ERR_HOST_KEY, false, "{}: host key {}is revoked", NULL},
    [FAILURE_KEY_NOT_SHOWN] = {ERR_HOST_KEY, false, "{}: the server showed no host key", NULL},
    [FAILURE_KEY_TYPE_BEYOND_LIBSSH2] = {ERR_UNSUPPORTED, false,
                                         "the known host key ({}) is of type {}, which libssh2 {} cannot "
                                         "request",
                                         NULL},
    [FAILURE_KNOWN_HOSTS_NOT_REGULAR] = {ERR_FAILED, false, "the known_hosts file {} is not a regular file",
                                         NULL},
    [FAILURE_KNOWN_HOSTS_UNREADABLE] = {ERR_FAILED, false, "ssh-keygen cannot read {}: {}", NULL},
    /* {} is the error of starting ssh-keygen. */
    [FAILURE_NO_SSH_KEYGEN] = {ERR_NOT_FOUND, false, "{}", INSTALL_HINT},
    [FAILURE_ONLY_AUTHORITY_KNOWN] = {ERR_UNSUPPORTED, false,
                                      "only a certificate authority is known for the host ({}), and libssh2 "
                                      "cannot check host certificates",
                                      "OpenSSH can: --via openssh"},

    [FAILURE_RESOLVE] = {ERR_FAILED, false, "cannot resolve {}",
                         "is the name right, and is this workstation on the network (VPN) that knows it?"},
    [FAILURE_RESOLVER_SILENT] = {ERR_TIMEOUT, false, "cannot resolve {}: the resolver does not answer",
                                 "is this workstation on the network (VPN) that knows it?"},
    [FAILURE_CONNECT] = {ERR_FAILED, true, "cannot connect to {}", NULL},
    [FAILURE_BIND_FAMILY] = {ERR_FAILED, false, "BindAddress is of another family than the address", NULL},
    [FAILURE_CONNECT_TIMEOUT] = {ERR_TIMEOUT, true, "no answer to the connection attempt",
                                 "is the host up, and does this workstation reach its network (VPN, "
                                 "firewall)? --connect-timeout sets the limit"},
    /* {} is the error of the TCP connection. */
    [FAILURE_CONNECT_REFUSED] = {ERR_FAILED, true, "{}",
                                 "does an SSH server listen there? `ssh -G` shows the address and port that "
                                 "your configuration says"},
    [FAILURE_PROXY_MESSAGE] = {ERR_FAILED, false, "the proxy command says \"{}\"", PROXY_HINT},
    [FAILURE_PROXY_ENDED] = {ERR_FAILED, false,
                             "the proxy command ended with exit code {}, without a message", PROXY_HINT},
    [FAILURE_PROXY_CLOSED] = {ERR_FAILED, false, "the proxy command closed the connection without a message",
                              PROXY_HINT},
    /* {} is the latest line of ssh or of another program on the route. */
    [FAILURE_ROUTE_UNKNOWN] = {ERR_FAILED, false, "the proxy or jump host failed: {}", NULL},
    [FAILURE_ROUTE_BUSY] = {ERR_BUSY, false, "the proxy or jump host: {}", CLOSED_HINT},
    [FAILURE_ROUTE] = {ERR_FAILED, false, "the proxy or jump host: {}", NULL},
    [FAILURE_SERVER_NOT_REACHED] = {ERR_TIMEOUT, true, "ssh did not reach the server within {}",
                                    "is the host up, and does this workstation reach its network (VPN, "
                                    "firewall)?"},
    [FAILURE_NO_SSH_SERVER] = {ERR_FAILED, false, "the server is not an SSH server{}",
                               "is the port right?{}"},
    [FAILURE_OLD_VERSION] = {ERR_FAILED, false, "the server speaks an old version of SSH: \"{}\"",
                             "profgrab speaks only version 2.0 (RFC 4253): is the port right?"},
    [FAILURE_SERVER_SILENT] = {ERR_TIMEOUT, true, "the server accepts the connection but sends no data{}",
                               "is the port right, and is the host alive?{}"},
    [FAILURE_CLOSED_EARLY] = {ERR_BUSY, false, "the server closed the connection{}", CLOSED_HINT},
    [FAILURE_RESET_EARLY] = {ERR_BUSY, false, "the server reset the connection{}", CLOSED_HINT},
    [FAILURE_SERVER_BUSY] = {ERR_BUSY, false, "the server is busy: it says \"{}\"",
                             "too many logins at once; take fewer hosts at a time (--parallel 4)"},
    [FAILURE_HANDSHAKE_CLOSED] =
        {ERR_FAILED, false, "the server closed the connection in the middle of the SSH handshake",
         "the server's log has the reason; does `ssh -v` to the same host fail too?"},
    [FAILURE_HANDSHAKE_SLOW] = {ERR_TIMEOUT, true,
                                "the server began the SSH handshake, but did not end it within {}",
                                "the host may be overloaded, or the network may lose large packets (MTU); "
                                "--connect-timeout sets the limit"},
    [FAILURE_HANDSHAKE_INVALID] =
        {ERR_FAILED, false,
         "the SSH handshake failed: the server's data is invalid, or was changed on the way",
         "does a proxy or firewall inspect SSH? `ssh -v` to the same host shows more"},
    [FAILURE_NO_COMMON_ALGORITHM] = {ERR_DENIED, false, "no agreement on keys and ciphers: no matching {}",
                                     NULL},
    /* {} are the kind of algorithm, names and the version of libssh2. */
    [FAILURE_SERVER_BEYOND_LIBSSH2] = {ERR_UNSUPPORTED, false,
                                       "the server offers only the {} {}, libssh2 {} can use none of them",
                                       NULL},
    [FAILURE_CONFIGURED_BEYOND_LIBSSH2] =
        {ERR_UNSUPPORTED, false, "the configuration allows only the {} {}, libssh2 {} supports none of them",
         NULL},
    [FAILURE_ALGORITHMS_REFUSED] = {ERR_FAILED, false, "libssh2 {} does not accept the {} {}", NULL},
    [FAILURE_ALGORITHMS_NOT_SHOWN] = {ERR_FAILED, false, "the server sent no list of its algorithms", NULL},
    [FAILURE_ALGORITHMS_CUT] = {ERR_FAILED, false, "the server's list of algorithms ends early", NULL},
    [FAILURE_OPTION_BEYOND_LIBSSH2] = {ERR_UNSUPPORTED, false,
                                       "libssh2 does not support {} in ssh's configuration", NULL},
    /* {} is the failure of libssh2, which the user chose. */
    [FAILURE_ONLY_OPENSSH_CAN] = {ERR_UNSUPPORTED, false, "{}",
                                  "OpenSSH may support it: leave out `--via libssh2`, or `via:` in the "
                                  "inventory"},

    /* Logins. {} is the failure of the session, then the refused methods and keys. */
    [FAILURE_LOGIN_ENDED] = {ERR_FAILED, false, "{}",
                             "the server's log has the reason; does `ssh -v` to the same address fail too?"},
    [FAILURE_LOGIN_ENDED_AFTER_KEYS] = {ERR_FAILED, false, "{}; until then it had refused {}",
                                        "offer only the right key: IdentityFile and `IdentitiesOnly yes` in "
                                        "your ssh configuration, or `identity:` in the inventory"},
    [FAILURE_LOGIN_ENDED_WITHOUT_KEYS] =
        {ERR_FAILED, false, "{}; until then it had refused {}",
         "is that user right, and is the account locked? does `ssh` to the same address work?"},
    /* {} is the user, then the reasons. */
    [FAILURE_LOGIN_NEEDS_USER] = {ERR_FAILED, false, "permission denied for user {}: {}",
                                  "on a terminal and without --batch you would be asked; a key that has a "
                                  "passphrase can be added to your agent with ssh-add"},
    [FAILURE_LOGIN_WITHOUT_KEY] = {ERR_FAILED, false, "permission denied for user {}: {}",
                                   "load a key into your agent (ssh-add), or name one: IdentityFile in your "
                                   "ssh configuration, `identity:` in the inventory"},
    [FAILURE_LOGIN_KEYS_REFUSED] = {ERR_FAILED, false, "permission denied for user {}: {}",
                                    "is that user right, and is one of these keys in its authorized_keys? "
                                    "`ssh -v` to the same address shows what your ssh does"},
    [FAILURE_LOGIN_REFUSED] = {ERR_FAILED, false, "permission denied for user {}: {}",
                               "is that user right? `ssh -v` to the same address shows what your ssh does"},
    [FAILURE_LOGIN_REFUSED_TO_SSH] =
        {ERR_DENIED, false, "the server accepted none of the offered keys and methods; it allows: {}",
         "`ssh -v` to the same host shows what was tried"},
    [FAILURE_TOO_MANY_KEYS] = {ERR_DENIED, false,
                               "the server ended the session: Too many authentication failures",
                               "the server counts every offered key: name the key for this host "
                               "(IdentityFile) and add \"IdentitiesOnly yes\""},
    [FAILURE_SIGNING] = {ERR_DENIED, false, "the server accepts a key, but ssh cannot sign with it: {}",
                         "is the security key or smart card plugged in, is the PIN right, and does the agent "
                         "need a confirmation? `ssh -v` to the same host shows more"},
    [FAILURE_LOGIN_SLOW] = {ERR_TIMEOUT, false, SLOW_LOGIN, "`ssh -v` to the same host shows where it stops"},
    [FAILURE_LOGIN_SLOW_AGENT] =
        {ERR_TIMEOUT, false, SLOW_LOGIN,
         "does the agent's key wait for a touch or a confirmation? --ask-timeout sets the limit"},
    [FAILURE_LOGIN_SLOW_KERBEROS] = {ERR_TIMEOUT, false, SLOW_LOGIN,
                                     "can the KDC of your realm be reached? `ssh -v` to the same host shows "
                                     "where it stops"},
    [FAILURE_TOUCH_NOT_ASKED] = {ERR_TIMEOUT, false,
                                 "a security key waits for a touch, and --batch allows no prompt",
                                 "without --batch profgrab prompts for the touch, and waits as long as "
                                 "--ask-timeout"},
    [FAILURE_TOUCH_MISSING] =
        {ERR_TIMEOUT, false, "the user did not touch the key",
         "the security key blinks when it waits for a touch; --ask-timeout sets the limit"},
    [FAILURE_SSH_SILENT] = {ERR_FAILED, false, "ssh ended without a message", NULL},
    [FAILURE_SSH_MESSAGE] = {ERR_FAILED, false, "ssh says: {}", NULL},
    [FAILURE_QUESTIONS_ENDLESS] = {ERR_FAILED, false, "keyboard-interactive: the server asks without end",
                                   NULL},

    /* The reasons why a key or a method was not offered. */
    [FAILURE_NO_USER] = {ERR_NOT_FOUND, false, "no user can be asked for it", NULL},
    [FAILURE_ASKING_FORBIDDEN] = {ERR_NOT_FOUND, false, "profgrab does not ask the user", NULL},
    [FAILURE_NO_ANSWER_IN_TIME] = {ERR_NOT_FOUND, false, "profgrab gave no answer", NULL},
    [FAILURE_NO_ANSWER] = {ERR_NOT_FOUND, false, "no answer was given", NULL},
    [FAILURE_ANSWERS_WRONG] = {ERR_NOT_FOUND, false, "none of {} answers was right", NULL},
    [FAILURE_ANSWER_WRONG_HERE] = {ERR_NOT_FOUND, false, "the stored answer is wrong for this host", NULL},
    [FAILURE_SIGNING_UNKNOWN] = {ERR_FAILED, false, "libssh2 requests a signature of unknown data", NULL},
    [FAILURE_NO_CERTIFICATE] = {ERR_FAILED, false, "this is no certificate", NULL},
    [FAILURE_CERTIFICATE_DAMAGED] = {ERR_FAILED, false, "the certificate is damaged", NULL},

    /* The reasons why libssh2 cannot log in where OpenSSH may. */
    [FAILURE_NEEDS_OPENSSH_OPTION] = {ERR_UNSUPPORTED, false, "your ssh configuration has {}", NULL},
    [FAILURE_NEEDS_OPENSSH_KERBEROS] = {ERR_UNSUPPORTED, false,
                                        "the server accepts GSSAPI (Kerberos), which libssh2 cannot do",
                                        NULL},
    [FAILURE_NEEDS_OPENSSH_HOSTBASED] = {ERR_UNSUPPORTED, false,
                                         "the server accepts HostbasedAuthentication, which only ssh can do",
                                         NULL},
    [FAILURE_PASSWORD_EXPIRED] = {ERR_UNSUPPORTED, false,
                                  "the password has expired, and the server requires a new one", NULL},
    [FAILURE_QUESTIONS_UNREADABLE] = {ERR_UNSUPPORTED, false,
                                      "this libssh2 ({}) cannot read the server's questions", NULL},
    [FAILURE_QUESTIONS_OF_OTHER_LIBSSH2] =
        {ERR_UNSUPPORTED, false, "this profgrab was built for libssh2 {} and cannot answer questions with {}",
         NULL},
    [FAILURE_RSA_NO_COMMON] = {ERR_UNSUPPORTED, false,
                               "libssh2 and the server have no signature algorithm for RSA keys in common",
                               NULL},
    [FAILURE_RSA_BEYOND_LIBSSH2] = {ERR_UNSUPPORTED, false,
                                    "this libssh2 ({}) cannot use RSA keys with that server ({})", NULL},
    /* {} are the kind of key, its name and the missing support. */
    [FAILURE_KEY_BEYOND_LIBSSH2] = {ERR_UNSUPPORTED, false, "the {} {} {}", NULL},

    /* Channels. {} is the destination. */
    [FAILURE_FORWARD_FORBIDDEN] = {ERR_FAILED, false, "the SSH server does not allow forwarding to {}",
                                   FORBIDDEN_HINT},
    [FAILURE_FORWARD_UNSUPPORTED] = {ERR_FAILED, false, "the SSH server cannot forward to {}",
                                     "OpenSSH's sshd can, or another server with {}"},
    [FAILURE_FORWARD_UNREACHED] = {ERR_FAILED, true, "the SSH server cannot connect to {}{}",
                                   "nothing listens there, or it listens on another address or port"},
    /* sshd gives the same answer if it forbids forwarding to a Unix socket. */
    [FAILURE_FORWARD_UNREACHED_SOCKET] = {ERR_FAILED, true, "the SSH server cannot connect to {}{}",
                                          "nothing listens there, or that user may not open it; or "
                                          "sshd_config there forbids it: AllowStreamLocalForwarding, "
                                          "DisableForwarding, or the key's restrict option"},
    [FAILURE_FORWARD_SLOW] =
        {ERR_TIMEOUT, true, "the SSH server did not connect to {} in time",
         "is the address right in the network of that server, and does a firewall let it through? "
         "--connect-timeout sets the limit"},
    [FAILURE_FORWARD_CUT] = {ERR_FAILED, false, "the connection was closed before the end of the data", NULL},
    [FAILURE_CHANNEL] = {ERR_FAILED, false, "cannot open a channel to {}: {}", NULL},
    [FAILURE_MASTER_FORBIDS] = {ERR_FAILED, false, "the ssh -M at {} was not allowed to forward to {}: {}",
                                NULL},
    [FAILURE_MASTER_UNREACHED] = {ERR_FAILED, false,
                                  "the SSH server does not connect to {}; the ssh -M at {} says: {}",
                                  "nothing listens there, or sshd_config there does not allow it "
                                  "(AllowTcpForwarding, PermitOpen); `--via libssh2` may tell which"},
    [FAILURE_MASTER_ANSWER] = {ERR_FAILED, false, "the ssh -M at {} sent an unexpected answer", NULL},
    [FAILURE_JUMP_FORBIDDEN] = {ERR_FAILED, false, "a jump host does not allow forwarding to the next host",
                                FORBIDDEN_HINT},
    [FAILURE_JUMP_UNREACHED] = {ERR_FAILED, true, "a jump host cannot connect to the next host: {}", NULL},

    /* Sessions. {} is the action that failed, then the cause. */
    [FAILURE_SESSION_TIMED_OUT] = {ERR_TIMEOUT, false, "timed out", NULL},
    [FAILURE_LOGIN_FLOODED] = {ERR_FAILED, false,
                               "{}: the server sent more than 4 MiB before the login ended",
                               "is the port right? `ssh -v` to the same address shows what the server sends"},
    [FAILURE_LOGIN_COSTLY] = {ERR_FAILED, false, "{}: the login took too much processor time",
                              "`ssh -v` to the same address shows what the server sends"},
    [FAILURE_SESSION_FLOODED] = {ERR_FAILED, false,
                                 "{}: the server sent too much that belongs to no connection, or data in too "
                                 "small pieces",
                                 "the server is faulty or hostile"},
    [FAILURE_SESSION_ENDED] = {ERR_FAILED, false, "{}: the server ended the session: {}", NULL},
    [FAILURE_SESSION_BROKEN] = {ERR_FAILED, false, "{}: the connection broke: {}", NULL},
    [FAILURE_SESSION_CLOSED] = {ERR_FAILED, false, "{}: the server closed the connection", NULL},
    [FAILURE_SESSION_ERROR] = {ERR_FAILED, false, "{}: {} (libssh2 error {})", NULL},
    [FAILURE_SESSION_LOST] = {ERR_LOST, false, "the SSH session was lost", NULL},
    [FAILURE_SESSION_LOST_BECAUSE] = {ERR_LOST, false, "the SSH session was lost: {}", NULL},
    [FAILURE_SESSION_STUCK] = {ERR_LOST, false, "the SSH session waits for {}, which does not answer", NULL},
    [FAILURE_ALL_SESSIONS_STUCK] = {ERR_FAILED, false,
                                    "{} sessions to the SSH server wait for destinations that do not answer",
                                    NULL},
    [FAILURE_NO_FREE_SESSION] = {ERR_LOST, false, "no session became free for a connection to {}", NULL},
    [FAILURE_NO_SESSION] = {ERR_LOST, false, "there is no session for the connection", NULL},
    [FAILURE_SESSION_SILENT] = {ERR_LOST, false, "the SSH session is dead: no data arrived for {} s", NULL},
    [FAILURE_SSH_SESSION_SILENT] = {ERR_LOST, false, "the SSH session is dead; ssh reports: server {}", NULL},
    [FAILURE_SSH_CLOSED] = {ERR_FAILED, false, "the server closed the connection", NULL},
    [FAILURE_SSH_BROKEN_PIPE] = {ERR_FAILED, false, "the connection broke", NULL},
    [FAILURE_SSH_RESET] = {ERR_FAILED, false, "the connection was reset", NULL},
    [FAILURE_SSH_ENDED] = {ERR_FAILED, false, "the connection ended; ssh reports: Connection to {}", NULL},

    /* The master connection of ssh(1). {} is the path of its socket. */
    [FAILURE_MASTER_NO_SOCKET] = {ERR_NOT_FOUND, false, "{} is not a socket that you own", NULL},
    [FAILURE_MASTER_OF_OTHER_USER] = {ERR_NOT_FOUND, false, "another user's process listens at {}", NULL},
    [FAILURE_MASTER_NOT_ALIVE] = {ERR_FAILED, false,
                                  "the master connection at {} does not answer the alive check", NULL},
    [FAILURE_MASTER_ENDED] = {ERR_LOST, false, "the master connection{} has ended", NULL},
    [FAILURE_MASTER_MESSAGE_SIZE] = {ERR_FAILED, false, "the master connection sent a message of {} bytes",
                                     NULL},
    [FAILURE_MASTER_MESSAGE_TYPE] = {ERR_FAILED, false, "the master connection sent an invalid message ({})",
                                     NULL},
    [FAILURE_MASTER_NOT_READING] = {ERR_FAILED, false, "the master connection does not accept {}", NULL},
    [FAILURE_MASTER_VERSION] = {ERR_FAILED, false,
                                "the master connection speaks version {} of its protocol, not {}", NULL},

    [FAILURE_UNKNOWN_OPTION] = {ERR_USAGE, false, "ssh's configuration has an unknown option: {}", NULL},
    [FAILURE_BAD_MODE] = {ERR_USAGE, false, "ssh refuses its configuration because of its owner or mode: {}",
                          NULL},
    [FAILURE_CONFIGURATION] = {ERR_USAGE, false, "ssh finds errors in its configuration: {}", NULL},
};

/* Writes the template with its details, cut to `cap` bytes. Returns the first unused detail. */
static const char *const *expand_template(const char *template, const char *const details[], char *dst,
                                          size_t cap)
{
    size_t n = 0;
    for (const char *gap; (gap = strstr(template, "{}")) != NULL; template = gap + 2) {
        const char *detail = *details ? *details++ : "";
        if (n < cap)
            n += (size_t)snprintf(dst + n, cap - n, "%.*s%s", (int)(gap - template), template, detail);
    }
    if (n < cap)
        snprintf(dst + n, cap - n, "%s", template);
    return details;
}

char *failure_offered_key(char *dst, size_t cap, const char *key)
{
    snprintf(dst, cap, "%s%s", *key ? ": the server offered " : "", key);
    return dst;
}

int(failure_set)(enum failure f, const char *const details[], struct err *err)
{
    const struct row *row = &rows[f];
    char text[sizeof err->msg];
    details = expand_template(row->message, details, text, sizeof text);
    err_set(err, row->kind, "%s", text);
    if (row->unreached)
        err_mark_unreachable(err);
    if (!row->hint)
        return -1;
    expand_template(row->hint, details, text, sizeof text);
    return err_hint(err, "%s", text);
}

enum err_kind failure_kind(enum failure f)
{
    return rows[f].kind;
}

bool failure_is_unreachable(enum failure f)
{
    return rows[f].unreached;
}

const char *failure_hint(enum failure f)
{
    return rows[f].hint;
}
