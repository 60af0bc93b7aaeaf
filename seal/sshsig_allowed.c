/*
 * ssh-keygen reads a signature from a file and the message from its input, so both are written to a temporary
 * private directory. No shell runs, and text from the file of allowed signers is only returned, never
 * executed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seal/sshsig.h"
#include "base/banned.h"

enum { OUTPUT_MAX = 65536, PRINCIPALS_MAX = 64 };

/* The search for a principal, and its temporary files. */
struct principal_search {
    const char *allowed_signers; /* path of the file */
    const struct sshsig_claim *claim;
    struct proc_limits limits;
    char *directory, *signature, *message; /* paths */
};

static int make_directory(struct principal_search *search, struct err *err)
{
    const char *tmp = getenv("TMPDIR");
    char *path = file_join(tmp && *tmp ? tmp : "/tmp", "profgrab-XXXXXX");
    if (!path)
        return err_nomem(err);
    if (!mkdtemp(path)) {
        err_sys(err, "cannot make a directory %s", path);
        free(path);
        return -1;
    }
    search->directory = path;
    return 0;
}

static int write_file(struct principal_search *search, const char *name, struct str text, char **ret,
                      struct err *err)
{
    *ret = file_join(search->directory, name);
    if (!*ret)
        return err_nomem(err);
    int fd = file_create(*ret, err);
    int rc = fd < 0 ? -1 : fd_write_all(fd, text.p, text.n, err);
    fd_close(&fd);
    return rc;
}

static int refuse_key(const struct principal_search *search, const char *reason, struct err *err)
{
    return err_set(err, ERR_DENIED, "%s does not allow the key: %s", search->allowed_signers,
                   *reason ? reason : "ssh-keygen gives no reason");
}

#define REASON_TEXT 300
/* Runs ssh-keygen to verify the signature for a principal. ret_reason: the error output of ssh-keygen,
 * printable. */
static int try_principal(const struct principal_search *search, const char *principal, bool *ret_good,
                         char ret_reason[static REASON_TEXT], struct err *err)
{
    const char *argv[] = {"ssh-keygen",
                          "-Y",
                          "verify",
                          "-f",
                          search->allowed_signers,
                          "-I",
                          principal,
                          "-n",
                          search->claim->namespace,
                          "-s",
                          search->signature,
                          NULL};
    struct proc_result r;
    int fd = file_open(search->message, err);
    int rc = fd < 0 ? -1 : proc_run_with_input(argv, fd, &search->limits, &r, err);
    fd_close(&fd);
    if (rc < 0)
        return -1;
    *ret_good = r.exit_code == 0;
    text_printable(ret_reason, REASON_TEXT, r.error_output, strlen(r.error_output));
    proc_result_release(&r);
    return 0;
}

/* Tries each principal until ssh-keygen accepts the signature for one. `names`: one principal per line. */
static int try_principals(const struct principal_search *search, const char *names, char **ret,
                          struct err *err)
{
    char reason[REASON_TEXT] = "";
    bool good = false;
    for (int i = 0; *names && i < PRINCIPALS_MAX; i++) {
        size_t n = strcspn(names, "\n");
        char *name = strndup(names, n), shown[300];
        if (!name)
            return err_nomem(err);
        int rc = n > 0 ? try_principal(search, name, &good, reason, err) : 0;
        text_printable(shown, sizeof shown, name, n);
        free(name);
        if (rc < 0)
            return -1;
        if (good) {
            *ret = strdup(shown);
            return *ret ? 0 : err_nomem(err);
        }
        names += n + (names[n] == '\n');
    }
    return refuse_key(search, reason, err);
}

static int find_principal(struct principal_search *search, char **ret, struct err *err)
{
    struct proc_result r;
    if (make_directory(search, err) < 0 ||
        write_file(search, "sig", str_of(search->claim->armor), &search->signature, err) < 0 ||
        write_file(search, "message", (struct str){search->claim->p, search->claim->n}, &search->message,
                   err) < 0)
        return -1;
    const char *argv[] = {"ssh-keygen",      "-Y", "find-principals", "-f", search->allowed_signers, "-s",
                          search->signature, NULL};
    if (proc_run(argv, &search->limits, &r, err) < 0) {
        if (err && err->kind == ERR_NOT_FOUND)
            err_hint(err, "install OpenSSH's client tools (Debian: openssh-client)");
        return -1;
    }
    int rc = r.exit_code == 0 ? try_principals(search, buf_str(&r.out), ret, err)
                              : refuse_key(search, r.error_output, err);
    proc_result_release(&r);
    return rc;
}

int sshsig_find_principal(const char *allowed_signers, const struct sshsig_claim *claim,
                          const struct proc_limits *limits, char **ret, struct err *err)
{
    struct principal_search search = {.allowed_signers = allowed_signers, .claim = claim, .limits = *limits};
    search.limits.max_output = OUTPUT_MAX;
    int fd = file_open(allowed_signers, err);
    if (fd < 0)
        return -1;
    fd_close(&fd);
    int rc = find_principal(&search, ret, err);
    if (search.directory)
        file_remove(search.directory, NULL);
    free(search.directory);
    free(search.signature);
    free(search.message);
    return rc;
}
