/* The parser of the output of `ssh -G`, with a fixed environment. */
#include "tests/fuzz/fuzz.h"

#include "gateway/config/config.h"
#include "base/banned.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    setenv("SSH_AUTH_SOCK", "/run/agent", 1);
    setenv("PLACE", "/some/place", 1);
    return 0;
}

/* Every item is one line. */
static void check_list(const struct strlist *l)
{
    for (size_t i = 0; i < l->n; i++)
        assert(l->items[i] && !strchr(l->items[i], '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct ssh_config c = {0};
    struct err err = ERR_INIT;
    if (ssh_config_parse("ops@host", p, n, &c, &err) == 0) {
        assert(c.hostname && c.user && c.port >= 1 && c.port <= 65535);
        assert(c.connect.timeout_s <= INT32_MAX);
        assert(!c.login.agent || strcmp(c.login.agent, "none") != 0 || memmem(p, n, "$", 1));
        assert(!c.connect.jump || strcmp(c.connect.jump, "none") != 0);
        /* ssh compares with "none" before it expands tokens: "none%k" may become a command of that name. */
        bool tokens = memchr(p, '%', n) != NULL;
        assert(!c.connect.proxy_command || tokens || strcmp(c.connect.proxy_command, "none") != 0);
        check_list(&c.login.identity_files);
        check_list(&c.login.certificate_files);
        check_list(&c.host_key.files);
        assert(c.host_key.n_user_files <= c.host_key.files.n);
        assert(!c.connect.control_path || tokens || strcmp(c.connect.control_path, "none") != 0);
    } else {
        assert(!c.hostname && !c.user);
        fuzz_expect_err(&err);
    }
    ssh_config_release(&c);
    return 0;
}
