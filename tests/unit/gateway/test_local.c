/* Addresses to listen on: accepted and refused ones, and existing files at a socket's path. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/local.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- parsing ----------------------------------------------------------------------------------------- */

/* Asserts the printed name of an address, the address for clients, and whether only this machine can connect.
 */
static void assert_address_read(const char *text, const char *name, const char *client_name, bool private)
{
    struct local_address a;
    struct err err = ERR_INIT;
    char dst[LOCAL_ADDRESS_NAME];
    assert_ok(local_address_parse(text, &a, &err), &err);
    assert_string_equal(local_address_name(&a, dst), name);
    assert_string_equal(local_address_client_name(&a, dst), client_name);
    assert_int_equal(local_address_is_private(&a), private);
}

static void addresses_are_read(void **state)
{
    (void)state;
    assert_address_read("6060", "127.0.0.1:6060", "127.0.0.1:6060", true);
    assert_address_read("0", "127.0.0.1:0", "127.0.0.1:0", true);
    assert_address_read("127.0.0.1:65535", "127.0.0.1:65535", "127.0.0.1:65535", true);
    assert_address_read("127.1.2.3:1", "127.1.2.3:1", "127.1.2.3:1", true);
    assert_address_read("localhost:6060", "127.0.0.1:6060", "127.0.0.1:6060", true);
    assert_address_read("[::1]:6060", "[::1]:6060", "[::1]:6060", true);
    assert_address_read("0.0.0.0:6060", "0.0.0.0:6060", "127.0.0.1:6060", false);
    assert_address_read("[::]:6060", "[::]:6060", "[::1]:6060", false);
    assert_address_read("192.0.2.7:6060", "192.0.2.7:6060", "192.0.2.7:6060", false);
    assert_address_read("[2001:db8::7]:6060", "[2001:db8::7]:6060", "[2001:db8::7]:6060", false);
    assert_address_read("unix:/run/x.sock", "/run/x.sock", "/run/x.sock", true);
    assert_address_read("unix:x:y.sock", "x:y.sock", "x:y.sock", true);
}

static void a_home_is_expanded(void **state)
{
    (void)state;
    assert_int_equal(setenv("HOME", "/home/ann", 1), 0);
    assert_address_read("unix:~/x.sock", "/home/ann/x.sock", "/home/ann/x.sock", true);
}

static void assert_address_refused(const char *text)
{
    struct local_address a = {.ip = "untouched"};
    struct err err = ERR_INIT;
    if (local_address_parse(text, &a, &err) == 0)
        fail_msg("\"%s\" was understood", text);
    assert_int_equal(err.kind, ERR_USAGE);
    assert_string_equal(a.ip, "untouched");
}

static void invalid_addresses_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",           ":",          ":6060",       "*:6060",           "6060 ",
        "-1",         "65536",      "0x17",        "127.0.0.1",        "127.0.0.1:",
        "::1:6060",   "[::1]",      "[::1]6060",   "[127.0.0.1]:6060", "[]:6060",
        "file-03:60", "127.1:6060", "1.2.3.4.5:6", "[::1:6060",        "::1]:6060",
        "localhost",  "unix:",      "unix",        "unix:a\nb",        "http://127.0.0.1:6060",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_address_refused(texts[i]);
}

static void refused_addresses_have_hints(void **state)
{
    (void)state;
    struct local_address a;
    struct err err = ERR_INIT;
    char path[200] = "unix:/";
    assert_int_equal(local_address_parse(":6060", &a, &err), -1);
    assert_string_equal(err.msg, "\":6060\" is not an address to listen on");
    assert_contains(err.hint, "0.0.0.0:PORT");
    memset(path + 6, 'x', sizeof path - 7);
    assert_int_equal(local_address_parse(path, &a, &err), -1);
    assert_contains(err.msg, "has at most");
    path[5 + sizeof a.path - 1] = '\0';
    assert_ok(local_address_parse(path, &a, &err), &err);
    assert_int_equal(strlen(a.path), sizeof a.path - 1);
}

/* Any accepted address can be printed and parsed again. */
static void check_accepted_address(void *ctx, const struct damaged *s)
{
    struct local_address a, again;
    char name[LOCAL_ADDRESS_NAME];
    char *text = damaged_text(s);
    (void)ctx;
    if (local_address_parse(text, &a, NULL) == 0 && !a.path[0]) {
        assert_int_equal(local_address_parse(local_address_name(&a, name), &again, NULL), 0);
        assert_string_equal(again.ip, a.ip);
        assert_int_equal(again.port, a.port);
    }
    free(text);
}

static void accepted_addresses_can_be_printed_and_parsed_again(void **state)
{
    (void)state;
    static const char *const texts[] = {"6060", "127.0.0.1:6060", "[2001:db8::7]:6060", "localhost:80",
                                        "unix:/run/user/1000/pprof.sock"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        damage_everywhere(texts[i], strlen(texts[i]), check_accepted_address, NULL);
}

/* ---- sockets ----------------------------------------------------------------------------------------- */

static struct local_listener listen_on(const char *text)
{
    struct local_address a;
    struct local_listener l;
    struct err err = ERR_INIT;
    assert_ok(local_address_parse(text, &a, &err), &err);
    assert_ok(local_listener_open(&a, &l, &err), &err);
    return l;
}

static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = fd_socket(AF_UNIX, NULL);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void assert_listening_refused(const struct local_address *a, enum err_kind kind, const char *part)
{
    struct local_listener l = LOCAL_LISTENER_INIT;
    struct err err = ERR_INIT;
    assert_int_equal(local_listener_open(a, &l, &err), -1);
    assert_int_equal(l.fd, -1);
    assert_contains(err.msg, part);
    assert_int_equal(err.kind, kind);
}

static void a_port_is_listened_on_once(void **state)
{
    (void)state;
    struct local_listener l = listen_on("0");
    char from[LOCAL_ADDRESS_NAME], name[LOCAL_ADDRESS_NAME], expected[200];
    assert_true(l.address.port > 0);
    assert_int_equal(local_listener_accept(&l, from), -1);
    assert_int_equal(errno, EAGAIN);
    snprintf(expected, sizeof expected, "cannot listen on %s: another program listens there",
             local_address_name(&l.address, name));
    assert_listening_refused(&l.address, ERR_BUSY, expected);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)l.address.port)};
    int fd = fd_socket(AF_INET, NULL);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    int accepted = local_listener_accept(&l, from);
    assert_true(accepted >= 0);
    assert_memory_equal(from, "127.0.0.1:", 10);
    close(fd);
    close(accepted);
    /* The port can be bound again at once, although one of its connections lingers. */
    struct local_address again = l.address;
    local_listener_close(&l);
    local_listener_close(&l);
    struct err err = ERR_INIT;
    assert_ok(local_listener_open(&again, &l, &err), &err);
    local_listener_close(&l);
}

static void a_socket_is_private_and_removed(void **state)
{
    char *path = file_join(*state, "s"), *text = format_text("unix:%s", path), from[LOCAL_ADDRESS_NAME];
    mode_t before = umask(0);
    struct local_listener l = listen_on(text);
    umask(before);
    assert_int_equal(scratch_mode(path), 0600);
    int fd = connect_to(path), accepted = local_listener_accept(&l, from);
    assert_true(accepted >= 0);
    assert_string_equal(from, "a local program");
    assert_listening_refused(&l.address, ERR_BUSY, "another program listens there");
    close(fd);
    close(accepted);
    local_listener_close(&l);
    assert_false(file_exists(path));
    free(path);
    free(text);
}

static void an_abandoned_socket_is_replaced(void **state)
{
    char *path = file_join(*state, "s"), *text = format_text("unix:%s", path);
    struct local_listener old = listen_on(text);
    /* A program that kill -9 ends leaves the socket's file. */
    fd_close(&old.fd);
    assert_true(file_exists(path));
    struct local_listener l = listen_on(text);
    close(connect_to(path));
    /* Closing the old listener does not remove the new socket. */
    local_listener_close(&old);
    close(connect_to(path));
    local_listener_close(&l);
    assert_false(file_exists(path));
    free(path);
    free(text);
}

static void other_files_are_not_replaced(void **state)
{
    struct local_address a = {.path = ""};
    char *path = scratch_file(*state, "s", "mine", 4);
    snprintf(a.path, sizeof a.path, "%s", path);
    assert_listening_refused(&a, ERR_EXISTS, "the file exists and is no socket");
    struct buf b = scratch_read(path);
    assert_string_equal(buf_str(&b), "mine");
    buf_release(&b);
    /* The target of a link is not examined either. */
    char *link = file_join(*state, "link");
    assert_int_equal(symlink(path, link), 0);
    snprintf(a.path, sizeof a.path, "%s", link);
    assert_listening_refused(&a, ERR_EXISTS, "no socket");
    assert_true(file_exists(link));
    snprintf(a.path, sizeof a.path, "%s/no/such", (char *)*state);
    assert_listening_refused(&a, ERR_LOCAL_IO, "cannot listen on");
    free(path);
    free(link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(a_home_is_expanded),
        cmocka_unit_test(invalid_addresses_are_refused),
        cmocka_unit_test(refused_addresses_have_hints),
        cmocka_unit_test(accepted_addresses_can_be_printed_and_parsed_again),
        cmocka_unit_test(a_port_is_listened_on_once),
        SCRATCH(a_socket_is_private_and_removed),
        SCRATCH(an_abandoned_socket_is_replaced),
        SCRATCH(other_files_are_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
