/* Logins that differ in one thing have different keys, under which passwords and sessions are stored. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "gateway/ssh/login_key.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* Returns a new string. */
static char *key_of(const struct hop *hop)
{
    struct buf b = BUF_INIT(LOGIN_KEY_MAX);
    struct err err = ERR_INIT;
    login_key_add(&b, hop);
    assert_ok(buf_check(&b, "the key", &err), &err);
    return buf_detach(&b);
}

static char *key_of_config(const struct ssh_config *config)
{
    const struct hop hop = {.config = config};
    return key_of(&hop);
}

/* The strings, flags and lists that may differ between configurations, as offsets. */
#define AT(field) offsetof(struct ssh_config, field)
static const size_t texts[] = {
    AT(user),
    AT(hostname),
    AT(login.agent),
    AT(host_key.alias),
    AT(connect.bind_address),
    AT(connect.proxy_command),
    AT(requested.jump),
    AT(requested.config),
    AT(login.preferred),
    AT(algorithms.key_exchanges),
    AT(algorithms.host_keys),
    AT(algorithms.ciphers),
    AT(algorithms.macs),
    AT(algorithms.keys),
};
static const size_t flags[] = {
    AT(login.identities_only), AT(login.publickey), AT(login.password),      AT(login.keyboard_interactive),
    AT(login.gssapi),          AT(login.hostbased), AT(host_key.hash_names),
};
static const size_t lists[] = {AT(login.identity_files), AT(login.certificate_files), AT(host_key.files)};

static void *field_at(struct ssh_config *c, size_t offset)
{
    return (char *)c + offset;
}

static void set_text(struct ssh_config *c, size_t offset, char *text)
{
    memcpy(field_at(c, offset), &text, sizeof text);
}

/* Asserts that all keys differ from each other, and frees them. */
static void assert_all_differ_and_free(char **keys, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(keys[i], keys[k]);
    for (size_t i = 0; i < n; i++)
        free(keys[i]);
}

static void any_difference_makes_another_login(void **state)
{
    (void)state;
    static char value[] = "value", nothing[] = "";
    char *items[] = {value};
    char *keys[100];
    size_t n = 0;
    keys[n++] = key_of_config(&(struct ssh_config){.port = 22});
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ssh_config c = {.port = 22};
        set_text(&c, texts[i], value);
        keys[n++] = key_of_config(&c);
        set_text(&c, texts[i], nothing);
        keys[n++] = key_of_config(&c);
    }
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct ssh_config c = {.port = 22};
        memcpy(field_at(&c, flags[i]), &(bool){true}, sizeof(bool));
        keys[n++] = key_of_config(&c);
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct ssh_config c = {.port = 22};
        memcpy(field_at(&c, lists[i]), &(struct strlist){.items = items, .n = 1}, sizeof(struct strlist));
        keys[n++] = key_of_config(&c);
    }
    keys[n++] = key_of_config(&(struct ssh_config){.port = 2222});
    keys[n++] = key_of_config(&(struct ssh_config){.port = 22, .connect.family = ADDRESS_IPV6});
    keys[n++] = key_of_config(&(struct ssh_config){.port = 22, .host_key.n_user_files = 1});
    keys[n++] = key_of_config(&(struct ssh_config){.port = 22, .host_key.policy = HOST_KEY_ACCEPT_NEW});
    keys[n++] = key_of_config(&(struct ssh_config){.port = 22, .only_openssh = "PKCS11Provider"});
    assert_true(n <= sizeof keys / sizeof *keys);
    assert_all_differ_and_free(keys, n);
}

/* The content of one field cannot look like the contents of two fields. */
static void fields_are_separated(void **state)
{
    (void)state;
    static char a[] = "a", ab[] = "a\n1:b", b[] = "b", ba[] = "b\n1:a";
    char *two[] = {a, b}, *one[] = {ab};
    char *keys[] = {
        key_of_config(&(struct ssh_config){.user = ab, .hostname = a}),
        key_of_config(&(struct ssh_config){.user = a, .hostname = ba}),
        key_of_config(&(struct ssh_config){.user = a, .hostname = b}),
        key_of_config(&(struct ssh_config){.host_key.files = {.items = two, .n = 2}}),
        key_of_config(&(struct ssh_config){.host_key.files = {.items = one, .n = 1}}),
        key_of_config(&(struct ssh_config){.login.certificate_files = {.items = two, .n = 1},
                                           .host_key.files = {.items = two + 1, .n = 1}}),
    };
    assert_all_differ_and_free(keys, sizeof keys / sizeof *keys);
}

static void earlier_hops_are_part_of_the_login(void **state)
{
    (void)state;
    static char bastion[] = "bastion", other[] = "other";
    const struct ssh_config host = {.port = 22}, jump = {.hostname = bastion},
                            other_jump = {.hostname = other};
    const struct hop first = {.config = &jump}, second = {.config = &other_jump},
                     both = {.config = &other_jump, .previous = &first};
    char *keys[] = {
        key_of(&(struct hop){.config = &host}),
        key_of(&(struct hop){.config = &host, .previous = &first}),
        key_of(&(struct hop){.config = &host, .previous = &second}),
        key_of(&(struct hop){.config = &host, .previous = &both}),
        key_of(&(struct hop){.config = &host, .via = SSH_VIA_OPENSSH}),
    };
    assert_all_differ_and_free(keys, sizeof keys / sizeof *keys);
}

/* The user's name for the host, timeouts and compression are not part of a login. */
static void name_timeout_and_compression_do_not_change_a_login(void **state)
{
    (void)state;
    static char name[] = "mine-1", other[] = "mine-2";
    const struct ssh_config a = {.port = 22, .address = name, .connect.timeout_s = 1},
                            b = {.port = 22, .address = other, .compression = true, .compressible = true};
    char *one = key_of_config(&a), *two = key_of_config(&b);
    assert_string_equal(one, two);
    free(one);
    free(two);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_difference_makes_another_login),
        cmocka_unit_test(fields_are_separated),
        cmocka_unit_test(earlier_hops_are_part_of_the_login),
        cmocka_unit_test(name_timeout_and_compression_do_not_change_a_login),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
