#include "base/unix_peer.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/banned.h"

#ifdef SO_PEERCRED
static bool read_credentials(int fd, struct ucred *ret)
{
    socklen_t n = sizeof *ret;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) == 0;
}

bool unix_peer_is_same_user(int fd)
{
    struct ucred peer;
    return read_credentials(fd, &peer) && peer.uid == geteuid();
}

bool unix_peer_is_same_process(int fd)
{
    struct ucred peer;
    return read_credentials(fd, &peer) && peer.uid == geteuid() && peer.pid == getpid();
}
#else
bool unix_peer_is_same_user(int fd)
{
    uid_t uid;
    gid_t gid;
    return getpeereid(fd, &uid, &gid) == 0 && uid == geteuid();
}

bool unix_peer_is_same_process(int fd)
{
#ifdef LOCAL_PEERPID
    pid_t pid;
    socklen_t n = sizeof pid;
    if (getsockopt(fd, SOL_LOCAL, LOCAL_PEERPID, &pid, &n) < 0 || pid != getpid())
        return false;
#endif
    return unix_peer_is_same_user(fd);
}
#endif
