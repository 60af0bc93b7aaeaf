#include "gateway/ssh/open_failure.h"

#include <string.h>

#include "gateway/ssh/destination.h"
#include "base/banned.h"

/* The hint if the far host cannot connect. sshd gives the same answer if it forbids forwarding to a Unix
 * socket. */
static const char *hint_for(const struct destination *to)
{
    return to->unix_path
               ? "nothing listens there, or that user may not open it; or sshd_config there forbids it: "
                 "AllowStreamLocalForwarding, DisableForwarding, or the key's restrict option"
               : "nothing listens there, or it listens on another address or port";
}

int open_failure_set(const struct destination *to, const char *text, struct err *err)
{
    static const char failed[] = "connect failed";
    char name[DESTINATION_NAME], said[160];
    destination_name(to, name);
    if (strstr(text, "administratively prohibited")) {
        err_set(err, ERR_FAILED, "the SSH server does not allow forwarding to %s", name);
        return err_hint(err,
                        "sshd_config there: AllowTcpForwarding, PermitOpen, DisableForwarding; or the key's "
                        "restrict and permitopen options");
    }
    if (strstr(text, "unknown channel type")) {
        err_set(err, ERR_FAILED, "the SSH server cannot forward to %s", name);
        return err_hint(err, "it takes OpenSSH's sshd there, or another that knows %s",
                        to->unix_path ? "direct-streamlocal@openssh.com" : "direct-tcpip");
    }
    text_printable(said, sizeof said, text, strlen(text));
    const char *reason = strstr(said, failed);
    if (!reason)
        return err_set(err, ERR_FAILED, "cannot open a channel to %s: %s", name, said);
    reason += sizeof failed - 1;
    /* For a Unix socket sshd sends only "open failed". */
    bool why = strncmp(reason, ": ", 2) == 0 && strcmp(reason, ": open failed") != 0;
    err_set(err, ERR_FAILED, "the far host cannot connect to %s%s", name, why ? reason : "");
    err_unreached(err);
    return err_hint(err, "%s", hint_for(to));
}
