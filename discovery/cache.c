/*
 * A cached answer is one line, followed by the output of discovered_write:
 *
 *     profgrab discovery 1 MILLISECONDS SHA256
 *
 * MILLISECONDS is the time of the answer. SHA256 is the hash of MILLISECONDS and of everything after the
 * line.
 *
 * The user's cache directory may be a symbolic link. Its subdirectory `profgrab` and the files below it must
 * not be links.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "discovery/discovery.h"
#include "base/banned.h"

#define MAGIC "profgrab discovery 1 "
#define HEADER_MAX 200

#define CACHE_SUBDIR "profgrab"

/* The open directory of cached answers. */
struct cache {
    struct dir dir;
    char *path;
};

/* Returns a new string, the user's cache directory; NULL with err if there is none. Ignores relative paths,
 * as the XDG Base Directory Specification requires. */
static char *user_cache_dir(struct err *err)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    char *dir = xdg && *xdg == '/' ? strdup(xdg) : file_expand_home("~/.cache");
    if (!dir)
        err_set(err, ERR_NOT_FOUND, "there is no home directory for the cache");
    return dir;
}

/* Checks that only the user can change the file `name`, and that it has no other name; "" means the cache
 * directory. */
static int check_owned(const struct cache *c, const char *name, const struct stat *st, struct err *err)
{
    if (st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH)) &&
        (*name ? S_ISREG(st->st_mode) && st->st_nlink == 1 : S_ISDIR(st->st_mode)))
        return 0;
    return err_set(err, ERR_FAILED, "%s%s%s is not used: it must be a %s that only you can change", c->path,
                   *name ? "/" : "", name, *name ? "file with one name" : "directory");
}

static void cache_close(struct cache *c)
{
    fd_close(&c->dir.fd);
    free(c->path);
}

/* Opens ~/.cache/profgrab; creates it if `create`. */
static int open_cache_dir(const struct dir *user, bool create, struct cache *c, struct err *err)
{
    struct err why = ERR_INIT;
    struct stat st;
    if (create && dir_mkdir(user, CACHE_SUBDIR, &why) < 0 && why.kind != ERR_EXISTS) {
        if (err)
            *err = why;
        return -1;
    }
    c->dir.fd = dir_open_subdir(user, CACHE_SUBDIR, err);
    if (c->dir.fd < 0 || dir_stat(&c->dir, "", &st, err) < 0)
        return -1;
    return check_owned(c, "", &st, err);
}

/* Opens the cache directory. ERR_NOT_FOUND if there is none. */
static int cache_open(bool create, struct cache *ret, struct err *err)
{
    struct cache c = {.dir.fd = -1};
    struct dir user = {.fd = -1};
    char *dir = user_cache_dir(err);
    int rc = -1;
    if (!dir)
        return -1;
    if (!(c.path = file_join(dir, CACHE_SUBDIR))) {
        err_nomem(err);
        goto out;
    }
    c.dir.name = c.path;
    if (create ? file_mkdirs(dir, NULL, err) < 0 : !file_exists(dir)) {
        if (!create)
            err_set(err, ERR_NOT_FOUND, "the cache has no answer");
        goto out;
    }
    user = (struct dir){.fd = dir_open_user_path(dir, err), .name = dir};
    if (user.fd < 0 || open_cache_dir(&user, create, &c, err) < 0)
        goto out;
    *ret = c;
    rc = 0;
out:
    if (rc < 0)
        cache_close(&c);
    fd_close(&user.fd);
    free(dir);
    return rc;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static void hash_text(struct sha256 *h, const char *text)
{
    sha256_add(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void hash_settings(struct sha256 *h, const struct ssh_settings *s)
{
    char numbers[32];
    const char *const texts[] = {s->user, s->identity, s->known_hosts, s->jump, s->agent, s->config};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hash_text(h, texts[i] ? "given" : NULL);
        hash_text(h, texts[i]);
    }
    snprintf(numbers, sizeof numbers, "%u %d", s->port, (int)s->via);
    hash_text(h, numbers);
    hash_text(h, s->accept_new ? "accept-new" : NULL);
}

/* Hashes every setting that changes the request, its credentials or the host. Two hosts may have the same
 * address but different routes, so the SSH settings are hashed too. */
static int hash_key(const struct source *s, const struct ssh_settings *ssh, char ret[SHA256_HEX],
                    struct err *err)
{
    static const struct ssh_settings none = {0};
    char secret_source[16];
    struct sha256 *h = sha256_new(err);
    if (!h)
        return -1;
    snprintf(secret_source, sizeof secret_source, "%d", (int)s->endpoint->auth.secret.kind);
    hash_text(h, source_kind_name(s->kind));
    hash_text(h, s->url_or_path);
    hash_text(h, s->through ? s->through->address : NULL);
    hash_text(h, s->through && !s->through->direct ? "ssh" : NULL);
    hash_settings(h, s->through ? &s->through->ssh : &none);
    hash_settings(h, s->through && ssh ? ssh : &none);
    hash_text(h, s->endpoint->tls.ca);
    hash_text(h, s->endpoint->tls.cert);
    hash_text(h, s->endpoint->tls.key);
    hash_text(h, s->endpoint->tls.server_name);
    hash_text(h, s->endpoint->tls.insecure ? "insecure" : NULL);
    hash_text(h, s->endpoint->auth.user);
    hash_text(h, secret_source);
    hash_text(h, s->endpoint->auth.secret.locator);
    int rc = sha256_hex(h, ret, err);
    sha256_free(h);
    return rc;
}

enum { NAME_BYTES = 48 };
/* Writes the name of the cache file. The name contains the hash of the settings. */
static int name_file(const struct source *s, const struct ssh_settings *ssh, char ret[NAME_BYTES],
                     struct err *err)
{
    char key[SHA256_HEX];
    if (hash_key(s, ssh, key, err) < 0)
        return -1;
    snprintf(ret, NAME_BYTES, "discovery-%.32s", key);
    return 0;
}

static int hash_body(const char *at, const void *p, size_t n, char ret[SHA256_HEX], struct err *err)
{
    struct sha256 *h = sha256_new(err);
    if (!h)
        return -1;
    hash_text(h, at);
    sha256_add(h, p, n);
    int rc = sha256_hex(h, ret, err);
    sha256_free(h);
    return rc;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Writes the content of a cache file into a buffer. */
static int encode_answer(const struct discovered *answer, struct buf *file, struct err *err)
{
    char hash[SHA256_HEX], at[32];
    struct buf body = BUF_INIT(SOURCE_MAX_BYTES);
    snprintf(at, sizeof at, "%lld", (long long)answer->at);
    int rc = discovered_write(answer, &body, err);
    if (rc == 0)
        rc = hash_body(at, buf_str(&body), body.len, hash, err);
    if (rc == 0) {
        buf_addf(file, MAGIC "%s %s\n", at, hash);
        buf_add(file, buf_str(&body), body.len);
        rc = buf_check(file, "the cache file", err);
    }
    buf_release(&body);
    return rc;
}

int discovery_cache_store(const struct source *s, const struct ssh_settings *ssh,
                          const struct discovered *answer, struct err *err)
{
    char name[NAME_BYTES];
    struct cache c = {.dir.fd = -1};
    struct buf file = BUF_INIT(SOURCE_MAX_BYTES + HEADER_MAX);
    int rc = name_file(s, ssh, name, err);
    if (rc == 0)
        rc = encode_answer(answer, &file, err);
    if (rc == 0 && (rc = cache_open(true, &c, err)) == 0) {
        rc = dir_write(&c.dir, name, buf_str(&file), file.len, err);
        cache_close(&c);
    }
    buf_release(&file);
    return rc;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static int set_damaged_error(const char *path, struct err *err)
{
    return err_set(err, ERR_FAILED, "%s is damaged: not used", path);
}

static int parse_file(const char *path, const struct buf *file, struct discovered *into, struct err *err)
{
    char hash[SHA256_HEX], at[32] = "", expected_hash[SHA256_HEX] = "";
    uint64_t utc = 0;
    const char *end = file->data ? memchr(file->data, '\n', file->len) : NULL;
    if (!end || end - file->data >= HEADER_MAX ||
        sscanf(file->data, MAGIC "%31[0-9] %64[0-9a-f]", at, expected_hash) != 2 ||
        text_to_uint(at, INT64_MAX, &utc) < 0)
        return set_damaged_error(path, err);
    size_t n = file->len - (size_t)(end + 1 - file->data);
    if (hash_body(at, end + 1, n, hash, err) < 0)
        return -1;
    if (strcmp(hash, expected_hash) != 0)
        return set_damaged_error(path, err);
    struct discovered_reader *reader = NULL;
    into->at = (int64_t)utc;
    int rc = discovered_reader_new(SOURCE_HTTP_SD, into, &reader, err);
    if (rc == 0)
        rc = discovered_reader_feed(reader, end + 1, n, err);
    if (rc == 0)
        rc = discovered_reader_end(reader, err);
    discovered_reader_free(reader);
    return rc;
}

/* Reads the bytes of one cached answer. */
static int read_cache_file(const struct cache *c, const char *name, struct buf *ret, struct err *err)
{
    struct stat st;
    if (dir_stat(&c->dir, name, &st, err) < 0 || check_owned(c, name, &st, err) < 0)
        return -1;
    return dir_read(&c->dir, name, ret, err);
}

static int read_and_parse(const struct cache *c, const char *name, struct discovered *into, struct err *err)
{
    struct buf file = BUF_INIT(SOURCE_MAX_BYTES + HEADER_MAX);
    char *path = file_join(c->path, name);
    int rc = path ? read_cache_file(c, name, &file, err) : err_nomem(err);
    if (rc == 0)
        rc = parse_file(path, &file, into, err);
    buf_release(&file);
    free(path);
    return rc;
}

int discovery_cache_load(const struct source *s, const struct ssh_settings *ssh, struct discovered *ret,
                         struct err *err)
{
    char name[NAME_BYTES];
    struct cache c = {.dir.fd = -1};
    struct discovered answer = {0};
    struct err why = ERR_INIT;
    int rc = name_file(s, ssh, name, &why);
    if (rc == 0 && (rc = cache_open(false, &c, &why)) == 0) {
        rc = read_and_parse(&c, name, &answer, &why);
        cache_close(&c);
    }
    if (rc < 0 && why.kind == ERR_NOT_FOUND)
        err_set(&why, ERR_NOT_FOUND, "the cache has no answer");
    if (rc < 0 && err)
        *err = why;
    if (rc < 0)
        discovered_release(&answer);
    else
        *ret = answer;
    return rc;
}
