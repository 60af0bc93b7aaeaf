/* Output of OpenSSH's ssh. The first byte chooses: `m` a message of a master connection, `e` the text on
 * standard error, anything else ssh's log. */
#include "tests/fuzz/fuzz.h"

#include "gateway/openssh/mux.h"
#include "gateway/openssh/ssh_log.h"
#include "base/banned.h"

static void check_message(const uint8_t *p, size_t n)
{
    struct mux_message m = {.type = MUX_HELLO};
    struct err err = ERR_INIT;
    size_t used = 0;
    if (mux_parse(p, n, &m, &used, &err) < 0)
        fuzz_expect_err(&err);
    assert(used <= n && (used == 0 || used >= 12));
    assert(fuzz_is_printable(m.reason));
}

static void check_log(const uint8_t *p, size_t n)
{
    struct gateway_hop hop = {.port = 22};
    struct destination to = {.host = "localhost", .port = 6060};
    struct err err = ERR_INIT;
    char reason[200] = "";
    struct ssh_log *l = calloc(1, sizeof *l);
    assert(l);
    ssh_log_feed(l, p[0] == 'e' ? SSH_STDERR : SSH_LOG, (const char *)p, n);
    ssh_log_describe(l, &hop);
    assert(fuzz_is_printable(hop.via) && fuzz_is_printable(hop.banner) && fuzz_is_printable(hop.host_key));
    assert(fuzz_is_printable(hop.server_ip) && fuzz_is_printable(hop.host_key_type));
    assert(fuzz_has_no_controls(hop.authentication, false));
    assert(ssh_log_explain_end(l, "host port 22", &err) == -1);
    fuzz_expect_err(&err);
    if (ssh_log_pop_refusal(l, &to, reason, sizeof reason))
        assert(reason[0] && fuzz_is_printable(reason));
    ssh_log_pop_confirmation(l, &to);
    free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (n == 0)
        return 0;
    if (p[0] == 'm')
        check_message(p + 1, n - 1);
    else
        check_log(p, n);
    return 0;
}
