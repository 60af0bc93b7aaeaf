/* Redaction: command lines, labels in dumps and profiles, other strings of a profile, requests. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "bundle/redact/redact_lines.h"
#include "bundle/redact/redact_words.h"
#include "proto/profile.pb-c.h"
#include "proto/proto.h"
#include "tests/unit/profiles.h"
#include "tests/unit/damage.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

/* ---- command lines ----------------------------------------------------------------------------------- */

/* The cases separate arguments by a bar. */
static void secrets_in_command_lines_are_redacted(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out; /* out: NULL if unchanged */
    } cases[] = {
        {"/usr/bin/x|--password=hunter2", "/usr/bin/x|--password=[redacted]"},
        {"x|-password|hunter2|y", "x|-password|[redacted]|y"},
        {"x|--api-key|abc", "x|--api-key|[redacted]"},
        {"x|--apiKey=abc", "x|--apiKey=[redacted]"},
        {"x|--db_password=a b&c", "x|--db_password=[redacted]"},
        {"x|DBPASSWORD=a", "x|DBPASSWORD=[redacted]"},
        {"env|AWS_SECRET_ACCESS_KEY=abc|TOKEN=|x", "env|AWS_SECRET_ACCESS_KEY=[redacted]|TOKEN=|x"},
        {"x|--token|--verbose", NULL},
        {"x|-p|secret", "x|-p|[redacted]"},
        {"x|-p|8080", NULL},
        {"x|--port=8080|--listen=:6060", NULL},
        {"x|--password-file=/etc/p|--tls-key-path|/etc/k.pem", NULL},
        {"x|--max-tokens=100|--tokenizer=bpe|--bypass=1|--compass|n", NULL},
        {"x|--key=Zm9vYmFyMTIzNDU2Nzg5MA", "x|--key=[redacted]"},
        {"x|--key=/etc/tls/key.pem|--key=name", NULL},
        {"x|postgres://u:pw@db/x", "x|postgres://u:[redacted]@db/x"},
        {"x|--dsn=u:pw@tcp(db:3306)/x", "x|--dsn=u:[redacted]@tcp(db:3306)/x"},
        {"x|https://host:8080/@me|git@host:path", NULL},
        {"x|host=db password=pw user=u", "x|host=db password=[redacted] user=u"},
        {"x|https://h/?token=abc&page=2", "x|https://h/?token=[redacted]&page=2"},
        {"x|-H|Authorization: Bearer abc def", "x|-H|Authorization: [redacted]"},
        {"x|ghp_0123456789abcdef0123", "x|[redacted]"},
        {"x|glpat-0123456789abcdef|y", "x|[redacted]|y"},
        {"x|a,eyJhbGciOiJIUzI1NiJ9.e30.abc,b", "x|a,[redacted],b"},
        {"x|my_ghp_0123456789abcdef0123", NULL},
        {"x|--password=[redacted]", NULL},
        /* JSON and similar forms as an argument. */
        {"x|{\"password\":\"x\"}", "x|{\"password\":\"[redacted]\"}"},
        {"x|--data={\"token\": \"x y\", \"page\": \"2\"}",
         "x|--data={\"token\": \"[redacted]\", \"page\": \"2\"}"},
        {"curl|-d|{ \"db\" : { \"password\" : \"a\\\"b\" }, \"n\": 1 }",
         "curl|-d|{ \"db\" : { \"password\" : \"[redacted]\" }, \"n\": 1 }"},
        {"x|{\\\"secret\\\":\\\"a\\\\\\\"b\\\",\\\"n\\\":1}",
         "x|{\\\"secret\\\":\\\"[redacted]\\\",\\\"n\\\":1}"},
        {"sh|-c|curl -d '{\"token\":\"x\"}' h", "sh|-c|curl -d '{\"token\":\"[redacted]\"}' h"},
        {"x|{'passwd': 'x', 'user': 'u'}", "x|{'passwd': '[redacted]', 'user': 'u'}"},
        {"x|{\"pin_password\": 1234, \"on\": true}", "x|{\"pin_password\": [redacted], \"on\": true}"},
        {"x|{\"password\": null, \"use_token\":true}", NULL},
        {"x|{\"credentials\": {\"name\": \"n\", \"value\": [1, 2]}, \"n\": 1}",
         "x|{\"credentials\": [redacted], \"n\": 1}"},
        {"x|{\"tokens\":[\"a\"]|{password:x,user:u}",
         "x|{\"tokens\":[redacted]|{password:[redacted],user:u}"},
        {"x|{\"password\":\"cut", "x|{\"password\":\"[redacted]"},
        {"x|{\"key\":\"name\",\"password_file\":\"/x\"}", NULL},
        {"x|{\"key\":\"Zm9vYmFyMTIzNDU2Nzg5MA\"}", "x|{\"key\":\"[redacted]\"}"},
        {"sh|-c|x --password='hunter 2' --token=\"t\" --secret s3 -v",
         "sh|-c|x --password='[redacted]' --token=\"[redacted]\" --secret [redacted] -v"},
        {"x|password = hunter2", "x|password = [redacted]"},
        {"sh|-c|x --token --verbose", NULL},
        {"x|{\"cmdline\": [\"x\", \"--password\", \"s\", \"-v\"]}",
         "x|{\"cmdline\": [\"x\", \"--password\", \"[redacted]\", \"-v\"]}"},
        {"x|password: a, b", "x|password: [redacted]"},
        {"x|reading token : 5", NULL},
        /* A slash in a URL's password. */
        {"x|postgres://u:p/w@host/db", "x|postgres://u:[redacted]@host/db"},
        {"x|--db=postgres://u:/p/w@host/db?a=b", "x|--db=postgres://u:[redacted]@host/db?a=b"},
        {"x|amqp://u:1/w@h", "x|amqp://u:[redacted]@h"},
        {"x|https://u:p/w@host/x", "x|https://u:[redacted]@host/x"},
        {"x|https://u:p@s@host/x", "x|https://u:[redacted]@host/x"},
        {"x|https://host:8080/a@b", NULL},
        {"x|http://h:80/x http://u@h", NULL},
        {"x|redis://h:6379/0,redis://u:pw@h", "x|redis://h:6379/0,redis://u:[redacted]@h"},
        {"x|postgres://h:5432/db?mail=a@b", NULL},
        {"x|postgres://u:[redacted]@host/db", NULL},
        {"x|a:b/c@d", NULL},
        {"x||--secret||", "x||--secret||"},
        /* USER:PASSWORD, options of Redis and Windows, a value that begins with a dash. */
        {"curl|-u|user:sesame|h", "curl|-u|user:[redacted]|h"},
        {"curl|--user|user:a b:c", "curl|--user|user:[redacted]"},
        {"x|--basic-auth=user:sesame", "x|--basic-auth=user:[redacted]"},
        {"docker|--user|1000:1000|-u|http://h:80", NULL},
        {"x|--user=alice|-u|root", NULL},
        {"x|--requirepass|sesame|--masterauth|sesame", "x|--requirepass|[redacted]|--masterauth|[redacted]"},
        {"x|--bind-ldappass=sesame|--bypass=a|--npass=2",
         "x|--bind-ldappass=[redacted]|--bypass=a|--npass=2"},
        {"x|/password:sesame|/user:u", "x|/password:[redacted]|/user:u"},
        {"x|--password|-Sesame!7|-v", "x|--password|[redacted]|-v"},
        {"x|--password|-a1b2c3d4e5|-v", "x|--password|[redacted]|-v"},
        {"x|--password|-listen=:80|--token|--log-level", NULL},
        {"sh|-c|mysql -u x -p sesame -h db", "sh|-c|mysql -u x -p [redacted] -h db"},
        {"sh|-c|curl -u user:sesame h", "sh|-c|curl -u user:[redacted] h"},
        {"x|--tokens|sesame1|--tokens|100|API_TOKENS=ses7 ame",
         "x|--tokens|[redacted]|--tokens|100|API_TOKENS=[redacted]"},
        {"sh|-c|mkdir -p /a/b; ssh -p 22 h; docker run -p 127.0.0.1:80:80/tcp; iptables -p tcp", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT(4096);
        struct redact_tally tally = {{0}};
        char *in = format_text("%s", cases[i].in);
        size_t n = strlen(cases[i].in);
        for (size_t k = 0; k < n; k++)
            in[k] = in[k] == '|' ? '\0' : in[k];
        redact_cmdline(in, n, &b, &tally);
        for (size_t k = 0; k < b.len; k++)
            b.data[k] = b.data[k] == '\0' ? '|' : b.data[k];
        assert_string_equal(buf_str(&b), cases[i].out ? cases[i].out : cases[i].in);
        assert_int_equal(redact_sum(&tally) > 0, cases[i].out && strcmp(cases[i].in, cases[i].out) != 0);
        buf_release(&b);
        free(in);
    }
}

/* The rules `option`, `url` and `token` of docs/formats.md: each redaction is counted under its rule, and
 * under no other. */
static void each_rule_redacts_only_its_own_cases(void **state)
{
    (void)state;
#define RANDOM "Zm9vYmFyMTIzNDU2Nzg5MA"
    static const struct {
        const char *argument;
        int rule; /* -1: unchanged */
    } cases[] = {
        {"--db-password=x", REDACT_OPTION},
        {"--dbPasswd=x", REDACT_OPTION},
        {"PGPASSWORD=x", REDACT_OPTION},
        {"--vault.token=x", REDACT_OPTION},
        {"CLIENT_SECRET=x", REDACT_OPTION},
        {"API_KEY=x", REDACT_OPTION},
        {"--access-key=x", REDACT_OPTION},
        {"--credentials=x", REDACT_OPTION},
        {"Cookie: a=b", REDACT_OPTION},
        {"X-Authorization: Basic x", REDACT_OPTION},
        {"https://host/?token=x", REDACT_OPTION},
        {"--passphrase=x", REDACT_OPTION},
        {"--key=" RANDOM, REDACT_OPTION},
        {"--auth=" RANDOM, REDACT_OPTION},
        {"--session=" RANDOM, REDACT_OPTION},
        {"--signature=" RANDOM, REDACT_OPTION},
        {"--a-very-long-name-that-nobody-would-ever-write-but-which-some-machine-may-have-made-of-"
         "many-words-the-last-is-password=x",
         REDACT_OPTION},
        {"--password-file=/x", -1},
        {"--token-path=/x", -1},
        {"--secrets-dir=/x", -1},
        {"--passport=x", -1},
        {"--bypass=x", -1},
        {"--tokenizer=x", -1},
        {"--max-tokens=100", -1},
        {"--secretary=x", -1},
        {"--key=name", -1},
        {"--key=the-name-of-a-key-without-digits", -1},
        {"--monkey=" RANDOM, -1},
        {"--authorized=" RANDOM, -1},
        {"--build=" RANDOM, -1},
        {"https://host/?page=" RANDOM, -1},
        {"scheme://user:x@host", REDACT_URL},
        {"user:x@tcp(host:3306)/db", REDACT_URL},
        {"a=b,redis://default:x@host:6379/0", REDACT_URL},
        {"https://host:8080/@x", -1},
        {"git@host:path", -1},
        {"user@host", -1},
        {"scheme://user:@host", -1},
        {"scheme://user:x y@host", REDACT_URL},
        {"10:30", -1},
        {"ghp_0123456789abcdef", REDACT_TOKEN},
        {"github_pat_0123456789", REDACT_TOKEN},
        {"glpat-0123456789abcdef", REDACT_TOKEN},
        {"xoxb-0123456789-abc", REDACT_TOKEN},
        {"AKIAIOSFODNN7EXAMPLE", REDACT_TOKEN},
        {"hvs.0123456789abcdef", REDACT_TOKEN},
        {"eyJhbGciOiJIUzI1NiJ9.e30.abc", REDACT_TOKEN},
        {"ghp_short", -1},
        {"GHP_0123456789abcdef", -1},
        {"my-ghp_0123456789abcdef", -1},
        {"AKIA", -1},
        {"keyJhbGciOiJIUzI1NiJ9", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT(4096);
        struct redact_tally tally = {{0}};
        redact_cmdline(cases[i].argument, strlen(cases[i].argument), &b, &tally);
        for (int rule = 0; rule < REDACT_RULES; rule++)
            if (tally.n[rule] != (rule == cases[i].rule))
                fail_msg("%s: %s", cases[i].argument, buf_str(&b));
        buf_release(&b);
    }
}

static void label_keys_that_name_a_person_or_secret_are_found(void **state)
{
    (void)state;
    static const char *const secret_keys[] = {
        "user",    "User_ID",     "x-email-x",   "gmail",         "access_token", "SESSION", "authorization",
        "passw",   "MyPassWord",  "secretname",  "Cookies",       "apikey",       "api_key", "API-KEY",
        "api.key", "credentials", "telephone",   "customers",     "account_id",   "login",   "LOGIN",
        "ip",      "IP",          "remote_addr", "http.client_ip"};
    static const char *const harmless_keys[] = {"",    "use", "usage",  "path", "logins",
                                                "ips", "zip", "remote", "addr", "client",
                                                "key", "api", "emai",   "pass", "sess"};
    char huge[300] = {0};
    for (size_t i = 0; i < sizeof secret_keys / sizeof *secret_keys; i++)
        if (!redact_is_secret_label(NULL, secret_keys[i], strlen(secret_keys[i])))
            fail_msg("%s", secret_keys[i]);
    for (size_t i = 0; i < sizeof harmless_keys / sizeof *harmless_keys; i++)
        if (redact_is_secret_label(NULL, harmless_keys[i], strlen(harmless_keys[i])))
            fail_msg("%s", harmless_keys[i]);
    memset(huge, 'x', sizeof huge);
    assert_false(redact_is_secret_label(NULL, huge, REDACT_KEY_MAX));
    assert_true(redact_is_secret_label(NULL, huge, REDACT_KEY_MAX + 1));
    assert_true(redact_is_secret_label(NULL, "a\0b", 3));
}

/* A line without a redaction is unchanged. A second redaction changes nothing. */
static void redact_damaged_line(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct buf b = BUF_INIT(4096), again = BUF_INIT(4096);
    struct redact_tally tally = {{0}}, second = {{0}};
    redact_cmdline(s->p, s->n, &b, &tally);
    assert_int_equal(buf_check(&b, "", NULL), 0);
    if (redact_sum(&tally) == 0 && s->n > 0)
        assert_memory_equal(b.data, s->p, s->n);
    redact_cmdline(buf_str(&b), b.len, &again, &second);
    assert_string_equal(buf_str(&again), buf_str(&b));
    buf_release(&b);
    buf_release(&again);
}

static void damaged_command_lines_need_no_second_redaction(void **state)
{
    (void)state;
    static const char line[] =
        "x\0--password=hunter2\0postgres://u:pw@db\0-p\0abc\0Cookie: a b\0ghp_0123456789abcdef";
    damage_everywhere(line, sizeof line - 1, redact_damaged_line, NULL);
}

/* ---- texts ------------------------------------------------------------------------------------------- */

/* Redacts one line. A second redaction changes nothing. */
static void assert_redacted_to(const char *in, const char *expected)
{
    struct buf b = BUF_INIT(4096), again = BUF_INIT(4096);
    struct redact_tally tally = {{0}}, second = {{0}};
    redact_text(str_of(in), &(struct redact_output){.out = &b, .tally = &tally});
    assert_string_equal(buf_str(&b), expected);
    assert_int_equal(redact_sum(&tally) > 0, strcmp(in, expected) != 0);
    redact_text(str_of(expected), &(struct redact_output){.out = &again, .tally = &second});
    assert_string_equal(buf_str(&again), expected);
    if (redact_sum(&second) > 0)
        fail_msg("%s is redacted again", expected);
    buf_release(&b);
    buf_release(&again);
}

/* Forms in which programs print their configuration, and requests inside other text. */
static void secrets_in_text_are_redacted(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out; /* out: NULL if unchanged */
    } cases[] = {
        {"map[password:x1 page:2 token:x2]", "map[password:[redacted] page:2 token:[redacted]]"},
        {"bad session=" RANDOM ".", "bad session=[redacted]"},
        {"curl -H \"PRIVATE-TOKEN:x1\" h", "curl -H \"PRIVATE-TOKEN:[redacted]\" h"},
        {"[\"-H\",'X-Api-Key:x1y2z3a4b5c6d7e8']", "[\"-H\",'X-Api-Key:[redacted]']"},
        {"{\"c\":\"curl -H \\\"Token:x1\\\" h\"}", "{\"c\":\"curl -H \\\"Token:[redacted]\\\" h\"}"},
        {"--set=password:x1 a=1;password:x2|password:x3",
         "--set=password:[redacted] a=1;password:[redacted]|password:[redacted]"},
        {"<li>password:x1</li>", "<li>password:[redacted]</li>"},
        {"\"token:verify\" \"user:name\" \"http://token:80/\"", NULL},
        {"java -DTOKEN=x1 -Ddb.password=x2 -Debug=3",
         "java -DTOKEN=[redacted] -Ddb.password=[redacted] -Debug=3"},
        {"GET http://h/v1/tokens/" RANDOM " /tokens/12 /tokens/list",
         "GET http://h/v1/tokens/[redacted] /tokens/12 /tokens/list"},
        {"psk=x1 wpa_psk=\"x2\" pswd=x3 creds=x4 task=x5",
         "psk=[redacted] wpa_psk=\"[redacted]\" pswd=[redacted] creds=[redacted] task=x5"},
        {"PHPSESSID=x1 JSESSIONID=x2 connect.sid=x3 csrftoken=x4 HONEYCOMB_WRITEKEY=x5 --appkey=x6 --dbpw=x7",
         "PHPSESSID=[redacted] JSESSIONID=[redacted] connect.sid=[redacted] csrftoken=[redacted] "
         "HONEYCOMB_WRITEKEY=[redacted] --appkey=[redacted] --dbpw=[redacted]"},
        {"--root-token-id q8Zt3vK1mX5wR7yU2pL4 token_id=7", "--root-token-id [redacted] token_id=7"},
        {"-snmp.community=x1 --otp=x2 TOTP=x3 community=x4 --hmac=q8Zt3vK1mX5wR7yU2pL4",
         "-snmp.community=[redacted] --otp=[redacted] TOTP=[redacted] community=x4 --hmac=[redacted]"},
        {"(the key=" RANDOM ") is bad", "(the key=[redacted] is bad"},
        {"&{Token:x1 Name:n Secret:x2}", "&{Token:[redacted] Name:n Secret:[redacted]}"},
        {"/a?next=%2Fy%3Ftoken%3Dbee9%26page%3D2&z=1", "/a?next=%2Fy%3Ftoken%3D[redacted]%26page%3D2&z=1"},
        {"/a?next=%252Fy%253Ftoken%253Dbee9", "/a?next=%252Fy%253Ftoken%253D[redacted]"},
        {"token%3dabc def", "token%3d[redacted] def"},
        {"{\"u\":\"/x?a=b\\u0026token=abc\"}", "{\"u\":\"/x?a=b\\u0026token=[redacted]\"}"},
        {"password=&quot;a b&quot; c", "password=&quot;[redacted]&quot; c"},
        {"{&quot;password&quot;: &#34;a b&#34;}", "{&quot;password&quot;: &#34;[redacted]&#34;}"},
        {"token&#61;abc<br>", "token&#61;[redacted]"},
        {"redis://:pw@h/0", "redis://:[redacted]@h/0"},
        {"http://:8080/@x", NULL},
        {"password := x y", "password := [redacted] y"},
        {"pwd => 'x y'", "pwd => '[redacted]'"},
        {"password== x", "password== [redacted]"},
        {"password==x", "password==[redacted]"},
        {"SECRET_KEY_BASE=x", "SECRET_KEY_BASE=[redacted]"},
        {"password2=x", "password2=[redacted]"},
        {"database=x user_base=y", NULL},
        {"sent Bearer c75de8c1b7c3ae to it", "sent Bearer [redacted] to it"},
        {"the bearer of this, a basic authentication", NULL},
        {"TOKEN\tabc\tx", "TOKEN\t[redacted]\tx"},
        {"reading token\t5", NULL},
        {"{\"password\": 9988776655443}", "{\"password\": [redacted]}"},
        {"-----BEGIN RSA PRIVATE KEY----- MIIE abc -----END RSA PRIVATE KEY----- x",
         "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY----- x"},
        {"-----BEGIN PUBLIC KEY----- MIIE -----END PUBLIC KEY-----", NULL},
        /* Parameters of requests. */
        {"/x?sig=a&code=b&jwt=c&otp=1&session=deadbeef00",
         "/x?sig=[redacted]&code=[redacted]&jwt=[redacted]&otp=[redacted]&session=[redacted]"},
        {"/x?odd=c75de8c1b7c3ae&v=c75de8c1b7c3ae", "/x?odd=[redacted]&v=[redacted]"},
        {"/x?a=b&amp;sig=q", "/x?a=b&amp;sig=[redacted]"},
        {"/x?seconds=30&debug=2&gc=1&rate=1000&host=file-03.example.org&id=12345&v=v1.2.3", NULL},
        {"odd=c75de8c1b7c3ae code=5 sig=x", NULL},
        /* URLs: a slash, an empty user, an @ in the user, JSON's slash, quotes, blanks and tags. */
        {"redis://:p/sesame@h/0", "redis://:[redacted]@h/0"},
        {"redis://:sesame/x@h", "redis://:[redacted]@h"},
        {"redis://:sesame/@h", "redis://:[redacted]@h"},
        {"redis://:/sesame@h", "redis://:[redacted]@h"},
        {"postgres://u@x:p/sesame@db", "postgres://u@x:[redacted]@db"},
        {"smtp://a@b.c:p/sesame@h:25", "smtp://a@b.c:[redacted]@h:25"},
        {"{\"url\":\"http:\\/\\/u:p\\/sesame@h\"}", "{\"url\":\"http:\\/\\/u:[redacted]@h\"}"},
        {"{\"url\":\"http:\\/\\/h:80\\/sesame@h\"}", NULL},
        {"postgres://u:p\"sesame@db", "postgres://u:[redacted]@db"},
        {"'postgres://u:p'sesame@db'", "'postgres://u:[redacted]@db'"},
        {"\"postgres://u:p\\\"sesame@db\"", "\"postgres://u:[redacted]@db\""},
        {"postgres://u:p sesame@db", "postgres://u:[redacted]@db"},
        {"http://u:p/<sesame>@db", "http://u:[redacted]@db"},
        {"HTTP://U:p/sesame@DB", "HTTP://U:[redacted]@DB"},
        {"/x?next=https%3A%2F%2Fu%3Asesame%40h%2F&z=1", "/x?next=https%3A%2F%2Fu%3A[redacted]%40h%2F&z=1"},
        {"/x?next=https%253A%252F%252Fu%253Ap%252Fsesame%2540h",
         "/x?next=https%253A%252F%252Fu%253A[redacted]%2540h"},
        {"/x?next=https%3A%2F%2Fhost%3A8080%2F%40x", NULL},
        {"http://host:80/path@x http://host/a@c", NULL},
        {"http://[::1]:80/path@x http://u@h:80/x@y", NULL},
        {"get http://host:80 and write to a@b", NULL},
        {"redis://h:6379, kept by a@b", NULL},
        {"{\"a\":\"http://host:port\",\"b\":\"u@h\"}", NULL},
        {"<td>http://host:port</td><td>a@b</td>", NULL},
        {"mongodb://h1:27017,h2:27017/db?x=a@b", NULL},
        /* Pairs. */
        {"{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"sesame\"},{\"name\":\"A\",\"value\":\"b\"}]}",
         "{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"[redacted]\"},{\"name\":\"A\",\"value\":\"b\"}]}"},
        {"{\"key\":\"password\",\"value\":\"sesame\"}", "{\"key\":\"password\",\"value\":\"[redacted]\"}"},
        {"{\"Key\" : \"x/token\", \"Value\" : \"a\"} {\"Key\":\"token\",\"n\":1,\"Value\":\"sesame\"}",
         "{\"Key\" : \"x/token\", \"Value\" : \"a\"} {\"Key\":\"token\",\"n\":1,\"Value\":\"[redacted]\"}"},
        {"{\"value\":\"sesame\",\"name\":\"DB_PASSWORD\"}",
         "{\"value\":\"[redacted]\",\"name\":\"DB_PASSWORD\"}"},
        {"{\\\"name\\\":\\\"TOKEN\\\",\\\"value\\\":\\\"sesame\\\"}",
         "{\\\"name\\\":\\\"TOKEN\\\",\\\"value\\\":\\\"[redacted]\\\"}"},
        {"[name:password value:sesame] [name:user value:u]",
         "[name:password value:[redacted]] [name:user value:u]"},
        {"{Name:DB_PASSWORD Value:sesame ValueFrom:nil}",
         "{Name:DB_PASSWORD Value:[redacted] ValueFrom:nil}"},
        {"<add key=\"password\" value=\"sesame\"/><add key=\"user\" value=\"u\"/>",
         "<add key=\"password\" value=\"[redacted]\"/><add key=\"user\" value=\"u\"/>"},
        {"{\"name\":\"password\"},{\"value\":\"x\"}", NULL},
        {"{\"name\":\"heap\",\"value\":\"x\"} {\"value\":1,\"name\":\"x\"}", NULL},
        /* Names in other forms. */
        {"{\"pass\\u0077ord\":\"sesame\"}", "{\"pass\\u0077ord\":\"[redacted]\"}"},
        {"{\"password \":\"sesame\"}", "{\"password \":\"[redacted]\"}"},
        {"{\"db_password_v2\":\"sesame\",\"api_v2\":\"x\"}",
         "{\"db_password_v2\":\"[redacted]\",\"api_v2\":\"x\"}"},
        {"DB_PASSWORD_PROD=sesame", "DB_PASSWORD_PROD=[redacted]"},
        {"{\"tokens\":{\"a\":\"sesame\"}}", "{\"tokens\":[redacted]}"},
        {"{\"auths\":{\"reg\":{\"auth\":\"sesame\"}}}", "{\"auths\":[redacted]}"},
        {"{\"tokens\":{\"prompt\":5,\"total\":9},\"n\":1} {\"tokens\":7} tokens=7", NULL},
        {"%7B%22password%22%3A%22sesame%22%7D", "%7B%22password%22%3A%22[redacted]%22%7D"},
        {"/x?q=%7B%22token%22%3A+%22a%20b%22%2C%22n%22%3A1%7D&z=1",
         "/x?q=%7B%22token%22%3A+%22[redacted]%22%2C%22n%22%3A1%7D&z=1"},
        {"/x?token[]=sesame&a[]=b", "/x?token[]=[redacted]&a[]=b"},
        {"/x?token%5B%5D=sesame", "/x?token%5B%5D=[redacted]"},
        {"/x?user%5Bpassword%5D=sesame&user%5Bname%5D=n",
         "/x?user%5Bpassword%5D=[redacted]&user%5Bname%5D=n"},
        {"config[\"password\"] = 'sesame'", "config[\"password\"] = '[redacted]'"},
        {"/x?%74oken=sesame&%73ig=x", "/x?%74oken=[redacted]&%73ig=[redacted]"},
        {"C:\\token=sesame", "C:\\token=[redacted]"},
        {"a[i] = b[j], map[string]int[3]=x", NULL},
        /* Arguments in JSON. */
        {"{\"cmdline\":[\"x\",\"-p\",\"sesame\",\"-u\",\"u:sesame\",\"--password=a b&c\",\"-p\",\"80\"]}",
         "{\"cmdline\":[\"x\",\"-p\",\"[redacted]\",\"-u\",\"u:[redacted]\",\"--password=[redacted]\",\"-p\","
         "\"80\"]}"},
        {"{\"cmdline\":[\"curl\",\"-H\",\"Authorization: Basic a b\",\"h\"],\"n\":1}",
         "{\"cmdline\":[\"curl\",\"-H\",\"Authorization: [redacted]\",\"h\"],\"n\":1}"},
        /* Paths of requests, web hooks, tokens. */
        {"/x/token/c75de8c1b7c3ae/y", "/x/token/[redacted]/y"},
        {"/src/go/token/position.go /api/token/refresh /run/secrets/db/password", NULL},
        {"https://hooks.slack.com/services/T000/B000/sesame", "https://hooks.slack.com/services/[redacted]"},
        {"ya29.sesamesesamesesame", "[redacted]"},
        {"sk-proj-sesamesesame sk-ant-sesamesesame SG.sesame7.sesame", "[redacted] [redacted] [redacted]"},
        {"hf_register_dissector secret_key_of_things pypi-is-a-registry", NULL},
        /* Markup. */
        {"<password>sesame</password><user>u</user>", "<password>[redacted]</password><user>u</user>"},
        {"<db:Password enc=\"no\"> a b </db:Password>", "<db:Password enc=\"no\">[redacted]</db:Password>"},
        {"<tr><td>password</td><td>sesame</td></tr><tr><td>user</td><td>u</td></tr>",
         "<tr><td>password</td><td>[redacted]</td></tr><tr><td>user</td><td>u</td></tr>"},
        {"<name>fs.token</name><value>sesame</value>", "<name>fs.token</name><value>[redacted]</value>"},
        {"<password><![CDATA[sesame]]></password><user><![CDATA[u]]></user>",
         "<password><![CDATA[[redacted]]]></password><user><![CDATA[u]]></user>"},
        {"<td>password</td><td><code>sesame</code></td><td><b>x</b></td>",
         "<td>password</td><td><code>[redacted]</code></td><td><b>x</b></td>"},
        {"<td><b>password</b></td><td>sesame</td>", "<td><b>password</b></td><td>[redacted]</td>"},
        {"<env value=\"sesame\" name=\"DB_PASSWORD\"/><env value=\"x\" name=\"A\"/>",
         "<env value=\"[redacted]\" name=\"DB_PASSWORD\"/><env value=\"x\" name=\"A\"/>"},
        {"{\"value\":\"x\",\"secret\":true,\"name\":\"DB_PASSWORD\"}",
         "{\"value\":\"[redacted]\",\"secret\":true,\"name\":\"DB_PASSWORD\"}"},
        {"{\"value\":\"x\"},{\"name\":\"DB_PASSWORD\"} {\"value\":\"x\",\"n\":1,\"name\":\"A\"}", NULL},
        /* Go's output of maps and structs. */
        {"map[Authorization:[Basic dXNlcjpzZXNhbWU=] Cookie:[theme=dark; sid=sesame] Accept:[a b]]",
         "map[Authorization:[redacted] Cookie:[redacted] Accept:[a b]]"},
        {"map[X-Api-Key:[a b]]", "map[X-Api-Key:[redacted]]"},
        {"{\"Authorization\":[]string{\"Bearer sesame\"}, \"A\":[]string{\"b\"}}",
         "{\"Authorization\":[redacted], \"A\":[]string{\"b\"}}"},
        {"{Tokens:map[string]string{\"a\":\"b\"}, Secret:main.S{X:\"a b\"}, N:1}",
         "{Tokens:[redacted], Secret:[redacted], N:1}"},
        /* Quotes in other forms. */
        {"password=`ses ame` b", "password=`[redacted]` b"},
        {"password: \xe2\x80\x9cses ame\xe2\x80\x9d b", "password: [redacted]"},
        {"password=\xe2\x80\x9cses ame\xe2\x80\x9d b", "password=\xe2\x80\x9c[redacted]\xe2\x80\x9d b"},
        {"\xe2\x80\x98token\xe2\x80\x99: \xe2\x80\x98x y\xe2\x80\x99 b",
         "\xe2\x80\x98token\xe2\x80\x99: \xe2\x80\x98[redacted]\xe2\x80\x99 b"},
        {"{&#034;token&#034;:&#034;x y&#034;}", "{&#034;token&#034;:&#034;[redacted]&#034;}"},
        {"{\\u0022token\\u0022:\\u0022x y\\u0022,\\u0022a\\u0022:1}",
         "{\\u0022token\\u0022:\\u0022[redacted]\\u0022,\\u0022a\\u0022:1}"},
        {"token=\\x22x y\\x22 b", "token=\\x22[redacted]\\x22 b"},
        {"password='a''b' c password=\"a\"\"b\"", "password='[redacted]' c password=\"[redacted]\""},
        {"password='a','b' x=''", "password='[redacted]','b' x=''"},
        /* Addresses. */
        {"u:p/w@tcp(h)/db", "u:[redacted]@tcp(h)/db"},
        {"https://u%3Asesame@h/x", "https://u%3A[redacted]@h/x"},
        {"https://h/a%3Ab@c https://u%3Ax/y@z", NULL},
        {"the host:8080/a, see b@tcp(x)", NULL},
        {"<tr><th>token</th></tr><tr><td>a</td></tr><p>password</p><p>is needed</p> a -> b", NULL},
        /* Parameters of a URL in a text that is no request. */
        {"GET /x?token=ab,cd;ef'g and", "GET /x?token=[redacted] and"},
        {"see \"/x?a=b&token=ab,\"c\", d", "see \"/x?a=b&token=[redacted]\", d"},
        {"/x?token=ab, then /x?token=cd; e", "/x?token=[redacted], then /x?token=[redacted]; e"},
        {"{\"u\":\"/x?token=ab,c\\u0026n=1\"} <a href=/x?token=ab'c>d</a>",
         "{\"u\":\"/x?token=[redacted]\\u0026n=1\"} <a href=/x?token=[redacted]>d</a>"},
        {"{\\\"u\\\":\\\"/x?token=ab,c\\\"}", "{\\\"u\\\":\\\"/x?token=[redacted]\\\"}"},
        {"/a?next=%2Fy%3Ftoken%3Dab,c%26n=1 b", "/a?next=%2Fy%3Ftoken%3D[redacted]%26n=1 b"},
        {"token%3D\\\"ses ame\\\" b", "token%3D\\\"[redacted]\\\" b"},
        /* Other words between the name and the value of a pair. */
        {"<input name=\"password\" type=\"hidden\" value=\"sesame\">",
         "<input name=\"password\" type=\"hidden\" value=\"[redacted]\">"},
        {"<input value=\"sesame\" type=\"hidden\" name=\"password\"><input value=\"x\" type=\"a\">",
         "<input value=\"[redacted]\" type=\"hidden\" name=\"password\"><input value=\"x\" type=\"a\">"},
        {"{\"name\":\"TOKEN\",\"id\":\"x\",\"value\":\"sesame\"},{\"id\":\"x\",\"value\":\"y\"}",
         "{\"name\":\"TOKEN\",\"id\":\"x\",\"value\":\"[redacted]\"},{\"id\":\"x\",\"value\":\"y\"}"},
        {"[name:token id:1 value:sesame] [name:a id:2 value:b]",
         "[name:token id:1 value:[redacted]] [name:a id:2 value:b]"},
        {"{Value:sesame Name:DB_PASSWORD} {Value:x Name:A}",
         "{Value:[redacted] Name:DB_PASSWORD} {Value:x Name:A}"},
        /* Brackets inside of strings. */
        {"{\"tokens\":[\"]\",\"sesame\"],\"n\":1}", "{\"tokens\":[redacted],\"n\":1}"},
        {"{\\\"tokens\\\":[\\\"]\\\",\\\"se\\\\\\\"]\\\"],\\\"n\\\":1}",
         "{\\\"tokens\\\":[redacted],\\\"n\\\":1}"},
        {"{'secret':{'a':'}','b':'sesame'},'n':1}", "{'secret':[redacted],'n':1}"},
        {"map[Cookie:[it's] Accept:[b]]", "map[Cookie:[redacted] Accept:[b]]"},
        {"tokens = [\"]\", \"sesame\"] n = [1]", "tokens = [redacted] n = [1]"},
        {"credentials = { user = \"u\", x = \"sesame\" }", "credentials = [redacted]"},
        /* Tuples of Python, and a name before the bracket of a call. */
        {"\"secrets\": (\"X\", \"Y\"), z", "\"secrets\": [redacted], z"},
        {"{'password': ('X',), 'n': 1}", "{'password': [redacted], 'n': 1}"},
        {"{\"tokens\": (\"X\"), \"n\": 1}", "{\"tokens\": [redacted], \"n\": 1}"},
        {"secrets = (\"X\", \")\", f(\"Y\")) z", "secrets = [redacted] z"},
        {"{'tokens': [('X', 1)], 'cookies': {'X'}}", "{'tokens': [redacted], 'cookies': [redacted]}"},
        {"{\\\"secrets\\\": (\\\"X\\\", \\\")Y\\\")}", "{\\\"secrets\\\": [redacted]}"},
        {"%22secrets%22%3A%20%28%22X%22%2C%22Y%22%29&z", "%22secrets%22%3A%20[redacted]&z"},
        {"tokens: (\"X\", \"Y\")", "tokens: [redacted]"},
        {"map[Cookie:[a :) b (] Accept:[c]]", "map[Cookie:[redacted] Accept:[c]]"},
        {"{Token:(*main.T)(0xc000012000), N:1}", "{Token:[redacted], N:1}"},
        {"password=(a)b c password=[a b]c d f(credentials=[\"a\"])",
         "password=[redacted] c password=[redacted] d f(credentials=[redacted])"},
        {"main.token(0xc000012000, 0x5) main.readPassword({0xc000012000, 0x5}, \"a\")", NULL},
        {"{'tokens': (5, 6), 'cookies': {'a': 5, 'b' : 6}} tokens=len(x1)", NULL},
        {"cookies: (optional) Dict or CookieJar of the request", NULL},
        /* Three quotes, quotes in hexadecimal, blanks and tabs around a sign. */
        {"password = \"\"\"ses\"ame\"\"\" b", "password = \"\"\"[redacted]\"\"\" b"},
        {"token='''ses''ame''' b", "token='''[redacted]''' b"},
        {"\\x22token\\x22:\\x22ses ame\\x22 b", "\\x22token\\x22:\\x22[redacted]\\x22 b"},
        {"{\\x22token\\x22:\\x22ses ame\\x22,\\x22a\\x22:1}",
         "{\\x22token\\x22:\\x22[redacted]\\x22,\\x22a\\x22:1}"},
        {"password\t=\tsesame", "password\t=\t[redacted]"},
        {"password\t:\tsesame", "password\t:\t[redacted]"},
        {"  db_password                        : sesame",
         "  db_password                        : [redacted]"},
        {"a token : 5", NULL},
        /* Schemes of authorization. */
        {"/x?auth=Bearer%20sesame&a=b", "/x?auth=Bearer%20[redacted]&a=b"},
        {"/x?auth=Basic+sesame&next=%3Fauth%3DBearer%2520sesame",
         "/x?auth=Basic+[redacted]&next=%3Fauth%3DBearer%2520[redacted]"},
        {"auth=Bearer sesame", "auth=Bearer [redacted]"},
        {"?q=the+basic+idea&a=Bearer%20of%20x basic%20 auth",
         "?q=the+basic+idea&a=Bearer%20[redacted]%20x basic%20 auth"},
        /* Words with strings in them, quoted options, other names. */
        {"password=u\"ses ame\" token=b'sesame', x", "password=[redacted] token=[redacted], x"},
        {"f('token=a', 'b') token=a\"b", "f('token=[redacted]', 'b') token=[redacted]"},
        {"[\"./x\" \"--password\" \"ses ame\" \"-v\"]", "[\"./x\" \"--password\" \"[redacted]\" \"-v\"]"},
        {"basic_auth: user:sesame", "basic_auth: user:[redacted]"},
        {"DB_PW=sesame bindpw=sesame", "DB_PW=[redacted] bindpw=[redacted]"},
        {"nats://c75de8c1b7c3ae@h:4222", "nats://[redacted]@h:4222"},
        /* Commas and brackets in the user of a URL. */
        {"ldap://cn=a,dc=b:S3/same@h postgres://us,er:S3/same@db",
         "ldap://cn=a,dc=b:[redacted]@h postgres://us,er:[redacted]@db"},
        {"postgres://[user]:S3/same@db x postgres://us[e:S3/same@db",
         "postgres://[user]:[redacted]@db x postgres://us[e:S3/same@db"},
        {"ldap%3A%2F%2Fa,b%3AS3%2Fsame%40h", "ldap%3A%2F%2Fa,b%3A[redacted]%40h"},
        {"http://a,http://u:S3/same@h", "http://a,http://u:[redacted]@h"},
        {"mongodb://h1,h2:27017/db@x kafka://[::1]:9092/x@y http://h,i, see a@b amqp://h,i:k", NULL},
        /* A token as the user of a URL, JSON's slash in a path, names in attributes. */
        {"https://c75de8c1b7c3ae@h/1 https://c75de8c1b7c3ae:x@h https://file-03@h",
         "https://[redacted]@h/1 https://[redacted]@h https://file-03@h"},
        {"https%3A%2F%2Fc75de8c1b7c3ae%40h", "https%3A%2F%2F[redacted]%40h"},
        {"\"http:\\/\\/h\\/token\\/c75de8c1b7c3ae\"", "\"http:\\/\\/h\\/token\\/[redacted]\""},
        {"<entry key=\\\"password\\\">sesame</entry>", "<entry key=\\\"password\\\">[redacted]</entry>"},
        {"<entry key=\"db.password\">sesame</entry><a name=\"token\">Token</a>",
         "<entry key=\"db.password\">[redacted]</entry><a name=\"token\">Token</a>"},
        /* Encoded blanks after an encoded sign, named entities. */
        {"password%3A%20sesame two", "password%3A%20[redacted] two"},
        {"password%20%3D%20sesame%20two", "password%20%3D%20[redacted]%20two"},
        {"a+password+%3D+sesame b", "a+password+%3D+[redacted] b"},
        {"password%253A%2520sesame%2520two", "password%253A%2520[redacted]"},
        {"Authorization%3A%20Bearer%20sesame", "Authorization%3A%20[redacted]"},
        {"msg=Authorization%3A%20Bearer%20sesame&x=1", "msg=Authorization%3A%20[redacted]&x=1"},
        {"Cookie%3A%20a%3D1%3B%20sid%3D%22sesame%22%0D%0AHost%3A%20h",
         "Cookie%3A%20[redacted]%0D%0AHost%3A%20h"},
        {"http://h/log?msg=password%3D%20sesame", "http://h/log?msg=password%3D%20[redacted]"},
        {"%7B%22tokens%22%3A%20%5B%22sesame%22%5D%7D&x=1", "%7B%22tokens%22%3A%20[redacted]&x=1"},
        {"Authorization%20%3D%20Bearer%20sesame Authorization = Bearer sesame",
         "Authorization%20%3D%20[redacted]%20[redacted] Authorization = [redacted] [redacted]"},
        {"password&#x3A;&#x20;ses ame<br>", "password&#x3A;&#x20;[redacted]<br>"},
        {"password&colon;sesame password&equals;sesame",
         "password&colon;[redacted] password&equals;[redacted]"},
        {"password&#061;&#32;sesame password&nbsp;=&nbsp;sesame",
         "password&#061;&#32;[redacted] password&nbsp;=&nbsp;[redacted]"},
        {"<p>password:&nbsp;ses ame</p>", "<p>password:&nbsp;[redacted]</p>"},
        {"x%20%3D%205 a%3A%20b &nbsp;= c:&nbsp;d; e&colon;", NULL},
        /* Blanks as entities and in other encodings. */
        {"password&#9;=&#9;X z", "password&#9;=&#9;[redacted] z"},
        {"password&Tab;=X z", "password&Tab;=[redacted] z"},
        {"password&ensp;=&ensp;X z", "password&ensp;=&ensp;[redacted] z"},
        {"password&emsp;&emsp13;&emsp14;= &numsp;&puncsp;X z",
         "password&emsp;&emsp13;&emsp14;= &numsp;&puncsp;[redacted] z"},
        {"password&hairsp;&VeryThinSpace;=&MediumSpace;&ThinSpace;X",
         "password&hairsp;&VeryThinSpace;=&MediumSpace;&ThinSpace;[redacted]"},
        {"password&#10;=&#x0d;X password&NewLine;&equals;&#12;X",
         "password&#10;=&#x0d;[redacted] password&NewLine;&equals;&#12;[redacted]"},
        {"password&#x2002;=&#8239;&#12288;X", "password&#x2002;=&#8239;&#12288;[redacted]"},
        {"password&thinsp;:&NonBreakingSpace;X y<br>", "password&thinsp;:&NonBreakingSpace;[redacted]<br>"},
        {"password%09%3D%09X password%3D%09X", "password%09%3D%09[redacted] password%3D%09[redacted]"},
        {"password\\x3dX y password\\x3a\\x20X", "password\\x3d[redacted] y password\\x3a[redacted]"},
        {"x&#9;=&#9;5 y&ensp;= z%09= x\\x3d5 password&#x200b;=", NULL},
        /* Other names, tags as entities, tags with a value, encoded addresses. */
        {"passcode=X {\"pass_code\":\"X\"}", "passcode=[redacted] {\"pass_code\":\"[redacted]\"}"},
        {"&lt;password&gt;X&lt;/password&gt;&lt;user&gt;u&lt;/user&gt;",
         "&lt;password&gt;[redacted]&lt;/password&gt;&lt;user&gt;u&lt;/user&gt;"},
        {"&lt;td&gt;token&lt;/td&gt;&lt;td&gt;X&lt;/td&gt;&lt;td&gt;y&lt;/td&gt;",
         "&lt;td&gt;token&lt;/td&gt;&lt;td&gt;[redacted]&lt;/td&gt;&lt;td&gt;y&lt;/td&gt;"},
        {"<password a=\"x &lt; y\">X</password>", "<password a=\"x &lt; y\">[redacted]</password>"},
        {"use &lt;token&gt; or &lt;password&gt; for it, a -&gt; b &lt;/a&gt;", NULL},
        {"<password value=\"X\"/><db:token id='a' value='X' />",
         "<password value=\"[redacted]\"/><db:token id='a' value='[redacted]' />"},
        {"<user value=\"X\"/><tokens value=\"5\"/> a=\"b\" value=\"c\" <token/> value=\"d\"", NULL},
        {"https://u%3AX%40h/ https://u%3Ap%2Fq%40h https://u%3Ap%40q@h",
         "https://u%3A[redacted]%40h/ https://u%3A[redacted]%40h https://u%3A[redacted]@h"},
        {"https://c75de8c1b7c3ae%3Ax%40h/", "https://[redacted]%40h/"},
        {"https://h%3A80/x%40y https://h/a%3Ab%40c https://h?x=a%3Ab%40c", NULL},
        /* A quote at the beginning of a password. */
        {"amqp://b:\"sesame@h", "amqp://b:[redacted]@h"},
        {"amqp://b:\"sesame\"@h", "amqp://b:[redacted]@h"},
        {"postgres://b:'sesame'@h/db", "postgres://b:[redacted]@h/db"},
        {"get http://b:\"ses/ame\"@h/: failed", "get http://b:[redacted]@h/: failed"},
        {"https%3A%2F%2Fu%3A%22sesame%22%40h", "https%3A%2F%2Fu%3A[redacted]%40h"},
        {"u:\"ses ame\"@tcp(h)", "u:[redacted]@tcp(h)"},
        {"\"u:\\\"sesame\\\"@tcp(h)\"", "\"u:[redacted]@tcp(h)\""},
        {"u:p'sesame@tcp(h)", "u:[redacted]@tcp(h)"},
        {"{dsn:\"u:p@tcp(h)\"}", "{dsn:\"u:[redacted]@tcp(h)\"}"},
        {"\"http://h:\" + p, \"http://h:\", \"u@h\" {url:\"h\",a:\"u@h\"}", NULL},
        /* Plural names. */
        {"tokens=sesame1 auths: SESAME", "tokens=[redacted] auths: [redacted]"},
        {"user_tokens: Ses-Ame and", "user_tokens: [redacted]"},
        {"Cookies: theme=1; sid=sesame", "Cookies: [redacted]"},
        {"cookies = sesame1", "cookies = [redacted]"},
        {"GITHUB_TOKENS=sesamesesame", "GITHUB_TOKENS=[redacted]"},
        {"API_TOKENS=sesame1,a,b== tokens=c3,n=5", "API_TOKENS=[redacted] tokens=[redacted],n=5"},
        {"api_keys=a,b passwords=a, b", "api_keys=[redacted] passwords=[redacted], b"},
        {"http://h/x?tokens=sesame1&cookies=sid%3Dsesame&auths=SESAME",
         "http://h/x?tokens=[redacted]&cookies=[redacted]&auths=[redacted]"},
        {"tokens=\"7sesame\" tokens=\"7\" --tokens sesame1",
         "tokens=\"[redacted]\" tokens=\"7\" --tokens [redacted]"},
        {"{Tokens:[sesame1 b] Cookies:map[sid:sesame1] Auths:sesame1 N:1}",
         "{Tokens:[redacted] Cookies:[redacted] Auths:[redacted] N:1}"},
        {"{\"name\":\"API_TOKENS\",\"value\":\"sesame1\"}",
         "{\"name\":\"API_TOKENS\",\"value\":\"[redacted]\"}"},
        {"<td>tokens</td><td>sesame1</td><tokens>sesame1</tokens>",
         "<td>tokens</td><td>[redacted]</td><tokens>[redacted]</tokens>"},
        {"{\"tokens\":[null, \"sesame\"],\"auths\":{\"a\":5, \"b\" : 6,\"c\":null}}",
         "{\"tokens\":[redacted],\"auths\":{\"a\":5, \"b\" : 6,\"c\":null}}"},
        {"tokens%3Dsesame1 user[tokens]=sesame1", "tokens%3D[redacted] user[tokens]=[redacted]"},
        {"passphrases=X passwds=X pwds=X apiKeys=X rootpws=X",
         "passphrases=[redacted] passwds=[redacted] pwds=[redacted] apiKeys=[redacted] rootpws=[redacted]"},
        {"passphrases: \"X\" \"Y\"", "passphrases: [redacted]"},
        {"{\"passphrases\":[\"X\"],\"signing_keys\":[\"X\"]}",
         "{\"passphrases\":[redacted],\"signing_keys\":[redacted]}"},
        {"keys=" RANDOM " sessions=" RANDOM " bearers=sesame1",
         "keys=[redacted] sessions=[redacted] bearers=[redacted]"},
        {"keys=name sessions=5 bearers=5 authorizations=17 passes=3 monkeys=" RANDOM, NULL},
        {"tokens: 12345", NULL},
        {"tokens=17 max_tokens: 4096", NULL},
        {"tokens: true", NULL},
        {"tokens=nil cookies=FALSE", NULL},
        {"tokens: none left", NULL},
        {"tokens=17.5 tokens=1.5e+06 tokens=3m20s tokens=-1 tokens=5/10 tokens=12MiB", NULL},
        {"cookies: disabled", NULL},
        {"auths: Unknown user", NULL},
        {"Tokens:0xc00012a000 Tokens:<nil> {Tokens:[] N:1}", NULL},
        {"{Tokens:[0xc000010000 1 2] Cookies:map[a:5 Total:9]}", NULL},
        {"Tokens:map[string]string(nil) Tokens:map[main.Key]main.Value{}", NULL},
        {"Tokens:(*main.Tokens)(0xc000010000)", NULL},
        {"{\"tokens\":{\"promptTokens\":5,\"perModel\" : {\"gpt-4\":5}},\"max_tokens\":\"4096\"}", NULL},
        {"cookies=/var/lib/cookies.txt", NULL},
        {"tokens: ${API_TOKENS}", NULL},
        {"tokens=%d", NULL},
        {"http://h/x?tokens=5&cookies=true", NULL},
        {"<td>Tokens</td><td>12</td>", NULL},
        {"main.(*Lexer).tokens(0xc000010000, 0x3)", NULL},
        {"reading tokens : Sesame", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_redacted_to(cases[i].in, cases[i].out ? cases[i].out : cases[i].in);
}

/* A line that announces a value on the next one. */
static void values_on_the_next_line_are_redacted(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out; /* out: NULL if unchanged */
    } cases[] = {
        {"- name: DB_PASSWORD\n  value: sesame\n- name: A\n  value: b\n",
         "- name: DB_PASSWORD\n  value: [redacted]\n- name: A\n  value: b\n"},
        {"{\n  \"name\": \"TOKEN\",\n  \"value\": \"sesame\"\n},\n{\n  \"value\": \"x\"\n}",
         "{\n  \"name\": \"TOKEN\",\n  \"value\": \"[redacted]\"\n},\n{\n  \"value\": \"x\"\n}"},
        {"<td>password</td>\n<td>sesame</td>\n<td>x</td>\n",
         "<td>password</td>\n<td>[redacted]</td>\n<td>x</td>\n"},
        /* A value on the line after its name. */
        {"password: |\n  ses\n\n  ame\nuser: u\n",
         "password: [redacted]\n  [redacted]\n\n  [redacted]\nuser: u\n"},
        {"- name: DB_PASSWORD\n  value: >-\n    sesame\n  x: y\n",
         "- name: DB_PASSWORD\n  value: [redacted]\n    [redacted]\n  x: y\n"},
        {"- --password\n- sesame\n- x\n", "- --password\n- [redacted]\n- x\n"},
        {"\"cmdline\": [\n  \"x\",\n  \"--password\",\n  \"ses ame\"\n],\n\"n\": 1",
         "\"cmdline\": [\n  \"x\",\n  \"--password\",\n  \"[redacted]\"\n],\n\"n\": 1"},
        {"<password>\n  sesame\n</password>\n<p>x\n", "<password>\n  [redacted]\n</password>\n<p>x\n"},
        {"- --password\n- --verbose\n- x\ntext: |\n  a\n<user>\nu\n</user>\n", NULL},
        {"password: &a |\n  sesame\npassword: !!str |- # b\n  sesame\npassword: | # c\n  sesame\n",
         "password: [redacted]\n  [redacted]\npassword: [redacted]\n  [redacted]\npassword: [redacted]\n"
         "  [redacted]\n"},
        {"tokens:\n  - sesame\n  - a: b\n  - 7\npasswords:\n- ses ame\nuser: u\npassword:\n  sesame\nx: y\n",
         "tokens:\n  - [redacted]\n  - a: b\n  - 7\npasswords:\n- [redacted]\nuser: u\npassword:\n  "
         "[redacted]\nx: y\n"},
        {"secret:\n  secretName: x\ntokens:\n  5\ntoken:\n  is not here\n", NULL},
        {"- name: A\n  key: token\n- name: B\n  value: x\n- name: TOKEN\n  type: y\n  value: sesame\n",
         "- name: A\n  key: token\n- name: B\n  value: x\n- name: TOKEN\n  type: y\n  value: [redacted]\n"},
        {"<a><![CDATA[b\n<password><![CDATA[ses\name\n]]></password><user>u</user>\n",
         "<a><![CDATA[b\n<password><![CDATA[[redacted]\n[redacted]\n]]></password><user>u</user>\n"},
        {"<password>\n  <![CDATA[ses\name]]>\n</password>\n<user>u\n",
         "<password>\n  <![CDATA[[redacted]\n[redacted]]]>\n</password>\n<user>u\n"},
        {"password = \"\"\"\nses\name\n\"\"\"\na = '''b\nc\n",
         "password = \"\"\"\n[redacted]\n[redacted]\n\"\"\"\na = '''b\nc\n"},
        {"\"tokens\": [\n  \"]\",\n  \"sesame\"\n],\n\"n\": 1\n",
         "\"tokens\": [\n  \"]\",\n  \"[redacted]\"\n],\n\"n\": 1\n"},
        {"\"credentials\": {\n  \"a\": {\n    \"b\": \"sesame\" }\n  },\n\"n\": 1\n",
         "\"credentials\": {\n  [redacted]\n    [redacted]\n  },\n\"n\": 1\n"},
        {"Cookies:[]string{\n\t\"sesame\",\n}\nb\n", "Cookies:[]string{\n\t\"[redacted]\",\n}\nb\n"},
        {"\"tokens\": {\n  \"prompt\": 5\n},\n\"tokens\": [\n  5\n]\nfunc token() {\n  x\n}\n", NULL},
        /* Tuples of Python. */
        {"\"tokens\": (\n  \"X\",\n  \"Y)\"\n),\n\"n\": 1\n",
         "\"tokens\": (\n  \"[redacted]\",\n  \"[redacted]\"\n),\n\"n\": 1\n"},
        {"secrets = (\n  f(\"X\"),\n  \"]Y\"\n)\nz = f(\n  5\n)\n",
         "secrets = (\n  [redacted],\n  \"[redacted]\"\n)\nz = f(\n  5\n)\n"},
        {"x --password \\\n  sesame \\\n  db\nx --token \\\n  'ses ame' y\n",
         "x --password \\\n  [redacted] \\\n  db\nx --token \\\n  '[redacted]' y\n"},
        {"- -p\n- sesame\n- -p\n- 8080\n\"-u\",\n\"u:sesame\"\n  -p\n    port\n",
         "- -p\n- [redacted]\n- -p\n- 8080\n\"-u\",\n\"u:[redacted]\"\n  -p\n    port\n"},
        {"password: sesame\r\na: b\r\npassword: sesame\rc: d\rpassword=\r\n",
         "password: [redacted]\r\na: b\r\npassword: [redacted]\rc: d\rpassword=\r\n"},
        {"name: token\n\n\n\n\n\n\n\n\n\nvalue: x\n", NULL},
        {"{\"name\": \"token\"},\n{\"value\": \"x\"}\n", NULL},
        /* Plural names. */
        {"- name: API_TOKENS\n  value: sesame1\n- name: MAX_TOKENS\n  value: 17\n",
         "- name: API_TOKENS\n  value: [redacted]\n- name: MAX_TOKENS\n  value: 17\n"},
        {"api_tokens: |\n  sesame\ntokens:\n  sesame1\ntokens:\n  none\n",
         "api_tokens: |\n  [redacted]\ntokens:\n  [redacted]\ntokens:\n  none\n"},
        {"passphrases:\n- ses ame\n\"pwds\": [\n  \"X\"\n]\n",
         "passphrases:\n- [redacted]\n\"pwds\": [\n  \"[redacted]\"\n]\n"},
        {"- --tokens\n- sesame1\n- --max-tokens\n- 100\ntokens:\n- 1234567\n- sesame\n",
         "- --tokens\n- [redacted]\n- --max-tokens\n- 100\ntokens:\n- 1234567\n- [redacted]\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct redact_lines l = REDACT_LINES_INIT;
        struct buf b = BUF_INIT(4096);
        struct redact_tally tally = {{0}};
        const struct redact_output into = {.out = &b, .tally = &tally};
        redact_lines_add(&l, str_of(cases[i].in), &into);
        redact_lines_end(&l, &into);
        assert_string_equal(buf_str(&b), cases[i].out ? cases[i].out : cases[i].in);
        buf_release(&l.line);
        buf_release(&b);
    }
}

/* In the path of a request, even an ordinary word is redacted if it follows the name of a secret. */
static void secrets_in_requests_are_redacted(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"GET /x/token/sesame?a=b", "GET /x/token/[redacted]?a=b"},
        {"GET /x/password/sesame/y", "GET /x/password/[redacted]/y"},
        {"GET /x/token/refresh", "GET /x/token/refresh"},
        {"GET /run/secrets/db", "GET /run/secrets/db"},
        {"GET /debug/pprof/heap", "GET /debug/pprof/heap"},
        /* A value extends to the next parameter. */
        {"GET /x?token=p4$w!x9&a=b", "GET /x?token=[redacted]&a=b"},
        {"GET /x?token=ab,cd,ef#a", "GET /x?token=[redacted]#a"},
        {"GET /x?token=ses;ame b", "GET /x?token=[redacted] b"},
        {"GET /x?token[]=ses,ame&a[]=b,c", "GET /x?token[]=[redacted]&a[]=b,c"},
        {"/x?token=\"a\"b&token='c'd", "/x?token=[redacted]&token=[redacted]"},
        {"/x?odd=c75de8c1b7c3ae,x&ids=a,b", "/x?odd=[redacted]&ids=a,b"},
        {"/x?next=%2Fy%3Ftoken%3Dbee9,f%26page%3D2&z=1", "/x?next=%2Fy%3Ftoken%3D[redacted]%26page%3D2&z=1"},
        {"/x/token/p4$w,x9;y/z", "/x/token/[redacted]/z"},
        /* A key of an API, also a short one, and parameters of a path's component. */
        {"GET /x?key=sesame&seconds=5", "GET /x?key=[redacted]&seconds=5"},
        {"GET /x?a=b&auth=sesame", "GET /x?a=b&auth=[redacted]"},
        {"GET /x?sort_key=name&keys=a", NULL},
        {"GET /x;jsessionid=sesame", "GET /x;jsessionid=[redacted]"},
        {"GET /x;v=1;sid=ses,ame;w=2/y?a=b", "GET /x;v=1;sid=[redacted];w=2/y?a=b"},
        {"GET /x;token=p4$w/y?a=b", "GET /x;token=[redacted]/y?a=b"},
        {"GET /x;v=1;w=2?seconds=5", NULL},
        /* Random values without a name, also beside other bytes. */
        {"/x?foo=u:9f86d081884c7d659a2f", "/x?foo=[redacted]"},
        {"/x?foo=a,9f86d081884c7d659a2f!&z=1", "/x?foo=[redacted]&z=1"},
        {"/x?foo=9f86d081884c7d659a2f%3Aa", "/x?foo=[redacted]"},
        {"/x/9f86d081884c7d659a2f,y/z", "/x/[redacted]/z"},
        {"/x?from=2026-11-27T15:04:05Z&list=a,b1,c22", NULL},
        {"/x?kJ8sQpZ2vLm9xRtW", "/x?[redacted]"},
        {"/x?a&9f86d081884c7d659a2f&y=1", "/x?a&[redacted]&y=1"},
        {"/x?9f86d081884c%2F7d659a2f==", "/x?[redacted]=="},
        {"GET /9f86d081884c7d659a2f/y", "GET /[redacted]/y"},
        {"GET /x/9f86d081884c7d659a2f.json?a=b", "GET /x/[redacted]?a=b"},
        {"http://app-5d8f7c9b6-x2x4z/debug/pprof/", NULL},
        {"http://token:6060/debug/pprof/", NULL},
        {"GET /apis/v1alpha1/heap-2026-11-25?debug&file-03.example.org&1234567890123", NULL},
        /* A colon after the name of a secret, and other names. */
        {"/x?token:sesame&a:b", "/x?token:[redacted]&a:b"},
        {"/x?a=b&q=password:ses,ame&odd:9f86d081884c7d", "/x?a=b&q=password:[redacted]&odd:[redacted]"},
        {"/token:sesame/y", "/token:[redacted]/y"},
        {"GET /x/api_key:ses,ame?a=b", "GET /x/api_key:[redacted]?a=b"},
        {"GET /v1/token:verify?at=10:30&host:6060", NULL},
        {"/x?msg=Authorization%3A%20Bearer%20sesame&tokens=sesame1&a=b",
         "/x?msg=Authorization%3A%20[redacted]&tokens=[redacted]&a=b"},
        {"/x?auth_key=sesame&cred=sesame&creds=x", "/x?auth_key=[redacted]&cred=[redacted]&creds=[redacted]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT(4096);
        struct redact_tally tally = {{0}};
        redact_text(str_of(cases[i].in),
                    &(struct redact_output){.out = &b, .tally = &tally, .request = true});
        assert_string_equal(buf_str(&b), cases[i].out ? cases[i].out : cases[i].in);
        buf_release(&b);
    }
}

/* Redaction removes all lines of a private key and keeps the text after it. Without an end line it removes
 * at most as many lines as a key has. */
static void all_lines_of_a_private_key_are_redacted(void **state)
{
    (void)state;
    static const char in[] = "a\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n\nbnNz\n"
                             "-----END OPENSSH PRIVATE KEY-----\nb\n-----BEGIN EC PRIVATE KEY-----\nc3Nz";
    static const char expected[] =
        "a\n-----BEGIN OPENSSH PRIVATE KEY-----\n[redacted]\n\n[redacted]\n"
        "-----END OPENSSH PRIVATE KEY-----\nb\n-----BEGIN EC PRIVATE KEY-----\n[redacted]";
    for (size_t piece = 1; piece < 200; piece += 50) {
        struct redact_lines l = REDACT_LINES_INIT;
        struct buf b = BUF_INIT(65536);
        struct redact_tally tally = {{0}};
        const struct redact_output into = {.out = &b, .tally = &tally};
        for (size_t at = 0; at < sizeof in - 1; at += piece)
            redact_lines_add(
                &l, (struct str){in + at, piece < sizeof in - 1 - at ? piece : sizeof in - 1 - at}, &into);
        redact_lines_end(&l, &into);
        assert_string_equal(buf_str(&b), expected);
        assert_int_equal(tally.n[REDACT_TOKEN], 3);
        buf_clear(&b);
        redact_lines_add(&l, str_of("-----BEGIN PRIVATE KEY-----\n"), &into);
        for (int i = 0; i < 1000; i++)
            redact_lines_add(&l, str_of("x\n"), &into);
        assert_contains(buf_str(&b), "[redacted]\nx\nx\n");
        buf_release(&l.line);
        buf_release(&b);
    }
}

/* ---- repeated words ---------------------------------------------------------------------------------- */

/* Initializes `words` with these values of requests. The caller releases it. */
static void learn_request_values(struct redact_words *words, const char *const *values, size_t n)
{
    struct err err = ERR_INIT;
    assert_ok(redact_words_init(words, &err), &err);
    for (size_t i = 0; i < n; i++)
        assert_ok(redact_words_learn(words, str_of(values[i]), true, &err), &err);
    assert_ok(redact_words_prepare(words, &err), &err);
}

/* Redacts the repeated words of `in`: the strong ones, and with `weak` also the weak ones. */
static void assert_applied_to(const struct redact_words *words, bool weak, const char *in,
                              const char *expected)
{
    const struct redact_learned which = {.words = words, .weak = weak};
    struct buf b = BUF_INIT(4096);
    uint64_t n = 0;
    redact_words_apply(&which, str_of(in), &b, &n);
    assert_string_equal(buf_str(&b), expected);
    assert_int_equal(n > 0, strcmp(expected, in) != 0);
    buf_release(&b);
}

static void repeated_words_of_a_request_are_redacted(void **state)
{
    (void)state;
    static const char *const learned[] = {"c75de8c1b7c3ae", "abcde",       "pin-1234", "ab", "12",
                                          "heap",           "a%2Fse5ame-x"};
    static const struct {
        const char *in;
        const char *strong; /* the result of strong words alone; NULL: unchanged */
        const char *weak;   /* the result if weak words are redacted too; NULL: like `strong` */
    } cases[] = {
        {"trailing period: c75de8c1b7c3ae.", "trailing period: [redacted].", NULL},
        {"C75DE8C1B7C3AE", "[redacted]", NULL},
        {"x-token-c75de8c1b7c3ae.json, -c75de8c1b7c3ae_", "x-token-[redacted].json, -[redacted]_", NULL},
        {"xC75DE8C1B7C3AEc thec75de8c1b7c3ae c75de8c1b7c3a", "x[redacted]c the[redacted] c75de8c1b7c3a",
         NULL},
        {"who is ABCDE? abcdef, x.abcde", NULL, "who is [redacted]? abcdef, x.[redacted]"},
        {"pin-1234 pin 1234", "[redacted] pin 1234", NULL},
        {"ab 12 heap", NULL, NULL},
        {"se5ame-x a/se5ame-x", "se5ame-x [redacted]", "[redacted] [redacted]"},
        {"..--__", NULL, NULL},
        {"", NULL, NULL},
    };
    struct redact_words words;
    learn_request_values(&words, learned, sizeof learned / sizeof *learned);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *strong = cases[i].strong ? cases[i].strong : cases[i].in;
        assert_applied_to(&words, false, cases[i].in, strong);
        assert_applied_to(&words, true, cases[i].in, cases[i].weak ? cases[i].weak : strong);
    }
    redact_words_release(&words);
}

/* A request names kinds, as in ?profile=fgprof, which are no secrets. */
static void names_of_kinds_are_not_learned(void **state)
{
    (void)state;
    const struct kind *kind;
    struct redact_words words;
    struct err err = ERR_INIT;
    assert_ok(redact_words_init(&words, &err), &err);
    for (size_t i = 0; (kind = kind_at(i)); i++) {
        assert_ok(redact_words_learn(&words, str_of(kind->name), true, &err), &err);
        if (kind->alias)
            assert_ok(redact_words_learn(&words, str_of(kind->alias), true, &err), &err);
    }
    assert_int_equal(words.index.n, 0);
    redact_words_release(&words);
}

/* Request values that are not words are found as a whole, wherever they are repeated and in any encoding. */
static void values_of_a_request_are_redacted_in_every_encoding(void **state)
{
    (void)state;
    static const char *const learned[] = {
        "p4$w!x9",  "ab1%21cd%24ef", "S3s+ame",         "ab,cd,ef",      "b,cd,eg",
        "ses;ame",  "471",           "%20%20%20",       "!!!",           "a\"<&b7x",
        "p/ath/s3", "gr%C3%BCn7",    "k%F0%9F%98%80y9", "c75de8c1b7c3ae"};
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"key p4$w!x9 is not known", "key [redacted] is not known"},
        {"xP4$W!X9y, p4$w!x", "x[redacted]y, p4$w!x"},
        {"ab1%21cd%24ef ab1!cd$ef", "[redacted] [redacted]"},
        {"S3s+ame S3s ame S3s%20ame", "[redacted] [redacted] [redacted]"},
        /* Escapes of other programs than Go, and words behind an escape. */
        {"a&quot;&lt;&amp;b7x a\\u0022\\u003C&b7x a\\x22<\\u0026b7x a%22%3c%26b7x",
         "[redacted] [redacted] [redacted] "
         "[redacted]"},
        {"p\\/ath\\/s3 p&#x2F;ath&#47;s3 p%2fath\\u002fs3", "[redacted] [redacted] [redacted]"},
        {"gr\\u00fcn7 gr\xc3\xbcn7 gr&#xfc;n7 gr&#252;n7 gr%c3%bcn7 gr\\xc3\\xbcn7",
         "[redacted] [redacted] [redacted] [redacted] [redacted] [redacted]"},
        {"k\\ud83d\\ude00y9 k\\U0001f600y9", "[redacted] [redacted]"},
        {"\\u0026c75de8c1b7c3ae \\nc75de8c1b7c3ae %3Dc75de8c1b7c3ae",
         "\\u0026[redacted] \\n[redacted] %3D[redacted]"},
        {"a%2 &#; &#x; &#99999999; \\u12 \\x1 %zz &am", "a%2 &#; &#x; &#99999999; \\u12 \\x1 %zz &am"},
        {"p4%24w%21x9", "[redacted]"},
        {"ab,cd,ef|ab,cd,eg|ab,cd", "[redacted]|a[redacted]|ab,cd"},
        {"ab,cd,ef,cd,eg", "[redacted],cd,eg"},
        {"ses;ame, seses;ame", "[redacted], se[redacted]"},
        {"HTTP 471   !!!", "HTTP [redacted]   !!!"},
        {"a\\\"<&b7x a\\\"\\u003c\\u0026b7x a&#34;&lt;&amp;b7x", "[redacted] [redacted] [redacted]"},
        {"token=ab,cd,ef.", "token=[redacted]."},
        {"password=\"x ses;ame y\" z", "password=\"[redacted]\" z"},
        {"see ses;ame&token=x", "see [redacted]&token=[redacted]"},
        {"token=ses;amen", "token=[redacted]n"},
    };
    struct redact_words words;
    learn_request_values(&words, learned, sizeof learned / sizeof *learned);
    const struct redact_learned all = {.words = &words, .weak = true};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf b = BUF_INIT(4096);
        struct redact_tally tally = {{0}};
        redact_text(str_of(cases[i].in),
                    &(struct redact_output){.out = &b, .tally = &tally, .learned = &all});
        assert_string_equal(buf_str(&b), cases[i].out);
        assert_int_equal(redact_sum(&tally) > 0, strcmp(cases[i].in, cases[i].out) != 0);
        buf_release(&b);
    }
    redact_words_release(&words);
}

/* A request's value of letters, digits, `.`, `_` and `-` is found inside longer words too, if it has six
 * bytes or more. A value that is a part of the text [redacted] does not damage that text. */
static void long_values_are_redacted_inside_of_words(void **state)
{
    (void)state;
    static const char *const learned[] = {"Tk9mQ2xW8vR4zL", "sesame99x", "swordfish", "abcde", "redact"};
    static const struct {
        const char *in;
        const char *strong; /* the result of strong words alone; NULL: unchanged */
        const char *weak;   /* the result if weak words are redacted too; NULL: like `strong` */
    } cases[] = {
        {"xxTk9mQ2xW8vR4zLyy, the tokenisTk9mQ2xW8vR4zL, tk9mq2xw8vr4zl7",
         "xx[redacted]yy, the tokenis[redacted], [redacted]7", NULL},
        {"sesame99xyz", "[redacted]yz", NULL},
        {"xswordfishes", NULL, "x[redacted]es"},
        {"abcdef xabcde", NULL, NULL},
        {"[redacted] redact redacts", NULL, "[redacted] [redacted] redacts"},
        {"sesame 99x, Tk9m, sword", NULL, NULL},
    };
    struct redact_words words;
    learn_request_values(&words, learned, sizeof learned / sizeof *learned);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *strong = cases[i].strong ? cases[i].strong : cases[i].in;
        assert_applied_to(&words, false, cases[i].in, strong);
        assert_applied_to(&words, true, cases[i].in, cases[i].weak ? cases[i].weak : strong);
    }
    redact_words_release(&words);
}

/* Wherever profgrab cuts a text inside a learned value, at most three bytes of the value stay, or five
 * inside a longer word. */
static void values_that_a_message_cuts_are_redacted(void **state)
{
    (void)state;
    enum { LIMIT = 160, MIN_LENGTH = 4, MIN_IN_WORD = 6 };
    static const char *const learned[] = {"hunterabcdefghijkl", "p4$w!x9,ab", "abcde", "gr%C3%BCn-wald7"};
    static const char *const repeated[] = {"hunterabcdefghijkl", "p4$w!x9,ab", "p4\\u0024w!x9,ab", "abcde",
                                           "gr\xc3\xbcn-wald7"};
    struct redact_words words;
    learn_request_values(&words, learned, sizeof learned / sizeof *learned);
    for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++)
        for (size_t n = 0; n <= strlen(repeated[i]); n++)
            for (int form = 0; form < 4; form++) {
                bool inside = form & 1, dots = form & 2;
                char *value = format_text("%.*s", (int)n, repeated[i]);
                char *last = n > 0 ? value + n - 1 : value;
                *last = *last == '\xc3' ? '?' : *last; /* a cut character */
                char *lead = format_text("%*s%s", dots ? 1 : LIMIT, "", inside ? "x" : "");
                char *in = format_text("%s%s%s", lead, value, dots ? "..." : "");
                bool complete = n == strlen(repeated[i]) && !(inside && n < MIN_IN_WORD);
                /* The escape in text 2 counts as one byte, the cut character in text 4 as none. */
                size_t bytes = n -
                               (i == 2 && n > 7   ? 5
                                : i == 2 && n > 2 ? n - 2
                                                  : 0) -
                               (i == 4 && n == 3 ? 1 : 0);
                bool is_redacted = complete || bytes >= (inside ? MIN_IN_WORD : MIN_LENGTH);
                char *out = format_text("%s%s%s", lead, is_redacted ? REDACTED : value, dots ? "..." : "");
                assert_applied_to(&words, true, in, out);
                free(value);
                free(lead);
                free(in);
                free(out);
            }
    /* The first text has beginnings of a value without a cut, the second has cuts without such a
     * beginning. */
    assert_applied_to(&words, true, "hunterabcdef, hunterab. hunter..", "hunterabcdef, hunterab. hunter..");
    assert_applied_to(&words, true, "who is it... hunt ...", "who is it... hunt ...");
    redact_words_release(&words);
}

/* ---- dumps ------------------------------------------------------------------------------------------- */

/* Redacts a dump in pieces of `piece` bytes. `globs` match further keys of labels. */
static void assert_dump_redacted_to(const char *in, const struct strlist *globs, size_t piece,
                                    const char *out, bool changed)
{
    struct buf b = BUF_INIT(4096);
    struct redact_tally tally = {{0}};
    struct redact_dump d = REDACT_DUMP_INIT(globs, &tally);
    size_t n = strlen(in);
    for (size_t at = 0; at < n; at += piece)
        redact_dump(&d, in + at, piece < n - at ? piece : n - at, &b);
    assert_string_equal(buf_str(&b), out);
    assert_int_equal(tally.n[REDACT_LABEL] > 0, changed);
    buf_release(&b);
}

static void labels_and_secrets_in_dumps_are_redacted(void **state)
{
    (void)state;
    static char tenant[] = "ten*";
    char *items[] = {tenant};
    struct strlist globs = {.items = items, .n = 1};
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"# labels: {\"user\":\"alice\", \"path\":\"/x\"}\n",
         "# labels: {\"user\":\"[redacted]\", \"path\":\"/x\"}\n"},
        {"# labels: {\"User-Email\":\"a\\\"b\", \"tenant\":\"t\"}",
         "# labels: {\"User-Email\":\"[redacted]\", \"tenant\":\"[redacted]\"}"},
        {"goroutine 7 [IO wait, labels:{\"session\": \"s\"}]:",
         "goroutine 7 [IO wait, labels:{\"session\": \"[redacted]\"}]:"},
        {"goroutine 1 [running]:\n# labels: {\"user\":\"a\"}\n",
         "goroutine 1 [running]:\n# labels: {\"user\":\"[redacted]\"}\n"},
        {"# labels: {\"user\":\"\"}", "# labels: {\"user\":\"[redacted]\"}"},
        {"# labels: {\"a\\\"user\":\"x\"}", "# labels: {\"a\\\"user\":\"[redacted]\"}"},
        {"# labels: {\"odd \"user\":\"x\"}", "# labels: {\"odd \"user\":\"[redacted]\"}"},
        {"# labels: {\"path\":\"\\\\\", \"user\":\"x\"}",
         "# labels: {\"path\":\"\\\\\", \"user\":\"[redacted]\"}"},
        /* Cut lines. */
        {"# labels: {\"user\":\"ali", "# labels: {\"user\":\"[redacted]"},
        {"# labels: {\"user\":\"ali\n# labels: {\"path\":\"x\"}",
         "# labels: {\"user\":\"[redacted]\n# labels: {\"path\":\"x\"}"},
        {"# labels: {\"user\":", NULL},
        {"# labels: {\"use", NULL},
        {"# label", NULL},
        {"# labels; {\"user\":\"x\"}", NULL},
        {" # labels: {\"user\":\"x\"}", NULL},
        {"# labels: {\"user\"=\"x\", \"user\":  \"x\", \"user\" :\"x\"}", NULL},
        {"#\t0x1\tmain.user\t\"user\":\"x\"", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 100; piece += 98)
            assert_dump_redacted_to(cases[i].in, &globs, piece, cases[i].out ? cases[i].out : cases[i].in,
                                    cases[i].out != NULL);
}

/* ---- profiles ---------------------------------------------------------------------------------------- */

typedef Perftools__Profiles__Profile pb_profile;
typedef Perftools__Profiles__Sample pb_sample;
typedef Perftools__Profiles__ValueType pb_value_type;
typedef Perftools__Profiles__Label pb_label;
typedef Perftools__Profiles__Function pb_function;

/* The string table: "alice" is a label's value and a function's name, "bob" only a label's value. */
enum { EMPTY, CPU, COUNT, USER, ALICE, BOB, PATH, SLASH, BYTES, TOKEN, STRINGS };
static char strings[STRINGS][8] = {"",    "cpu",  "count", "user",  "alice",
                                   "bob", "path", "/x",    "bytes", "token"};

static struct buf make_profile(void)
{
    pb_profile p = PERFTOOLS__PROFILES__PROFILE__INIT;
    pb_value_type type = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
    pb_function function = PERFTOOLS__PROFILES__FUNCTION__INIT;
    pb_label labels[5];
    pb_sample samples[2] = {PERFTOOLS__PROFILES__SAMPLE__INIT, PERFTOOLS__PROFILES__SAMPLE__INIT};
    static const struct {
        int key, str, num;
    } rows[5] = {{USER, ALICE, 0}, {PATH, SLASH, 0}, {USER, BOB, 0}, {BYTES, 0, 512}, {TOKEN, 0, 4711}};
    pb_label *of_first[2] = {&labels[0], &labels[1]}, *of_second[3] = {&labels[2], &labels[3], &labels[4]};
    for (int i = 0; i < 5; i++) {
        perftools__profiles__label__init(&labels[i]);
        labels[i].key = rows[i].key;
        labels[i].str = rows[i].str;
        labels[i].num = rows[i].num;
    }
    int64_t one = 1;
    samples[0].n_value = samples[1].n_value = 1;
    samples[0].value = samples[1].value = &one;
    samples[0].n_label = 2;
    samples[0].label = of_first;
    samples[1].n_label = 3;
    samples[1].label = of_second;
    type.type = CPU;
    type.unit = COUNT;
    function.id = 1;
    function.name = ALICE;
    pb_value_type *types[] = {&type};
    pb_sample *all[] = {&samples[0], &samples[1]};
    pb_function *functions[] = {&function};
    p.n_sample_type = 1;
    p.sample_type = types;
    p.n_sample = 2;
    p.sample = all;
    p.n_function = 1;
    p.function = functions;
    char *table[STRINGS];
    for (int i = 0; i < STRINGS; i++)
        table[i] = strings[i];
    p.n_string_table = STRINGS;
    p.string_table = table;
    p.time_nanos = 5;
    struct buf b = BUF_INIT(65536);
    unsigned char bytes[4096];
    size_t n = perftools__profiles__profile__pack(&p, bytes);
    buf_add(&b, bytes, n);
    return b;
}

/* The keys of its labels are no names of secrets. */
static struct buf make_profile_without_secrets(void)
{
    memcpy(strings[USER], "uses", 4);
    memcpy(strings[TOKEN], "taken", 5);
    struct buf b = make_profile();
    memcpy(strings[USER], "user", 4);
    memcpy(strings[TOKEN], "token", 5);
    return b;
}

static const char *string_at(const pb_profile *p, int64_t i)
{
    assert_true(i >= 0 && (size_t)i < p->n_string_table);
    return p->string_table[i];
}

static void labels_of_a_profile_are_redacted(void **state)
{
    (void)state;
    struct buf before = make_profile(), after = BUF_INIT(65536);
    uint64_t labels = 0;
    struct err err = ERR_INIT;
    struct bytes first = {before.data, before.len, 0};
    assert_ok(relabel(&first, &after, &labels, &err), &err);
    assert_int_equal(labels, 3);
    pb_profile *p = perftools__profiles__profile__unpack(NULL, after.len, (const uint8_t *)after.data);
    assert_non_null(p);
    static const struct {
        const char *key, *str;
        int64_t num;
    } expected[2][3] = {{{"user", REDACTED, 0}, {"path", "/x", 0}},
                        {{"user", REDACTED, 0}, {"bytes", "", 512}, {"token", REDACTED, 0}}};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < p->sample[i]->n_label; k++) {
            const pb_label *l = p->sample[i]->label[k];
            assert_string_equal(string_at(p, l->key), expected[i][k].key);
            assert_string_equal(string_at(p, l->str), expected[i][k].str);
            assert_int_equal(l->num, expected[i][k].num);
        }
    assert_string_equal(string_at(p, p->function[0]->name), "alice");
    assert_string_equal(string_at(p, BOB), "");
    assert_int_equal(p->n_string_table, STRINGS + 1);
    assert_int_equal(p->time_nanos, 5);
    perftools__profiles__profile__free_unpacked(p, NULL);
    /* A second redaction replaces the same three values again. */
    struct buf again = BUF_INIT(65536);
    struct bytes second = {after.data, after.len, 0};
    assert_ok(relabel(&second, &again, &labels, &err), &err);
    assert_int_equal(labels, 3);
    buf_release(&before);
    buf_release(&after);
    buf_release(&again);
}

/* Redacts a profile into `ret`. Returns the number of redacted labels; *ret_times is the number of reads of
 * the profile. */
static uint64_t count_redacted_labels(const struct buf *b, size_t *ret_times, struct buf *ret)
{
    struct bytes in = {b->data, b->len, 0};
    uint64_t labels = 0;
    struct err err = ERR_INIT;
    assert_ok(relabel(&in, ret, &labels, &err), &err);
    *ret_times = in.times;
    return labels;
}

/* A profile with secret labels is read three times, or four times if its strings precede the samples. */
static void a_profile_without_secret_labels_is_read_only_once(void **state)
{
    (void)state;
    struct buf b = make_profile(), strings_first = BUF_INIT(65536), out = BUF_INIT(65536), none;
    size_t times = 0, head = 0;
    assert_int_equal(count_redacted_labels(&b, &times, &out), 3);
    assert_int_equal(times, 3);
    /* An empty first string: tag 6, length 0. */
    while (memcmp(b.data + head,
                  "\x32\x00\x32\x03"
                  "cpu",
                  7) != 0)
        head++;
    size_t strings_n = 0;
    for (int i = 0; i < STRINGS; i++)
        strings_n += 2 + strlen(strings[i]);
    buf_add(&strings_first, b.data + head, strings_n);
    buf_add(&strings_first, b.data, head);
    buf_add(&strings_first, b.data + head + strings_n, b.len - head - strings_n);
    buf_clear(&out);
    assert_int_equal(count_redacted_labels(&strings_first, &times, &out), 3);
    assert_int_equal(times, 4);
    assert_null(memmem(out.data, out.len, "bob", 3));
    assert_non_null(memmem(out.data, out.len, "alice", 5));
    none = make_profile_without_secrets();
    buf_clear(&out);
    assert_int_equal(count_redacted_labels(&none, &times, &out), 0);
    assert_int_equal(times, 1);
    assert_int_equal(out.len, 0);
    buf_release(&none);
    buf_release(&b);
    buf_release(&strings_first);
    buf_release(&out);
}

static void too_many_label_keys_are_an_error(void **state)
{
    (void)state;
    struct buf b = make_profile(), out = BUF_INIT(1 << 20);
    uint64_t labels = 0;
    for (unsigned i = 0; i <= 300; i++) {
        /* A sample with one value and one label, whose key is the string after it. */
        unsigned key = i + STRINGS;
        const unsigned char sample[] = {
            0x12, 10, 0x12, 1, 1, 0x1a, 5, 0x08, (unsigned char)(key | 0x80), (unsigned char)(key >> 7),
            0x18, 1};
        buf_add(&b, sample, sizeof sample);
        buf_add(&b, "\x32\x01k", 3);
        struct err err = ERR_INIT;
        if (i == 200)
            assert_ok(relabel(&(struct bytes){b.data, b.len, 0}, &out, &labels, &err), &err);
        if (i == 300)
            assert_refused(relabel(&(struct bytes){b.data, b.len, 0}, &out, &labels, &err), &err, ERR_FAILED,
                           "its labels have more than 250 keys");
    }
    buf_release(&b);
    buf_release(&out);
}

static void relabel_damaged(void *ctx, const struct damaged *s)
{
    (void)ctx;
    struct buf after = BUF_INIT(65536);
    uint64_t labels = 0;
    struct err err = ERR_INIT;
    if (relabel(&(struct bytes){s->p, s->n, 0}, &after, &labels, &err) == 0 && labels > 0) {
        struct profile_summary sum;
        struct profile_scan *scan = profile_scan_new(NULL);
        assert_ok(profile_scan_feed(scan, after.data, after.len, &err), &err);
        assert_ok(profile_scan_finish(scan, &sum, &err), &err);
        profile_scan_free(scan);
    }
    buf_release(&after);
}

static void damaged_profiles_are_refused_or_stay_readable(void **state)
{
    (void)state;
    struct buf b = make_profile();
    damage_everywhere(b.data, b.len, relabel_damaged, NULL);
    buf_release(&b);
}

/* ---- members ----------------------------------------------------------------------------------------- */

static const struct stop never = {.cancel_fd = -1};

/* Writes these bytes to a file, redacts it, and returns the new bytes in *ret. */
static int redact_file(const char *dir, struct redact_work work, const void *p, size_t n,
                       struct redact_tally *tally, struct buf *ret, struct err *err)
{
    char *in = scratch_file(dir, "in", p, n), *out = file_join(dir, "out");
    work.from = file_open(in, err);
    work.to = file_create(out, err);
    int rc = redact_member(&work, tally, err);
    fd_close(&work.from);
    fd_close(&work.to);
    if (rc == 0)
        *ret = scratch_read(out);
    assert_int_equal(remove(out), 0);
    free(in);
    free(out);
    return rc;
}

/* Redacts the bytes of a member, which must succeed. Returns the number of redactions. */
static uint64_t redact_bytes(const char *dir, enum redact_form form, const void *p, size_t n, struct buf *ret)
{
    struct err err = ERR_INIT;
    struct redact_tally tally = {{0}};
    struct redact_work work = {.form = form, .stop = &never};
    assert_ok(redact_file(dir, work, p, n, &tally, ret, &err), &err);
    return redact_sum(&tally);
}

static void each_format_of_a_member_is_redacted(void **state)
{
    struct buf profile = make_profile(), out;
    unsigned char zipped[4096];
    z_stream z = {.next_in = (unsigned char *)profile.data,
                  .avail_in = (unsigned)profile.len,
                  .next_out = zipped,
                  .avail_out = sizeof zipped};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    assert_int_equal(redact_bytes(*state, REDACT_PROFILE, zipped, z.total_out, &out), 3);
    assert_memory_equal(out.data, "\x1f\x8b", 2);
    buf_release(&out);
    assert_int_equal(redact_bytes(*state, REDACT_PROFILE, profile.data, profile.len, &out), 3);
    buf_release(&out);
    assert_int_equal(redact_bytes(*state, REDACT_CMDLINE, "x\0--token=t", 11, &out), 1);
    assert_memory_equal(out.data, "x\0--token=[redacted]", 20);
    buf_release(&out);
    /* Lines that cross the boundaries of pieces. */
    struct buf dump = BUF_INIT(4 << 20);
    for (int i = 0; i < 5000; i++)
        buf_addf(&dump, "%d @ 0x1 0x2\n# labels: {\"user\":\"u%d\"}\n", i, i);
    buf_adds(&dump, "# labels: {\"user\":\"last\"}");
    assert_int_equal(redact_bytes(*state, REDACT_DUMP, dump.data, dump.len, &out), 5001);
    assert_null(strstr(buf_str(&out), "\"u"
                                      "4999\""));
    assert_null(strstr(buf_str(&out), "last"));
    buf_release(&out);
    buf_release(&dump);
    buf_release(&profile);
}

/* Returns the bytes gzip'ed, with a name and a comment in the header unless `name` is NULL. */
static struct buf gzip_bytes(const void *p, size_t n, const char *name)
{
    struct buf b = BUF_INIT(n + 4096);
    unsigned char out[65536];
    gz_header header = {.name = (unsigned char *)(uintptr_t)name, .comment = header.name};
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)p,
                  .avail_in = (unsigned)n,
                  .next_out = out,
                  .avail_out = sizeof out};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (name)
        assert_int_equal(deflateSetHeader(&z, &header), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    buf_add(&b, out, z.total_out);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return b;
}

/* A profile without labels to redact, with a field 100 in it and in each of its messages. */
static struct buf make_profile_with_unknown_fields(void)
{
    static const char unknown[] = "\xa2\x06\x0etoken=sesame-x";
    enum { SIZE = sizeof unknown - 1 };
    struct buf b = make_profile_without_secrets();
    static const unsigned numbers[] = {3, 5}; /* a mapping, a function */
    buf_add(&b, unknown, SIZE);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        buf_addc(&b, (char)(numbers[i] << 3 | 2));
        buf_addc(&b, SIZE + 2);
        buf_add(&b, "\x08\x09", 2); /* an id */
        buf_add(&b, unknown, SIZE);
    }
    /* A sample with a label, and a location with a line. */
    buf_add(&b, "\x12", 1);
    buf_addc(&b, 3 + 2 + SIZE + 2 + SIZE);
    buf_add(&b, "\x12\x01\x01\x1a", 4);
    buf_addc(&b, 2 + SIZE);
    buf_add(&b, "\x08\x06", 2);
    buf_add(&b, unknown, SIZE);
    buf_add(&b, unknown, SIZE);
    buf_addc(&b, 0x22);
    buf_addc(&b, 2 + 2 + SIZE);
    buf_add(&b, "\x08\x07\x22", 3);
    buf_addc(&b, SIZE);
    buf_add(&b, unknown, SIZE);
    return b;
}

static bool buf_has(const struct buf *b, const char *text)
{
    return memmem(b->data, b->len, text, strlen(text));
}

/* No rule reads these bytes, so they could contain a secret. */
static void unknown_fields_and_gzip_headers_are_removed(void **state)
{
    struct buf odd = make_profile_with_unknown_fields(), out, plain, again;
    assert_int_equal(redact_bytes(*state, REDACT_PROFILE, odd.data, odd.len, &out), 6);
    assert_memory_equal(out.data, "\x1f\x8b\x08\x00", 4);
    gzFile f = NULL;
    char *path = scratch_file(*state, "odd.gz", out.data, out.len), bytes[65536];
    assert_non_null(f = gzopen(path, "rb"));
    int n = gzread(f, bytes, sizeof bytes);
    assert_true(n > 100);
    assert_int_equal(gzclose(f), Z_OK);
    plain = (struct buf)BUF_INIT(sizeof bytes);
    buf_add(&plain, bytes, (size_t)n);
    assert_false(buf_has(&plain, "sesame"));
    assert_true(buf_has(&plain, "alice"));
    assert_int_equal(redact_bytes(*state, REDACT_PROFILE, plain.data, plain.len, &again), 0);
    buf_release(&again);
    buf_release(&out);
    /* The header of gzip. */
    struct buf named = gzip_bytes(plain.data, plain.len, "token=sesame"),
               clean = gzip_bytes(plain.data, plain.len, NULL);
    assert_true(buf_has(&named, "sesame"));
    assert_int_equal(redact_bytes(*state, REDACT_PROFILE, clean.data, clean.len, &out), 0);
    buf_release(&out);
    assert_int_equal(redact_bytes(*state, REDACT_PROFILE, named.data, named.len, &out), 1);
    assert_false(buf_has(&out, "sesame"));
    assert_true(out.len > 100);
    buf_release(&out);
    /* The header of a second member. */
    struct buf two = gzip_bytes("a\n", 2, NULL), second = gzip_bytes("b\n", 2, "token=sesame");
    buf_add(&two, second.data, second.len);
    assert_int_equal(redact_bytes(*state, REDACT_DUMP, two.data, two.len, &out), 1);
    assert_memory_equal(out.data, "a\nb\n", 4);
    buf_release(&out);
    free(path);
    struct buf *all[] = {&odd, &plain, &named, &clean, &two, &second};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_release(all[i]);
}

static void secrets_in_compressed_and_utf16_text_are_redacted(void **state)
{
    static const char text[] = "password=sesame\nb\n", wide[] = "\xff\xfet\0o\0k\0e\0n\0=\0s\0e\0s\0\n\0";
    struct buf zipped = gzip_bytes(text, sizeof text - 1, NULL),
               twice = gzip_bytes(zipped.data, zipped.len, NULL), out;
    assert_int_equal(redact_bytes(*state, REDACT_DUMP, zipped.data, zipped.len, &out), 1);
    assert_int_equal(out.len, strlen("password=[redacted]\nb\n"));
    assert_memory_equal(out.data, "password=[redacted]\nb\n", out.len);
    buf_release(&out);
    assert_int_equal(redact_bytes(*state, REDACT_CMDLINE, zipped.data, zipped.len, &out), 1);
    buf_release(&out);
    assert_int_equal(redact_bytes(*state, REDACT_DUMP, wide, sizeof wide - 1, &out), 1);
    assert_int_equal(out.len, strlen("\xff\xfetoken=[redacted]\n"));
    assert_memory_equal(out.data, "\xff\xfetoken=[redacted]\n", out.len);
    buf_release(&out);
    assert_int_equal(redact_bytes(*state, REDACT_DUMP, "password=\0sesame", 16, &out), 1);
    assert_false(buf_has(&out, "sesame"));
    buf_release(&out);
    const struct {
        const void *p;
        size_t n;
        const char *why;
    } refused[] = {{twice.data, twice.len, "it is no text (gzip)"},
                   {"\x28\xb5\x2f\xfd....", 8, "it is no text (zstd)"},
                   {zipped.data, zipped.len - 3, "cut off inside gzip data"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct redact_tally tally = {{0}};
        struct redact_work work = {.form = REDACT_DUMP, .stop = &never};
        struct err err = ERR_INIT;
        assert_int_equal(redact_file(*state, work, refused[i].p, refused[i].n, &tally, &out, &err), -1);
        assert_int_equal(err.kind, ERR_FAILED);
        assert_contains(err.msg, refused[i].why);
    }
    buf_release(&zipped);
    buf_release(&twice);
}

/* A dump's line, and a value in it, may have any length. */
static void lines_of_any_length_are_redacted(void **state)
{
    enum { SIZE = 3 << 20 };
    struct buf in = BUF_INIT(4 * SIZE), out;
    static char xs[SIZE];
    memset(xs, 'x', SIZE);
    buf_adds(&in, "# labels: {\"path\":\"");
    buf_add(&in, xs, SIZE);
    buf_adds(&in, "\", \"user\":\"");
    buf_add(&in, xs, SIZE);
    buf_adds(&in, "\"}\n");
    assert_int_equal(redact_bytes(*state, REDACT_DUMP, in.data, in.len, &out), 1);
    assert_int_equal(out.len, in.len - SIZE + strlen(REDACTED));
    static const char end[] = "\", \"user\":\"" REDACTED "\"}\n";
    assert_string_equal(out.data + out.len - (sizeof end - 1), end);
    buf_release(&in);
    buf_release(&out);
}

/* If the redaction took quadratic time, this test would not end. */
static void long_runs_of_each_pattern_are_redacted(void **state)
{
    enum { SIZE = 1 << 16 };
    static const struct {
        enum redact_form form;
        const char *begin, *again;
    } cases[] = {
        {REDACT_CMDLINE, "", "a:"},
        {REDACT_CMDLINE, "", "a="},
        {REDACT_CMDLINE, "", "key="},
        {REDACT_CMDLINE, "", "key: "},
        {REDACT_CMDLINE, "", "a1key="},
        {REDACT_CMDLINE, "x ", "--password "},
        {REDACT_CMDLINE, "", "ghp_"},
        {REDACT_CMDLINE, "", "eyJ:"},
        {REDACT_CMDLINE, "--a", "-a"},
        {REDACT_CMDLINE, "-", "-"},
        {REDACT_CMDLINE, "", "\\"},
        {REDACT_CMDLINE, "", "\"token\":\\\""},
        {REDACT_CMDLINE, "", "\"key\":\""},
        {REDACT_CMDLINE, "", "\"key\":["},
        {REDACT_CMDLINE, "", "key = "},
        {REDACT_CMDLINE, "key=", " "},
        {REDACT_CMDLINE, "", "a://b:c/"},
        {REDACT_CMDLINE, "", "a://b:@"},
        {REDACT_CMDLINE, "a://b:", "/@"},
        {REDACT_CMDLINE, "", "b:c@"},
        {REDACT_CMDLINE, "", "--key "},
        {REDACT_CMDLINE, "", "?a="},
        {REDACT_CMDLINE, "", "?a%3D"},
        {REDACT_CMDLINE, "", "token%3D%"},
        {REDACT_CMDLINE, "key%3D", "%25"},
        {REDACT_CMDLINE, "", "key=&quot;"},
        {REDACT_CMDLINE, "", "Bearer 1"},
        {REDACT_CMDLINE, "", "-----BEGIN PRIVATE KEY-----"},
        {REDACT_CMDLINE, "", "-----BEGIN PRIVATE KEY----- [redacted]"},
        {REDACT_DUMP, "", "-----BEGIN "},
        {REDACT_CMDLINE, "", "key\t"},
        {REDACT_CMDLINE, "", "="},
        {REDACT_CMDLINE, "", "=>"},
        {REDACT_CMDLINE, "", "{key:"},
        {REDACT_CMDLINE, "", "redis://:"},
        {REDACT_CMDLINE, "a://b:c ", "://:"},
        {REDACT_CMDLINE, "a://b:", "\\/"},
        {REDACT_CMDLINE, "", "a%3A%2F%2Fb%3A"},
        {REDACT_CMDLINE, "", "a%3A%2F%2F%253A%252F%252F"},
        {REDACT_CMDLINE, "", "%25"},
        {REDACT_CMDLINE, "", "a]="},
        {REDACT_CMDLINE, "", "[a]="},
        {REDACT_CMDLINE, "", "%6="},
        {REDACT_CMDLINE, "", "\\u0061="},
        {REDACT_CMDLINE, "", "\"name\":\"key\","},
        {REDACT_CMDLINE, "", "\"value\":\"key\","},
        {REDACT_CMDLINE, "", "\"name\":\"token\",\"value\":1 "},
        {REDACT_CMDLINE, "", "%22key%22%3A%22"},
        {REDACT_CMDLINE, "%22", "%20%22"},
        {REDACT_CMDLINE, "", "<td>"},
        {REDACT_CMDLINE, "", "<key>"},
        {REDACT_CMDLINE, "<", ">"},
        {REDACT_CMDLINE, "", "<td>token</td>"},
        {REDACT_DUMP, "", "name: token\n"},
        {REDACT_CMDLINE, "", "/token/"},
        {REDACT_CMDLINE, "", "-u a:"},
        {REDACT_CMDLINE, "", "-p -"},
        {REDACT_CMDLINE, "", "\"-p\",\""},
        {REDACT_DUMP, "# labels: ", "\""},
        {REDACT_DUMP, "# labels: ", "\"a\":"},
        {REDACT_DUMP, "# labels: ", "\\\""},
        {REDACT_DUMP, "# labels: ", "\"a\":\""},
        {REDACT_DUMP, "", "# labels: "},
        {REDACT_DUMP, "goroutine ", "\"user\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf in = BUF_INIT(2 * SIZE), out;
        buf_adds(&in, cases[i].begin);
        while (in.len < SIZE)
            buf_adds(&in, cases[i].again);
        redact_bytes(*state, cases[i].form, in.data, in.len, &out);
        buf_release(&in);
        buf_release(&out);
    }
}

static void invalid_and_oversized_members_fail(void **state)
{
    enum { CMDLINE = 4 << 20, FIELD = 16 << 20 };
    static char zeros[FIELD + 64];
    struct buf profile = make_profile(), out;
    struct redact_tally tally = {{0}};
    /* The unknown field 16 of a profile, with a length of FIELD bytes. */
    static const unsigned char head[] = {0x82, 0x01, 0x80, 0x80, 0x80, 0x08};
    struct buf huge = BUF_INIT(2 * FIELD);
    buf_add(&huge, head, sizeof head);
    buf_add(&huge, zeros, FIELD);
    const struct {
        enum redact_form form;
        const void *p;
        size_t n;
        const char *why; /* NULL: redacted */
    } cases[] = {
        {REDACT_CMDLINE, zeros, CMDLINE, NULL},
        {REDACT_CMDLINE, zeros, CMDLINE + 1, "the command line is larger than 4194304 bytes"},
        {REDACT_PROFILE, huge.data, huge.len, "a field is larger than 16777216 bytes"},
        {REDACT_PROFILE, profile.data, profile.len - 1, "cut off inside the profile"},
        {REDACT_PROFILE, "\x1f\x8b", 2, "cut off inside gzip data"},
        {REDACT_PROFILE, "<html>", 6, "at byte "},
        {REDACT_PROFILE, "", 0, "the profile has no sample types"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct redact_work work = {.form = cases[i].form, .stop = &never};
        struct err err = ERR_INIT;
        int rc = redact_file(*state, work, cases[i].p, cases[i].n, &tally, &out, &err);
        assert_int_equal(rc, cases[i].why ? -1 : 0);
        if (rc == 0) {
            buf_release(&out);
            continue;
        }
        assert_int_equal(err.kind, ERR_FAILED);
        assert_contains(err.msg, cases[i].why);
    }
    buf_release(&huge);
    buf_release(&profile);
}

/* `stop` ends the search of each form with this kind of error. */
static void assert_search_ends(const char *dir, const struct stop *stop, enum err_kind kind)
{
    struct buf profile = make_profile(), out;
    for (int form = REDACT_CMDLINE; form <= REDACT_DUMP; form++) {
        struct redact_work work = {.form = (enum redact_form)form, .stop = stop};
        struct redact_tally tally = {{0}};
        struct err err = ERR_INIT;
        assert_int_equal(redact_file(dir, work, profile.data, profile.len, &tally, &out, &err), -1);
        assert_int_equal(err.kind, kind);
    }
    buf_release(&profile);
}

static void a_search_ends_on_cancel_and_at_its_time_limit(void **state)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_search_ends(*state, &(struct stop){.cancel_fd = fds[0]}, ERR_CANCELLED);
    assert_search_ends(*state, &(struct stop){.cancel_fd = -1, .cpu_ms = 1, .cpu_end_ms = 0}, ERR_LIMIT);
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_in_command_lines_are_redacted),
        cmocka_unit_test(each_rule_redacts_only_its_own_cases),
        cmocka_unit_test(label_keys_that_name_a_person_or_secret_are_found),
        cmocka_unit_test(damaged_command_lines_need_no_second_redaction),
        cmocka_unit_test(secrets_in_text_are_redacted),
        cmocka_unit_test(values_on_the_next_line_are_redacted),
        cmocka_unit_test(secrets_in_requests_are_redacted),
        cmocka_unit_test(all_lines_of_a_private_key_are_redacted),
        cmocka_unit_test(repeated_words_of_a_request_are_redacted),
        cmocka_unit_test(names_of_kinds_are_not_learned),
        cmocka_unit_test(values_of_a_request_are_redacted_in_every_encoding),
        cmocka_unit_test(long_values_are_redacted_inside_of_words),
        cmocka_unit_test(values_that_a_message_cuts_are_redacted),
        cmocka_unit_test(labels_and_secrets_in_dumps_are_redacted),
        cmocka_unit_test(labels_of_a_profile_are_redacted),
        cmocka_unit_test(a_profile_without_secret_labels_is_read_only_once),
        cmocka_unit_test(too_many_label_keys_are_an_error),
        cmocka_unit_test(damaged_profiles_are_refused_or_stay_readable),
        SCRATCH(each_format_of_a_member_is_redacted),
        SCRATCH(unknown_fields_and_gzip_headers_are_removed),
        SCRATCH(secrets_in_compressed_and_utf16_text_are_redacted),
        SCRATCH(lines_of_any_length_are_redacted),
        SCRATCH(long_runs_of_each_pattern_are_redacted),
        SCRATCH(invalid_and_oversized_members_fail),
        SCRATCH(a_search_ends_on_cancel_and_at_its_time_limit),
    };
    return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}
