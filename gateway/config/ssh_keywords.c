#include "gateway/config/ssh_keywords.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

struct keyword {
    const char *name;
    int (*read)(const struct keyword *k, struct ssh_keywords *result, const char *value, struct err *err);
    size_t offset;     /* in struct ssh_keywords */
    const char *label; /* the spelling of ssh_config(5), for messages */
};

static void *field_at(const struct keyword *k, struct ssh_keywords *result)
{
    return (char *)result + k->offset;
}

static int read_text(const struct keyword *k, struct ssh_keywords *result, const char *value, struct err *err)
{
    char **into = field_at(k, result);
    char *copy = strdup(value);
    if (!copy)
        return err_nomem(err);
    free(*into);
    *into = copy;
    return 0;
}

int ssh_keywords_set_optional(char **into, const char *value, struct err *err)
{
    bool none = strcmp(value, "none") == 0;
    char *copy = none ? NULL : strdup(value);
    if (!copy && !none)
        return err_nomem(err);
    free(*into);
    *into = copy;
    return 0;
}

static int read_optional(const struct keyword *k, struct ssh_keywords *result, const char *value,
                         struct err *err)
{
    return ssh_keywords_set_optional(field_at(k, result), value, err);
}

/* Reads one of several lines with the same keyword. */
static int read_item(const struct keyword *k, struct ssh_keywords *result, const char *value, struct err *err)
{
    return strcmp(value, "none") == 0 ? 0 : strlist_add(field_at(k, result), value, err);
}

/* Returns the length of the path at `p`. ssh does not quote paths: a blank that is followed by a slash
 * separates two absolute paths. */
static size_t path_length(const char *p)
{
    size_t n = strcspn(p, " ");
    for (;;) {
        const char *next = p + n + strspn(p + n, " ");
        if (*p != '/' || !*next || *next == '/')
            return n;
        n = (size_t)(next - p) + strcspn(next, " ");
    }
}

/* Reads several paths on one line. */
static int read_paths(const struct keyword *k, struct ssh_keywords *result, const char *value,
                      struct err *err)
{
    for (const char *p = value + strspn(value, " "); *p; p += strspn(p, " ")) {
        size_t n = path_length(p);
        bool none = n == 4 && strncmp(p, "none", n) == 0;
        if (!none && strlist_addn(field_at(k, result), p, n, err) < 0)
            return -1;
        p += n;
    }
    return 0;
}

static bool is_no(const char *value)
{
    return strcmp(value, "no") == 0 || strcmp(value, "false") == 0;
}

static bool is_yes(const char *value)
{
    return strcmp(value, "yes") == 0 || strcmp(value, "true") == 0;
}

static int read_flag(const struct keyword *k, struct ssh_keywords *result, const char *value, struct err *err)
{
    (void)err;
    *(bool *)field_at(k, result) = is_yes(value);
    return 0;
}

/* Reads a flag that may have several forms of yes (`host-bound`). */
static int read_allowed(const struct keyword *k, struct ssh_keywords *result, const char *value,
                        struct err *err)
{
    (void)err;
    *(bool *)field_at(k, result) = !is_no(value);
    return 0;
}

static int set_number_error(const struct keyword *k, const char *value, struct err *err)
{
    char shown[40];
    return err_set(err, ERR_FAILED, "ssh -G: bad %s \"%s\"", k->name,
                   text_printable(shown, sizeof shown, value, strlen(value)));
}

static int read_port(const struct keyword *k, struct ssh_keywords *result, const char *value, struct err *err)
{
    uint64_t port = 0;
    if (text_to_uint(value, 65535, &port) < 0 || port == 0)
        return set_number_error(k, value, err);
    result->config.port = (unsigned)port;
    return 0;
}

static int read_number(const struct keyword *k, struct ssh_keywords *result, const char *value,
                       struct err *err)
{
    uint64_t number = 0;
    if (strcmp(value, "none") != 0 && text_to_uint(value, INT32_MAX, &number) < 0)
        return set_number_error(k, value, err);
    *(unsigned *)field_at(k, result) = (unsigned)number;
    return 0;
}

static int read_family(const struct keyword *k, struct ssh_keywords *result, const char *value,
                       struct err *err)
{
    (void)k;
    (void)err;
    result->config.connect.family = strcmp(value, "inet") == 0    ? ADDRESS_IPV4
                                    : strcmp(value, "inet6") == 0 ? ADDRESS_IPV6
                                                                  : ADDRESS_ANY;
    return 0;
}

static int read_agent(const struct keyword *k, struct ssh_keywords *result, const char *value,
                      struct err *err)
{
    result->agent_given = strcmp(value, "SSH_AUTH_SOCK") != 0;
    return result->agent_given ? read_optional(k, result, value, err) : 0;
}

/* Treats `no` like accept-new. With `no`, ssh itself would also connect to a host whose key has changed, but
 * would then disable the port forwarding that profgrab needs. */
static int read_policy(const struct keyword *k, struct ssh_keywords *result, const char *value,
                       struct err *err)
{
    (void)k;
    (void)err;
    bool accepts = strcmp(value, "accept-new") == 0 || strcmp(value, "off") == 0 || is_no(value);
    result->config.host_key.policy = accepts ? HOST_KEY_ACCEPT_NEW : HOST_KEY_STRICT;
    return 0;
}

static int require_openssh(const struct keyword *k, struct ssh_keywords *result)
{
    if (!result->config.only_openssh[0])
        text_printable(result->config.only_openssh, sizeof result->config.only_openssh, k->label,
                       strlen(k->label));
    return 0;
}

/* Reads a setting that only OpenSSH can apply, unless its value is "none". */
static int read_openssh_only(const struct keyword *k, struct ssh_keywords *result, const char *value,
                             struct err *err)
{
    (void)err;
    return strcmp(value, "none") == 0 ? 0 : require_openssh(k, result);
}

/* Reads a switch of a feature that only OpenSSH has. `ask` counts as off. */
static int read_openssh_only_flag(const struct keyword *k, struct ssh_keywords *result, const char *value,
                                  struct err *err)
{
    (void)err;
    return is_yes(value) ? require_openssh(k, result) : 0;
}

/* Reads the minimum length of RSA keys. ssh refuses shorter keys, even known ones; libssh2 accepts all. So a
 * minimum above 2048 bits requires OpenSSH. A smaller minimum is ignored. */
static int read_rsa_size(const struct keyword *k, struct ssh_keywords *result, const char *value,
                         struct err *err)
{
    uint64_t bits = 0;
    (void)err;
    return text_to_uint(value, INT32_MAX, &bits) == 0 && bits > 2048 ? require_openssh(k, result) : 0;
}

/* For `channeltimeout`. Only ssh 9.6 and later print this keyword, and only these versions include %j in %C.
 * So its presence shows how this ssh computes %C. */
static int read_hash_version(const struct keyword *k, struct ssh_keywords *result, const char *value,
                             struct err *err)
{
    (void)k;
    (void)value;
    (void)err;
    result->hash_includes_jump = true;
    return 0;
}

#define AT(member) offsetof(struct ssh_keywords, member)

static const struct keyword keywords[] = {
    {"hostname", read_text, AT(config.hostname), NULL},
    {"user", read_text, AT(config.user), NULL},
    {"port", read_port, 0, NULL},
    {"addressfamily", read_family, 0, NULL},
    {"bindaddress", read_optional, AT(config.connect.bind_address), NULL},
    {"connecttimeout", read_number, AT(config.connect.timeout_s), NULL},
    {"batchmode", read_flag, AT(batch), NULL},
    {"identityfile", read_item, AT(config.login.identity_files), NULL},
    {"certificatefile", read_item, AT(config.login.certificate_files), NULL},
    {"identitiesonly", read_flag, AT(config.login.identities_only), NULL},
    {"identityagent", read_agent, AT(config.login.agent), NULL},
    {"pubkeyauthentication", read_allowed, AT(config.login.publickey), NULL},
    {"passwordauthentication", read_allowed, AT(config.login.password), NULL},
    {"kbdinteractiveauthentication", read_allowed, AT(config.login.keyboard_interactive), NULL},
    {"gssapiauthentication", read_flag, AT(config.login.gssapi), NULL},
    {"hostbasedauthentication", read_flag, AT(config.login.hostbased), NULL},
    {"preferredauthentications", read_optional, AT(config.login.preferred), NULL},
    {"numberofpasswordprompts", read_number, AT(config.login.password_prompts), NULL},
    {"userknownhostsfile", read_paths, AT(config.host_key.files), NULL},
    {"globalknownhostsfile", read_paths, AT(global_known_hosts), NULL},
    {"hostkeyalias", read_optional, AT(config.host_key.alias), NULL},
    {"stricthostkeychecking", read_policy, 0, NULL},
    {"hashknownhosts", read_flag, AT(config.host_key.hash_names), NULL},
    {"kexalgorithms", read_optional, AT(config.algorithms.key_exchanges), NULL},
    {"hostkeyalgorithms", read_optional, AT(config.algorithms.host_keys), NULL},
    {"ciphers", read_optional, AT(config.algorithms.ciphers), NULL},
    {"macs", read_optional, AT(config.algorithms.macs), NULL},
    {"pubkeyacceptedalgorithms", read_optional, AT(config.algorithms.keys), NULL},
    {"pubkeyacceptedkeytypes", read_optional, AT(config.algorithms.keys), NULL}, /* before 8.5 */
    {"compression", read_flag, AT(config.compression), NULL},
    {"proxyjump", read_optional, AT(config.connect.jump), NULL},
    {"proxycommand", read_optional, AT(config.connect.proxy_command), NULL},
    {"controlpath", read_optional, AT(config.connect.control_path), NULL},
    {"channeltimeout", read_hash_version, 0, NULL},
    {"pkcs11provider", read_openssh_only, 0, "PKCS11Provider"},
    {"knownhostscommand", read_openssh_only, 0, "KnownHostsCommand"},
    {"revokedhostkeys", read_openssh_only, 0, "RevokedHostKeys"},
    {"bindinterface", read_openssh_only, 0, "BindInterface"},
    {"verifyhostkeydns", read_openssh_only_flag, 0, "VerifyHostKeyDNS"},
    {"gssapikeyexchange", read_openssh_only_flag, 0, "GSSAPIKeyExchange"},
    {"requiredrsasize", read_rsa_size, 0, "RequiredRSASize"},
    {"proxyusefdpass", read_flag, AT(fd_pass), NULL},
    {"nohostauthenticationforlocalhost", read_flag, AT(trusts_localhost), NULL},
};

static int read_line(struct ssh_keywords *result, const char *line, struct err *err)
{
    size_t n = strcspn(line, " ");
    if (!line[n])
        return 0;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strncmp(line, keywords[i].name, n) == 0 && !keywords[i].name[n])
            return keywords[i].read(&keywords[i], result, line + n + 1, err);
    return 0;
}

int ssh_keywords_read(struct ssh_keywords *result, const char *p, size_t n, struct err *err)
{
    const char *end = p + n;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t len = (size_t)((newline ? newline : end) - p);
        char *line = strndup(p, len);
        if (!line)
            return err_nomem(err);
        int rc = read_line(result, line, err);
        free(line);
        if (rc < 0)
            return -1;
        p += len + (newline ? 1 : 0);
    }
    return 0;
}
