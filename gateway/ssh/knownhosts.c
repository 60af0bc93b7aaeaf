#include "gateway/ssh/knownhosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gateway/ssh/failure.h"
#include "base/banned.h"

struct field {
    const char *p;
    size_t n;
};

/* Splits a line into its first four fields, and returns how many it has. The rest is a comment. */
static size_t split_line(const char *line, size_t n, struct field ret[4])
{
    size_t fields = 0;
    for (const char *p = line; fields < 4 && p < line + n; fields++) {
        p += strspn(p, " \t");
        ret[fields] = (struct field){p, strcspn(p, " \t\r\n")};
        p += ret[fields].n;
    }
    return fields;
}

/* Leaves key->blob empty if the key is unreadable, because `ssh-keygen -F` also prints lines that ssh cannot
 * read. Out of memory is an error; skipping the line could miss a @revoked. */
static int read_key(const struct field *type, const struct field *base64, struct known_key *key,
                    struct err *err)
{
    char blob_type[sizeof key->type];
    struct err why = ERR_INIT;
    text_printable(key->type, sizeof key->type, type->p, type->n);
    if (ssh_base64_decode(base64->p, base64->n, &key->blob, &why) < 0)
        return why.kind == ERR_FAILED ? 0 : err_nomem(err);
    if (strcmp(ssh_blob_type(&key->blob, blob_type, sizeof blob_type), key->type) != 0)
        ssh_blob_release(&key->blob);
    return 0;
}

/* Parses one line of a known_hosts file: [marker] names type base64 [comment]. */
static int parse_line(struct known_hosts *k, const char *file, unsigned number, struct str line,
                      struct err *err)
{
    struct field field[4];
    size_t fields = split_line(line.p, line.n, field);
    bool marked = fields > 0 && field[0].p[0] == '@';
    size_t at = marked ? 2 : 1;
    struct known_key key = {.line = number};
    if (fields >= at + 2 && read_key(&field[at], &field[at + 1], &key, err) < 0)
        return -1;
    if (!key.blob.data)
        return 0;
    if (marked) /* any other marker is @cert-authority */
        key.marker = field[0].n == 8 && strncmp(field[0].p, "@revoked", 8) == 0 ? KNOWN_MARKER_REVOKED
                                                                                : KNOWN_MARKER_AUTHORITY;
    key.file = strdup(file);
    if (!key.file || array_reserve((void **)&k->items, &k->cap, k->n + 1, sizeof *k->items, err) < 0) {
        free(key.file);
        ssh_blob_release(&key.blob);
        return err_nomem(err);
    }
    k->items[k->n++] = key;
    return 0;
}

int known_hosts_parse(struct known_hosts *k, const char *file, const char *text, struct err *err)
{
    unsigned number = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        /* ssh-keygen prints "# Host NAME found: line N" before each line. */
        if (*p == '#') {
            const char *found = memmem(p, n, " found: line ", 13);
            if (found)
                number = (unsigned)strtoul(found + 13, NULL, 10);
        } else if (parse_line(k, file, number, (struct str){p, n}, err) < 0) {
            return -1;
        }
        p += n + (p[n] == '\n');
    }
    return 0;
}

/* Fails for an existing file that is not regular, because ssh-keygen would block on a FIFO. A dangling link
 * passes: ssh-keygen itself handles it. */
static int require_regular(const char *path, struct err *err)
{
    struct stat st;
    return stat(path, &st) < 0 || S_ISREG(st.st_mode)
               ? 0
               : failure_set(FAILURE_KNOWN_HOSTS_NOT_REGULAR, FAILURE_DETAILS(path), err);
}

static int search_files(const struct strlist *files, const char *name, const struct proc_limits *limits,
                        struct known_hosts *k, struct err *err)
{
    for (size_t i = 0; i < files->n; i++) {
        /* Skip /dev/null, which users set for "no file": this saves a process for each host. */
        if (!file_exists(files->items[i]) || strcmp(files->items[i], "/dev/null") == 0)
            continue;
        if (require_regular(files->items[i], err) < 0)
            return -1;
        const char *argv[] = {"ssh-keygen", "-F", name, "-f", files->items[i], NULL};
        struct proc_result r;
        if (proc_run(argv, limits, &r, err) < 0) {
            if (err && err->kind == ERR_NOT_FOUND)
                failure_set(FAILURE_NO_SSH_KEYGEN, FAILURE_DETAILS(err->msg), err);
            return -1;
        }
        /* If ssh-keygen fails without a message, it has found no line. Only a message means an error. */
        int rc = known_hosts_parse(k, files->items[i], buf_str(&r.out), err);
        if (rc == 0 && r.exit_code != 0 && r.error_output[0])
            rc = failure_set(FAILURE_KNOWN_HOSTS_UNREADABLE, FAILURE_DETAILS(files->items[i], r.error_output),
                             err);
        proc_result_release(&r);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static bool has_key(const struct known_hosts *k)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->items[i].marker == KNOWN_MARKER_NONE)
            return true;
    return false;
}

int known_hosts_find(const struct strlist *files, struct known_name name, const struct proc_limits *limits,
                     struct known_hosts *ret, struct err *err)
{
    struct known_hosts k = {0};
    char with_port[300];
    bool nonstandard_port = name.port != 0 && name.port != 22;
    int rc = 0;
    if (nonstandard_port) {
        snprintf(with_port, sizeof with_port, "[%s]:%u", name.host, name.port);
        rc = search_files(files, with_port, limits, &k, err);
    }
    if (rc == 0 && !has_key(&k)) {
        size_t before = k.n;
        rc = search_files(files, name.host, limits, &k, err);
        for (size_t i = before; i < k.n; i++)
            k.items[i].portless = nonstandard_port;
    }
    if (rc < 0)
        known_hosts_release(&k);
    else
        *ret = k;
    return rc;
}

void known_hosts_release(struct known_hosts *k)
{
    for (size_t i = 0; i < k->n; i++) {
        free(k->items[i].file);
        ssh_blob_release(&k->items[i].blob);
    }
    free(k->items);
    *k = (struct known_hosts){0};
}

static const struct known_key *find_authority(const struct known_hosts *k)
{
    for (size_t i = 0; i < k->n; i++)
        if (k->items[i].marker == KNOWN_MARKER_AUTHORITY)
            return &k->items[i];
    return NULL;
}

/* Writes "FILE:LINE". Returns dst. */
#define LOCATION_MAX 450
static char *name_location(const struct known_key *k, char dst[LOCATION_MAX])
{
    snprintf(dst, LOCATION_MAX, "%s:%u", k->file, k->line);
    return dst;
}

int known_hosts_check_usable(const struct known_hosts *k, struct err *err)
{
    const struct known_key *authority = find_authority(k);
    if (!authority || has_key(k))
        return 0;
    char location[LOCATION_MAX];
    return failure_set(FAILURE_ONLY_AUTHORITY_KNOWN, FAILURE_DETAILS(name_location(authority, location)),
                       err);
}

/* Compares the shown key with one known key. */
static enum known_status compare_known_key(const struct known_key *known, const struct ssh_blob *key,
                                           const char *type)
{
    bool equal = ssh_blob_equal(&known->blob, key);
    if (known->marker == KNOWN_MARKER_REVOKED)
        return equal ? KNOWN_REVOKED : KNOWN_NEW;
    if (known->marker == KNOWN_MARKER_AUTHORITY)
        return KNOWN_NEW;
    if (equal)
        return KNOWN_TRUSTED;
    if (known->portless)
        return KNOWN_NEW;
    return strcmp(known->type, type) == 0 ? KNOWN_CHANGED : KNOWN_OTHER_TYPES;
}

enum known_status known_hosts_compare(const struct known_hosts *k, const struct ssh_blob *key,
                                      const struct known_key **ret)
{
    enum known_status strongest = KNOWN_NEW;
    const struct known_key *deciding = NULL;
    char type[64];
    ssh_blob_type(key, type, sizeof type);
    for (size_t i = 0; i < k->n; i++) {
        enum known_status status = compare_known_key(&k->items[i], key, type);
        if (status > strongest) {
            strongest = status;
            deciding = &k->items[i];
        }
    }
    if (ret)
        *ret = deciding;
    return strongest;
}

/* Writes "not in" and the files that exist, else "there is no" and the first one. Returns dst. */
static char *name_files(const struct strlist *files, char *dst, size_t cap)
{
    size_t len = 0, n = 0;
    snprintf(dst, cap, "%s%s", files->n ? "there is no " : "no file is named",
             files->n ? files->items[0] : "");
    for (size_t i = 0; i < files->n && len < cap; i++)
        if (file_exists(files->items[i]))
            len += (size_t)snprintf(dst + len, cap - len, "%s%s", n++ ? ", " : "not in ", files->items[i]);
    return dst;
}

static int refuse_new(const struct known_hosts *k, const char *offered, const char *server,
                      const struct strlist *files, struct err *err)
{
    const struct known_key *authority = find_authority(k), *other = has_key(k) ? k->items : NULL;
    char names[200], searched[210], location[LOCATION_MAX];
    snprintf(searched, sizeof searched, ", %s", name_files(files, names, sizeof names));
    while (other && other->marker != KNOWN_MARKER_NONE)
        other++;
    enum failure f = authority ? FAILURE_KEY_UNKNOWN_OR_SIGNED
                     : other   ? FAILURE_KEY_UNKNOWN_AT_PORT
                               : FAILURE_KEY_UNKNOWN;
    const char *line = authority || other ? name_location(authority ? authority : other, location) : "";
    return failure_set(f, FAILURE_DETAILS(server, offered, searched, line), err);
}

/* Writes where the known key is, its type unless `type` is empty, and its fingerprint. Returns dst. */
#define KNOWN_KEY_MAX (LOCATION_MAX + 200)
static char *name_known_key(const struct known_key *known, const char *type, char dst[KNOWN_KEY_MAX])
{
    char fingerprint[SSH_FINGERPRINT], location[LOCATION_MAX];
    snprintf(dst, KNOWN_KEY_MAX, ", but %s has %s%s%s", name_location(known, location), type,
             *type ? " " : "", ssh_blob_fingerprint(&known->blob, fingerprint));
    return dst;
}

/* Refuses a key that differs from a known one. */
static int refuse_other(enum failure f, const struct known_key *known, const char *offered,
                        const char *server, struct err *err)
{
    char differs[KNOWN_KEY_MAX], line[LOCATION_MAX + 20];
    name_known_key(known, f == FAILURE_KEY_OF_OTHER_TYPE ? known->type : "", differs);
    snprintf(line, sizeof line, "line %u of %s", known->line, known->file);
    return failure_set(f, FAILURE_DETAILS(server, offered, differs, line), err);
}

static int refuse_changed(const struct known_hosts *k, const struct known_key *known, const char *offered,
                          const char *server, struct err *err)
{
    const struct known_key *authority = find_authority(k);
    char signer[LOCATION_MAX], differs[KNOWN_KEY_MAX];
    if (!authority)
        return refuse_other(FAILURE_KEY_CHANGED, known, offered, server, err);
    return failure_set(FAILURE_KEY_CHANGED_OR_SIGNED,
                       FAILURE_DETAILS(server, offered, name_known_key(known, "", differs),
                                       name_location(authority, signer)),
                       err);
}

int known_hosts_check(const struct known_hosts *k, const struct ssh_blob *key, const char *server,
                      const struct strlist *files, struct err *err)
{
    char type[64], fingerprint[SSH_FINGERPRINT], name[130], offered[180], location[LOCATION_MAX];
    const struct known_key *known = NULL;
    ssh_blob_type(key, type, sizeof type);
    snprintf(name, sizeof name, "%s %s", type, ssh_blob_fingerprint(key, fingerprint));
    failure_offered_key(offered, sizeof offered, name);
    switch (known_hosts_compare(k, key, &known)) {
    case KNOWN_NEW:
        return refuse_new(k, offered, server, files, err);
    case KNOWN_OTHER_TYPES:
        return refuse_other(FAILURE_KEY_OF_OTHER_TYPE, known, offered, server, err);
    case KNOWN_CHANGED:
        return refuse_changed(k, known, offered, server, err);
    case KNOWN_TRUSTED:
        return 0;
    case KNOWN_REVOKED:
        break;
    }
    return failure_set(FAILURE_KEY_REVOKED, FAILURE_DETAILS(server, name, name_location(known, location)),
                       err);
}

char *known_hosts_preference(const struct known_hosts *k, char *dst, size_t cap)
{
    static const char *const types[] = {"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                        "ecdsa-sha2-nistp521", "ssh-rsa"};
    size_t len = 0;
    dst[0] = '\0';
    for (int known = 1; known >= 0; known--) {
        for (size_t t = 0; t < sizeof types / sizeof *types && len < cap; t++) {
            bool has = false;
            for (size_t i = 0; i < k->n; i++)
                has = has ||
                      (k->items[i].marker == KNOWN_MARKER_NONE && strcmp(k->items[i].type, types[t]) == 0);
            if (has != (known == 1))
                continue;
            /* RSA host keys also have newer algorithm names, if libssh2 supports them. */
            const char *newer = strcmp(types[t], "ssh-rsa") == 0 ? "rsa-sha2-512,rsa-sha2-256," : "";
            len += (size_t)snprintf(dst + len, cap - len, "%s%s%s", len ? "," : "", newer, types[t]);
        }
    }
    return dst;
}
