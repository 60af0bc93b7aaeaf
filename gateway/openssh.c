#include "gateway/openssh.h"

#include "base/banned.h"

int openssh_find(const struct ssh_config *config, const struct gateway_options *options,
                 struct gateway_hop *hop, struct openssh **ret, struct err *err)
{
    (void)config, (void)options, (void)hop, (void)ret;
    return err_set(err, ERR_NOT_FOUND, "no master connection");
}

int openssh_start(const struct ssh_config *config, const struct gateway_options *options,
                  struct gateway_hop *hop, struct openssh **ret, struct err *err)
{
    (void)config, (void)options, (void)hop, (void)ret;
    return err_set(err, ERR_UNSUPPORTED, "OpenSSH cannot be used yet");
}

int openssh_fd(const struct openssh *o)
{
    (void)o;
    return -1;
}

bool openssh_ended(struct openssh *o, struct err *fate)
{
    (void)o, (void)fate;
    return false;
}

void openssh_close(struct openssh *o)
{
    (void)o;
}

struct stream *stream_openssh(struct openssh *o, const struct destination *to, struct err *err)
{
    (void)o, (void)to;
    err_set(err, ERR_UNSUPPORTED, "OpenSSH cannot be used yet");
    return NULL;
}
