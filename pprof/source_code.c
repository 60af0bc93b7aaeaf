#include "pprof/source_code.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pprof/filter.h"
#include "base/banned.h"

/* The limit of all cached files together. Above it, the cache is cleared. */
#define CACHE_MAX ((size_t)256 << 20)

/* The limit of directories in one path that are tried as Go's. Each makes a string of the profile. */
#define GO_ROOTS_MAX 4

struct file {
    uint32_t path_id; /* the index of the path among the profile's strings */
    struct buf text;
    struct source_code_lines lines;
    char *message;
};

struct source_code {
    struct profile *profile;
    char *search_path, *trim_path;
    bool has_source_path;         /* the user gave -source_path */
    char *go_source, *go_modules; /* of source_code_search_go; NULL: not searched, or not on this machine */
    struct file **files;
    size_t n, cap;
    size_t bytes;     /* of all cached files */
    uint32_t *places; /* by path_id: the index in `files` plus 1; 0: not loaded */
    size_t n_places;
};

int source_code_split(struct str text, struct source_code_lines *ret, struct err *err)
{
    struct source_code_lines lines = {0};
    size_t cap = 0;
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n, taken = n + (end != NULL);
        if (n > SOURCE_LINE_MAX)
            break;
        if (array_reserve((void **)&lines.items, &cap, lines.n + 1, sizeof *lines.items, err) < 0) {
            free(lines.items);
            return -1;
        }
        lines.items[lines.n++] = (struct str){text.p, n && text.p[n - 1] == '\r' ? n - 1 : n};
        text = (struct str){text.p + taken, text.n - taken};
    }
    *ret = lines;
    return 0;
}

static void file_release(struct file *f)
{
    if (!f)
        return;
    buf_release(&f->text);
    free(f->lines.items);
    free(f->message);
    free(f);
}

static void clear_cache(struct source_code *s)
{
    for (size_t i = 0; i < s->n; i++)
        file_release(s->files[i]);
    s->n = s->bytes = 0;
    if (s->n_places)
        memset(s->places, 0, s->n_places * sizeof *s->places);
}

int source_code_new(struct profile *p, const char *source_path, const char *trim_path,
                    struct source_code **ret, struct err *err)
{
    struct source_code *s = calloc(1, sizeof *s);
    if (!s)
        return err_nomem(err);
    s->profile = p;
    s->search_path = source_path && *source_path ? strdup(source_path) : getcwd(NULL, 0);
    s->has_source_path = source_path && *source_path;
    s->trim_path = strdup(trim_path ? trim_path : "");
    if (!s->search_path || !s->trim_path) {
        int rc = s->has_source_path || s->search_path
                     ? err_nomem(err)
                     : err_set(err, ERR_LOCAL_IO, "could not stat current dir: %s", strerror(errno));
        source_code_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void source_code_free(struct source_code *s)
{
    if (!s)
        return;
    clear_cache(s);
    free(s->files);
    free(s->places);
    free(s->search_path);
    free(s->trim_path);
    free(s->go_source);
    free(s->go_modules);
    free(s);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* Whether a path looks like a source. A profile may name any file, and other files may hold secrets. */
static bool looks_like_source(const char *path)
{
    static const char *const endings[] = {
        "go",  "s",   "asm", "c",  "cc",  "cpp", "cxx", "c++", "h",    "hh",  "hpp",   "hxx",    "h++",
        "inc", "ipp", "tcc", "m",  "mm",  "cu",  "rs",  "zig", "d",    "nim", "swift", "f",      "f90",
        "for", "y",   "l",   "py", "pyx", "rb",  "js",  "ts",  "java", "kt",  "scala", "swigcxx"};
    const char *dot = strrchr(file_base(path), '.');
    /* The headers of C++'s library have no suffix: /usr/include/c++/12/vector. */
    if (!dot && strstr(path, "/include/c++/"))
        return true;
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(dot + 1, endings[i]) == 0)
            return true;
    return false;
}

static bool is_below_directory(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strcmp(dir, "/") == 0 || (strncmp(path, dir, n) == 0 && path[n] == '/');
}

/* Whether the file is below a directory that the user named with -source_path. */
static bool is_below_user_path(const struct source_code *s, const char *path)
{
    char name[PATH_MAX], real[PATH_MAX];
    struct str dir;
    for (const char *rest = s->has_source_path ? colon_list_begin(s->search_path) : NULL;
         colon_list_next(&rest, &dir);) {
        if (dir.n == 0 || dir.n >= sizeof name)
            continue;
        memcpy(name, dir.p, dir.n);
        name[dir.n] = '\0';
        if (realpath(name, real) && is_below_directory(path, real))
            return true;
    }
    return false;
}

/* Opens a regular file that may be shown, or a directory, which reads as empty. Otherwise returns -1 with
 * errno, EPERM for a file that may not be shown. Resolves links first. Does not block on a pipe. */
static int open_source_file(const struct source_code *s, struct str path)
{
    struct stat st;
    char name[PATH_MAX], real[PATH_MAX];
    if (memchr(path.p, '\0', path.n)) {
        errno = EINVAL;
        return -1;
    }
    if (path.n >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(name, path.p, path.n);
    name[path.n] = '\0';
    int fd = -1;
    if (!realpath(name, real) || stat(real, &st) < 0)
        return -1;
    /* Opening a pipe or a device could disturb other programs. */
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)))
        return fd;
    bool regular = S_ISREG(st.st_mode);
    if (regular && (looks_like_source(real) || is_below_user_path(s, real)))
        return fd;
    fd_close(&fd);
    errno = regular ? EPERM : EINVAL;
    return -1;
}

/* Makes DIR/PATH without "..", as a string of the profile. */
static int join_path(struct source_code *s, struct str dir, struct str path, struct str *ret, struct err *err)
{
    struct buf both = BUF_INIT((size_t)16 << 20);
    uint32_t string;
    buf_add(&both, dir.p, dir.n);
    buf_adds(&both, dir.n && path.n ? "/" : "");
    buf_add(&both, path.p, path.n);
    int rc = buf_check(&both, "a path", err);
    if (rc == 0)
        rc = profile_intern(s->profile, buf_str(&both), both.len, &string, err);
    if (rc == 0 && both.len)
        rc = profile_clean_path(s->profile, string, &string, err);
    buf_release(&both);
    if (rc == 0)
        *ret = profile_str(s->profile, string);
    return rc;
}

/* The parent directory; the directory itself if it has none. */
static struct str parent_of(struct str dir)
{
    while (dir.n > 1 && dir.p[dir.n - 1] == '/')
        dir.n--;
    const char *slash = memrchr(dir.p, '/', dir.n);
    if (!slash)
        return STR(".");
    return (struct str){dir.p, slash == dir.p ? 1 : (size_t)(slash - dir.p)};
}

/* Looks for the file on the search path. *ret is its descriptor, or -1 if there is no file. *ret_refused: a
 * file exists, but may not be shown. */
static int search_file(struct source_code *s, struct str path, int *ret, bool *ret_refused, struct err *err)
{
    struct str dir, at;
    *ret_refused = false;
    for (const char *rest = colon_list_begin(s->search_path); colon_list_next(&rest, &dir);) {
        for (;;) {
            if (join_path(s, dir, path, &at, err) < 0)
                return -1;
            if ((*ret = open_source_file(s, at)) >= 0)
                return 0;
            *ret_refused = *ret_refused || errno == EPERM;
            struct str parent = parent_of(dir);
            if (str_equal(parent, dir))
                break;
            dir = parent;
        }
    }
    return 0;
}

/* ---- the sources of Go --------------------------------------------------------------------------------- */

/* Finds the directory of the Go whose program `go` is the first on PATH. ret: PATH_MAX bytes. */
static bool find_root_of_go(char *ret)
{
    static const char program[] = "/bin/go";
    struct str dir;
    for (const char *rest = colon_list_begin(getenv("PATH")); colon_list_next(&rest, &dir);) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%.*s/go", (int)dir.n, dir.p);
        if (length >= (int)sizeof path || access(path, X_OK) < 0 || !realpath(path, ret))
            continue;
        size_t n = strlen(ret), n_program = strlen(program);
        if (n <= n_program || strcmp(ret + n - n_program, program) != 0)
            continue;
        ret[n - n_program] = '\0';
        return true;
    }
    return false;
}

int source_code_search_go(struct source_code *s, struct err *err)
{
    char found[PATH_MAX];
    const char *root = getenv("GOROOT"), *cache = getenv("GOMODCACHE"), *path = getenv("GOPATH"),
               *home = getenv("HOME");
    if (!root || !*root)
        root = find_root_of_go(found) ? found : "/usr/local/go";
    int modules = 0, source = asprintf(&s->go_source, "%s/src", root);
    if (cache && *cache)
        modules = asprintf(&s->go_modules, "%s", cache);
    else if (path && *path)
        modules = asprintf(&s->go_modules, "%.*s/pkg/mod", (int)strcspn(path, ":"), path);
    else if (home && *home)
        modules = asprintf(&s->go_modules, "%s/go/pkg/mod", home);
    if (source < 0)
        s->go_source = NULL;
    if (modules < 0)
        s->go_modules = NULL;
    return source < 0 || modules < 0 ? err_nomem(err) : 0;
}

/* Adds the part of a module's file after the directory of modules; nothing if the file is of no module. */
static void add_path_in_modules(struct str path, struct buf *to)
{
    static const char modules[] = "/pkg/mod/";
    const char *end = path.p + path.n, *found = memmem(path.p, path.n, modules, strlen(modules));
    if (found) {
        found += strlen(modules);
        buf_add(to, found, (size_t)(end - found));
        return;
    }
    /* with -trimpath: example.com/Module@v1.2.3/file.go. The cache escapes capital letters of the module's
     * path and version, but not of the file: example.com/!module@v1.2.3 (golang.org/x/mod/module,
     * EscapePath). */
    const char *at = path.n && *path.p != '/' ? memchr(path.p, '@', path.n) : NULL;
    const char *file = at ? memchr(at, '/', (size_t)(end - at)) : NULL;
    if (!file)
        return;
    for (const char *p = path.p; p < file; p++) {
        bool is_capital = *p >= 'A' && *p <= 'Z';
        buf_adds(to, is_capital ? "!" : "");
        buf_addc(to, (char)(is_capital ? *p - 'A' + 'a' : *p));
    }
    buf_add(to, file, (size_t)(end - file));
}

/* Whether Go's sources may be in the directory DIR/src: its name begins with `go` or is that of a downloaded
 * toolchain, or it is a version of Go or directly below one: go/1.26.8/x64, go/1.26.1/libexec. */
static bool is_root_of_go(struct str dir)
{
    struct str name = path_base(dir);
    if (str_begins(name, "go") || str_begins(name, "toolchain@"))
        return true;
    for (int i = 0; i < 2; i++) {
        bool is_version = name.n && isdigit((unsigned char)*name.p);
        dir = parent_of(dir);
        name = path_base(dir);
        if (is_version && (str_is(name, "go") || str_is(name, "golang") || str_begins(name, "go@")))
            return true;
    }
    return false;
}

/* Opens the file below a directory. Leaves *ret at -1 if there is none. */
static int open_below(struct source_code *s, const char *dir, struct str path, int *ret, struct err *err)
{
    struct str at = {"", 0};
    if (*ret >= 0 || !dir || path.n == 0)
        return 0;
    if (join_path(s, str_of(dir), path, &at, err) < 0)
        return -1;
    if (is_below_directory(at.p, dir))
        *ret = open_source_file(s, at);
    return 0;
}

/* Opens a file of the standard library. With several directories `src` in the path, such as those of
 * /home/ann/src/go/src/fmt/print.go, the first below which the file exists on this machine counts. */
static int open_in_go_source(struct source_code *s, struct str path, int *ret, struct err *err)
{
    static const char src[] = "/src/";
    const char *end = path.p + path.n, *found = memmem(path.p, path.n, src, strlen(src));
    if (!found) {
        /* with -trimpath: net/http/server.go; the first part of a module's path has a dot */
        const char *slash = memchr(path.p, '/', path.n);
        bool is_module = !slash || slash == path.p || memchr(path.p, '.', (size_t)(slash - path.p));
        return is_module ? 0 : open_below(s, s->go_source, path, ret, err);
    }
    for (int tries = 0; found && tries < GO_ROOTS_MAX;) {
        const char *rest = found + strlen(src);
        if (is_root_of_go((struct str){path.p, (size_t)(found - path.p)})) {
            if (open_below(s, s->go_source, (struct str){rest, (size_t)(end - rest)}, ret, err) < 0)
                return -1;
            tries++;
        }
        /* The slash at the end of a /src/ may begin the next. */
        found = memmem(rest - 1, (size_t)(end - rest) + 1, src, strlen(src));
    }
    return 0;
}

static int search_go(struct source_code *s, struct str path, int *ret, struct err *err)
{
    if (path.n >= PATH_MAX)
        return 0;
    struct buf module = BUF_INIT((size_t)2 * PATH_MAX);
    add_path_in_modules(path, &module);
    int rc = buf_check(&module, "a path", err);
    if (rc == 0)
        rc = open_below(s, s->go_modules, (struct str){buf_str(&module), module.len}, ret, err);
    buf_release(&module);
    return rc < 0 ? -1 : open_in_go_source(s, path, ret, err);
}

/* ---- the file ------------------------------------------------------------------------------------------ */

/* Writes upstream's message, or our own for a refusal, which upstream does not have. */
static int set_message(const struct source_code *s, struct str path, int why, char **ret_message,
                       struct err *err)
{
    int shown = path.n > 4096 ? 4096 : (int)path.n, n;
    if (why == EPERM) {
        n = asprintf(ret_message,
                     "%.*s does not look like a source file: -source_path with its directory shows it", shown,
                     path.p);
    } else if (path.n && path.p[0] == '/') {
        /* Go's error texts begin with a lower-case letter. */
        const char *words = strerror(why);
        n = asprintf(ret_message, "open %.*s: %c%s", shown, path.p, tolower(words[0]), words + 1);
    } else {
        n = asprintf(ret_message, "could not find file %.*s on path %s", shown, path.p, s->search_path);
    }
    if (n >= 0)
        return 0;
    *ret_message = NULL; /* a failed asprintf may have changed it */
    return err_nomem(err);
}

/* Opens the file that a name of the profile means. If no file can be opened, sets *ret to -1 and *ret_message
 * to the reason, and returns 0. */
static int open_source(struct source_code *s, struct str name, int *ret, char **ret_message, struct err *err)
{
    struct str path = source_code_trim(name, s->trim_path, s->search_path);
    bool refused = false;
    int why = 0;
    *ret = -1;
    if (path.n && path.p[0] == '/') {
        *ret = open_source_file(s, path);
        why = errno;
    } else {
        if (search_file(s, path, ret, &refused, err) < 0)
            return -1;
        why = refused ? EPERM : ENOENT;
    }
    if (search_go(s, name, ret, err) < 0)
        return -1;
    return *ret >= 0 ? 0 : set_message(s, path, why, ret_message, err);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* An unreadable file, such as a directory, has no lines. Upstream reports no error either. */
static void read_text(int fd, struct buf *to)
{
    char block[65536];
    ssize_t n;
    while (to->len < SOURCE_MAX && ((n = read(fd, block, sizeof block)) > 0 || (n < 0 && errno == EINTR))) {
        size_t room = SOURCE_MAX - to->len;
        if (n > 0)
            buf_add(to, block, (size_t)n < room ? (size_t)n : room);
    }
}

/* Reads the file into f->text. */
static int read_file(struct source_code *s, struct file *f, struct err *err)
{
    int fd = -1;
    if (open_source(s, profile_str(s->profile, f->path_id), &fd, &f->message, err) < 0)
        return -1;
    if (fd < 0)
        return 0;
    read_text(fd, &f->text);
    fd_close(&fd);
    return 0;
}

/* Makes room for the entries of all paths up to this one. */
static int make_places(struct source_code *s, uint32_t path_id, struct err *err)
{
    size_t had = s->n_places;
    if (path_id < had)
        return 0;
    if (array_reserve((void **)&s->places, &s->n_places, (size_t)path_id + 1, sizeof *s->places, err) < 0)
        return -1;
    memset(s->places + had, 0, (s->n_places - had) * sizeof *s->places);
    return 0;
}

/* Adds the file of a path; `text` replaces what the file has, unless it is NULL. */
static int add_file(struct source_code *s, uint32_t path_id, const struct str *text, struct err *err)
{
    if (s->bytes > CACHE_MAX)
        clear_cache(s);
    if (array_reserve((void **)&s->files, &s->cap, s->n + 1, sizeof(struct file *), err) < 0)
        return -1;
    struct file *f = calloc(1, sizeof *f);
    if (!f)
        return err_nomem(err);
    f->path_id = path_id;
    buf_init(&f->text, SOURCE_MAX);
    if (text)
        buf_add(&f->text, text->p, text->n);
    if ((!text && read_file(s, f, err) < 0) || buf_check(&f->text, "a source file", err) < 0 ||
        source_code_split((struct str){buf_str(&f->text), f->text.len}, &f->lines, err) < 0) {
        file_release(f);
        return -1;
    }
    s->bytes += f->text.cap + f->lines.n * sizeof *f->lines.items;
    s->files[s->n++] = f;
    s->places[path_id] = (uint32_t)s->n;
    return 0;
}

int source_code_put(struct source_code *s, uint32_t path_id, struct str text, struct err *err)
{
    return make_places(s, path_id, err) < 0 ? -1 : add_file(s, path_id, &text, err);
}

int source_code_get(struct source_code *s, uint32_t path_id, const struct source_code_lines **ret,
                    const char **ret_message, struct err *err)
{
    if (make_places(s, path_id, err) < 0 || (!s->places[path_id] && add_file(s, path_id, NULL, err) < 0))
        return -1;
    const struct file *f = s->files[s->places[path_id] - 1];
    *ret = &f->lines;
    *ret_message = f->message;
    return 0;
}

/* ---- the names of files ---- */

/* The position after `/NAME/` in a path, or NULL. */
static const char *find_after(struct str path, struct str name)
{
    for (size_t at = 0; at + name.n + 2 <= path.n; at++)
        if (path.p[at] == '/' && path.p[at + name.n + 1] == '/' &&
            memcmp(path.p + at + 1, name.p, name.n) == 0)
            return path.p + at + name.n + 2;
    return NULL;
}

/* Returns the length of `trim`, with its slash, if `trim` is a prefix of the path; else 0. */
static size_t prefix_length(struct str path, struct str trim)
{
    bool slash = trim.n && trim.p[trim.n - 1] == '/';
    if (path.n < trim.n + !slash || memcmp(path.p, trim.p, trim.n) != 0 || (!slash && path.p[trim.n] != '/'))
        return 0;
    return trim.n + !slash;
}

struct str source_code_trim(struct str path, const char *trim_path, const char *source_path)
{
    static const char usual_trim_path[] = "/proc/self/cwd/./:/proc/self/cwd/";
    struct str piece;
    const char *rest = colon_list_begin(trim_path) ? NULL : colon_list_begin(source_path);
    while (colon_list_next(&rest, &piece)) {
        const char *found = find_after(path, path_base(piece));
        if (found)
            return (struct str){found, path.n - (size_t)(found - path.p)};
    }
    for (int i = 0; i < 2; i++)
        for (rest = i ? usual_trim_path : colon_list_begin(trim_path); colon_list_next(&rest, &piece);) {
            size_t n = prefix_length(path, piece);
            if (n)
                return (struct str){path.p + n, path.n - n};
        }
    return path;
}
