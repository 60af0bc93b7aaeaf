#include "base/unix_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/banned.h"

/* Returns whether the path has only characters that ssh leaves unchanged: ssh expands % tokens, and passes
 * the path to a shell without quotes. */
static bool is_plain(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+,@";
    return path && path[0] == '/' && path[strspn(path, plain)] == '\0';
}

int unix_socket_make_directory(size_t room, char **ret, struct err *err)
{
    const char *parents[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        char *path = NULL;
        if (!is_plain(parents[i]))
            continue;
        if (asprintf(&path, "%s/profgrab-XXXXXX", parents[i]) < 0)
            return err_nomem(err);
        if (strlen(path) + room > sizeof((struct sockaddr_un *)0)->sun_path) {
            errno = ENAMETOOLONG;
        } else if (mkdtemp(path)) {
            if (chmod(path, 0700) == 0) {
                *ret = path;
                return 0;
            }
            rmdir(path);
        }
        free(path);
    }
    return err_sys(err, "cannot make a private directory under XDG_RUNTIME_DIR, TMPDIR or /tmp");
}

#ifdef SO_PEERCRED
static bool read_credentials(int fd, struct ucred *ret)
{
    socklen_t n = sizeof *ret;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) == 0;
}

bool unix_socket_peer_is_same_user(int fd)
{
    struct ucred peer;
    return read_credentials(fd, &peer) && peer.uid == geteuid();
}

bool unix_socket_peer_is_same_process(int fd)
{
    struct ucred peer;
    return read_credentials(fd, &peer) && peer.uid == geteuid() && peer.pid == getpid();
}
#else
bool unix_socket_peer_is_same_user(int fd)
{
    uid_t uid;
    gid_t gid;
    return getpeereid(fd, &uid, &gid) == 0 && uid == geteuid();
}

bool unix_socket_peer_is_same_process(int fd)
{
#ifdef LOCAL_PEERPID
    pid_t pid;
    socklen_t n = sizeof pid;
    if (getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &pid, &n) < 0 || pid != getpid())
        return false;
#endif
    return unix_socket_peer_is_same_user(fd);
}
#endif
