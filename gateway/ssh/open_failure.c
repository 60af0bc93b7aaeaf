#include "gateway/ssh/open_failure.h"

#include <string.h>

#include "gateway/ssh/destination.h"
#include "gateway/ssh/failure.h"
#include "base/banned.h"

int open_failure_set(const struct destination *to, const char *text, struct err *err)
{
    static const char failed[] = "connect failed";
    char name[DESTINATION_NAME], printable[160];
    destination_name(to, name);
    if (strstr(text, "administratively prohibited"))
        return failure_set(FAILURE_FORWARD_FORBIDDEN, FAILURE_DETAILS(name), err);
    if (strstr(text, "unknown channel type"))
        return failure_set(
            FAILURE_FORWARD_UNSUPPORTED,
            FAILURE_DETAILS(name, to->unix_path ? "direct-streamlocal@openssh.com" : "direct-tcpip"), err);
    text_printable(printable, sizeof printable, text, strlen(text));
    const char *reason = strstr(printable, failed);
    if (!reason)
        return failure_set(FAILURE_CHANNEL, FAILURE_DETAILS(name, printable), err);
    reason += sizeof failed - 1;
    /* For a Unix socket sshd sends only "open failed". */
    bool has_reason = strncmp(reason, ": ", 2) == 0 && strcmp(reason, ": open failed") != 0;
    return failure_set(to->unix_path ? FAILURE_FORWARD_UNREACHED_SOCKET : FAILURE_FORWARD_UNREACHED,
                       FAILURE_DETAILS(name, has_reason ? reason : ""), err);
}
