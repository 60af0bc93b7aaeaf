/*
 * Making NAME.partial is the lock of the name NAME: whoever holds it is the only one to make NAME.tar.gz, so
 * the bundle is looked for after the directory was made, not before.
 */
#include "bundle/workdir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"

#define SUFFIX ".tar.gz"

/* A name must leave room for what is put behind it: file systems allow 255 bytes. */
enum { MAX_NAME = 200, MAX_TRIES = 1000 };

struct workdir {
    char *path;
    char *name;
    char *bundle;
    bool chosen;
};

/* Where a work directory is to be. */
struct place {
    char *dir; /* NULL: the working directory */
    char *name;
    bool chosen; /* the user's words, not a default */
};

static void place_release(struct place *p)
{
    free(p->dir);
    free(p->name);
}

static bool is_directory(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* DIR and NAME of a path that ends in .tar.gz. */
static int chosen_place(const char *output, struct place *p, struct err *err)
{
    const char *base = file_base(output);
    p->chosen = true;
    p->name = strndup(base, strlen(base) - strlen(SUFFIX));
    if (base != output)
        p->dir = file_dir(output);
    if (!p->name || (base != output && !p->dir))
        return err_nomem(err);
    if (!text_is_name(p->name) || strlen(p->name) > MAX_NAME)
        return err_set(err, ERR_USAGE,
                       "output %s must be called by letters, digits, \".\", \"_\" and \"-\" (at most %d), "
                       "beginning with a letter or digit",
                       output, MAX_NAME);
    return 0;
}

static int default_place(const char *output, const char *subject, int64_t utc_ms, struct place *p,
                         struct err *err)
{
    char when[64];
    p->dir = output ? strdup(output) : NULL;
    if (asprintf(&p->name, "profgrab-%.150s-%s", subject, clock_format_file(when, sizeof when, utc_ms)) < 0)
        p->name = NULL;
    if (!p->name || (output && !p->dir))
        return err_nomem(err);
    if (!text_is_name(p->name))
        return err_set(err, ERR_USAGE, "a bundle cannot be called after \"%s\"", subject);
    return 0;
}

static int find_place(const char *output, const char *subject, int64_t utc_ms, struct place *p,
                      struct err *err)
{
    size_t n = output ? strlen(output) : 0;
    size_t suffix = strlen(SUFFIX);
    if (output && n >= suffix && strcmp(output + n - suffix, SUFFIX) == 0)
        return chosen_place(output, p, err);
    if (!output || is_directory(output))
        return default_place(output, subject, utc_ms, p, err);
    return err_set(err, ERR_USAGE, "output %s must be an existing directory or end in " SUFFIX, output);
}

static int check_dir(const char *dir, struct err *err)
{
    struct stat st;
    if (stat(dir, &st) < 0)
        return err_sys(err, "cannot use the directory %s", dir);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, ERR_LOCAL_IO, "cannot use the directory %s: it is none", dir);
    return 0;
}

/* A handle on `name` in `dir`; nothing is made on disk. */
static struct workdir *handle(const char *dir, const char *name)
{
    struct workdir *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    char *bundle = NULL, *path = NULL;
    if (asprintf(&bundle, "%s" SUFFIX, name) < 0)
        bundle = NULL;
    if (asprintf(&path, "%s.partial", name) < 0)
        path = NULL;
    w->name = strdup(name);
    w->bundle = bundle ? file_join(dir, bundle) : NULL;
    w->path = path ? file_join(dir, path) : NULL;
    free(bundle);
    free(path);
    if (w->name && w->bundle && w->path)
        return w;
    workdir_free(w);
    return NULL;
}

/* Takes the name, or says ERR_EXISTS. */
static int take(const struct place *p, const char *name, struct workdir **ret, struct err *err)
{
    struct workdir *w = handle(p->dir, name);
    if (!w)
        return err_nomem(err);
    w->chosen = p->chosen;
    struct err why = ERR_INIT;
    if (file_mkdir(w->path, &why) == 0 && file_exists(w->bundle)) {
        rmdir(w->path);
        err_set(&why, ERR_EXISTS, "%s exists already, and nothing is overwritten", w->bundle);
    } else if (why.kind == ERR_EXISTS)
        err_set(&why, ERR_EXISTS, "%s exists already: that capture still runs, or has not been finished",
                w->path);
    if (why.kind == ERR_NONE) {
        *ret = w;
        return 0;
    }
    workdir_free(w);
    if (why.kind == ERR_LOCAL_IO) {
        err_wrap(&why, "cannot write into the directory %s", p->dir ? p->dir : ".");
        err_hint(&why, "choose another place for the output");
    }
    if (err)
        *err = why;
    return -1;
}

/* Takes the name, or a default name with the first free number behind it. */
static int take_free(const struct place *p, struct workdir **ret, struct err *err)
{
    struct err why = ERR_INIT;
    char name[256];
    for (int i = 1; i <= MAX_TRIES; i++) {
        if (i == 1)
            snprintf(name, sizeof name, "%s", p->name);
        else
            snprintf(name, sizeof name, "%s-%d", p->name, i);
        if (take(p, name, ret, &why) == 0)
            return 0;
        if (why.kind != ERR_EXISTS || p->chosen)
            break;
    }
    if (err)
        *err = why;
    return -1;
}

int workdir_new(const char *output, const char *subject, int64_t utc_ms, struct workdir **ret,
                struct err *err)
{
    struct place p = {0};
    int rc = -1;
    if (find_place(output, subject, utc_ms, &p, err) < 0 || check_dir(p.dir ? p.dir : ".", err) < 0)
        goto out;
    rc = take_free(&p, ret, err);
out:
    place_release(&p);
    return rc;
}

void workdir_free(struct workdir *w)
{
    if (!w)
        return;
    free(w->path);
    free(w->name);
    free(w->bundle);
    free(w);
}

const char *workdir_path(const struct workdir *w)
{
    return w->path;
}

const char *workdir_name(const struct workdir *w)
{
    return w->name;
}

const char *workdir_bundle(const struct workdir *w)
{
    return w->bundle;
}

bool workdir_is_chosen(const struct workdir *w)
{
    return w->chosen;
}
