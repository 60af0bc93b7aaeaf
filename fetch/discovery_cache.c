/*
 * A kept answer is one line, and behind it what found_write wrote:
 *
 *     profgrab discovery 1 MILLISECONDS SHA256
 *
 * The hash is that of the milliseconds and what is behind the line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fetch/discovery.h"
#include "base/banned.h"

#define MAGIC "profgrab discovery 1 "
#define HEADER_MAX 200

/* A new string: where answers are kept; NULL with err if there is no such place. Relative directories are
 * ignored, as the XDG Base Directory Specification has it. */
static char *directory(struct err *err)
{
    const char *set = getenv("XDG_CACHE_HOME");
    char *dir = set && *set == '/' ? file_join(set, "profgrab") : file_expand_home("~/.cache/profgrab");
    if (!dir)
        err_set(err, ERR_NOT_FOUND, "there is no home directory to keep it in");
    return dir;
}

/* ---- what it is kept by -------------------------------------------------------------------------------- */

static void add_line(struct sha256 *h, const char *text)
{
    sha256_add(h, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Everything that makes it another question, or asks as somebody else. */
static int key_of(const struct source *s, char ret[SHA256_HEX], struct err *err)
{
    char source[16];
    struct sha256 *h = sha256_new(err);
    if (!h)
        return -1;
    snprintf(source, sizeof source, "%d", (int)s->ask->auth.secret.source);
    add_line(h, source_kind_name(s->kind));
    add_line(h, s->place);
    add_line(h, s->through ? s->through->address : NULL);
    add_line(h, s->through ? s->through->ssh.jump : NULL);
    add_line(h, s->ask->tls.ca);
    add_line(h, s->ask->tls.cert);
    add_line(h, s->ask->tls.insecure ? "insecure" : NULL);
    add_line(h, s->ask->auth.user);
    add_line(h, source);
    add_line(h, s->ask->auth.secret.where);
    int rc = sha256_hex(h, ret, err);
    sha256_free(h);
    return rc;
}

/* A new string. */
static int path_of(const struct source *s, char **ret, struct err *err)
{
    char key[SHA256_HEX], name[SHA256_HEX + 16];
    char *dir = directory(err);
    if (!dir || key_of(s, key, err) < 0) {
        free(dir);
        return -1;
    }
    snprintf(name, sizeof name, "discovery-%.32s", key);
    char *path = file_join(dir, name);
    free(dir);
    if (!path)
        return err_nomem(err);
    *ret = path;
    return 0;
}

static int hash_of(const char *at, const void *p, size_t n, char ret[SHA256_HEX], struct err *err)
{
    struct sha256 *h = sha256_new(err);
    if (!h)
        return -1;
    add_line(h, at);
    sha256_add(h, p, n);
    int rc = sha256_hex(h, ret, err);
    sha256_free(h);
    return rc;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

int discovery_keep(const struct source *s, const struct found *f, struct err *err)
{
    char hash[SHA256_HEX], at[32], header[HEADER_MAX];
    char *path = NULL, *dir = NULL;
    struct buf body = BUF_INIT(SOURCE_MAX_BYTES), file = BUF_INIT(SOURCE_MAX_BYTES + HEADER_MAX);
    snprintf(at, sizeof at, "%lld", (long long)f->at);
    int rc = path_of(s, &path, err);
    if (rc == 0)
        rc = found_write(f, &body, err);
    if (rc == 0)
        rc = hash_of(at, buf_str(&body), body.len, hash, err);
    if (rc == 0) {
        snprintf(header, sizeof header, MAGIC "%s %s\n", at, hash);
        buf_adds(&file, header);
        buf_add(&file, buf_str(&body), body.len);
        dir = file_dir(path);
        rc = dir ? buf_check(&file, "it", err) : err_nomem(err);
    }
    if (rc == 0)
        rc = file_mkdirs("", dir + 1, err);
    if (rc == 0)
        rc = file_write(path, buf_str(&file), file.len, err);
    buf_release(&body);
    buf_release(&file);
    free(dir);
    free(path);
    return rc;
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Neither the file nor its directory may be one that somebody else could write. */
static int check_owner(const char *path, struct err *err)
{
    struct stat st;
    char *dir = file_dir(path);
    if (!dir)
        return err_nomem(err);
    const char *const both[] = {path, dir};
    int rc = 0;
    for (int i = 0; rc == 0 && i < 2; i++) {
        if (lstat(both[i], &st) < 0)
            rc = err_set(err, ERR_NOT_FOUND, "nothing is kept");
        else if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) ||
                 (i == 0 ? !S_ISREG(st.st_mode) : !S_ISDIR(st.st_mode)))
            rc = err_set(err, ERR_FAILED, "%s is not yours alone: not used", both[i]);
    }
    free(dir);
    return rc;
}

static int damaged(const char *path, struct err *err)
{
    return err_set(err, ERR_FAILED, "%s is damaged: not used", path);
}

static int parse(const char *path, const struct buf *file, struct found *into, struct err *err)
{
    char hash[SHA256_HEX], at[32] = "", said[SHA256_HEX] = "";
    uint64_t utc = 0;
    const char *end = file->data ? memchr(file->data, '\n', file->len) : NULL;
    if (!end || end - file->data >= HEADER_MAX ||
        sscanf(file->data, MAGIC "%31[0-9] %64[0-9a-f]", at, said) != 2 ||
        text_to_uint(at, INT64_MAX, &utc) < 0)
        return damaged(path, err);
    size_t n = file->len - (size_t)(end + 1 - file->data);
    if (hash_of(at, end + 1, n, hash, err) < 0)
        return -1;
    if (strcmp(hash, said) != 0)
        return damaged(path, err);
    struct found_reader *reader = NULL;
    into->at = (int64_t)utc;
    int rc = found_reader_new(SOURCE_HTTP_SD, into, &reader, err);
    if (rc == 0)
        rc = found_reader_feed(reader, end + 1, n, err);
    if (rc == 0)
        rc = found_reader_end(reader, err);
    found_reader_free(reader);
    return rc;
}

int discovery_kept(const struct source *s, struct found *ret, struct err *err)
{
    char *path = NULL;
    struct found f = {0};
    struct buf file = BUF_INIT(SOURCE_MAX_BYTES + HEADER_MAX);
    if (path_of(s, &path, err) < 0)
        return -1;
    int rc = check_owner(path, err);
    if (rc == 0)
        rc = file_read(path, &file, err);
    if (rc == 0)
        rc = parse(path, &file, &f, err);
    if (rc < 0)
        found_release(&f);
    else
        *ret = f;
    buf_release(&file);
    free(path);
    return rc;
}
