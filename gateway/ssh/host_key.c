#include "gateway/ssh/host_key.h"

#include <stdio.h>
#include <string.h>

#include "gateway/ssh/failure.h"
#include "base/banned.h"

/* Accepts an unknown host (accept-new). A key that cannot be written to known_hosts is still trusted, as in
 * ssh. */
static int accept_new(struct session *s, const struct ssh_config *config, const struct ssh_blob *key,
                      struct host_key_trust *ret, struct err *err)
{
    bool has_alias = config->host_key.alias != NULL;
    struct known_addition addition = {.file = config->host_key.files.items[0],
                                      .host = has_alias ? config->host_key.alias : config->hostname,
                                      .port = has_alias ? 0 : config->port,
                                      .key = key,
                                      .hashed = config->host_key.hash_names};
    struct proc_limits limits = session_program_limits(s);
    struct err why = ERR_INIT;
    known_hosts_add(&addition, &limits, &why);
    if (why.kind == ERR_HOST_KEY || why.kind == ERR_CANCELLED) {
        if (err)
            *err = why;
        return -1;
    }
    ret->is_new = true;
    snprintf(ret->text, sizeof ret->text,
             why.kind == ERR_NONE ? "new: written to %s" : "new, not written down: %s",
             why.kind == ERR_NONE ? addition.file : why.msg);
    return 0;
}

/* Checks that this libssh2 can request a key of the type. For an RSA key this means rsa-sha2-512, because
 * servers no longer support ssh-rsa (SHA-1). */
static bool can_request(struct session *s, const char *type)
{
    const char **supported = NULL, *name = strcmp(type, "ssh-rsa") == 0 ? "rsa-sha2-512" : type;
    bool can = false;
    int n = libssh2_session_supported_algs(session_libssh2(s), LIBSSH2_METHOD_HOSTKEY, &supported);
    for (int i = 0; i < n && !can; i++)
        can = strcmp(name, supported[i]) == 0;
    if (n > 0)
        libssh2_free(session_libssh2(s), (void *)(uintptr_t)supported);
    return can;
}

static int set_type_error(const struct known_key *k, struct err *err)
{
    char location[sizeof err->msg];
    snprintf(location, sizeof location, "%s:%u", k->file, k->line);
    return failure_set(FAILURE_KEY_TYPE_BEYOND_LIBSSH2,
                       FAILURE_DETAILS(location, k->type, libssh2_version(0)), err);
}

/* Fails if libssh2 cannot request the type of a known key: then the server may have shown a key of another
 * type only because of libssh2. */
static int check_types(struct session *s, const struct known_hosts *known, struct err *err)
{
    for (size_t i = 0; i < known->n; i++) {
        const struct known_key *k = &known->items[i];
        if (k->marker == KNOWN_MARKER_NONE && !can_request(s, k->type))
            return set_type_error(k, err);
    }
    return 0;
}

#define SERVER_NAME 320
static void name_server(struct session *s, char dst[static SERVER_NAME])
{
    snprintf(dst, SERVER_NAME, "%s port %u", session_facts(s)->address, session_facts(s)->port);
}

/* The key that a server showed, and the known keys of the host. */
struct shown_key {
    const struct ssh_blob *key;
    const struct known_hosts *known;
};

static int check_known_key(struct session *s, const struct ssh_config *config, const struct shown_key *shown,
                           struct host_key_trust *ret, struct err *err)
{
    const struct ssh_blob *key = shown->key;
    const struct known_hosts *known = shown->known;
    const struct known_key *deciding = NULL;
    char server[SERVER_NAME];
    enum known_status status = known_hosts_compare(known, key, &deciding);
    /* accept-new needs a user known_hosts file, as in ssh. */
    if (status == KNOWN_NEW && config->host_key.policy == HOST_KEY_ACCEPT_NEW &&
        config->host_key.n_user_files > 0)
        return accept_new(s, config, key, ret, err);
    if (status == KNOWN_OTHER_TYPES && check_types(s, known, err) < 0)
        return -1;
    name_server(s, server);
    if (known_hosts_check(known, key, server, &config->host_key.files, err) < 0)
        return -1;
    snprintf(ret->text, sizeof ret->text, "known in %s line %u", deciding->file, deciding->line);
    return 0;
}

int host_key_check(struct session *s, const struct ssh_config *config, const struct known_hosts *known,
                   struct host_key_trust *ret, struct err *err)
{
    struct gateway_hop *facts = session_facts(s);
    size_t n = 0;
    int type = 0;
    const char *p = libssh2_session_hostkey(session_libssh2(s), &n, &type);
    struct ssh_blob key = {0};
    struct host_key_trust trust = {0};
    if (p && ssh_blob_copy(&key, p, n, err) < 0)
        return -1;
    if (!p) {
        char server[SERVER_NAME];
        name_server(s, server);
        return failure_set(FAILURE_KEY_NOT_SHOWN, FAILURE_DETAILS(server), err);
    }
    ssh_blob_type(&key, facts->host_key_type, sizeof facts->host_key_type);
    ssh_blob_fingerprint(&key, facts->host_key);
    int rc = check_known_key(s, config, &(struct shown_key){&key, known}, &trust, err);
    if (rc == 0) {
        facts->host_key_new = trust.is_new;
        *ret = trust;
    }
    ssh_blob_release(&key);
    return rc;
}
