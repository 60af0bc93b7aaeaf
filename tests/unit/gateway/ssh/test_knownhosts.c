/* Known hosts: the matches of ssh-keygen -F in files of every kind, and the decision on them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "gateway/ssh/knownhosts.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* Public keys of each type, two of them ed25519, in the format of known_hosts. They are made once. */
enum { ED, ED_OTHER, P256, P384, P521, RSA, N_KEYS };
static struct {
    const char *type, *bits;
    char line[1000]; /* type and base64 */
    char fingerprint[SSH_FINGERPRINT];
    struct ssh_blob blob;
} keys[N_KEYS] = {{.type = "ed25519", .bits = "256"}, {.type = "ed25519", .bits = "256"},
                  {.type = "ecdsa", .bits = "256"},   {.type = "ecdsa", .bits = "384"},
                  {.type = "ecdsa", .bits = "521"},   {.type = "rsa", .bits = "2048"}};

static const struct proc_limits limits = {.timeout_ms = 60000, .cancel_fd = -1, .max_output = 1u << 20};

static int make_keys(void **state)
{
    if (scratch_setup(state) < 0)
        return -1;
    for (size_t i = 0; i < N_KEYS; i++) {
        char *path = format_text("%s/key-%zu", (char *)*state, i), *pub = format_text("%s.pub", path);
        RUN_PROGRAM("ssh-keygen", "-q", "-t", keys[i].type, "-b", keys[i].bits, "-N", "", "-f", path);
        struct buf text = scratch_read(pub);
        size_t type = strcspn(buf_str(&text), " ");
        size_t n = strcspn(buf_str(&text) + type + 1, " \n");
        snprintf(keys[i].line, sizeof keys[i].line, "%.*s", (int)(type + 1 + n), buf_str(&text));
        assert_ok(ssh_base64_decode(buf_str(&text) + type + 1, n, &keys[i].blob, NULL), NULL);
        ssh_blob_fingerprint(&keys[i].blob, keys[i].fingerprint);
        buf_release(&text);
        free(path);
        free(pub);
    }
    return 0;
}

static int forget_keys(void **state)
{
    for (size_t i = 0; i < N_KEYS; i++)
        ssh_blob_release(&keys[i].blob);
    return scratch_teardown(state);
}

/* ---- files and what is found in them ----------------------------------------------------------------- */

static struct known_hosts find_in_files(const struct strlist *files, const char *host, unsigned port)
{
    struct known_hosts k = {0};
    struct err err = ERR_INIT;
    assert_ok(known_hosts_find(files, (struct known_name){host, port}, &limits, &k, &err), &err);
    return k;
}

static struct known_hosts find_in_file(const char *path, const char *host, unsigned port)
{
    struct strlist files = {0};
    assert_ok(strlist_add(&files, path, NULL), NULL);
    struct known_hosts k = find_in_files(&files, host, port);
    strlist_release(&files);
    return k;
}

/* Asserts that the file has exactly one key of the host: `key`, an index in `keys`, on line `line`. */
static void assert_one_found(const char *path, const char *host, unsigned port, int key, unsigned line,
                             enum known_marker marker)
{
    struct known_hosts k = find_in_file(path, host, port);
    assert_int_equal(k.n, 1);
    assert_true(ssh_blob_equal(&k.items[0].blob, &keys[key].blob));
    assert_int_equal(k.items[0].line, line);
    assert_int_equal(k.items[0].marker, marker);
    assert_string_equal(k.items[0].file, path);
    assert_int_equal(strncmp(keys[key].line, k.items[0].type, strlen(k.items[0].type)), 0);
    known_hosts_release(&k);
}

static void assert_no_key_found(const char *path, const char *host, unsigned port)
{
    struct known_hosts k = find_in_file(path, host, port);
    assert_int_equal(k.n, 0);
    known_hosts_release(&k);
}

static void plain_lines_are_found(void **state)
{
    char *text = format_text("# a comment\n\nalpha,beta.example,192.0.2.7 %s a comment behind it\n"
                             "gamma %s\r\n\tdelta   %s\n",
                             keys[ED].line, keys[P256].line, keys[RSA].line);
    char *path = scratch_file(*state, "plain", text, strlen(text));
    assert_one_found(path, "alpha", 22, ED, 3, KNOWN_MARKER_NONE);
    assert_one_found(path, "beta.example", 0, ED, 3, KNOWN_MARKER_NONE);
    assert_one_found(path, "192.0.2.7", 22, ED, 3, KNOWN_MARKER_NONE);
    assert_one_found(path, "gamma", 22, P256, 4, KNOWN_MARKER_NONE);
    assert_one_found(path, "delta", 22, RSA, 5, KNOWN_MARKER_NONE);
    assert_no_key_found(path, "epsilon", 22);
    assert_no_key_found(path, "alph", 22);
    free(text);
    free(path);
}

static void hashed_lines_are_found(void **state)
{
    char *text = format_text("alpha %s\n[beta]:2222 %s\n", keys[ED].line, keys[P521].line);
    char *path = scratch_file(*state, "hashed", text, strlen(text));
    RUN_PROGRAM("ssh-keygen", "-q", "-H", "-f", path);
    struct buf hashed = scratch_read(path);
    assert_null(strstr(buf_str(&hashed), "alpha"));
    assert_one_found(path, "alpha", 22, ED, 1, KNOWN_MARKER_NONE);
    assert_one_found(path, "beta", 2222, P521, 2, KNOWN_MARKER_NONE);
    assert_no_key_found(path, "beta", 22);
    buf_release(&hashed);
    free(text);
    free(path);
}

static void patterns_and_negated_patterns_apply(void **state)
{
    char *text = format_text("*.example.net,!bad.example.net,db-? %s\n", keys[ED].line);
    char *path = scratch_file(*state, "patterns", text, strlen(text));
    assert_one_found(path, "a.example.net", 22, ED, 1, KNOWN_MARKER_NONE);
    assert_one_found(path, "db-7", 22, ED, 1, KNOWN_MARKER_NONE);
    assert_no_key_found(path, "bad.example.net", 22);
    assert_no_key_found(path, "example.net", 22);
    assert_no_key_found(path, "db-77", 22);
    free(text);
    free(path);
}

static void a_line_with_the_port_precedes_one_without(void **state)
{
    char *text =
        format_text("[alpha]:2222 %s\nalpha %s\nbeta %s\n", keys[ED].line, keys[P256].line, keys[P384].line);
    char *path = scratch_file(*state, "ports", text, strlen(text));
    assert_one_found(path, "alpha", 2222, ED, 1, KNOWN_MARKER_NONE);
    assert_one_found(path, "alpha", 22, P256, 2, KNOWN_MARKER_NONE);
    assert_one_found(path, "alpha", 0, P256, 2, KNOWN_MARKER_NONE);
    /* If no line has the port, the host's line without a port counts, as with ssh. */
    assert_one_found(path, "alpha", 2223, P256, 2, KNOWN_MARKER_NONE);
    assert_one_found(path, "beta", 2222, P384, 3, KNOWN_MARKER_NONE);
    free(text);
    free(path);
}

static void markers_are_read(void **state)
{
    char *text = format_text("@revoked alpha %s\n@cert-authority *.ca %s\n@Revoked beta %s\n", keys[ED].line,
                             keys[P256].line, keys[RSA].line);
    char *path = scratch_file(*state, "markers", text, strlen(text));
    assert_one_found(path, "alpha", 22, ED, 1, KNOWN_MARKER_REVOKED);
    assert_one_found(path, "x.ca", 22, P256, 2, KNOWN_MARKER_AUTHORITY);
    assert_no_key_found(path, "beta", 22);
    assert_no_key_found(path, "@revoked", 22);
    free(text);
    free(path);
}

static void invalid_lines_are_skipped(void **state)
{
    static const char *const garbage[] = {"nonsense",
                                          "alpha",
                                          "alpha ssh-ed25519",
                                          "alpha ssh-ed25519 !!!!",
                                          "@ alpha ssh-ed25519 AAAA",
                                          "alpha ssh-ed25519 AAAA",
                                          "alpha ssh-ed25519 AAAAB3NzaC1yc2E=",
                                          "|1|broken|hash ssh-rsa AAAA",
                                          "\x1b[31malpha x y",
                                          ",,, , ,"};
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        char *text = format_text("%s\nalpha %s\n%s\n", garbage[i], keys[ED].line, garbage[i]);
        char *path = scratch_file(*state, "garbage", text, strlen(text));
        assert_one_found(path, "alpha", 22, ED, 2, KNOWN_MARKER_NONE);
        assert_no_key_found(path, "beta", 22);
        free(text);
        free(path);
    }
}

static void all_files_are_searched(void **state)
{
    struct strlist files = {0};
    char *first = format_text("alpha %s\n", keys[ED].line),
         *second = format_text("\nalpha %s\n", keys[RSA].line);
    char *paths[] = {scratch_file(*state, "first", first, strlen(first)),
                     format_text("%s/none", (char *)*state), scratch_file(*state, "empty", "", 0),
                     format_text("/dev/null"), scratch_file(*state, "with a blank", second, strlen(second))};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_ok(strlist_add(&files, paths[i], NULL), NULL);
    struct known_hosts k = find_in_files(&files, "alpha", 22);
    assert_int_equal(k.n, 2);
    assert_string_equal(k.items[0].file, paths[0]);
    assert_true(ssh_blob_equal(&k.items[0].blob, &keys[ED].blob));
    assert_string_equal(k.items[1].file, paths[4]);
    assert_int_equal(k.items[1].line, 2);
    known_hosts_release(&k);
    strlist_release(&files);
    k = find_in_files(&files, "alpha", 22);
    assert_int_equal(k.n, 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        free(paths[i]);
    free(first);
    free(second);
}

/* PATH has no ssh-keygen, then an ssh-keygen that never ends, then an ssh-keygen that fails. */
static void a_failed_lookup_is_an_error(void **state)
{
    struct strlist files = {0};
    struct known_hosts k = {0};
    struct err err = ERR_INIT;
    struct proc_limits short_limits = limits;
    char *path = scratch_file(*state, "file", "x", 1), *old_path = strdup(getenv("PATH"));
    char *tool = format_text("%s/ssh-keygen", (char *)*state), *msg;
    assert_ok(strlist_add(&files, path, NULL), NULL);
    setenv("PATH", *state, 1);
    int rc = known_hosts_find(&files, (struct known_name){"alpha", 22}, &limits, &k, &err);
    setenv("PATH", old_path, 1);
    assert_refused(rc, &err, ERR_NOT_FOUND, "cannot start ssh-keygen: No such file or directory");
    assert_string_equal(err.hint, "install OpenSSH's client tools (Debian: openssh-client)");
    assert_ok(file_write(tool, "#!/bin/sh\nexec sleep 100\n", 25, &err), &err);
    assert_int_equal(chmod(tool, 0700), 0);
    char *path_with_tool = format_text("%s:%s", (char *)*state, old_path);
    setenv("PATH", path_with_tool, 1);
    short_limits.timeout_ms = 100;
    assert_refused(known_hosts_find(&files, (struct known_name){"alpha", 22}, &short_limits, &k, &err), &err,
                   ERR_TIMEOUT, "ssh-keygen: it did not end in time");
    assert_ok(file_write(tool, "#!/bin/sh\necho it hurts >&2; exit 255\n", 38, &err), &err);
    assert_int_equal(chmod(tool, 0700), 0);
    msg = format_text("ssh-keygen cannot read %s: it hurts", path);
    assert_refused(known_hosts_find(&files, (struct known_name){"alpha", 22}, &limits, &k, &err), &err,
                   ERR_FAILED, msg);
    setenv("PATH", old_path, 1);
    assert_null(k.items);
    unlink(tool);
    strlist_release(&files);
    free(msg);
    free(path_with_tool);
    free(tool);
    free(path);
    free(old_path);
}

/* ---- the parser -------------------------------------------------------------------------------------- */

static void lines_found_by_ssh_keygen_are_parsed(void **state)
{
    (void)state;
    struct known_hosts k = {0};
    struct err err = ERR_INIT;
    char *text = format_text(
        "# Host a found: line 7 \na %s comment\n# Host a found: line 12 REVOKED\n@revoked a\t%s\r\n"
        "# Host a found: line 20 CA\n@cert-authority * %s",
        keys[ED].line, keys[P256].line, keys[RSA].line);
    assert_ok(known_hosts_parse(&k, "file", text, &err), &err);
    assert_int_equal(k.n, 3);
    static const unsigned lines[] = {7, 12, 20};
    static const enum known_marker markers[] = {KNOWN_MARKER_NONE, KNOWN_MARKER_REVOKED,
                                                KNOWN_MARKER_AUTHORITY};
    static const int found_keys[] = {ED, P256, RSA};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(k.items[i].line, lines[i]);
        assert_int_equal(k.items[i].marker, markers[i]);
        assert_true(ssh_blob_equal(&k.items[i].blob, &keys[found_keys[i]].blob));
        assert_string_equal(k.items[i].file, "file");
    }
    known_hosts_release(&k);
    free(text);
}

static void read_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    char *text = damaged_text(s);
    struct known_hosts k = {0};
    struct err err = ERR_INIT;
    char preference[256];
    assert_ok(known_hosts_parse(&k, "file", text, &err), &err);
    assert_true(k.n <= 3);
    known_hosts_check(&k, &keys[ED].blob, "here", &(struct strlist){0}, &err);
    known_hosts_preference(&k, preference, sizeof preference);
    known_hosts_release(&k);
    free(text);
}

static void damaged_files_are_read_without_additional_keys(void **state)
{
    (void)state;
    char *text =
        format_text("# Host a found: line 7 \na %s\n# Host a found: line 12 REVOKED\n@revoked a %s\n",
                    keys[ED].line, keys[P256].line);
    damage_everywhere(text, strlen(text), read_damaged, NULL);
    free(text);
}

/* ---- decisions --------------------------------------------------------------------------------------- */

static struct known_hosts parse_lines(const char *text)
{
    struct known_hosts k = {0};
    struct err err = ERR_INIT;
    assert_ok(known_hosts_parse(&k, "/etc/known", text, &err), &err);
    return k;
}

/* Asserts the decision on a key if `text` is the output of `ssh-keygen -F`. NULL in msg: the key is trusted.
 */
static void assert_decision(const char *text, int key, const char *msg, const char *hint)
{
    struct strlist files = {0};
    struct err err = ERR_INIT;
    struct known_hosts k = parse_lines(text);
    assert_ok(strlist_split(&files, "/home/ann/.ssh/known_hosts,/etc/known", &err), &err);
    int rc = known_hosts_check(&k, &keys[key].blob, "far port 22", &files, &err);
    if (msg) {
        assert_refused(rc, &err, ERR_HOST_KEY, msg);
        assert_string_equal(err.hint, hint);
    } else {
        assert_ok(rc, &err);
    }
    strlist_release(&files);
    known_hosts_release(&k);
}

static const char unknown_hint[] =
    "compare that fingerprint with someone who runs the host, then trust it with --accept-new, or accept it "
    "once with your own ssh";

static void a_known_key_is_trusted(void **state)
{
    (void)state;
    char *text = format_text(
        "# Host a found: line 1\na %s\n# Host a found: line 2\na %s\n# Host a found: line 3\na %s\n",
        keys[ED_OTHER].line, keys[RSA].line, keys[ED].line);
    assert_decision(text, ED, NULL, NULL);
    assert_decision(text, ED_OTHER, NULL, NULL);
    assert_decision(text, RSA, NULL, NULL);
    free(text);
}

static void an_unknown_key_is_refused(void **state)
{
    char *msg =
        format_text("far port 22: host key is not known: the server offered ssh-ed25519 %s, there is no "
                    "/home/ann/.ssh/known_hosts",
                    keys[ED].fingerprint);
    assert_decision("", ED, msg, unknown_hint);
    free(msg);
    struct err err = ERR_INIT;
    struct known_hosts none = {0};
    struct strlist files = {0};
    msg =
        format_text("far: host key is not known: the server offered ecdsa-sha2-nistp521 %s, no file is named",
                    keys[P521].fingerprint);
    assert_refused(known_hosts_check(&none, &keys[P521].blob, "far", &files, &err), &err, ERR_HOST_KEY, msg);
    free(msg);
    /* Existing files were searched. */
    char *first = scratch_file(*state, "one", "", 0), *second = scratch_file(*state, "two", "", 0);
    assert_ok(strlist_add(&files, "/home/ann/.ssh/known_hosts", NULL), NULL);
    assert_ok(strlist_add(&files, first, NULL), NULL);
    assert_ok(strlist_add(&files, second, NULL), NULL);
    msg = format_text("far: host key is not known: the server offered ssh-ed25519 %s, not in %s, %s",
                      keys[ED].fingerprint, first, second);
    assert_refused(known_hosts_check(&none, &keys[ED].blob, "far", &files, &err), &err, ERR_HOST_KEY, msg);
    strlist_release(&files);
    free(first);
    free(second);
    free(msg);
}

static void a_key_of_another_type_is_refused(void **state)
{
    (void)state;
    char *text = format_text("# Host a found: line 5\na %s\n", keys[RSA].line);
    char *msg = format_text(
        "far port 22: host key is not known: the server offered ssh-ed25519 %s, but /etc/known:5 has "
        "ssh-rsa %s",
        keys[ED].fingerprint, keys[RSA].fingerprint);
    assert_decision(
        text, ED, msg,
        "another machine may intercept the connection; only if you know why the host no longer has "
        "that key, remove line 5 "
        "of /etc/known");
    free(msg);
    free(text);
}

/* Asserts the status of a key, and the line of `text` that decides; 0: no line. */
static void assert_status(const char *text, int key, enum known_status status, unsigned line)
{
    const struct known_key *decides = NULL;
    struct known_hosts k = parse_lines(text);
    assert_int_equal(known_hosts_compare(&k, &keys[key].blob, &decides), status);
    assert_int_equal(decides ? decides->line : 0, line);
    known_hosts_release(&k);
}

static void a_revoked_line_precedes_a_good_one(void **state)
{
    (void)state;
    char *text = format_text("# Host a found: line 2\na %s\n# Host a found: line 3 CA\n@cert-authority a %s\n"
                             "# Host a found: line 4\na %s\n# Host a found: line 5 REVOKED\n@revoked a %s\n"
                             "# Host a found: line 6\na %s\n# Host a found: line 7\na %s\n",
                             keys[P384].line, keys[ED].line, keys[RSA].line, keys[P256].line, keys[ED].line,
                             keys[ED].line);
    assert_status(text, ED, KNOWN_TRUSTED, 6);
    assert_status(text, ED_OTHER, KNOWN_CHANGED, 6);
    assert_status(text, P256, KNOWN_REVOKED, 5);
    assert_status(text, P521, KNOWN_OTHER_TYPES, 2);
    assert_status("", ED, KNOWN_NEW, 0);
    free(text);
    text = format_text("# Host a found: line 1 CA\n@cert-authority a %s\n", keys[ED].line);
    assert_status(text, ED, KNOWN_NEW, 0);
    free(text);
}

/* A line for the name without the port belongs to another server, unless it has the same key. */
static void a_name_without_its_port_counts_only_for_the_same_key(void **state)
{
    char *text = format_text("alpha %s\n[beta]:2222 %s\nbeta %s\n@revoked gamma %s\n", keys[ED].line,
                             keys[P256].line, keys[ED].line, keys[RSA].line);
    char *path = scratch_file(*state, "bare", text, strlen(text));
    struct err err = ERR_INIT;
    struct known_hosts k = find_in_file(path, "alpha", 2222);
    assert_int_equal(known_hosts_compare(&k, &keys[ED].blob, NULL), KNOWN_TRUSTED);
    assert_int_equal(known_hosts_compare(&k, &keys[ED_OTHER].blob, NULL), KNOWN_NEW);
    assert_int_equal(known_hosts_check(&k, &keys[RSA].blob, "x", &(struct strlist){0}, &err), -1);
    char *hint =
        format_text("%s:1 has another key for the host without the port; compare the fingerprint with "
                    "someone who runs the host, then trust it with --accept-new or your own ssh",
                    path);
    assert_string_equal(err.hint, hint);
    free(hint);
    known_hosts_release(&k);
    k = find_in_file(path, "alpha", 22);
    assert_int_equal(known_hosts_compare(&k, &keys[ED_OTHER].blob, NULL), KNOWN_CHANGED);
    known_hosts_release(&k);
    k = find_in_file(path, "beta", 2222);
    assert_int_equal(known_hosts_compare(&k, &keys[ED].blob, NULL), KNOWN_OTHER_TYPES);
    known_hosts_release(&k);
    k = find_in_file(path, "gamma", 2222);
    assert_int_equal(known_hosts_compare(&k, &keys[RSA].blob, NULL), KNOWN_REVOKED);
    known_hosts_release(&k);
    free(text);
    free(path);
}

static void an_authority_is_not_a_host_key(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    char *text = format_text("# Host a found: line 1 CA\n@cert-authority a %s\n", keys[ED].line);
    char *msg =
        format_text("far port 22: host key is not known: the server offered ssh-ed25519 %s, there is no "
                    "/home/ann/.ssh/known_hosts",
                    keys[ED].fingerprint);
    assert_decision(
        text, ED, msg,
        "the host's certificate may be signed by the authority of /etc/known:1: --via openssh checks that");
    free(msg);
    struct known_hosts k = parse_lines(text);
    assert_refused(known_hosts_check_usable(&k, &err), &err, ERR_UNSUPPORTED,
                   "only a certificate authority is known for the host (/etc/known:1), and libssh2 cannot "
                   "check host certificates");
    assert_string_equal(err.hint, "OpenSSH can: --via openssh");
    known_hosts_release(&k);
    free(text);
    /* If a host key is known beside the authority, the host can be checked. */
    text = format_text("# Host a found: line 1 CA\n@cert-authority a %s\n# Host a found: line 2\na %s\n",
                       keys[ED].line, keys[RSA].line);
    k = parse_lines(text);
    assert_ok(known_hosts_check_usable(&k, &err), &err);
    known_hosts_release(&k);
    k = parse_lines("");
    assert_ok(known_hosts_check_usable(&k, &err), &err);
    free(text);
}

static void a_changed_key_is_refused(void **state)
{
    (void)state;
    char *text = format_text("# Host a found: line 31\na %s\n", keys[ED_OTHER].line);
    char *msg = format_text(
        "far port 22: HOST KEY HAS CHANGED: the server offered ssh-ed25519 %s, but /etc/known:31 has %s",
        keys[ED].fingerprint, keys[ED_OTHER].fingerprint);
    assert_decision(text, ED, msg,
                    "another machine may intercept the connection; only if you know why it changed, remove "
                    "line 31 of /etc/known");
    free(msg);
    free(text);
}

static void a_revoked_key_is_refused(void **state)
{
    (void)state;
    char *msg =
        format_text("far port 22: host key ssh-ed25519 %s is revoked by /etc/known:9", keys[ED].fingerprint);
    const char *hint = "the person who revoked it knows the reason and the present key of the host";
    /* The revoked line may be before or after the line that trusts the key. */
    char *before =
        format_text("# Host a found: line 9 REVOKED\n@revoked a %s\n# Host a found: line 10\na %s\n",
                    keys[ED].line, keys[ED].line);
    char *behind =
        format_text("# Host a found: line 8\na %s\n# Host a found: line 9 REVOKED\n@revoked a %s\n",
                    keys[ED].line, keys[ED].line);
    assert_decision(before, ED, msg, hint);
    assert_decision(behind, ED, msg, hint);
    /* Another key's revocation does not matter. */
    char *other = format_text("# Host a found: line 8\na %s\n# Host a found: line 9 REVOKED\n@revoked a %s\n",
                              keys[ED].line, keys[ED_OTHER].line);
    assert_decision(other, ED, NULL, NULL);
    free(msg);
    free(before);
    free(behind);
    free(other);
}

/* Asserts the key types that profgrab asks for, in order, if `text` is the output of `ssh-keygen -F`. */
static void assert_preferred(const char *text, const char *expected)
{
    char dst[256];
    struct known_hosts k = parse_lines(text);
    assert_ptr_equal(known_hosts_preference(&k, dst, sizeof dst), dst);
    assert_string_equal(dst, expected);
    known_hosts_release(&k);
}

static void known_types_are_preferred(void **state)
{
    (void)state;
    assert_preferred(
        "",
        "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256,"
        "ssh-rsa");
    char *text = format_text("a %s\na %s\n", keys[RSA].line, keys[P384].line);
    assert_preferred(text,
                     "ecdsa-sha2-nistp384,rsa-sha2-512,rsa-sha2-256,ssh-rsa,ssh-ed25519,ecdsa-sha2-nistp256,"
                     "ecdsa-sha2-nistp521");
    free(text);
    /* The types of revoked keys and of authorities' keys are not preferred. */
    text = format_text("@revoked a %s\n@cert-authority a %s\na %s\n", keys[P256].line, keys[P384].line,
                       keys[P521].line);
    assert_preferred(text,
                     "ecdsa-sha2-nistp521,ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,rsa-sha2-512,"
                     "rsa-sha2-256,ssh-rsa");
    free(text);
}

/* ---- writing ----------------------------------------------------------------------------------------- */

static int add_key(const char *path, const char *host, unsigned port, int key, bool hashed, struct err *err)
{
    struct known_addition a = {
        .file = path, .host = host, .port = port, .key = &keys[key].blob, .hashed = hashed};
    return known_hosts_add(&a, &limits, err);
}

static void assert_file_text(const char *path, const char *expected)
{
    struct buf text = scratch_read(path);
    assert_string_equal(buf_str(&text), expected);
    buf_release(&text);
}

static void new_hosts_are_written(void **state)
{
    struct err err = ERR_INIT;
    struct stat st;
    char *path = format_text("%s/dot-ssh/known_hosts", (char *)*state),
         *dir = format_text("%s/dot-ssh", (char *)*state);
    umask(0);
    assert_ok(add_key(path, "Alpha", 22, ED, false, &err), &err);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_ok(add_key(path, "beta", 2222, P256, false, &err), &err);
    assert_ok(add_key(path, "::1", 2222, RSA, false, &err), &err);
    assert_ok(add_key(path, "alias", 0, P521, false, &err), &err);
    char *text = format_text("alpha %s\n[beta]:2222 %s\n[::1]:2222 %s\nalias %s\n", keys[ED].line,
                             keys[P256].line, keys[RSA].line, keys[P521].line);
    assert_file_text(path, text);
    assert_one_found(path, "alpha", 22, ED, 1, KNOWN_MARKER_NONE);
    assert_one_found(path, "beta", 2222, P256, 2, KNOWN_MARKER_NONE);
    /* The host is known now: its key is not written twice, and another key is not written at all. */
    assert_ok(add_key(path, "alpha", 22, ED, true, &err), &err);
    assert_int_equal(add_key(path, "alpha", 22, ED_OTHER, false, &err), -1);
    assert_int_equal(err.kind, ERR_HOST_KEY);
    assert_contains(err.msg, "HOST KEY HAS CHANGED");
    assert_int_equal(add_key(path, "alpha", 22, RSA, false, &err), -1);
    assert_int_equal(err.kind, ERR_HOST_KEY);
    assert_file_text(path, text);
    /* The same host at another port is another server. */
    assert_ok(add_key(path, "alpha", 2022, ED_OTHER, false, &err), &err);
    assert_one_found(path, "alpha", 2022, ED_OTHER, 5, KNOWN_MARKER_NONE);
    free(text);
    free(dir);
    free(path);
}

static void new_hosts_are_hashed(void **state)
{
    struct err err = ERR_INIT;
    char *path = scratch_file(*state, "hashing", "", 0);
    assert_ok(add_key(path, "Alpha", 22, ED, true, &err), &err);
    assert_ok(add_key(path, "beta", 2222, P384, true, &err), &err);
    struct buf text = scratch_read(path);
    assert_null(strcasestr(buf_str(&text), "alpha"));
    assert_null(strstr(buf_str(&text), "beta"));
    assert_int_equal(strncmp(buf_str(&text), "|1|", 3), 0);
    assert_one_found(path, "alpha", 22, ED, 1, KNOWN_MARKER_NONE);
    assert_one_found(path, "beta", 2222, P384, 2, KNOWN_MARKER_NONE);
    assert_no_key_found(path, "beta", 22);
    buf_release(&text);
    free(path);
}

static void a_line_is_added_after_an_unfinished_one(void **state)
{
    struct err err = ERR_INIT;
    char *text = format_text("beta %s", keys[RSA].line),
         *path = scratch_file(*state, "cut", text, strlen(text));
    assert_ok(add_key(path, "alpha", 22, ED, false, &err), &err);
    assert_one_found(path, "beta", 22, RSA, 1, KNOWN_MARKER_NONE);
    assert_one_found(path, "alpha", 22, ED, 2, KNOWN_MARKER_NONE);
    free(text);
    free(path);
}

static void an_unwritable_file_is_reported(void **state)
{
    struct err err = ERR_INIT;
    assert_refused(add_key("/dev/null", "alpha", 22, ED, false, &err), &err, ERR_FAILED,
                   "/dev/null is no regular file");
    char *path = format_text("%s/none/none/known", (char *)*state);
    assert_int_equal(add_key(path, "alpha", 22, ED, false, &err), -1);
    assert_contains(err.msg, "/none: No such file or directory");
    free(path);
    static const char *const names[] = {"a b", "a,b", "*", "!a", "@revoked", "#a", "|1|a", "", "a\nb"};
    path = scratch_file(*state, "untouched", "", 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(add_key(path, names[i], 0, ED, false, &err), -1);
        assert_contains(err.msg, "is not valid in a known_hosts file");
    }
    assert_file_text(path, "");
    free(path);
}

/* The path may be a symbolic or a hard link. If it leads to the user's own known hosts, profgrab appends to
 * that file, as ssh does. profgrab neither writes nor creates any other file, and does not wait for a FIFO.
 */
static void links_and_fifos_are_not_written(void **state)
{
    struct err err = ERR_INIT;
    char *known = format_text("%s/own", (char *)*state), *link = format_text("%s/link", (char *)*state);
    char *precious = scratch_file(*state, "precious", "export PATH=/bin\n", 17);
    char *missing = format_text("%s/missing", (char *)*state), *fifo = format_text("%s/fifo", (char *)*state);
    assert_ok(add_key(known, "alpha", 22, ED, false, &err), &err);
    assert_int_equal(symlink(known, link), 0);
    assert_ok(add_key(link, "beta", 22, ED, false, &err), &err);
    assert_one_found(known, "beta", 22, ED, 2, KNOWN_MARKER_NONE);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(linkat(AT_FDCWD, known, AT_FDCWD, link, 0), 0);
    assert_ok(add_key(link, "gamma", 22, ED, false, &err), &err);
    assert_one_found(known, "gamma", 22, ED, 3, KNOWN_MARKER_NONE);
    assert_int_equal(unlink(link), 0);

    char *msg = format_text("%s is a link to a file that is not your known hosts", link);
    assert_int_equal(symlink(precious, link), 0);
    assert_refused(add_key(link, "alpha", 22, ED, false, &err), &err, ERR_FAILED, msg);
    assert_int_equal(unlink(link), 0);
    assert_int_equal(linkat(AT_FDCWD, precious, AT_FDCWD, link, 0), 0);
    assert_refused(add_key(link, "alpha", 22, ED, false, &err), &err, ERR_FAILED, msg);
    assert_file_text(precious, "export PATH=/bin\n");
    assert_int_equal(unlink(link), 0);
    free(msg);

    assert_int_equal(symlink(missing, link), 0);
    assert_int_equal(add_key(link, "alpha", 22, ED, false, &err), -1);
    assert_false(file_exists(missing));
    assert_int_equal(unlink(link), 0);

    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink(fifo, link), 0);
    msg = format_text("%s is no regular file", fifo);
    assert_refused(add_key(fifo, "alpha", 22, ED, false, &err), &err, ERR_FAILED, msg);
    free(msg);
    msg = format_text("%s is no regular file", link);
    assert_refused(add_key(link, "alpha", 22, ED, false, &err), &err, ERR_FAILED, msg);
    free(msg);
    /* A FIFO is not read either, because ssh-keygen would wait. */
    struct known_hosts k = {0};
    struct strlist files = {0};
    assert_ok(strlist_add(&files, fifo, &err), &err);
    assert_int_equal(known_hosts_find(&files, (struct known_name){"alpha", 22}, &limits, &k, &err), -1);
    assert_contains(err.msg, "is not a regular file");
    strlist_release(&files);
    char *all[] = {known, link, precious, missing, fifo};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Which files may be known hosts behind a link, by their lines. */
static void only_known_hosts_are_written_through_a_link(void **state)
{
#define KEY " ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA\n"
    static const struct {
        const char *text;
        bool accepted;
    } files[] = {
        {"", true},
        {"# hosts\n\n  # more\n", true},
        {"alpha,10.0.0.1" KEY "|1|c2FsdA==|aGFzaA==" KEY "@revoked [b]:22" KEY "@cert-authority *.x" KEY,
         true},
        {"# hosts\nno-pty.example" KEY, true},
        {"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA me@here\n", false},
        {"alpha" KEY "no-pty" KEY, false},
        {"restrict,pty" KEY, false},
        {"No-X11-Forwarding" KEY, false},
        {"cert-authority" KEY, false},
        {"from=\"10.0.0.1\"" KEY, false},
        {"no-pty,command=\"date\"" KEY, false},
        {"command=\"/bin/date -u\"" KEY, false},
        {"alpha" KEY "Host *\n", false},
        {"alpha ssh-ed25519\n", false},
        {"export PATH=/bin\n", false},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct err err = ERR_INIT;
        char *file = scratch_file(*state, "linked-file", files[i].text, strlen(files[i].text));
        char *link = format_text("%s/link-to-file", (char *)*state);
        assert_int_equal(symlink(file, link), 0);
        int rc = add_key(link, "new", 22, ED, false, &err);
        if ((rc == 0) != files[i].accepted)
            fail_msg("%s: %s", files[i].text, rc == 0 ? "it was written" : err.msg);
        if (rc < 0)
            assert_file_text(file, files[i].text);
        assert_int_equal(unlink(link), 0);
        free(file);
        free(link);
    }
#undef KEY
}

static void a_held_lock_times_out(void **state)
{
    struct err err = ERR_INIT;
    char *path = scratch_file(*state, "held", "", 0),
         *msg = format_text("another process holds the lock of %s", path);
    int fd = open(path, O_RDONLY | O_CLOEXEC), cancel[2];
    assert_int_equal(flock(fd, LOCK_EX), 0);
    struct known_addition a = {.file = path, .host = "alpha", .key = &keys[ED].blob};
    struct proc_limits short_limits = limits;
    short_limits.timeout_ms = 60;
    assert_refused(known_hosts_add(&a, &short_limits, &err), &err, ERR_TIMEOUT, msg);
    assert_ok(fd_pipe(cancel, &err), &err);
    assert_int_equal(write(cancel[1], "", 1), 1);
    short_limits = limits;
    short_limits.cancel_fd = cancel[0];
    assert_int_equal(known_hosts_add(&a, &short_limits, &err), -1);
    assert_int_equal(err.kind, ERR_CANCELLED);
    assert_file_text(path, "");
    fd_close(&fd);
    assert_ok(known_hosts_add(&a, &limits, &err), &err);
    assert_one_found(path, "alpha", 22, ED, 1, KNOWN_MARKER_NONE);
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
    free(msg);
    free(path);
}

#define N_WRITERS 8
#define HOSTS_OF_WRITER 3
/* One of several concurrent writers. It adds its own hosts, and a host that all writers add. */
struct writer {
    const char *path;
    unsigned number;
    bool failed;
};

static void *add_hosts(void *ctx)
{
    struct writer *w = ctx;
    for (unsigned i = 0; i < HOSTS_OF_WRITER; i++) {
        char name[40];
        snprintf(name, sizeof name, "host-%u-%u", w->number, i);
        w->failed = w->failed || add_key(w->path, name, 22, ED, i == 1, NULL) < 0 ||
                    add_key(w->path, "shared", 2222, P256, false, NULL) < 0;
    }
    return NULL;
}

static void concurrent_writers_lose_no_line(void **state)
{
    struct writer writers[N_WRITERS];
    pthread_t threads[N_WRITERS];
    char *path = format_text("%s/crowd/known_hosts", (char *)*state);
    for (unsigned i = 0; i < N_WRITERS; i++) {
        writers[i] = (struct writer){.path = path, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, add_hosts, &writers[i]), 0);
    }
    for (unsigned i = 0; i < N_WRITERS; i++) {
        pthread_join(threads[i], NULL);
        assert_false(writers[i].failed);
    }
    struct buf text = scratch_read(path);
    size_t lines = 0;
    for (const char *p = buf_str(&text); *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, N_WRITERS * HOSTS_OF_WRITER + 1);
    struct known_hosts k = find_in_file(path, "shared", 2222);
    assert_int_equal(k.n, 1);
    known_hosts_release(&k);
    k = find_in_file(path, "host-7-1", 22);
    assert_int_equal(k.n, 1);
    known_hosts_release(&k);
    buf_release(&text);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lines_are_found),
        cmocka_unit_test(hashed_lines_are_found),
        cmocka_unit_test(patterns_and_negated_patterns_apply),
        cmocka_unit_test(a_line_with_the_port_precedes_one_without),
        cmocka_unit_test(markers_are_read),
        cmocka_unit_test(invalid_lines_are_skipped),
        cmocka_unit_test(all_files_are_searched),
        cmocka_unit_test(a_failed_lookup_is_an_error),
        cmocka_unit_test(lines_found_by_ssh_keygen_are_parsed),
        cmocka_unit_test(damaged_files_are_read_without_additional_keys),
        cmocka_unit_test(a_known_key_is_trusted),
        cmocka_unit_test(a_revoked_line_precedes_a_good_one),
        cmocka_unit_test(a_name_without_its_port_counts_only_for_the_same_key),
        cmocka_unit_test(a_key_of_another_type_is_refused),
        cmocka_unit_test(an_unknown_key_is_refused),
        cmocka_unit_test(an_authority_is_not_a_host_key),
        cmocka_unit_test(a_changed_key_is_refused),
        cmocka_unit_test(a_revoked_key_is_refused),
        cmocka_unit_test(known_types_are_preferred),
        cmocka_unit_test(new_hosts_are_written),
        cmocka_unit_test(new_hosts_are_hashed),
        cmocka_unit_test(a_line_is_added_after_an_unfinished_one),
        cmocka_unit_test(an_unwritable_file_is_reported),
        cmocka_unit_test(links_and_fifos_are_not_written),
        cmocka_unit_test(only_known_hosts_are_written_through_a_link),
        cmocka_unit_test(a_held_lock_times_out),
        cmocka_unit_test(concurrent_writers_lose_no_line),
    };
    return cmocka_run_group_tests(tests, make_keys, forget_keys);
}
