/* Secrets: their sources and refusals. No copy of a secret is left in memory or printed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "tests/unit/unit.h"
#include "base/banned.h"

#define FORM_HINT "a secret is one line of visible ASCII characters and blanks"
#define COMMAND_HINT "/bin/sh runs it without input; it must print the secret and end with 0"
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif

#define VARIABLE "PROFGRAB_TEST_SECRET"

static const struct proc_limits default_limits = {.timeout_ms = 60000, .cancel_fd = -1};

static int read_from(enum secret_kind kind, const char *locator, struct secret *ret, struct err *err)
{
    struct secret_ref ref = {.kind = kind, .locator = strdup(locator)};
    assert_non_null(ref.locator);
    int rc = secret_read(&ref, &default_limits, ret, err);
    secret_ref_release(&ref);
    assert_null(ref.locator);
    assert_int_equal(ref.kind, SECRET_NONE);
    return rc;
}

static void assert_secret_is(enum secret_kind kind, const char *locator, const char *expected)
{
    struct secret s;
    struct err err = ERR_INIT;
    memset(&s, 'x', sizeof s);
    assert_ok(read_from(kind, locator, &s, &err), &err);
    assert_string_equal(s.text, expected);
    assert_int_equal(s.len, strlen(expected));
    secret_wipe(&s);
}

static void assert_secret_refused(enum secret_kind kind, const char *locator, const char *msg,
                                  const char *hint)
{
    struct secret s, before;
    struct err err = ERR_INIT;
    memset(&s, 'x', sizeof s);
    before = s;
    assert_refused(read_from(kind, locator, &s, &err), &err, ERR_USAGE, msg);
    assert_string_equal(err.hint, hint);
    assert_memory_equal(&s, &before, sizeof s);
    assert_int_equal(read_from(kind, locator, &s, NULL), -1);
}

static void an_environment_variable_gives_the_secret(void **state)
{
    (void)state;
    setenv(VARIABLE, "s3cret with blanks~!", 1);
    assert_secret_is(SECRET_ENV, VARIABLE, "s3cret with blanks~!");
    setenv(VARIABLE, "one\n", 1);
    assert_secret_is(SECRET_ENV, VARIABLE, "one");
    setenv(VARIABLE, "one\r\n", 1);
    assert_secret_is(SECRET_ENV, VARIABLE, "one");
    unsetenv(VARIABLE);
    assert_secret_refused(SECRET_ENV, VARIABLE, "the environment variable " VARIABLE " is not set",
                          "set it without showing it: read -rs " VARIABLE "; export " VARIABLE);
    static const char *const empty[] = {"", "\n", "\r\n"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        setenv(VARIABLE, empty[i], 1);
        assert_secret_refused(SECRET_ENV, VARIABLE, "the environment variable " VARIABLE " is empty",
                              FORM_HINT);
    }
    unsetenv(VARIABLE);
}

static void a_secret_is_one_line_of_visible_ascii(void **state)
{
    (void)state;
    static const char *const bad[] = {"one\ntwo", "one\n\n",     "\none", "one\rtwo", "a\tb",
                                      "a\033[2J", "caf\xc3\xa9", "\x80",  "a\x7f"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv(VARIABLE, bad[i], 1);
        assert_secret_refused(SECRET_ENV, VARIABLE,
                              "the environment variable " VARIABLE
                              " contains more than one line, or characters that no secret has",
                              FORM_HINT);
    }
    unsetenv(VARIABLE);
}

/* A text of n letters; the caller frees it. */
static char *make_letters(size_t n)
{
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'k', n);
    text[n] = '\0';
    return text;
}

static void random_secrets_differ(void **state)
{
    (void)state;
    char a[33], b[33];
    struct err err = ERR_INIT;
    assert_int_equal(secret_make_hex(a, 16, &err), 0);
    assert_int_equal(secret_make_hex(b, 16, &err), 0);
    assert_int_equal(strspn(a, "0123456789abcdef"), 32);
    assert_int_equal(strlen(a), 32);
    assert_string_not_equal(a, b);
}

static void a_secret_has_a_maximum_length(void **state)
{
    char *most = make_letters(SECRET_MAX - 1), *more = make_letters(SECRET_MAX);
    char *path = scratch_file(*state, "most", most, SECRET_MAX - 1), *msg = NULL;
    char *command = format_text("head -c %d /dev/zero | tr '\\0' k", SECRET_MAX - 1);
    setenv(VARIABLE, most, 1);
    assert_secret_is(SECRET_ENV, VARIABLE, most);
    assert_secret_is(SECRET_FILE, path, most);
    assert_secret_is(SECRET_COMMAND, command, most);
    free(path);
    free(command);
    path = scratch_file(*state, "more", more, SECRET_MAX);
    command = format_text("head -c %d /dev/zero | tr '\\0' k", SECRET_MAX);
    msg = format_text("%s contains more than 4095 bytes", path);
    setenv(VARIABLE, more, 1);
    assert_secret_refused(SECRET_ENV, VARIABLE,
                          "the environment variable " VARIABLE " contains more than 4095 bytes", FORM_HINT);
    assert_secret_refused(SECRET_FILE, path, msg, FORM_HINT);
    assert_secret_refused(SECRET_COMMAND, command,
                          "the command for the secret: /bin/sh: its output is larger than 4095 bytes", "");
    unsetenv(VARIABLE);
    free(path);
    free(command);
    free(msg);
    free(most);
    free(more);
}

static void a_file_gives_the_secret(void **state)
{
    char *path = scratch_file(*state, "token", "t0ken\r\n", 7);
    assert_secret_is(SECRET_FILE, path, "t0ken");
    assert_int_equal(chmod(path, 0400), 0);
    assert_secret_is(SECRET_FILE, path, "t0ken");
    char *link = file_join(*state, "link"), *nul = scratch_file(*state, "nul", "a\0b", 3);
    char *none = scratch_file(*state, "none", "", 0);
    assert_int_equal(symlink(path, link), 0);
    assert_secret_is(SECRET_FILE, link, "t0ken");
    char *msg = format_text("%s contains more than one line, or characters that no secret has", nul);
    assert_secret_refused(SECRET_FILE, nul, msg, FORM_HINT);
    free(msg);
    msg = format_text("%s is empty", none);
    assert_secret_refused(SECRET_FILE, none, msg, FORM_HINT);
    free(msg);
    free(link);
    free(nul);
    free(none);
    free(path);
}

static void files_that_others_own_or_can_open_are_refused(void **state)
{
    char *path = scratch_file(*state, "token", "t0ken\n", 6);
    char *open = format_text("%s can be read or changed by others than its owner", path),
         *hint = format_text("chmod 600 %s", path);
    static const mode_t modes[] = {0640, 0620, 0610, 0604, 0602, 0601, 0644, 0666, 0777};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_secret_refused(SECRET_FILE, path, open, hint);
    }
    assert_int_equal(chmod(path, 0600), 0);
    assert_secret_is(SECRET_FILE, path, "t0ken");
    /* Only root can change a file's owner. */
    if (geteuid() == 0) {
        char *msg = format_text("%s belongs to neither you nor root", path);
        assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
        assert_secret_refused(SECRET_FILE, path, msg, "make a copy of your own, with mode 0600");
        free(msg);
    }
    free(open);
    free(hint);
    free(path);
}

static void only_regular_files_are_read(void **state)
{
    char *missing = file_join(*state, "missing"), *pipe = file_join(*state, "pipe");
    char *msg = format_text("cannot open %s: No such file or directory", missing);
    char *hint = format_text("create it so that only you can read it: (umask 077; cat > %s)", missing);
    assert_secret_refused(SECRET_FILE, missing, msg, hint);
    free(msg);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    msg = format_text("%s is not a regular file", pipe);
    assert_secret_refused(SECRET_FILE, pipe, msg, "");
    free(msg);
    msg = format_text("%s is not a regular file", (char *)*state);
    assert_secret_refused(SECRET_FILE, *state, msg, "");
    assert_secret_refused(SECRET_FILE, "/dev/zero", "/dev/zero is not a regular file", "");
    free(msg);
    free(hint);
    free(missing);
    free(pipe);
}

static void a_command_gives_the_secret(void **state)
{
    (void)state;
    assert_secret_is(SECRET_COMMAND, "printf t0ken", "t0ken");
    assert_secret_is(SECRET_COMMAND, "echo t0ken", "t0ken");
    assert_secret_is(SECRET_COMMAND, "for c in t 0 k e n; do printf $c; sleep 0.01; done; cat", "t0ken");
    assert_secret_is(SECRET_COMMAND, "echo 'no harm' >&2; echo t0ken", "t0ken");
    assert_secret_refused(SECRET_COMMAND, "exit 3", "the command for the secret ended with 3", COMMAND_HINT);
    assert_secret_refused(SECRET_COMMAND, "echo t0ken; echo 'the \033[31mvault is closed' >&2; exit 1",
                          "the command for the secret ended with 1: the ?[31mvault is closed", COMMAND_HINT);
    assert_secret_refused(SECRET_COMMAND, "echo t0ken; kill -TERM $$",
                          "the command for the secret ended with 143", COMMAND_HINT);
    assert_secret_refused(SECRET_COMMAND, "true", "the output of the command for the secret is empty",
                          FORM_HINT);
    assert_secret_refused(
        SECRET_COMMAND, "echo t0ken; echo more",
        "the output of the command for the secret contains more than one line, or characters that no secret "
        "has",
        FORM_HINT);
}

static void a_command_ends_at_its_deadline_and_on_cancel(void **state)
{
    (void)state;
    struct secret_ref ref = {.kind = SECRET_COMMAND, .locator = strdup("printf t0ken; exec sleep 60")};
    struct secret s;
    struct err err = ERR_INIT;
    struct proc_limits limits = {.timeout_ms = 200, .cancel_fd = -1};
    int cancel[2];
    assert_refused(secret_read(&ref, &limits, &s, &err), &err, ERR_TIMEOUT,
                   "the command for the secret: /bin/sh: it did not end in time");
    assert_ok(fd_pipe(cancel, &err), &err);
    assert_int_equal(write(cancel[1], "x", 1), 1);
    limits = (struct proc_limits){.timeout_ms = 60000, .cancel_fd = cancel[0]};
    assert_refused(secret_read(&ref, &limits, &s, &err), &err, ERR_CANCELLED,
                   "the command for the secret: /bin/sh: interrupted");
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
    secret_ref_release(&ref);
}

/* Each case fails after the secret was read. */
static void no_error_contains_the_secret(void **state)
{
    static const char token[] = "hunter2hunter2";
    char *path = scratch_file(*state, "token", "hunter2hunter2\nx", 16);
    const struct {
        enum secret_kind kind;
        const char *locator;
    } bad[] = {
        {SECRET_ENV, VARIABLE},
        {SECRET_FILE, path},
        {SECRET_COMMAND, "printf 'hunter2hunter2\\001'"},
        {SECRET_COMMAND, "echo hunter2hunter2; exit 1"},
        {SECRET_COMMAND, "while echo hunter2hunter2; do :; done"},
    };
    setenv(VARIABLE, "hunter2hunter2\001", 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct secret s;
        struct err err = ERR_INIT;
        assert_int_equal(read_from(bad[i].kind, bad[i].locator, &s, &err), -1);
        assert_int_equal(err.kind, ERR_USAGE);
        for (size_t at = 0; at < sizeof err; at++)
            assert_true(sizeof err - at < sizeof token - 1 ||
                        memcmp((const char *)&err + at, token, sizeof token - 1) != 0);
    }
    unsetenv(VARIABLE);
    free(path);
}

/* The sanitizers keep so much freed memory that a search of it would take too long. */
#if defined(__linux__) && !defined(UNDER_SANITIZER)
/* "hotcocoamilk" in a form that the search does not find. */
#define ENCODED "ubgpbpbnzvyx"

static bool is_secret_at(const volatile char *p)
{
    for (size_t i = 0; i < sizeof ENCODED - 1; i++)
        if (p[i] != (ENCODED[i] - 'a' + 13) % 26 + 'a')
            return false;
    return true;
}

/* Counts the copies of the secret in the writable memory of this process. */
static size_t count_in_memory(void)
{
    size_t found = 0;
    char line[512], mode[8];
    uintptr_t from = 0, to = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, mode) != 3 ||
            strncmp(mode, "rw", 2) != 0)
            continue;
        for (; from + sizeof ENCODED <= to; from++)
            found += is_secret_at((const volatile char *)from);
    }
    fclose(maps);
    return found;
}

/* Reads the secret from a file, then from a command that prints it in pieces, then from a command whose
 * output is refused. */
static void no_copy_of_a_secret_is_left_in_memory(void **state)
{
    char *path = file_join(*state, "token"),
         *command = format_text("cat %s; sleep 0.05; printf %%0400d 7", path);
    char *more = format_text("cat %s; sleep 0.05; printf %%0400d 7; head -c 5000 /dev/zero", path);
    char *make =
        format_text("umask 077; for i in 1 2 3 4; do printf " ENCODED "; done | tr a-z n-za-m > %s", path);
    struct secret s;
    RUN_PROGRAM("sh", "-c", make);
    assert_int_equal(count_in_memory(), 0);
    assert_ok(read_from(SECRET_FILE, path, &s, NULL), &(struct err)ERR_INIT);
    assert_int_equal(count_in_memory(), 4);
    secret_wipe(&s);
    assert_int_equal(count_in_memory(), 0);
    assert_ok(read_from(SECRET_COMMAND, command, &s, NULL), &(struct err)ERR_INIT);
    assert_int_equal(s.len, 448);
    assert_int_equal(count_in_memory(), 4);
    secret_wipe(&s);
    assert_int_equal(count_in_memory(), 0);
    assert_int_equal(read_from(SECRET_COMMAND, more, &s, NULL), -1);
    assert_int_equal(count_in_memory(), 0);
    free(path);
    free(command);
    free(more);
    free(make);
}
#endif

static void secret_wipe_zeroes_the_whole_secret(void **state)
{
    (void)state;
    static const struct secret nothing = {.len = 0};
    struct secret s;
    memset(&s, 'x', sizeof s);
    secret_wipe(&s);
    assert_memory_equal(&s, &nothing, sizeof s);
}

static void a_secret_without_a_source_is_refused(void **state)
{
    (void)state;
    assert_secret_refused(SECRET_NONE, "", "the secret has no source: name a variable, a file or a command",
                          "");
}

/* Runs in a child process, because the protection cannot be removed. */
static void a_protected_process_makes_no_core_dump(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = {1, 1};
        secret_protect_process();
        int wrong = getrlimit(RLIMIT_CORE, &limit) < 0 || limit.rlim_cur != 0 || limit.rlim_max != 0;
#if defined(__linux__) && !defined(UNDER_SANITIZER)
        wrong |= prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 ? 2 : 0;
#endif
        _exit(wrong);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- the first line ---------------------------------------------------------------------------------- */

static void assert_line_is(const char *path, const char *expected)
{
    struct secret got = {.len = 0};
    struct err err = ERR_INIT;
    assert_ok(secret_read_line(path, clock_deadline(20000), -1, &got, &err), &err);
    assert_string_equal(got.text, expected);
    assert_int_equal(got.len, strlen(expected));
    for (size_t i = got.len; i < sizeof got.text; i++)
        assert_int_equal(got.text[i], 0); /* no byte of the next line */
}

static void assert_line_refused(const char *path, enum err_kind kind, const char *part)
{
    struct secret got, before;
    struct err err = ERR_INIT;
    memset(&got, 'x', sizeof got);
    before = got;
    assert_int_equal(secret_read_line(path, clock_deadline(100), -1, &got, &err), -1);
    assert_int_equal(err.kind, kind);
    if (!strstr(err.msg, part))
        fail_msg("\"%s\" without \"%s\"", err.msg, part);
    assert_memory_equal(&got, &before, sizeof got);
}

static void the_first_line_of_a_file_is_read(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        const char *line; /* NULL: refused */
    } cases[] = {
        {"a b\n", 4, "a b"},
        {"a b", 3, "a b"},
        {" a \r\nb\n", 7, " a "},
        {"\xc3\xa9\tx\n\0", 6, "\xc3\xa9\tx"},
        {"", 0, NULL},
        {"\n", 1, NULL},
        {"\r\nx\n", 4, NULL},
        {"a\0b\n", 4, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = scratch_file(*state, "line", cases[i].text, cases[i].n);
        if (cases[i].line)
            assert_line_is(path, cases[i].line);
        else
            assert_line_refused(path, ERR_USAGE, "the first line of ");
        free(path);
    }
}

static void a_first_line_has_a_maximum_length(void **state)
{
    static char text[2 * SECRET_MAX], expected[SECRET_MAX];
    memset(text, 'a', sizeof text);
    memset(expected, 'a', sizeof expected - 1);
    text[SECRET_MAX - 1] = '\n';
    char *path = scratch_file(*state, "long", text, sizeof text);
    assert_line_is(path, expected);
    free(path);
    path = scratch_file(*state, "long", text, SECRET_MAX - 1);
    assert_line_is(path, expected);
    free(path);
    text[SECRET_MAX - 1] = 'a';
    for (size_t n = SECRET_MAX; n < SECRET_MAX + 2; n++) {
        path = scratch_file(*state, "long", text, n);
        assert_line_refused(path, ERR_USAGE, "contains more than 4095 bytes");
        free(path);
    }
}

static void a_line_is_read_only_from_a_private_file_or_fifo(void **state)
{
    char *path = scratch_file(*state, "line", "x\n", 2), *fifo = file_join(*state, "fifo");
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0600), 0);
        assert_line_is(path, "x");
        assert_int_equal(chown(path, 64123, (gid_t)-1), 0);
        assert_line_refused(path, ERR_USAGE, "belongs to neither you nor root");
        assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    }
    assert_int_equal(chmod(path, 0640), 0);
    assert_line_refused(path, ERR_USAGE, "can be read or changed by others than its owner");
    assert_line_refused(*state, ERR_USAGE, "is neither a file nor a pipe");
    assert_line_refused("/dev/null", ERR_USAGE, "is neither a file nor a pipe");
    assert_line_refused("/none", ERR_USAGE, "cannot open /none: No such file or directory");
    /* At first the FIFO has no writer. Later a writer keeps the FIFO open. */
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_line_refused(fifo, ERR_TIMEOUT, "fifo");
    int fd = open(fifo, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a\nb\n", 4), 4);
    assert_line_is(fifo, "a");
    fd_close(&fd);
    assert_int_equal(chmod(fifo, 0644), 0);
    assert_line_refused(fifo, ERR_USAGE, "can be read or changed by others than its owner");
    free(fifo);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_secrets_differ),
        cmocka_unit_test(an_environment_variable_gives_the_secret),
        cmocka_unit_test(a_secret_is_one_line_of_visible_ascii),
        SCRATCH(a_secret_has_a_maximum_length),
        SCRATCH(a_file_gives_the_secret),
        SCRATCH(files_that_others_own_or_can_open_are_refused),
        SCRATCH(only_regular_files_are_read),
        cmocka_unit_test(a_command_gives_the_secret),
        cmocka_unit_test(a_command_ends_at_its_deadline_and_on_cancel),
        SCRATCH(no_error_contains_the_secret),
#if defined(__linux__) && !defined(UNDER_SANITIZER)
        SCRATCH(no_copy_of_a_secret_is_left_in_memory),
#endif
        cmocka_unit_test(secret_wipe_zeroes_the_whole_secret),
        cmocka_unit_test(a_secret_without_a_source_is_refused),
        cmocka_unit_test(a_protected_process_makes_no_core_dump),
        cmocka_unit_test_setup_teardown(the_first_line_of_a_file_is_read, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_first_line_has_a_maximum_length, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_line_is_read_only_from_a_private_file_or_fifo, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
