/* Algorithms offered to a server, the server's offer, and the message if the two have none in common. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gateway/ssh/algorithms.h"
#include "keys/sshwire.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define HOST_KEYS "ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256,ssh-rsa"

/* Asserts the list of algorithms_pick. NULL in `allowed`: all are allowed. */
static void assert_picked(const char *ours, const char *allowed, const char *expected)
{
    static const char *const supported[] = {"ext-info-c", "a", "ab", "c", "old", "c-cert-v01@openssh.com"};
    char *list = algorithms_pick(ours, allowed, supported, sizeof supported / sizeof *supported);
    assert_non_null(list);
    assert_string_equal(list, expected);
    free(list);
}

static void the_algorithm_that_ssh_would_choose_is_chosen(void **state)
{
    (void)state;
    assert_picked("c,b,a", NULL, "c,a");
    assert_picked("c,b,a", "a,b,c", "c,a");
    assert_picked("c,b,a", "a", "a");
    /* A name is not confused with a longer one. */
    assert_picked("ab", "a", "a");
    assert_picked("a", "ab,abc", "ab");
    assert_picked("", NULL, "");
    assert_picked("b", NULL, "");
    assert_picked("c", "", "");
    assert_picked("c", "nobody-knows-it", "");
    /* Algorithms that the user adds are last, without certificates. */
    assert_picked("c", "old,c,c-cert-v01@openssh.com", "c,old");
}

static struct algorithms propose(const struct ssh_config *config)
{
    struct algorithms a = {0};
    struct err err = ERR_INIT;
    LIBSSH2_SESSION *ssh = libssh2_session_init();
    assert_non_null(ssh);
    assert_ok(algorithms_propose(ssh, config, HOST_KEYS, &a, &err), &err);
    libssh2_session_free(ssh);
    return a;
}

static void the_offer_follows_the_configuration(void **state)
{
    (void)state;
    struct algorithms a = propose(&(struct ssh_config){0});
    bool chacha = libssh2_version(0x010b00) != NULL;
    assert_int_equal(strncmp(a.lists[LIBSSH2_METHOD_KEX], "curve25519-sha256,", 18), 0);
    assert_int_equal(strncmp(a.lists[LIBSSH2_METHOD_HOSTKEY], "ssh-ed25519,ecdsa-sha2-nistp256,", 32), 0);
    assert_contains(a.lists[LIBSSH2_METHOD_CRYPT_CS],
                    chacha ? "chacha20-poly1305@openssh.com," : "aes128-ctr,");
    assert_string_equal(a.lists[LIBSSH2_METHOD_CRYPT_CS], a.lists[LIBSSH2_METHOD_CRYPT_SC]);
    assert_contains(a.lists[LIBSSH2_METHOD_MAC_SC], "hmac-sha2-256");
    for (int i = 0; i < ALGORITHM_LISTS; i++) {
        assert_null(strstr(a.lists[i], "cbc"));
        assert_null(strstr(a.lists[i], "group1-"));
        assert_null(strstr(a.lists[i], "md5"));
    }
    algorithms_release(&a);
    /* The configuration narrows and widens the offer; RSA with SHA-1 is only offered if it is configured. */
    char keys[] = "ssh-ed25519,ssh-ed25519-cert-v01@openssh.com,rsa-sha2-512",
         cbc[] = "aes128-cbc,aes256-ctr";
    a = propose(&(struct ssh_config){.algorithms.host_keys = keys, .algorithms.ciphers = cbc});
    assert_null(strstr(a.lists[LIBSSH2_METHOD_HOSTKEY], "ssh-rsa"));
    assert_null(strstr(a.lists[LIBSSH2_METHOD_HOSTKEY], "ecdsa"));
    assert_null(strstr(a.lists[LIBSSH2_METHOD_HOSTKEY], "cert"));
    assert_string_equal(a.lists[LIBSSH2_METHOD_CRYPT_SC], "aes256-ctr,aes128-cbc");
    algorithms_release(&a);
    char rsa[] = "ssh-rsa";
    a = propose(&(struct ssh_config){.algorithms.host_keys = rsa});
    assert_string_equal(a.lists[LIBSSH2_METHOD_HOSTKEY], "ssh-rsa");
    algorithms_release(&a);
}

static void an_empty_offer_is_an_error(void **state)
{
    (void)state;
    char unknown[] = "x25519-of-tomorrow,x448-of-tomorrow";
    struct ssh_config config = {.algorithms.key_exchanges = unknown};
    struct algorithms a = {0};
    struct err err = ERR_INIT;
    LIBSSH2_SESSION *ssh = libssh2_session_init();
    char *msg =
        format_text("the configuration allows only the key exchanges x25519-of-tomorrow,x448-of-tomorrow, "
                    "libssh2 %s supports none of them",
                    libssh2_version(0));
    assert_refused(algorithms_propose(ssh, &config, HOST_KEYS, &a, &err), &err, ERR_UNSUPPORTED, msg);
    assert_null(a.lists[0]);
    free(msg);
    libssh2_session_free(ssh);
}

/* The server's first bytes: `before`, then SSH_MSG_KEXINIT with these lists. */
static struct buf make_kexinit(const char *before, const char *const lists[ALGORITHM_LISTS])
{
    struct buf payload = BUF_INIT(8192), all = BUF_INIT(8192);
    buf_addc(&payload, 20);
    buf_add(&payload, "0123456789abcdef", 16);
    for (int i = 0; i < 10; i++) {
        const char *list = i < ALGORITHM_LISTS ? lists[i] : i < 8 ? "none" : "";
        ssh_add_string(&payload, list, strlen(list));
    }
    buf_add(&payload, "\0\0\0\0", 5);
    buf_adds(&all, before);
    ssh_add_u32(&all, (uint32_t)payload.len + 1 + 4);
    buf_addc(&all, 4);
    buf_add(&all, payload.data, payload.len);
    buf_add(&all, "\0\0\0", 4);
    buf_release(&payload);
    return all;
}

static const char *const usual[ALGORITHM_LISTS] = {
    "sntrup761x25519-sha512@openssh.com,curve25519-sha256,kex-strict-s-v00@openssh.com",
    "rsa-sha2-512,ssh-ed25519",
    "chacha20-poly1305@openssh.com,aes128-ctr",
    "aes128-ctr",
    "hmac-sha2-256",
    "hmac-sha2-256"};

/* Asserts that the usual lists are read if the text `before` precedes them. */
static void assert_lists_read(const char *before)
{
    struct buf b = make_kexinit(before, usual);
    struct algorithms a = {0};
    struct err err = ERR_INIT;
    assert_ok(algorithms_read(b.data, b.len, &a, &err), &err);
    for (int i = 0; i < ALGORITHM_LISTS; i++)
        assert_string_equal(a.lists[i], usual[i]);
    algorithms_release(&a);
    buf_release(&b);
}

static void the_servers_offer_is_read(void **state)
{
    (void)state;
    assert_lists_read("SSH-2.0-OpenSSH_9.2\r\n");
    assert_lists_read("be warned\r\nSSH\nSSH-1.99-old\n");
}

static void read_damaged(void *ctx, const struct damaged *s)
{
    struct algorithms a = {0};
    struct err err = ERR_INIT;
    size_t needed = *(const size_t *)ctx;
    if (algorithms_read(s->p, s->n, &a, &err) < 0) {
        assert_int_equal(err.kind, ERR_FAILED);
        assert_null(a.lists[0]);
        return;
    }
    assert_true(!s->cut || s->at >= needed);
    for (int i = 0; i < ALGORITHM_LISTS; i++)
        assert_true(text_is_visible(a.lists[i]));
    algorithms_release(&a);
}

static void a_damaged_offer_is_refused_or_printable(void **state)
{
    (void)state;
    struct buf b = make_kexinit("SSH-2.0-x\r\n", usual);
    size_t needed = b.len;
    damage_everywhere(b.data, b.len, read_damaged, &needed);
    buf_release(&b);
    /* Lists that extend beyond the message, into bytes that exist. */
    struct algorithms a = {0};
    struct err err = ERR_INIT;
    char bytes[200] = "SSH-2.0-x\n\0\0\0\x1c\4\x14"
                      "0123456789abcdef"
                      "\0\0\0\xff";
    assert_refused(algorithms_read(bytes, sizeof bytes, &a, &err), &err, ERR_FAILED,
                   "the server's list of algorithms ends early");
}

/* Compares the usual lists with those of a server whose list `which` is `theirs`. NULL in msg: they have an
 * algorithm in common, else msg has the algorithms that the error names. */
static void assert_compared(int which, const char *theirs, const char *msg)
{
    const char *lists[ALGORITHM_LISTS];
    struct algorithms ours = {0}, server = {0};
    struct err err = ERR_INIT;
    memcpy(lists, usual, sizeof lists);
    lists[which] = theirs;
    struct buf mine = make_kexinit("SSH-2.0-x\n", usual), other = make_kexinit("SSH-2.0-x\n", lists);
    assert_ok(algorithms_read(mine.data, mine.len, &ours, &err), &err);
    assert_ok(algorithms_read(other.data, other.len, &server, &err), &err);
    int rc = algorithms_compare(&ours, &server, &err);
    if (msg) {
        char *full_msg = format_text("the server offers only the %s, libssh2 %s can use none of them", msg,
                                     libssh2_version(0));
        assert_refused(rc, &err, ERR_UNSUPPORTED, full_msg);
        free(full_msg);
    } else {
        assert_ok(rc, &err);
    }
    algorithms_release(&ours);
    algorithms_release(&server);
    buf_release(&mine);
    buf_release(&other);
}

static void a_missing_common_algorithm_is_explained(void **state)
{
    (void)state;
    assert_compared(0, usual[0], NULL);
    assert_compared(0, "a,b,curve25519-sha256", NULL);
    assert_compared(0, "sntrup4591761x25519-sha512@tinyssh.org,ext-info-s",
                    "key exchanges sntrup4591761x25519-sha512@tinyssh.org");
    assert_compared(1, "ssh-dss", "host key types ssh-dss");
    assert_compared(2, "aes256-gcm@openssh.com,aes128-gcm@openssh.com",
                    "ciphers aes256-gcm@openssh.com, aes128-gcm@openssh.com");
    assert_compared(3, "chacha20-poly1305@openssh.com", "ciphers chacha20-poly1305@openssh.com");
    assert_compared(4, "\x1b[1mhmac", "MACs ?[1mhmac");
    assert_compared(5, "", "MACs (none)");
    assert_compared(5, ",", "MACs (none)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_algorithm_that_ssh_would_choose_is_chosen),
        cmocka_unit_test(the_offer_follows_the_configuration),
        cmocka_unit_test(an_empty_offer_is_an_error),
        cmocka_unit_test(the_servers_offer_is_read),
        cmocka_unit_test(a_damaged_offer_is_refused_or_printable),
        cmocka_unit_test(a_missing_common_algorithm_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
