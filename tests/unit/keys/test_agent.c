/* The agent: its answers cut and flipped, a real ssh-agent, and agents that misbehave. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <openssl/evp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "keys/agent.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- the parser -------------------------------------------------------------------------------------- */

/* Makes an answer that lists `n` keys and states the number `count`. */
static struct buf make_listing(uint32_t count, size_t n)
{
    struct buf b = BUF_INIT(65536);
    buf_addc(&b, 12);
    ssh_add_u32(&b, count);
    for (size_t i = 0; i < n; i++) {
        struct buf blob = BUF_INIT(1000);
        ssh_add_string(&blob, "ssh-ed25519", 11);
        ssh_add_u32(&blob, (uint32_t)i);
        ssh_add_string(&b, blob.data, blob.len);
        ssh_add_string(&b, "comment", 7);
        buf_release(&blob);
    }
    return b;
}

static void keys_are_listed(void **state)
{
    (void)state;
    struct agent a = {.fd = -1};
    struct err err = ERR_INIT;
    struct buf b = make_listing(3, 3);
    assert_ok(agent_parse_keys(&a, b.data, b.len, &err), &err);
    assert_int_equal(a.n_keys, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(a.keys[i].type, "ssh-ed25519");
        assert_int_equal(a.keys[i].blob.n, 19);
        assert_int_equal(a.keys[i].blob.data[18], i);
    }
    agent_release(&a);
    assert_int_equal(a.n_keys, 0);
    buf_release(&b);
    b = make_listing(0, 0);
    assert_ok(agent_parse_keys(&a, b.data, b.len, &err), &err);
    assert_int_equal(a.n_keys, 0);
    agent_release(&a);
    buf_release(&b);
}

static void assert_list_refused(const void *p, size_t n, const char *msg)
{
    struct agent a = {.fd = -1};
    struct err err = ERR_INIT;
    assert_refused(agent_parse_keys(&a, p, n, &err), &err, ERR_FAILED, msg);
    agent_release(&a);
}

static void invalid_lists_of_keys_are_refused(void **state)
{
    (void)state;
    static const char locked[] = "the SSH agent does not list its keys (is it locked?)";
    static const char cut[] = "the SSH agent's answer is cut off";
    assert_list_refused("", 0, locked);
    assert_list_refused("\5", 1, locked);
    assert_list_refused("\14", 1, cut);
    assert_list_refused("\14\0\0\0", 4, cut);
    assert_list_refused("\14\0\0\0\1", 5, cut);
    assert_list_refused("\14\xff\xff\xff\xff\xff\xff\xff\xff", 9, cut);
    struct buf b = make_listing(4, 3);
    assert_list_refused(b.data, b.len, cut);
    buf_release(&b);
    /* The number of keys is limited. */
    struct agent a = {.fd = -1};
    b = make_listing(1000, 1000);
    assert_ok(agent_parse_keys(&a, b.data, b.len, NULL), NULL);
    assert_int_equal(a.n_keys, 64);
    agent_release(&a);
    buf_release(&b);
}

static void parse_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct agent a = {.fd = -1};
    int rc = agent_parse_keys(&a, s->p, s->n, NULL);
    if (s->cut)
        assert_int_equal(rc, -1);
    agent_release(&a);
}

static void cut_lists_of_keys_are_refused(void **state)
{
    (void)state;
    struct buf b = make_listing(2, 2);
    damage_everywhere(b.data, b.len, parse_damaged, NULL);
    buf_release(&b);
}

/* Signs with this algorithm. The agent answers every request with these bytes. */
static int sign_with_answer_of(const char *algorithm, const char *p, size_t n, struct ssh_blob *ret,
                               struct err *err)
{
    int ends[2];
    struct buf answer = BUF_INIT(65536);
    struct ssh_blob key = {(unsigned char *)(uintptr_t) "key", 3};
    struct agent_request request = {.key = &key,
                                    .algorithm = algorithm,
                                    .data = {(unsigned char *)(uintptr_t) "data", 4},
                                    .deadline = clock_deadline(20000)};
    assert_ok(fd_socketpair(ends, err), err);
    ssh_add_string(&answer, p, n);
    assert_ok(fd_write_all(ends[1], answer.data, answer.len, err), err);
    struct agent a = {.fd = ends[0], .cancel_fd = -1};
    int rc = agent_sign(&a, &request, ret, err);
    agent_release(&a);
    fd_close(&ends[1]);
    buf_release(&answer);
    return rc;
}

static int sign_with_answer(const char *p, size_t n, struct ssh_blob *ret, struct err *err)
{
    return sign_with_answer_of("ssh-ed25519", p, n, ret, err);
}

static int sign_with(struct agent *a, size_t key_index, const struct ssh_blob *data, int64_t timeout_ms,
                     struct ssh_blob *ret, struct err *err)
{
    struct agent_request request = {.key = &a->keys[key_index].blob,
                                    .algorithm = a->keys[key_index].type,
                                    .data = *data,
                                    .deadline = clock_deadline(timeout_ms)};
    return agent_sign(a, &request, ret, err);
}

/* Old agents, and some other implementations, ignore the flags that request SHA-2. */
static void an_agent_that_signs_with_sha1_only_is_refused(void **state)
{
    (void)state;
    static const char sha1[] = "\x0e\0\0\0\x14\0\0\0\7ssh-rsa\0\0\0\5wrong";
    static const char sha2[] = "\x0e\0\0\0\x19\0\0\0\x0crsa-sha2-512\0\0\0\5right";
    struct ssh_blob signature = {0};
    struct err err = ERR_INIT;
    assert_refused(sign_with_answer_of("rsa-sha2-512", sha1, sizeof sha1 - 1, &signature, &err), &err,
                   ERR_FAILED, "the SSH agent signs with SHA-1 only");
    assert_ok(sign_with_answer_of("rsa-sha2-512", sha2, sizeof sha2 - 1, &signature, &err), &err);
    assert_memory_equal(signature.data, "right", 5);
    ssh_blob_release(&signature);
    assert_ok(sign_with_answer_of("ssh-rsa", sha1, sizeof sha1 - 1, &signature, &err), &err);
    ssh_blob_release(&signature);
}

static void sign_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct ssh_blob signature = {0};
    struct err err = ERR_INIT;
    int rc = sign_with_answer(s->p, s->n, &signature, &err);
    assert_true(rc == 0 ? !s->cut && signature.n <= s->n : !signature.data && err.kind == ERR_FAILED);
    ssh_blob_release(&signature);
}

static void cut_signatures_are_refused(void **state)
{
    (void)state;
    static const char answer[] = "\x0e\0\0\0\x1c\0\0\0\x0bssh-ed25519\0\0\0\x09signature";
    struct ssh_blob signature = {0};
    struct err err = ERR_INIT;
    assert_ok(sign_with_answer(answer, sizeof answer - 1, &signature, &err), &err);
    assert_int_equal(signature.n, 9);
    assert_memory_equal(signature.data, "signature", 9);
    ssh_blob_release(&signature);
    assert_refused(sign_with_answer(answer, sizeof answer - 2, &signature, &err), &err, ERR_FAILED,
                   "the SSH agent's signature is cut off");
    damage_everywhere(answer, sizeof answer - 1, sign_damaged, NULL);
}

/* ---- a real agent -------------------------------------------------------------------------------------- */

/* The agent of the running test; it ends with the test, even a failed one. */
static struct {
    char *socket;
    pid_t pid;
} real_agent;

static int agent_setup(void **state)
{
    if (scratch_setup(state) < 0)
        return -1;
    struct err err = ERR_INIT;
    real_agent.socket = format_text("%s/agent", (char *)*state);
    const char *argv[] = {"ssh-agent", "-D", "-a", real_agent.socket, NULL};
    if (proc_start(argv, (int[]){-1, -1, -1}, &real_agent.pid, &err) < 0)
        return -1;
    /* The socket exists before the agent listens on it. */
    struct agent a;
    int rc = -1;
    for (int i = 0; i < 4000 && rc < 0; i++) {
        rc = agent_open(real_agent.socket, clock_deadline(20000), -1, &a, &err);
        if (rc < 0)
            fd_wait(-1, 0, clock_deadline(5), -1, NULL);
    }
    if (rc == 0)
        agent_release(&a);
    return rc;
}

static int agent_teardown(void **state)
{
    proc_end(real_agent.pid);
    free(real_agent.socket);
    return scratch_teardown(state);
}

static char *add_key(const char *dir, const char *type)
{
    char *path = format_text("%s/%s", dir, type);
    RUN_PROGRAM("ssh-keygen", "-q", "-t", type, "-N", "", "-f", path);
    setenv("SSH_AUTH_SOCK", real_agent.socket, 1);
    RUN_PROGRAM("ssh-add", "-q", path);
    unsetenv("SSH_AUTH_SOCK");
    return path;
}

static struct agent open_agent(void)
{
    struct agent a;
    struct err err = ERR_INIT;
    assert_ok(agent_open(real_agent.socket, clock_deadline(20000), -1, &a, &err), &err);
    return a;
}

/* Verifies an ed25519 signature (RFC 8709) with the key inside the blob. */
static void assert_signed(const struct ssh_blob *key, const struct ssh_blob *data,
                          const struct ssh_blob *signature)
{
    EVP_PKEY *public = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key->data + key->n - 32, 32);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_true(public && ctx);
    assert_int_equal(signature->n, 64);
    assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, public), 1);
    assert_int_equal(EVP_DigestVerify(ctx, signature->data, signature->n, data->data, data->n), 1);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(public);
}

static void a_real_agent_signs(void **state)
{
    struct agent a = open_agent();
    assert_int_equal(a.n_keys, 0);
    agent_release(&a);
    free(add_key(*state, "ed25519"));
    free(add_key(*state, "ecdsa"));
    a = open_agent();
    assert_int_equal(a.n_keys, 2);
    assert_string_equal(a.keys[0].type, "ssh-ed25519");
    assert_string_equal(a.keys[1].type, "ecdsa-sha2-nistp256");
    struct err err = ERR_INIT;
    struct ssh_blob data = {(unsigned char *)(uintptr_t) "sign this", 9}, signature = {0};
    for (int i = 0; i < 2; i++) {
        assert_ok(sign_with(&a, 0, &data, 20000, &signature, &err), &err);
        assert_signed(&a.keys[0].blob, &data, &signature);
        ssh_blob_release(&signature);
        assert_ok(sign_with(&a, 1, &data, 20000, &signature, &err), &err);
        assert_true(signature.n > 60);
        ssh_blob_release(&signature);
    }
    agent_release(&a);
}

static void a_real_agent_does_not_sign_with_a_removed_key(void **state)
{
    char *path = add_key(*state, "ed25519");
    struct agent a = open_agent();
    struct err err = ERR_INIT;
    struct ssh_blob data = {(unsigned char *)(uintptr_t) "x", 1}, signature = {0};
    setenv("SSH_AUTH_SOCK", real_agent.socket, 1);
    RUN_PROGRAM("ssh-add", "-q", "-d", path);
    unsetenv("SSH_AUTH_SOCK");
    for (int i = 0; i < 2; i++)
        assert_refused(sign_with(&a, 0, &data, 20000, &signature, &err), &err, ERR_FAILED,
                       "the SSH agent refused to sign");
    assert_null(signature.data);
    agent_release(&a);
    free(path);
}

/* ---- misbehaving agents ---------------------------------------------------------------------------- */

/* A socket that listens in place of an agent, and the connection that a test accepts. */
struct rogue {
    char *path;
    int listener, connection;
};

static struct rogue rogue_start(const char *dir)
{
    struct rogue r = {.path = format_text("%s/rogue", dir), .connection = -1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", r.path);
    r.listener = fd_socket(AF_UNIX, NULL);
    assert_true(r.listener >= 0);
    assert_int_equal(bind(r.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(r.listener, 0), 0);
    return r;
}

static void rogue_end(struct rogue *r)
{
    fd_close(&r->connection);
    fd_close(&r->listener);
    free(r->path);
}

static void a_silent_agent_times_out(void **state)
{
    struct rogue r = rogue_start(*state);
    struct agent a = {.fd = 77};
    struct err err = ERR_INIT;
    int64_t begin = clock_now();
    assert_refused(agent_open(r.path, clock_deadline(150), -1, &a, &err), &err, ERR_TIMEOUT,
                   "the SSH agent: timed out");
    assert_in_range(clock_now() - begin, 150, 20000);
    assert_int_equal(a.fd, 77);
    rogue_end(&r);
}

static void a_full_queue_times_out_and_can_be_cancelled(void **state)
{
    struct rogue r = rogue_start(*state);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int waiting[8], cancel[2];
    struct agent a;
    struct err err = ERR_INIT;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", r.path);
    for (size_t i = 0; i < 8; i++) {
        waiting[i] = fd_socket(AF_UNIX, NULL);
        assert_ok(fd_set_nonblocking(waiting[i], true, NULL), NULL);
        (void)!connect(waiting[i], (struct sockaddr *)&address, sizeof address);
    }
    int64_t begin = clock_now();
    assert_int_equal(agent_open(r.path, clock_deadline(150), -1, &a, &err), -1);
    assert_int_equal(err.kind, ERR_TIMEOUT);
    assert_contains(err.msg, " accepts no connection");
    assert_in_range(clock_now() - begin, 150, 20000);
    assert_ok(fd_pipe(cancel, NULL), NULL);
    fd_pipe_wake(cancel[1]);
    assert_refused(agent_open(r.path, CLOCK_NEVER, cancel[0], &a, &err), &err, ERR_CANCELLED,
                   "the SSH agent: interrupted");
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
    for (size_t i = 0; i < 8; i++)
        fd_close(&waiting[i]);
    rogue_end(&r);
}

static void a_request_can_be_cancelled(void **state)
{
    struct rogue r = rogue_start(*state);
    int cancel[2];
    struct agent a;
    struct err err = ERR_INIT;
    assert_ok(fd_pipe(cancel, &err), &err);
    assert_int_equal(write(cancel[1], "", 1), 1);
    assert_refused(agent_open(r.path, CLOCK_NEVER, cancel[0], &a, &err), &err, ERR_CANCELLED,
                   "the SSH agent: interrupted");
    fd_close(&cancel[0]);
    fd_close(&cancel[1]);
    rogue_end(&r);
}

static void *answer_once(void *ctx)
{
    struct rogue *r = ctx;
    char request[5];
    struct buf list = make_listing(1, 1), message = BUF_INIT(65536);
    ssh_add_string(&message, list.data, list.len);
    r->connection = fd_accept(r->listener);
    (void)!recv(r->connection, request, sizeof request, MSG_WAITALL);
    fd_write_all(r->connection, message.data, message.len, NULL);
    buf_release(&list);
    buf_release(&message);
    return NULL;
}

/* A late answer must not be read as the answer to the next request. */
static void late_answers_are_discarded(void **state)
{
    struct rogue r = rogue_start(*state);
    struct agent a;
    struct err err = ERR_INIT;
    struct ssh_blob data = {(unsigned char *)(uintptr_t) "x", 1}, signature = {0};
    pthread_t thread;
    assert_ok(thread_start(&thread, answer_once, &r, &err), &err);
    assert_ok(agent_open(r.path, clock_deadline(20000), -1, &a, &err), &err);
    pthread_join(thread, NULL);
    assert_int_equal(a.n_keys, 1);
    assert_refused(sign_with(&a, 0, &data, 100, &signature, &err), &err, ERR_TIMEOUT,
                   "the SSH agent: timed out");
    static const char late[] = "\0\0\0\x15\x0e\0\0\0\x10\0\0\0\4name\0\0\0\4late";
    (void)!send(r.connection, late, sizeof late - 1, MSG_NOSIGNAL);
    assert_refused(sign_with(&a, 0, &data, 20000, &signature, &err), &err, ERR_FAILED,
                   "an earlier request to the SSH agent failed, so no more are sent");
    assert_null(signature.data);
    agent_release(&a);
    rogue_end(&r);
}

/* A rogue agent that sends these bytes. */
struct reply {
    struct rogue r;
    const char *bytes;
    size_t n;
};

static void *reply_and_close(void *ctx)
{
    struct reply *reply = ctx;
    char request[5];
    reply->r.connection = fd_accept(reply->r.listener);
    (void)!recv(reply->r.connection, request, sizeof request, MSG_WAITALL);
    (void)!send(reply->r.connection, reply->bytes, reply->n, MSG_NOSIGNAL);
    fd_close(&reply->r.connection);
    return NULL;
}

static void invalid_frames_are_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *msg;
    } cases[] = {
        {"", 0, "the SSH agent closed the connection"},
        {"\0\0", 2, "the SSH agent closed the connection"},
        {"\0\0\0\5\14\0", 6, "the SSH agent closed the connection"},
        {"\0\0\0\0", 4, "the SSH agent sent a message of 0 bytes"},
        {"\xff\xff\xff\xff", 4, "the SSH agent sent a message of 4294967295 bytes"},
        {"\0\4\0\1", 4, "the SSH agent sent a message of 262145 bytes"},
        {"\0\0\0\1\5", 5, "the SSH agent does not list its keys (is it locked?)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reply reply = {rogue_start(*state), cases[i].bytes, cases[i].n};
        struct agent a;
        struct err err = ERR_INIT;
        pthread_t thread;
        assert_ok(thread_start(&thread, reply_and_close, &reply, &err), &err);
        assert_refused(agent_open(reply.r.path, clock_deadline(20000), -1, &a, &err), &err, ERR_FAILED,
                       cases[i].msg);
        pthread_join(thread, NULL);
        assert_int_equal(unlink(reply.r.path), 0);
        rogue_end(&reply.r);
    }
}

static void a_missing_agent_is_an_error(void **state)
{
    struct agent a;
    struct err err = ERR_INIT;
    char *none = format_text("%s/none", (char *)*state), *msg;
    msg = format_text("cannot reach the SSH agent at %s: No such file or directory", none);
    assert_refused(agent_open(none, clock_deadline(20000), -1, &a, &err), &err, ERR_LOCAL_IO, msg);
    free(msg);
    free(none);
    char path[200];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    msg = format_text(
        "the SSH agent: %s: the path of a Unix socket may have at most %zu bytes; this path has %zu", path,
        sizeof((struct sockaddr_un *)0)->sun_path - 1, strlen(path));
    assert_refused(agent_open(path, clock_deadline(20000), -1, &a, &err), &err, ERR_FAILED, msg);
    free(msg);
}

#define WITH_AGENT(f) cmocka_unit_test_setup_teardown(f, agent_setup, agent_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_listed),
        cmocka_unit_test(invalid_lists_of_keys_are_refused),
        cmocka_unit_test(cut_lists_of_keys_are_refused),
        cmocka_unit_test(cut_signatures_are_refused),
        cmocka_unit_test(an_agent_that_signs_with_sha1_only_is_refused),
        WITH_AGENT(a_real_agent_signs),
        WITH_AGENT(a_real_agent_does_not_sign_with_a_removed_key),
        SCRATCH(a_silent_agent_times_out),
        SCRATCH(a_full_queue_times_out_and_can_be_cancelled),
        SCRATCH(a_request_can_be_cancelled),
        SCRATCH(late_answers_are_discarded),
        SCRATCH(invalid_frames_are_refused),
        SCRATCH(a_missing_agent_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
