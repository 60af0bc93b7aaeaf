#include "inventory/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static int refuse_address(const char *text, struct err *err, const char *why)
{
    char shown[120];
    return err_set(err, ERR_USAGE, "bad address \"%s\": %s",
                   text_printable(shown, sizeof shown, text, strlen(text)), why);
}

/* Checks whether a user's name is safe in a shell command, because ssh inserts it into commands of its
 * configuration (%r). */
static bool is_safe_user(const char *s)
{
    if (!*s || *s == '-')
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("._-+\\@", *s))
            return false;
    return true;
}

static bool is_host(const char *s)
{
    struct in6_addr v6;
    return strchr(s, ':') ? inet_pton(AF_INET6, s, &v6) == 1 : text_is_name(s);
}

/* Splits `host`, `host:port`, `[v6]`, `[v6]:port` or a bare v6 in place. */
static int split_port(char *s, char **ret_host, char **ret_port)
{
    char *host = s, *port = NULL;
    if (*s == '[') {
        char *close = strchr(s, ']');
        if (!close || (close[1] && close[1] != ':'))
            return -1;
        host = s + 1;
        port = close[1] ? close + 2 : NULL;
        *close = '\0';
    } else {
        char *colon = strchr(s, ':');
        if (colon && colon == strrchr(s, ':')) {
            *colon = '\0';
            port = colon + 1;
        }
    }
    *ret_host = host;
    *ret_port = port;
    return 0;
}

int address_parse(const char *text, struct address *ret, struct err *err)
{
    int rc = -1;
    uint64_t number = 0;
    struct address a = {0};
    char *copy = strdup(strncmp(text, "ssh://", 6) == 0 ? text + 6 : text), *host = NULL, *port = NULL;
    char *at = copy ? strrchr(copy, '@') : NULL;
    if (!copy) {
        err_nomem(err);
        goto out;
    }
    if (at)
        *at = '\0';
    if (at && !is_safe_user(copy)) {
        refuse_address(text, err, "the text before \"@\" is not a valid user name");
        goto out;
    }
    if (split_port(at ? at + 1 : copy, &host, &port) < 0 || !is_host(host)) {
        refuse_address(text, err, "it must be [user@]host or ssh://[user@]host[:port]");
        goto out;
    }
    if (port && (text_to_uint(port, 65535, &number) < 0 || number == 0)) {
        refuse_address(text, err, "a port is a number from 1 to 65535");
        goto out;
    }
    a.port = (unsigned)number;
    a.host = strdup(host);
    a.user = at ? strdup(copy) : NULL;
    if (!a.host || (at && !a.user)) {
        err_nomem(err);
        goto out;
    }
    *ret = a;
    a = (struct address){0};
    rc = 0;
out:
    address_release(&a);
    free(copy);
    return rc;
}

void address_release(struct address *a)
{
    free(a->user);
    free(a->host);
    *a = (struct address){0};
}

char *address_name(const struct address *a)
{
    char *name = NULL;
    /* A name must begin with a letter or digit. 0::1 is the same address as ::1. */
    if (asprintf(&name, "%s%s", *a->host == ':' ? "0" : "", a->host) < 0)
        return NULL;
    for (char *p = name; *p; p++)
        if (*p == ':')
            *p = '-';
    return name;
}

char *address_text(const struct address *a)
{
    char *text = NULL;
    const char *user = a->user ? a->user : "", *at = a->user ? "@" : "";
    bool v6 = strchr(a->host, ':');
    int n;
    /* ssh accepts a port and brackets only in a URL. */
    if (a->port)
        n = asprintf(&text, "ssh://%s%s%s%s%s:%u", user, at, v6 ? "[" : "", a->host, v6 ? "]" : "", a->port);
    else
        n = asprintf(&text, "%s%s%s", user, at, a->host);
    return n < 0 ? NULL : text;
}

int address_canonical(const char *host, char ret[static ADDRESS_MAX])
{
    unsigned char ip[sizeof(struct in6_addr)];
    size_t n = strlen(host);
    for (int i = 0; i < 2; i++) {
        int family = i ? AF_INET6 : AF_INET;
        if (inet_pton(family, host, ip) == 1)
            return inet_ntop(family, ip, ret, ADDRESS_MAX) ? 0 : -1;
    }
    while (n > 1 && host[n - 1] == '.')
        n--;
    if (n >= ADDRESS_MAX)
        return -1;
    for (size_t i = 0; i < n; i++)
        ret[i] = (char)tolower((unsigned char)host[i]);
    ret[n] = '\0';
    return text_is_name(ret) ? 0 : -1;
}

int address_split(const char *text, size_t n, char ret_host[static ADDRESS_MAX], unsigned *ret_port)
{
    char copy[ADDRESS_MAX + 16];
    uint64_t number = 0;
    if (n >= sizeof copy)
        return -1;
    memcpy(copy, text, n);
    copy[n] = '\0';
    char *name = copy, *colon = strrchr(copy, ':');
    if (*copy == '[') {
        char *close = strchr(copy, ']');
        if (!close || (close[1] && close[1] != ':'))
            return -1;
        colon = close[1] ? close + 1 : NULL;
        *close = '\0';
        name = copy + 1;
    }
    if (colon) {
        *colon = '\0';
        if (text_to_uint(colon + 1, 65535, &number) < 0 || number == 0)
            return -1;
        *ret_port = (unsigned)number;
    }
    return address_canonical(name, ret_host);
}
