#include "gateway/proxy.h"

#include "base/banned.h"

int proxy_start(const char *command, int *ret_fd, struct proxy **ret, struct err *err)
{
    (void)command, (void)ret_fd, (void)ret;
    return err_set(err, ERR_UNSUPPORTED, "a ProxyCommand cannot be used yet");
}

char *proxy_complaint(struct proxy *p, char *dst, size_t cap)
{
    (void)p;
    if (cap)
        dst[0] = '\0';
    return dst;
}

void proxy_end(struct proxy *p)
{
    (void)p;
}
