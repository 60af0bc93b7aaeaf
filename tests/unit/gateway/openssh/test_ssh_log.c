/* Reading ssh's log; the lines are from OpenSSH 9.2, shortened. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gateway/openssh/ssh_log.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

static const char login[] =
    "OpenSSH_9.2p1 Debian-2+deb12u6, OpenSSL 3.0.19 27 Jan 2026\r\n"
    "debug1: Connecting to 127.0.0.1 [127.0.0.1] port 2222.\r\n"
    "debug1: Local version string SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u6\r\n"
    "debug1: Remote protocol version 2.0, remote software version OpenSSH_9.2p1 Debian-2+deb12u10\r\n"
    "debug1: kex: algorithm: sntrup761x25519-sha512\r\n"
    "debug1: Server host key: ssh-ed25519 SHA256:lhVj+XWCHmEmfg5PYVXeej3H6cyCdf1HqzGwKR2hY9M\r\n"
    "debug1: Authentications that can continue: publickey,password\r\n"
    "debug1: Offering public key: /home/ann/.ssh/id ED25519 SHA256:fVRc explicit\r\n"
    "debug1: Server accepts key: /home/ann/.ssh/id ED25519 SHA256:fVRc explicit\r\n"
    "Authenticated to 127.0.0.1 ([127.0.0.1]:2222) using \"publickey\".\r\n"
    "debug1: Entering interactive session.\r\n";

static struct ssh_log *new_log(const char *text)
{
    struct ssh_log *l = calloc(1, sizeof *l);
    assert_non_null(l);
    ssh_log_feed(l, SSH_LOG, text, strlen(text));
    return l;
}

static void the_facts_of_a_login_are_read(void **state)
{
    (void)state;
    struct gateway_hop hop = {.port = 0};
    struct ssh_log *l = new_log(login);
    assert_int_equal(l->complaints[SSH_LOG].n, 0);
    ssh_log_describe(l, &hop);
    assert_string_equal(hop.via, "OpenSSH_9.2p1");
    assert_string_equal(hop.server_ip, "127.0.0.1");
    assert_string_equal(hop.host_key_type, "ssh-ed25519");
    assert_string_equal(hop.host_key, "SHA256:lhVj+XWCHmEmfg5PYVXeej3H6cyCdf1HqzGwKR2hY9M");
    assert_false(hop.host_key_new);
    assert_string_equal(hop.authentication, "key /home/ann/.ssh/id");
    assert_string_equal(hop.banner, "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u10");
    free(l);
}

/* Control characters and a UTF-8 character that the buffer's end would cut. */
static void a_version_becomes_printable(void **state)
{
    (void)state;
    struct gateway_hop hop = {.port = 0};
    struct ssh_log *l = new_log("OpenSSH_\001\xc3\r\n");
    ssh_log_describe(l, &hop);
    assert_string_equal(hop.via, "OpenSSH_??");
    free(l);
    l = new_log("OpenSSH_123456789012345678901234567890123456789012345678901234\xc3\xbc.\r\n");
    ssh_log_describe(l, &hop);
    assert_true(strlen(hop.via) >= 60 && strcmp(hop.via + strlen(hop.via) - 3, "...") == 0);
    free(l);
}

/* Each warning is one line; a known host that gets another address is not new. */
static void a_new_host_is_recorded(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        bool is_new;
    } cases[] = {
        {"Warning: Permanently added '[127.0.0.1]:2222' (ED25519) to the list of known hosts.\r\n", true},
        {"Failed to add the host to the list of known hosts (/dev/none/known).\r\n", true},
        {"Warning: Permanently added the ED25519 host key for IP address '192.0.2.1' to the list of known "
         "hosts.\r\n",
         false},
        {"Failed to add the ED25519 host key for IP address '192.0.2.1' to the list of known hosts (/f).\r\n",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gateway_hop hop = {.port = 0};
        struct ssh_log *l = new_log(cases[i].lines);
        /* On standard error, the line may be about a jump host. */
        struct ssh_log *on_stderr = new_log("");
        ssh_log_feed(on_stderr, SSH_STDERR, cases[i].lines, strlen(cases[i].lines));
        ssh_log_describe(on_stderr, &hop);
        assert_false(hop.host_key_new);
        ssh_log_describe(l, &hop);
        assert_int_equal(hop.host_key_new, cases[i].is_new);
        free(on_stderr);
        free(l);
    }
}

/* A server can cause these lines by the `name` field of its questions (RFC 4256). */
static void text_of_the_server_changes_no_facts(void **state)
{
    (void)state;
    struct gateway_hop hop = {.port = 0};
    struct ssh_log *l = new_log(login);
    static const char lines[] = "debug1: Server host key: ssh-ed25519 SHA256:another\r\n"
                                "debug1: Remote protocol version 2.0, remote software version another\r\n"
                                "OpenSSH_8.2p1\r\n"
                                "debug1: Local version string SSH-2.0-OpenSSH_8.2p1\r\n"
                                "Warning: Permanently added 'h' (ED25519) to the list of known hosts.\r\n";
    ssh_log_feed(l, SSH_LOG, lines, sizeof lines - 1);
    ssh_log_describe(l, &hop);
    assert_string_equal(hop.host_key, "SHA256:lhVj+XWCHmEmfg5PYVXeej3H6cyCdf1HqzGwKR2hY9M");
    assert_string_equal(hop.banner, "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u10");
    assert_false(hop.host_key_new);
    assert_string_equal(l->version, "OpenSSH_9.2p1");
    free(l);
}

static void versions_of_ssh_that_begin_prompts_with_the_login_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *log;
        bool labels;
    } cases[] = {{"OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.19\r\n", true},
                 {"OpenSSH_8.5p1, OpenSSL\r\n", true},
                 {"OpenSSH_10.0p2, OpenSSL\r\n", true},
                 {"OpenSSH_8.4p1, OpenSSL\r\nOpenSSH_9.0\r\ndebug1: Local version string "
                  "SSH-2.0-OpenSSH_9.2p1\r\n",
                  false},
                 {"OpenSSH_for_Windows_8.1p1\r\n", false},
                 {"Sun_SSH_9.9\r\n", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ssh_log *l = new_log(cases[i].log);
        assert_int_equal(ssh_log_marks_server_prompts(l), cases[i].labels);
        free(l);
    }
}

static void a_log_may_arrive_byte_by_byte(void **state)
{
    (void)state;
    struct ssh_log *l = new_log("");
    for (size_t i = 0; i < sizeof login - 1; i++)
        ssh_log_feed(l, SSH_LOG, login + i, 1);
    assert_string_equal(l->accepted_method, "publickey");
    assert_string_equal(l->version, "OpenSSH_9.2p1");
    free(l);
}

static void the_method_of_authentication_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *lines, *authentication;
    } cases[] = {
        {"debug1: Server accepts key: me@here ED25519 SHA256:x agent\n"
         "Authenticated to h ([::1]:22) using \"publickey\".\n",
         "agent ED25519 SHA256:x"},
        {"debug1: Server accepts key: /a b/id_sk ED25519-SK SHA256:x explicit authenticator\n"
         "Authenticated to h (via proxy) using \"publickey\".\n",
         "security key /a b/id_sk"},
        {"debug1: Server accepts key: /lib/softhsm.so RSA SHA256:x explicit token\n"
         "Authenticated to h (via proxy) using \"publickey\".\n",
         "token /lib/softhsm.so"},
        {"debug1: Server accepts key: something new\n"
         "Authenticated to h (via proxy) using \"publickey\".\n",
         "publickey something new"},
        {"debug1: Server accepts key: /k ED25519 SHA256:x\n"
         "Authenticated to h ([192.0.2.1]:22) using \"password\".\n",
         "password"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gateway_hop hop = {.port = 0};
        struct ssh_log *l = new_log(cases[i].lines);
        ssh_log_describe(l, &hop);
        assert_string_equal(hop.authentication, cases[i].authentication);
        free(l);
    }
}

static void the_reason_of_a_failure_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        enum err_kind kind;
        const char *msg;
    } cases[] = {
        {"", ERR_FAILED, "ssh ended without a message"},
        {"ann@h: Permission denied (publickey,password).\r\n", ERR_DENIED,
         "the server accepted none of the offered keys and methods; it allows: publickey,password"},
        {"sign_and_send_pubkey: signing failed for ED25519-SK \"/k\" from agent: device not found\r\n"
         "ann@h: Permission denied (publickey).\r\n",
         ERR_DENIED,
         "the server accepts a key, but ssh cannot sign with it: ED25519-SK \"/k\" from agent: device not "
         "found"},
        {"Received disconnect from 127.0.0.1 port 22:2: Too many authentication failures\r\n"
         "Disconnected from 127.0.0.1 port 22\r\n",
         ERR_DENIED, "the server ended the session: Too many authentication failures"},
        {"ssh: Could not resolve hostname nix: Name or service not known\r\n", ERR_FAILED,
         "cannot resolve nix: Name or service not known"},
        {"ssh: connect to host 127.0.0.1 port 1: Connection refused\r\n", ERR_FAILED,
         "cannot connect to 127.0.0.1 port 1: Connection refused"},
        {"ssh: connect to host 127.0.0.1 port 1: Connection timed out\r\n", ERR_TIMEOUT,
         "cannot connect to 127.0.0.1 port 1: Connection timed out"},
        {"Connection timed out during banner exchange\r\nConnection to 127.0.0.1 port 2 timed out\r\n",
         ERR_TIMEOUT, "the server accepts the connection but sends no data"},
        {"Unable to negotiate with 127.0.0.1 port 2: no matching key exchange method found. Their offer: "
         "x\r\n",
         ERR_DENIED,
         "no agreement on keys and ciphers: no matching key exchange method found. Their offer: x"},
        {"kex_exchange_identification: Connection closed by remote host\r\nConnection closed by h port 2\r\n",
         ERR_BUSY, "the server closed the connection before it sent any data"},
        {"debug1: Remote protocol version 2.0, remote software version x\r\nConnection reset by h port 2\r\n",
         ERR_BUSY, "the server reset the connection"},
        /* A refused login is not retried later. */
        {"debug1: Remote protocol version 2.0, remote software version x\r\n"
         "debug1: Authentications that can continue: publickey\r\nConnection closed by h port 2\r\n",
         ERR_FAILED, "the server closed the connection"},
        {"/x/config: line 3: Bad configuration option: bogus\r\n/x/config: terminating, 1 bad configuration "
         "options\r\n",
         ERR_USAGE, "ssh's configuration has an unknown option: bogus"},
        {"debug1: Executing proxy command: exec ssh -W '[h]:22' jump\r\n"
         "Connection timed out during banner exchange\r\nConnection to UNKNOWN port 65535 timed out\r\n",
         ERR_TIMEOUT,
         "through the jump host or proxy on the way: the server accepts the connection but sends no data"},
        {"Connection to 127.0.0.1 closed by remote host.\r\n", ERR_FAILED,
         "the server closed the connection"},
        {"Timeout, server 127.0.0.1 not responding.\r\n", ERR_LOST,
         "the SSH session is dead; ssh reports: server 127.0.0.1 not responding"},
        {"Something \x1b[31mnew\r\n", ERR_FAILED, "ssh says: Something ?[31mnew"},
        {"No ED25519 host key is known for [h]:2 and you have requested strict checking.\r\n"
         "Host key verification failed.\r\n",
         ERR_HOST_KEY,
         "h port 2: host key is not known: the server offered a key that ssh did not name; ssh says: No "
         "ED25519 host "
         "key "
         "is known for [h]:2 and you have requested strict checking."},
        {"debug1: Server host key: ssh-ed25519 SHA256:x\n"
         "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n"
         "Offending ED25519 key in /k:1\r\nHost key verification failed.\r\n",
         ERR_HOST_KEY,
         "h port 2: HOST KEY HAS CHANGED: the server offered ssh-ed25519 SHA256:x; ssh says: Offending "
         "ED25519 key "
         "in "
         "/k:1"},
        {"debug1: Server host key: ssh-ed25519 SHA256:x\n"
         "The ED25519 host key for h is marked as revoked.\r\nHost key verification failed.\r\n",
         ERR_HOST_KEY, "h port 2: host key ssh-ed25519 SHA256:x is revoked"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        struct ssh_log *l = new_log(cases[i].lines);
        assert_refused(ssh_log_explain_end(l, "h port 2", &err), &err, cases[i].kind, cases[i].msg);
        free(l);
    }
}

/* The lines on standard error, of the ssh to the jump host or of a proxy, have the reason. The log only shows
 * that no data arrived. */
static void the_reason_of_a_jumps_failure_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        enum err_kind kind;
        const char *msg;
    } cases[] = {
        {"debug1: x\r\nchannel 0: open failed: administratively prohibited: open failed\r\nstdio forwarding "
         "failed\r\n",
         ERR_FAILED, "a jump host does not allow forwarding to the next host"},
        {"channel 0: open failed: connect failed: Connection refused\r\nstdio forwarding failed\r\n",
         ERR_FAILED, "a jump host cannot connect to the next host: Connection refused"},
        {"ssh: Could not resolve hostname nix: Name or service not known\r\n", ERR_FAILED,
         "the proxy or jump host: ssh: Could not resolve hostname nix: Name or service not known"},
        {"nc: out of luck\n", ERR_FAILED, "the proxy or jump host failed: nc: out of luck"},
        {"ann@jump: Permission denied (publickey).\r\n", ERR_DENIED,
         "the proxy or jump host: ann@jump: Permission denied (publickey)."},
        {"kex_exchange_identification: read: Connection reset by peer\r\nConnection reset by 192.0.2.1 port "
         "22\r\n",
         ERR_BUSY, "the proxy or jump host: Connection reset by 192.0.2.1 port 22"},
        /* The first of two jump hosts. */
        {"kex_exchange_identification: Connection closed by remote host\r\nConnection closed by 192.0.2.1 "
         "port 22\r\nkex_exchange_identification: Connection closed by remote host\r\nConnection closed by "
         "UNKNOWN port 65535\r\n",
         ERR_BUSY, "the proxy or jump host: Connection closed by 192.0.2.1 port 22"},
        {"debug1: Authentications that can continue: publickey\r\nConnection closed by 192.0.2.1 port 22\r\n",
         ERR_FAILED, "the proxy or jump host: Connection closed by 192.0.2.1 port 22"},
        {"ssh: connect to host jump port 22: Connection timed out\r\n", ERR_TIMEOUT,
         "the proxy or jump host: ssh: connect to host jump port 22: Connection timed out"},
        {"No ED25519 host key is known for [jump]:2222 and you have requested strict checking.\r\n"
         "Host key verification failed.\r\n",
         ERR_HOST_KEY,
         "[jump]:2222: host key is not known; ssh says: No ED25519 host key is known for [jump]:2222 and you "
         "have requested strict checking."},
        {"@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\nOffending ED25519 key in /k:1\r\n"
         "Host key for jump has changed and you have requested strict checking.\r\n"
         "Host key verification failed.\r\n",
         ERR_HOST_KEY, "jump: HOST KEY HAS CHANGED; ssh says: Offending ED25519 key in /k:1"},
        {"The ED25519 host key for jump is marked as revoked.\r\nHost key verification failed.\r\n",
         ERR_HOST_KEY, "jump: host key is revoked"},
        {"Host key verification failed.\r\n", ERR_HOST_KEY, "the proxy or jump host: host key is not known"},
        /* The jump host forwarded the connection: its earlier text was a banner, and the server closed. */
        {"Authorized use only\r\nAuthenticated to jump ([192.0.2.1]:22) using \"publickey\".\r\n", ERR_BUSY,
         "the server closed the connection before it sent any data"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        struct ssh_log *l = new_log("kex_exchange_identification: Connection closed by remote host\r\n"
                                    "Connection closed by UNKNOWN port 65535\r\n");
        ssh_log_feed(l, SSH_STDERR, cases[i].lines, strlen(cases[i].lines));
        assert_refused(ssh_log_explain_end(l, "h port 2", &err), &err, cases[i].kind, cases[i].msg);
        free(l);
    }
}

#define REACHED "debug1: Remote protocol version 2.0, remote software version x\r\n"
#define PUBLICKEY "debug1: Next authentication method: publickey\r\n"
#define ACCEPTS "debug1: Server accepts key: /an agent/k ED25519-SK SHA256:fVRc explicit"

static void the_reason_of_a_delay_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        bool awaits_agent;
        const char *msg, *hint;
    } cases[] = {
        {"", false, "ssh did not reach the server within 4s", "is the host up"},
        {REACHED, false, "ssh did not log in within 4s", "`ssh -v`"},
        {REACHED PUBLICKEY, false, "ssh did not log in within 4s; the last method it tried is publickey",
         "`ssh -v`"},
        {REACHED PUBLICKEY ACCEPTS "\r\n", false,
         "ssh did not log in within 4s; the last method it tried is publickey", "`ssh -v`"},
        {REACHED PUBLICKEY ACCEPTS " agent\r\n", true,
         "ssh did not log in within 4s; the last method it tried is publickey", "the agent's key"},
        {REACHED PUBLICKEY ACCEPTS " agent\r\ndebug1: Next authentication method: password\r\n", false,
         "ssh did not log in within 4s; the last method it tried is password", "`ssh -v`"},
        {REACHED "debug1: Next authentication method: gssapi-with-mic\r\n", false,
         "ssh did not log in within 4s; the last method it tried is gssapi-with-mic", "KDC"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = ERR_INIT;
        struct ssh_log *l = new_log(cases[i].lines);
        assert_int_equal(ssh_log_is_awaiting_agent(l), cases[i].awaits_agent);
        assert_refused(ssh_log_explain_delay(l, 4000, &err), &err, ERR_TIMEOUT, cases[i].msg);
        assert_non_null(strstr(err.hint, cases[i].hint));
        free(l);
    }
}

/* Lines of other programs are no facts about the host. They are no cause of a failure if ssh's log has a
 * cause. */
static void lines_of_other_programs_are_ignored(void **state)
{
    (void)state;
    static const char banner[] =
        "Host key verification failed.\nHOST IDENTIFICATION HAS CHANGED\nterminating, \n"
        "Too many authentication failures\nConnection reset by peace\n";
    struct err err = ERR_INIT;
    struct ssh_log *l = new_log("");
    ssh_log_feed(l, SSH_STDERR, login, sizeof login - 1);
    assert_string_equal(l->host_key, "");
    assert_string_equal(l->accepted_method, "");
    assert_string_equal(l->version, "");
    free(l);
    l = new_log("debug1: Remote protocol version 2.0, remote software version x\n"
                "a@h: Permission denied (publickey).\n");
    ssh_log_feed(l, SSH_STDERR, banner, sizeof banner - 1);
    assert_refused(ssh_log_explain_end(l, "h port 2", &err), &err, ERR_DENIED,
                   "the server accepted none of the offered keys and methods; it allows: publickey");
    free(l);
    l = new_log("debug1: Remote protocol version 2.0, remote software version x\nSomething new\n");
    ssh_log_feed(l, SSH_STDERR, "Welcome\n", 8);
    assert_refused(ssh_log_explain_end(l, "h port 2", &err), &err, ERR_FAILED, "ssh says: Something new");
    free(l);
}

/* An ssh that rejects an option writes only to standard error. */
static void an_unknown_ssh_option_is_a_usage_error(void **state)
{
    (void)state;
    static const char lines[] = "command-line: line 0: Bad configuration option: logverbose\r\n";
    struct err err = ERR_INIT;
    struct ssh_log *l = new_log("");
    ssh_log_feed(l, SSH_STDERR, lines, sizeof lines - 1);
    assert_refused(ssh_log_explain_end(l, "h port 2", &err), &err, ERR_USAGE,
                   "ssh's configuration has an unknown option: logverbose");
    free(l);
}

static void refused_channels_are_read(void **state)
{
    (void)state;
    static const char lines[] =
        "debug1: channel_connect_stdio_fwd: localhost:6060\r\n"
        "debug1: channel 2: new stdio-forward [stdio-forward] (inactive timeout: 0)\r\n"
        "debug1: channel_connect_stdio_fwd: ::1:9999\r\n"
        "debug1: channel 4: new [stdio-forward]\r\n"
        "debug1: Connection to port -2 forwarding to /run/a b port -2 requested.\r\n"
        "debug1: channel 5: new direct-streamlocal@openssh.com [direct-streamlocal@openssh.com]\r\n"
        "channel 4: open failed: administratively prohibited: open failed\r\n"
        "channel 2: open failed: connect failed: Connection refused\r\n"
        "channel 5: open failed: connect failed: open failed\r\n"
        "channel 9: open failed: connect failed: of nobody\r\n";
    struct ssh_log *l = new_log(lines);
    char reason[64] = "";
    struct destination first = {.host = "localhost", .port = 6060}, second = {.host = "::1", .port = 9999},
                       third = {.unix_path = "/run/a b"}, other = {.host = "localhost", .port = 1};
    assert_true(ssh_log_pop_refusal(l, &first, reason, sizeof reason));
    assert_string_equal(reason, "connect failed: Connection refused");
    assert_false(ssh_log_pop_refusal(l, &first, reason, sizeof reason));
    assert_true(ssh_log_pop_refusal(l, &second, reason, sizeof reason));
    assert_string_equal(reason, "administratively prohibited: open failed");
    assert_true(ssh_log_pop_refusal(l, &third, reason, sizeof reason));
    assert_false(ssh_log_pop_refusal(l, &other, reason, sizeof reason));
    assert_int_equal(l->complaints[SSH_LOG].n, 0);
    /* ssh uses numbers of channels again: a number means the latest channel. */
    for (unsigned i = 0; i < 3 * SSH_LOG_CHANNELS; i++)
        ssh_log_feed(l, SSH_LOG, lines,
                     strcspn(lines, "\n") + 1 + strcspn(strchr(lines, '\n') + 1, "\n") + 1);
    static const char again[] = "channel 2: open failed: connect failed: x\r\n";
    ssh_log_feed(l, SSH_LOG, again, sizeof again - 1);
    assert_true(ssh_log_pop_refusal(l, &first, reason, sizeof reason));
    assert_false(ssh_log_pop_refusal(l, &first, reason, sizeof reason));
    free(l);
}

static void opened_channels_are_read(void **state)
{
    (void)state;
    struct ssh_log *l = new_log(
        "debug1: Connection to port -2 forwarding to /run/a port -2 requested.\r\n"
        "debug1: channel 1: new direct-streamlocal@openssh.com [direct-streamlocal@openssh.com]\r\n"
        "debug2: channels.c:channel_input_open_confirmation():3518 (pid=28936): channel 1: open confirm "
        "rwindow 2097152 rmax 32768\r\n");
    struct destination there = {.unix_path = "/run/a"}, other = {.unix_path = "/run/b"};
    assert_false(ssh_log_pop_confirmation(l, &other));
    assert_true(ssh_log_pop_confirmation(l, &there));
    assert_false(ssh_log_pop_confirmation(l, &there));
    assert_int_equal(l->complaints[SSH_LOG].n, 0);
    free(l);
}

static void a_very_long_log_still_gives_its_complaint(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    struct ssh_log *l = new_log("");
    for (unsigned i = 0; i < 100000; i++)
        ssh_log_feed(l, SSH_STDERR, "y", 1);
    ssh_log_feed(l, SSH_STDERR, "\nlast\n", 6);
    for (unsigned i = 0; i < 100; i++)
        ssh_log_feed(l, SSH_LOG, "complaint\n", 10);
    assert_int_equal(ssh_log_explain_end(l, "", &err), -1);
    assert_string_equal(err.msg, "ssh says: complaint");
    ssh_log_drop_complaints(l);
    assert_int_equal(ssh_log_explain_end(l, "", &err), -1);
    assert_string_equal(err.msg, "ssh ended without a message");
    free(l);
}

static void feed_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct err err = ERR_INIT;
    struct gateway_hop hop;
    struct ssh_log *l = new_log("");
    ssh_log_feed(l, SSH_LOG, s->p, s->n);
    ssh_log_describe(l, &hop);
    assert_int_equal(ssh_log_explain_end(l, "h", &err), -1);
    assert_true(text_is_visible(hop.authentication) && text_is_visible(hop.banner));
    assert_true(text_is_visible(err.msg));
    free(l);
}

static void damaged_logs_give_printable_facts_and_errors(void **state)
{
    (void)state;
    damage_everywhere(login, sizeof login - 1, feed_damaged, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_facts_of_a_login_are_read),
        cmocka_unit_test(a_version_becomes_printable),
        cmocka_unit_test(a_new_host_is_recorded),
        cmocka_unit_test(text_of_the_server_changes_no_facts),
        cmocka_unit_test(versions_of_ssh_that_begin_prompts_with_the_login_are_known),
        cmocka_unit_test(a_log_may_arrive_byte_by_byte),
        cmocka_unit_test(the_method_of_authentication_is_read),
        cmocka_unit_test(the_reason_of_a_failure_is_read),
        cmocka_unit_test(the_reason_of_a_delay_is_read),
        cmocka_unit_test(the_reason_of_a_jumps_failure_is_read),
        cmocka_unit_test(lines_of_other_programs_are_ignored),
        cmocka_unit_test(an_unknown_ssh_option_is_a_usage_error),
        cmocka_unit_test(refused_channels_are_read),
        cmocka_unit_test(opened_channels_are_read),
        cmocka_unit_test(a_very_long_log_still_gives_its_complaint),
        cmocka_unit_test(damaged_logs_give_printable_facts_and_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
