#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/banned.h"

bool address_is_loopback(const char *address)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, address, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, address, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcmp(address, "localhost") == 0;
}
