/* Parsers of gateway and seal: ssh's settings and logs, keys, banners, encrypted files, signatures. */
#include "tests/cost/cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gateway/ssh/algorithms.h"
#include "gateway/ssh/certificate.h"
#include "gateway/ssh/preauth.h"
#include "gateway/ssh/knownhosts.h"
#include "gateway/openssh/mux.h"
#include "gateway/openssh/ssh_log.h"
#include "gateway/config/config.h"
#include "keys/agent.h"
#include "keys/keyfile.h"
#include "keys/privkey.h"
#include "seal/age.h"
#include "seal/age_armor.h"
#include "seal/age_header.h"
#include "seal/age_identity.h"
#include "seal/sshsig.h"

#include "base/banned.h"

/* ---- ssh ----------------------------------------------------------------------------------------------- */

static const struct cost_grammar settings[] = {
    {"identity files", "hostname a\nuser b\nport 22\n", "identityfile ~/.ssh/\1\n", "", NULL, 0},
    {"a repeated keyword", "hostname a\nuser b\nport 22\n", "user c\n", "", NULL, 0},
    {"unknown keywords", "hostname a\nuser b\nport 22\n", "k\1 a\n", "", NULL, 0},
    {"tokens", "hostname a\nuser b\nport 22\nproxycommand ", "%h%%", "\n", NULL, 0},
    {"variables", "hostname a\nuser b\nport 22\nidentityagent ", "${HOME}", "\n", NULL, 0},
    {"known hosts", "hostname a\nuser b\nport 22\nuserknownhostsfile ", "~/a ", "\n", NULL, 0},
    {"quotes", "hostname a\nuser b\nport 22\nuserknownhostsfile ", "\" ", "\n", NULL, 0},
    {"commas", "hostname a\nuser b\nport 22\nciphers ", "a,", "\n", NULL, 0},
    {"blanks", "hostname a\nuser b\nport 22\nciphers", " ", "\n", NULL, 0},
    {0},
};

static void read_settings(const char *p, size_t n)
{
    struct ssh_config c = {0};
    if (ssh_config_parse("ops@host", p, n, &c, NULL) == 0)
        ssh_config_release(&c);
}

#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFh"
static const struct cost_grammar known[] = {
    {"keys", "", "# Host h found: line 1\nh " KEY "\n", "", NULL, 0},
    {"markers", "", "# Host h found: line 1 CA\n@cert-authority h " KEY "\n", "", NULL, 0},
    {"revoked keys", "", "# Host h found: line 1 REVOKED\n@revoked h " KEY "\n", "", NULL, 0},
    {"comments", "", "#\n", "", NULL, 0},
    {"hosts", "", "h,", " " KEY "\n", NULL, 0},
    {"blanks", "h", " ", KEY "\n", NULL, 0},
    {"base64", "h ssh-ed25519 ", "AAAA", "\n", NULL, 0},
    {0},
};

static void read_known(const char *p, size_t n)
{
    static unsigned char key[51] = {0};
    const struct ssh_blob blob = {key, sizeof key};
    struct known_hosts k = {0};
    char preference[512];
    (void)n;
    if (known_hosts_parse(&k, "known_hosts", p, NULL) == 0) {
        (void)known_hosts_compare(&k, &blob, NULL);
        (void)known_hosts_check_usable(&k, NULL);
        known_hosts_preference(&k, preference, sizeof preference);
    }
    known_hosts_release(&k);
}

static const struct cost_grammar logs[] = {
    {"lines", "", "debug1: a\n", "", NULL, 0},
    {"one line", "", "a", "", NULL, 0},
    {"keys", "", "debug1: Offering public key: /a ED25519 SHA256:a explicit\n", "", NULL, 0},
    {"failures", "", "channel 1: open failed: connect failed: Connection refused\n", "", NULL, 0},
    {"returns", "", "\r\n", "", NULL, 0},
    {"controls", "", "\2", "", NULL, 0},
    {0},
};

static void read_log(const char *p, size_t n)
{
    static const enum ssh_log_source sources[] = {SSH_LOG, SSH_STDERR};
    const struct destination to = {.host = "localhost", .port = 6060};
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct gateway_hop hop = {.port = 22};
        char reason[200];
        struct ssh_log *l = calloc(1, sizeof *l);
        if (!l)
            abort();
        ssh_log_feed(l, sources[i], p, n);
        ssh_log_describe(l, &hop);
        (void)ssh_log_explain_end(l, "host", NULL);
        (void)ssh_log_pop_refusal(l, &to, reason, sizeof reason);
        free(l);
    }
}

static const struct cost_grammar preauth_bytes[] = {
    {"controls", "", "\2", "", NULL, 0},
    {"lines", "", "a\n", "", NULL, 0},
    {"SSH-2.0", "", "SSH-2.0-a\r\n", "", NULL, 0},
    {"commas", "", ",", "", NULL, 0},
    {"names", "", "a,", "", NULL, 0},
    {0},
};

static void read_preauth(const char *p, size_t n)
{
    for (enum preauth_end end = PREAUTH_CLOSED; end <= PREAUTH_FAILED; end++)
        (void)preauth_explain(p, n, end, 1500, NULL);
    (void)preauth_check(p, n, NULL);
}

static void append_number(struct buf *to, size_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_addc(to, (char)(n >> shift & 255));
}

/* A string in SSH's encoding: its length, then its bytes. */
static void append_text(struct buf *to, const char *text)
{
    append_number(to, strlen(text));
    buf_adds(to, text);
}

static void make_messages(struct buf *to, size_t n)
{
    while (to->len + 16 < n) {
        append_number(to, 8);
        append_number(to, 0x80000001);
        append_number(to, 1);
    }
}

static const struct cost_grammar messages[] = {
    {"messages", NULL, NULL, NULL, make_messages, 0},
    {0},
};

static void read_messages(const char *p, size_t n)
{
    for (size_t at = 0, used = 1; at < n && used > 0; at += used) {
        struct mux_message m = {.type = MUX_HELLO};
        used = 0;
        if (mux_parse(p + at, n - at, &m, &used, NULL) < 0)
            return;
    }
}

/* Ten lists of names, the first two of them long. */
static void make_algorithms(struct buf *to, size_t n)
{
    buf_addc(to, 20);
    buf_add(to, "0123456789abcdef", 16);
    for (int list = 0; list < 10; list++) {
        size_t names = list < 2 && n > 200 ? (n - 200) / 4 : 1;
        append_number(to, 2 * names + 1);
        for (size_t i = 0; i < names; i++)
            buf_adds(to, "a,");
        buf_addc(to, list < 2 ? 'b' : 'a');
    }
    buf_add(to, "\0\0\0\0\0", 5);
}

static const struct cost_grammar algorithm_lists[] = {
    {"names", NULL, NULL, NULL, make_algorithms, 0},
    {"commas",
     "\24"
     "0123456789abcdef\0\0\0\1",
     ",", "", NULL, 0},
    {0},
};

static void read_algorithms(const char *p, size_t n)
{
    struct algorithms a = {0};
    if (algorithms_read(p, n, &a, NULL) < 0)
        return;
    (void)algorithms_compare(&a, &a, NULL);
    algorithms_release(&a);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static void make_agent(struct buf *to, size_t n)
{
    buf_addc(to, 12);
    append_number(to, n / 16);
    while (to->len + 40 < n) {
        append_number(to, 15);
        append_text(to, "ssh-ed25519");
        append_text(to, "");
    }
}

static const struct cost_grammar agents[] = {
    {"keys", NULL, NULL, NULL, make_agent, 0},
    {0},
};

static void read_agent(const char *p, size_t n)
{
    struct agent a = {.fd = -1};
    (void)agent_parse_keys(&a, p, n, NULL);
    agent_release(&a);
}

static const struct cost_grammar key_files[] = {
    {"OpenSSH's", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "b3BlbnNzaC1rZXktdjEA\n",
     "-----END OPENSSH PRIVATE KEY-----\n", NULL, 0},
    {"one line", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "A", "\n-----END OPENSSH PRIVATE KEY-----\n", NULL,
     0},
    {"PEM", "-----BEGIN RSA PRIVATE KEY-----\n", "AAAA\n", "-----END RSA PRIVATE KEY-----\n", NULL, 0},
    {"headers of PEM", "-----BEGIN RSA PRIVATE KEY-----\n", "Proc-Type: 4,ENCRYPTED\n", "", NULL, 0},
    {"beginnings", "", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "", NULL, 0},
    {"dashes", "", "-", "", NULL, 0},
    {"blanks", "-----BEGIN OPENSSH PRIVATE KEY-----\n", " ", "", NULL, 0},
    {0},
};

static void read_key(const char *p, size_t n)
{
    const struct secret passphrase = {.text = "secret", .len = 6};
    struct keyfile k = {0};
    struct privkey *key = NULL;
    if (keyfile_parse(p, n, &k, NULL) == 0 && k.rounds < 100 &&
        privkey_parse(p, n, &(struct passphrase){&passphrase, -1}, &key, NULL) == 0)
        privkey_free(key);
    keyfile_release(&k);
}

static void make_certificate(struct buf *to, size_t n)
{
    append_text(to, "ssh-ed25519-cert-v01@openssh.com");
    while (to->len + 20 < n)
        append_text(to, "a");
}

static const struct cost_grammar certificates[] = {
    {"principals", NULL, NULL, NULL, make_certificate, 0},
    {0},
};

static void read_certificate(const char *p, size_t n)
{
    struct certificate c = {0};
    if (certificate_parse(p, n, &c, NULL) == 0)
        certificate_release(&c);
}

/* ---- age ----------------------------------------------------------------------------------------------- */

static const struct cost_grammar headers[] = {
    {"stanzas", "age-encryption.org/v1\n", "-> a b\nAAAA\n", "--- AAAA\n", NULL, 0},
    {"arguments", "age-encryption.org/v1\n-> a", " b", "\nAAAA\n--- AAAA\n", NULL, 0},
    {"lines of a body", "age-encryption.org/v1\n-> a b\n",
     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n", "--- AAAA\n", NULL, 0},
    {"arrows", "age-encryption.org/v1\n", "-> ", "", NULL, 0},
    {0},
};

static void read_header(const char *p, size_t n)
{
    struct age_header h = {.n = 0};
    if (age_header_parse(p, n, &h, NULL) == 0)
        age_header_release(&h);
}

static const struct cost_grammar armors[] = {
    {"lines", "-----BEGIN AGE ENCRYPTED FILE-----\n",
     "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
     "-----END AGE ENCRYPTED FILE-----\n", NULL, 0},
    {"blanks", "", " \n", "-----BEGIN AGE ENCRYPTED FILE-----\n", NULL, 0},
    {"one line", "-----BEGIN AGE ENCRYPTED FILE-----\n", "A", "", NULL, 0},
    {0},
};

static void read_armor(const char *p, size_t n)
{
    unsigned char chunk[4096];
    size_t got = sizeof chunk;
    struct age_input *in = NULL;
    int fd = memfd_create("age", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, p, n, NULL) < 0 || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    if (age_input_new(fd, -1, &in, NULL) == 0)
        while (got == sizeof chunk && age_input_read(in, chunk, sizeof chunk, &got, NULL) == 0)
            continue;
    age_input_free(in);
    close(fd);
}

#define SECRET "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX\n"
static const struct cost_grammar identity_files[] = {
    {"identities", "", SECRET, "", NULL, 0},
    {"comments", "", "#\n", "", NULL, 0},
    {"one line", "AGE-SECRET-KEY-1", "Q", "\n", NULL, 0},
    {"blanks", "", " ", "\n", NULL, 0},
    {0},
};

static void read_identities(const char *p, size_t n)
{
    struct age_identities *identities = NULL;
    if (age_identities_new(NULL, NULL, 0, &identities, NULL) < 0)
        abort();
    (void)age_identities_parse(identities, p, n, "/nowhere", NULL);
    age_identities_free(identities);
}

static const struct cost_grammar recipients[] = {
    {"one word", "age1", "q", "", NULL, 0},
    {"a key", "ssh-ed25519 ", "AAAA", "", NULL, 0},
    {"blanks", "", " ", "a", NULL, 0},
    {0},
};

static void read_recipient(const char *p, size_t n)
{
    struct age_recipients *r = NULL;
    (void)n;
    if (age_recipients_new(&r, NULL) < 0)
        abort();
    (void)age_recipients_add(r, p, "here", NULL);
    age_recipients_free(r);
}

/* ---- signatures ---------------------------------------------------------------------------------------- */

static const struct cost_grammar signatures[] = {
    {"lines", "-----BEGIN SSH SIGNATURE-----\n", "AAAA\n", "-----END SSH SIGNATURE-----\n", NULL, 0},
    {"one line", "-----BEGIN SSH SIGNATURE-----\n", "A", "\n-----END SSH SIGNATURE-----\n", NULL, 0},
    {"beginnings", "", "-----BEGIN SSH SIGNATURE-----\n", "", NULL, 0},
    {"blanks", "-----BEGIN SSH SIGNATURE-----\n", " ", "", NULL, 0},
    {0},
};

static void read_signature(const char *p, size_t n)
{
    struct sshsig s = {0};
    if (sshsig_parse(p, n, &s, NULL) == 0)
        sshsig_release(&s);
}

/* A valid signature, in the namespace of bundles, of a message that no test here uses. */
static const char armor[] = "-----BEGIN SSH SIGNATURE-----\n"
                            "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgpgFTj5a8uHU1OiQ7DyI1lGKRCc\n"
                            "HDHmVVRStuxTdv/fAAAAAPcHJvZmdyYWItYnVuZGxlAAAAAAAAAAZzaGE1MTIAAABTAAAA\n"
                            "C3NzaC1lZDI1NTE5AAAAQG9vKHRtrv9IibTaewkSXmtn0N0q0JrKYV3zGZdcoyUCqQfLeJ\n"
                            "hL+fFdL+KCWhNMfENT7INrS7h3t4pdc5ZsuAg=\n"
                            "-----END SSH SIGNATURE-----\n";
#define SIGNER "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKYBU4+WvLh1NTokOw8iNZRikQnBwx5lVUUrbsU3b/3w"

static const struct cost_grammar signed_messages[] = {
    {"a manifest", "{", "\"a\":1,", "}", NULL, 0},
    {0},
};

static void check_signature(const char *p, size_t n)
{
    struct sshsig s = {0};
    if (sshsig_parse(armor, strlen(armor), &s, NULL) < 0)
        abort();
    (void)sshsig_verify(&s, p, n, NULL);
    sshsig_release(&s);
}

/* The key's exponent and modulus and the signature are equally long: a third of the input each. */
static void make_rsa_signature(struct buf *to, size_t n)
{
    struct buf key = BUF_INIT(SSHSIG_MAX), body = BUF_INIT(SSHSIG_MAX * 2);
    size_t part = n * 3 / 4 / 3 < 100 ? 40 : n * 3 / 4 / 3 - 60;
    unsigned char *number = malloc(part);
    if (!number || part > SSHSIG_MAX)
        abort();
    memset(number, 0x7f, part);
    append_text(&key, "ssh-rsa");
    for (int i = 0; i < 2; i++) {
        append_number(&key, part);
        buf_add(&key, number, part);
    }
    buf_adds(&body, "SSHSIG");
    append_number(&body, 1);
    append_number(&body, key.len);
    buf_add(&body, key.data, key.len);
    append_text(&body, "profgrab-bundle");
    append_text(&body, "");
    append_text(&body, "sha512");
    append_number(&body, 4 + 12 + 4 + part);
    append_text(&body, "rsa-sha2-512");
    append_number(&body, part);
    buf_add(&body, number, part);
    buf_adds(to, "-----BEGIN SSH SIGNATURE-----\n");
    ssh_base64_add(to, body.data, body.len);
    buf_adds(to, "\n-----END SSH SIGNATURE-----\n");
    free(number);
    buf_release(&key);
    buf_release(&body);
}

static const struct cost_grammar rsa_signatures[] = {
    {"long numbers", NULL, NULL, NULL, make_rsa_signature, 0},
    {0},
};

static void check_rsa_signature(const char *p, size_t n)
{
    struct sshsig s = {0};
    if (sshsig_parse(p, n, &s, NULL) < 0)
        return;
    (void)sshsig_verify(&s, "message", 7, NULL);
    sshsig_release(&s);
}

/* Files of allowed signers: ssh-keygen reads them, and profgrab parses the output of ssh-keygen. */
static const struct cost_grammar allowed_signers[] = {
    {"lines of the signer", "", "a\1@x " SIGNER "\n", "", NULL, 0},
    {"lines of others", "", "a@x " KEY "\n", "", NULL, 0},
    {"principals of a line", "", "a\1,", "a " SIGNER "\n", NULL, 0},
    {"comments", "", "#\n", "", NULL, 0},
    {"options", "a namespaces=\"", "a,", "\" " SIGNER "\n", NULL, 0},
    {0},
};

static void read_allowed_signers(const char *p, size_t n)
{
    const struct sshsig_claim claim = {.armor = armor, .namespace = "profgrab-bundle", .p = "m", .n = 1};
    const struct proc_limits limits = {.timeout_ms = 60000, .cancel_fd = -1, .max_output = 1u << 16};
    char path[60], *principal = NULL;
    struct err err = ERR_INIT;
    int fd = memfd_create("allowed", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, p, n, NULL) < 0)
        abort();
    /* ssh-keygen opens the file by its name. */
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (sshsig_find_principal(path, &claim, &limits, &principal, &err) == 0)
        free(principal);
    close(fd);
}

const struct cost_parser cost_ssh_parsers[] = {
    {"ssh_config_parse", read_settings, settings, 29, 0},
    {"known_hosts_parse", read_known, known, 2, 0},
    {"ssh_log_feed", read_log, logs, 2, 0},
    {"preauth_explain", read_preauth, preauth_bytes, 2, 0},
    {"mux_parse", read_messages, messages, 2, 0},
    {"algorithms_read", read_algorithms, algorithm_lists, 2, 0},
    {"agent_parse_keys", read_agent, agents, 2, 0},
    {"keyfile_parse, privkey_parse", read_key, key_files, 6, 0},
    {"certificate_parse", read_certificate, certificates, 2, 0},
    {"age_header_parse", read_header, headers, 2, 0},
    {"age_input_read", read_armor, armors, 2, 0},
    {"age_identities_parse", read_identities, identity_files, 2, 4u << 20},
    {"age_recipients_add", read_recipient, recipients, 2, 0},
    {"sshsig_parse", read_signature, signatures, 2, 0},
    {"sshsig_verify", check_signature, signed_messages, 2, 0},
    {"sshsig_verify of RSA", check_rsa_signature, rsa_signatures, 200, SSHSIG_MAX},
    {"sshsig_find_principal", read_allowed_signers, allowed_signers, 2, 512u << 10},
    {0},
};
