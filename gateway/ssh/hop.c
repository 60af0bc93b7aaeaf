#include "gateway/ssh/hop.h"

#include <stdio.h>

#include "base/banned.h"

struct proc_limits ssh_program_limits(const struct ssh_limits *limits)
{
    return (struct proc_limits){
        .timeout_ms = limits->step_timeout_ms, .cancel_fd = limits->cancel_fd, .max_output = 4u << 20};
}

char *hop_name(const struct hop *hop, char *dst, size_t cap)
{
    snprintf(dst, cap, "%s port %u", hop->config->hostname, hop->config->port);
    return dst;
}
