/* Requests and answers: routes, parameters, refusals, conditions, ranges, compression, the token. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <zlib.h>

#include "tests/unit/httpd/server_fixture.h"
#include "base/banned.h"

/* ---- routes and requests ------------------------------------------------------------------------------- */

static void routes_choose_the_handler_and_the_methods(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        int status;
    } rows[] = {
        {"GET / HTTP/1.1", 200},
        {"HEAD / HTTP/1.1", 200},
        {"GET /?a HTTP/1.1", 200},
        {"GET /none HTTP/1.1", 404},
        {"GET /echo/ HTTP/1.1", 404},
        {"GET /below/a/b HTTP/1.1", 200},
        {"GET /below HTTP/1.1", 404},
        {"POST / HTTP/1.1", 405},
        {"DELETE /delete HTTP/1.1", 200},
        {"GET /delete HTTP/1.1", 405},
        {"PUT /echo HTTP/1.1", 405},
        {"OPTIONS / HTTP/1.1", 405},

        {"GET /%00 HTTP/1.1", 400},
        {"GET /%zz HTTP/1.1", 400},
        {"GET /a%2fb HTTP/1.1", 404},
        {"GET //echo HTTP/1.1", 400},
        {"GET /be%6Cow/x HTTP/1.1", 200},
        {"GET http://localhost/ HTTP/1.1", 200},
        {"GET nothing HTTP/1.1", 400},
        {"nonsense", 400},
        /* A target in absolute form must have the server's scheme and the name of the Host header. */
        {"GET HTTP://LOCALHOST/none HTTP/1.1", 404},
        {"GET http://127.0.0.1/ HTTP/1.1", 400},
        {"GET https://localhost/ HTTP/1.1", 400},
        {"GET http://localhost:1/ HTTP/1.1", 400},
        {"GET http://localhost//echo HTTP/1.1", 400},
        {"GET http://a@localhost/ HTTP/1.1", 400},
        {"GET http://localhost HTTP/1.1", 400},
    };
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *request = format_text("%s\r\nHost: localhost\r\nConnection: close\r\n\r\n", rows[i].line);
        struct buf answer = exchange(&run, request);
        if (status_of(&answer) != rows[i].status)
            fail_msg("%s: status %d instead of %d", rows[i].line, status_of(&answer), rows[i].status);
        buf_release(&answer);
        free(request);
    }
    struct buf refused = exchange(&run, "PUT /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_contains(buf_str(&refused), "Allow: GET, HEAD, POST\r\n");
    buf_release(&refused);
    end(&run);
}

static void handlers_read_path_parameters_body_and_headers(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"/echo?a=1&b=%20x+y&a=2", "/echo|a=1;b= x y;a=2;||"},
        {"/echo?a&=b&&c=", "/echo|a=;=b;c=;||"},
        {"/echo?a=%zz&b=%4&c=1;d=2&e=%00&f=3", "/echo|f=3;||"},
        {"/below/%c3%bc%20", "/below/\xc3\xbc ||"
                             "|"},
        {"/echo?", "/echo|||"},
    };
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_body(get(&run, rows[i][0], ""), rows[i][1]);
    assert_body(get(&run, "/echo", "X-Test: of a header \r\n"), "/echo|||of a header");
    assert_body(
        exchange(
            &run,
            "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"),
        "/echo||hello|");
    end(&run);
}

static void more_than_256_parameters_are_ignored(void **state)
{
    (void)state;
    struct test_server run;
    struct buf path = BUF_INIT(8192);
    begin(&run, &(struct httpd_options)OPTIONS);
    buf_adds(&path, "/echo?");
    for (int i = 0; i < 300; i++)
        buf_addf(&path, "p%d&", i);
    struct buf answer = get(&run, buf_str(&path), "");
    assert_contains(buf_str(&answer), "p255=;");
    assert_null(strstr(buf_str(&answer), "p256="));
    buf_release(&answer);
    buf_release(&path);
    end(&run);
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

/* Each request could have two meanings. The connection is closed after it: the second request, behind the
 * first one, gets no answer. evhttp itself refuses some (no reason here). */
static void ambiguous_requests_are_refused_and_end_the_connection(void **state)
{
    (void)state;
    static const struct {
        const char *line, *headers; /* without Host */
        int status;
        const char *reason;
    } rows[] = {
        {"GET /", "Host: localhost\r\n", 400, "two Host headers"},
        {"POST /echo", "Content-Length: 0\r\nContent-Length: 0\r\n", 400, "its length twice"},
        {"POST /echo", "Content-Length: +1\r\n", 400, "no number"},
        {"POST /echo", "Content-Length: 1, 1\r\n", 400, ""},
        {"POST /echo", "Content-Length : 3\r\n", 400, "bad name"},
        {"POST /echo", "Transfer-Encoding: chunked\r\n", 411, "needs a Content-Length"},
        {"GET /", "Bad Name: 3\r\n", 400, "bad name"},
        {"HEAD /", "Content-Length: 3\r\n", 400, ""},
        {"TRACE /", "Content-Length: 3\r\n", 400, "has no body"},
        {"PROPFIND /", "Content-Length: 3\r\n", 400, "has no body"},
        {"PROPFIND /", "", 501, "no such method"},
        {"TRACE /", "", 501, "no such method"},
        {"CONNECT localhost:1", "", 501, "no such method"},
    };
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* 0 CRLF CRLF: the end of a chunked body. */
        char *both = format_text("%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n0\r\n\r\n"
                                 "GET /below/second HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                                 rows[i].line, rows[i].headers);
        struct buf answer = exchange(&run, both);
        if (status_of(&answer) != rows[i].status)
            fail_msg("row %zu: %s", i, buf_str(&answer));
        assert_contains(buf_str(&answer), rows[i].reason);
        assert_contains(buf_str(&answer), "Connection: close\r\n");
        assert_null(strstr(buf_str(&answer), "/below/second"));
        buf_release(&answer);
        free(both);
    }
    assert_status(exchange(&run, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), 400);
    end(&run);
}

/* evhttp would cut the headers there. */
static void a_nul_in_the_headers_is_refused(void **state)
{
    (void)state;
    static const char request[] = "GET /below/x HTTP/1.1\r\nHost: localhost\r\n\0X: y\r\n\r\n";
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    int fd = client_connect(&run);
    assert_int_equal(send(fd, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
    assert_status(client_read_all(fd), 400);
    close(fd);
    end(&run);
}

static void host_and_origin_must_be_those_of_the_server(void **state)
{
    (void)state;
    static const char *const names[] = {"Dev.Example", NULL};
    static const struct {
        const char *host, *origin;
        int status, status_any_address;
    } rows[] = {
        {"localhost", NULL, 200, 200},
        {"localhost:9000", NULL, 200, 200},
        {"LOCALHOST.:1", NULL, 200, 200},
        {"a.localhost", NULL, 200, 200},
        {"127.0.0.1:80", NULL, 200, 200},
        {"127.9.9.9", NULL, 200, 200},
        {"[::1]:80", NULL, 200, 200},
        {"dev.example:7", NULL, 200, 200},
        {"dev.example.", NULL, 200, 200},
        {"evil.example", NULL, 421, 421},
        {"dev.example.evil", NULL, 421, 421},
        {"localhost.evil.example", NULL, 421, 421},
        {"notlocalhost", NULL, 421, 421},
        {".localhost", NULL, 421, 421},
        {"10.0.0.1", NULL, 421, 200},
        {"[fe80::1]", NULL, 421, 200},
        {"127.0.0.1.evil.example", NULL, 421, 421},
        {"localhost:80:80", NULL, 421, 421},
        {"localhost:x", NULL, 421, 421},
        {"user@localhost", NULL, 421, 421},
        {"[::1", NULL, 421, 421},
        {"", NULL, 421, 421},
        {"localhost:9000", "http://localhost:9000", 200, 200},
        {"localhost:9000", "HTTP://LOCALHOST:9000", 200, 200},
        {"localhost:9000", "http://localhost", 403, 403},
        {"localhost:9000", "https://localhost:9000", 403, 403},
        {"localhost:9000", "http://127.0.0.1:9000", 403, 403},
        {"localhost:9000", "http://localhost:9000.evil.example", 403, 403},
        {"localhost:9000", "null", 403, 403},
        {"localhost:9000", "", 403, 403},
    };
    for (int any = 0; any < 2; any++) {
        struct test_server run;
        struct httpd_options o = OPTIONS;
        o.host_names = names;
        o.accepts_addresses = any;
        begin(&run, &o);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            char *request = format_text("GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s%s%s\r\n",
                                        rows[i].host, rows[i].origin ? "Origin: " : "",
                                        rows[i].origin ? rows[i].origin : "", rows[i].origin ? "\r\n" : "");
            struct buf answer = exchange(&run, request);
            int want = any ? rows[i].status_any_address : rows[i].status;
            if (status_of(&answer) != want)
                fail_msg("row %zu: Host %s: status %d instead of %d", i, rows[i].host, status_of(&answer),
                         want);
            buf_release(&answer);
            free(request);
        }
        end(&run);
    }
}

/* ---- answers ------------------------------------------------------------------------------------------- */

static void every_answer_has_the_protecting_headers(void **state)
{
    (void)state;
    static const char *const headers[] = {
        ("Content-Security-Policy: default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors "
         "'none'\r\n"),
        "X-Content-Type-Options: nosniff\r\n", "Referrer-Policy: same-origin\r\n",
        "Cross-Origin-Resource-Policy: same-origin\r\n", "Cross-Origin-Opener-Policy: same-origin\r\n"};
    static const struct {
        const char *path, *headers;
        int status;
    } rows[] = {
        {"/", "", 200},
        {"/none", "", 404},
        {"/delete", "", 405},
        {"/file", "", 200},
        {"/file", "If-None-Match: \"v1\"\r\n", 304},
        {"/file", "Range: bytes=5-\r\n", 416},
        {"/", "Origin: http://evil.example\r\n", 403},
        {"/", "Host: localhost\r\n", 400},
    };
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf answer = get(&run, rows[i].path, rows[i].headers);
        assert_int_equal(status_of(&answer), rows[i].status);
        for (size_t k = 0; k < sizeof headers / sizeof *headers; k++)
            assert_contains(buf_str(&answer), headers[k]);
        assert_contains(buf_str(&answer), strcmp(rows[i].path, "/file") == 0
                                              ? "Cache-Control: private, no-cache\r\n"
                                              : "Cache-Control: no-store\r\n");
        buf_release(&answer);
    }
    end(&run);
}

/* Writes n bytes of text, which differ from line to line, to a file without a name. */
static int make_file(size_t n)
{
    char name[] = "/tmp/test-httpd-XXXXXX";
    int fd = mkostemp(name, O_CLOEXEC);
    struct buf b = BUF_INIT(n + 100);
    unlink(name);
    while (b.len < n)
        buf_addf(&b, "line %zu of the file\n", b.len);
    assert_ok(fd_write_all(fd, b.data, n, NULL), &(struct err)ERR_INIT);
    buf_release(&b);
    return fd;
}

static void files_are_sent_whole_in_parts_or_not_at_all(void **state)
{
    (void)state;
    enum { SIZE = 200000 };
    static const struct {
        const char *headers;
        int status;
        size_t first, n;
        const char *answer_header;
    } rows[] = {
        {"", 200, 0, SIZE, "ETag: \"v1\"\r\n"},
        {"Range: bytes=5-9\r\n", 206, 5, 5, "Content-Range: bytes 5-9/200000\r\n"},
        {"Range: bytes=-70000\r\n", 206, 130000, 70000, "Content-Range: bytes 130000-199999/200000\r\n"},
        {"Range: bytes=200000-\r\n", 416, 0, 0, "Content-Range: bytes */200000\r\n"},
        {"Range: bytes=1-2,3-4\r\n", 200, 0, SIZE, "Accept-Ranges: bytes\r\n"},
        {"Range: bytes=5-9\r\nIf-Range: \"v1\"\r\n", 206, 5, 5, "Content-Range: bytes 5-9/200000\r\n"},
        {"Range: bytes=5-9\r\nIf-Range: \"v2\"\r\n", 200, 0, SIZE, "Content-Length: 200000\r\n"},
        {"Range: bytes=5-9\r\nIf-Range: W/\"v1\"\r\n", 200, 0, SIZE, "Content-Length: 200000\r\n"},
        {"If-None-Match: \"v1\"\r\n", 304, 0, 0, "ETag: \"v1\"\r\n"},
        {"If-None-Match: \"a\", W/\"v1\"\r\n", 304, 0, 0, "ETag: \"v1\"\r\n"},
        {"If-None-Match: *\r\n", 304, 0, 0, "ETag: \"v1\"\r\n"},
        {"If-None-Match: \"v\", v1, \"v1\r\n", 200, 0, SIZE, "ETag: \"v1\"\r\n"},
    };
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.file = make_file(SIZE);
    run.site.file_size = SIZE;
    static const char *const paths[] = {"/file", "/text"};
    char *content = malloc(SIZE);
    assert_int_equal(pread(run.site.file, content, SIZE, 0), SIZE);
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        size_t row = i / 2;
        struct buf answer = get(&run, paths[i % 2], rows[row].headers);
        assert_int_equal(status_of(&answer), rows[row].status);
        assert_contains(buf_str(&answer), rows[row].answer_header);
        assert_int_equal(body_of(&answer).n, rows[row].n);
        assert_memory_equal(body_of(&answer).p, content + rows[row].first, rows[row].n);
        buf_release(&answer);
    }
    free(content);
    end(&run);
}

/* Removes the chunked coding, and inflates. */
static struct buf inflate_answer(struct str body, size_t max)
{
    struct buf gz = BUF_INIT(max), plain = BUF_INIT(max);
    size_t room = max;
    for (const char *p = body.p; p < body.p + body.n;) {
        char *end;
        size_t n = strtoul(p, &end, 16);
        if (n == 0)
            break;
        buf_add(&gz, end + 2, n);
        p = end + 2 + n + 2;
    }
    char *out = buf_reserve(&plain, &room);
    z_stream z = {
        .next_in = (unsigned char *)gz.data, .avail_in = (uInt)gz.len, .next_out = (unsigned char *)out};
    z.avail_out = (uInt)room;
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    buf_commit(&plain, room - z.avail_out);
    inflateEnd(&z);
    buf_release(&gz);
    return plain;
}

static void a_compressible_answer_is_compressed_if_the_client_accepts_gzip(void **state)
{
    (void)state;
    enum { SIZE = 1000000 };
    static const struct {
        const char *accepts;
        bool gzip;
    } rows[] = {
        {"gzip", true},
        {"GZIP", true},
        {"deflate, gzip;q=0.5", true},
        {"*", true},
        {"gzip;q=0", false},
        {"br", false},
        {"gzip; q=0.000, *", false},
        {"identity", false},
        {"*;q=0", false},
        {"", false},
        {"x-gzip", false},
        {"br;q=1.0, gzip ;q=0.1", true},
    };
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.file = make_file(SIZE);
    run.site.file_size = SIZE;
    char *content = malloc(SIZE);
    assert_int_equal(pread(run.site.file, content, SIZE, 0), SIZE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *header = format_text("Accept-Encoding: %s\r\n", rows[i].accepts);
        struct buf answer = get(&run, "/text", header), whole = BUF_INIT(SIZE);
        bool gzip = strstr(buf_str(&answer), "Content-Encoding: gzip\r\n") != NULL;
        if (gzip != rows[i].gzip)
            fail_msg("Accept-Encoding: %s: gzip %d", rows[i].accepts, gzip);
        assert_contains(buf_str(&answer), "Vary: Accept-Encoding\r\n");
        assert_contains(buf_str(&answer), gzip ? "ETag: \"v1-gzip\"\r\n" : "ETag: \"v1\"\r\n");
        if (gzip)
            whole = inflate_answer(body_of(&answer), SIZE + 1);
        struct str got = gzip ? (struct str){whole.data, whole.len} : body_of(&answer);
        assert_int_equal(got.n, SIZE);
        assert_memory_equal(got.p, content, SIZE);
        buf_release(&whole);
        buf_release(&answer);
        free(header);
    }
    assert_status(get(&run, "/text", "Accept-Encoding: gzip\r\nIf-None-Match: \"v1-gzip\"\r\n"), 304);
    assert_status(get(&run, "/file", "Accept-Encoding: gzip\r\n"), 200);
    free(content);
    end(&run);
}

static void a_client_of_http_1_0_gets_a_body_of_known_length(void **state)
{
    (void)state;
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.file = make_file(5000);
    run.site.file_size = 5000;
    struct buf answer =
        exchange(&run, "GET /text HTTP/1.0\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n");
    assert_contains(buf_str(&answer), "Content-Length: 5000\r\n");
    assert_null(strstr(buf_str(&answer), "Content-Encoding"));
    assert_int_equal(body_of(&answer).n, 5000);
    buf_release(&answer);
    end(&run);
}

static void head_gets_the_headers_of_get_without_a_body(void **state)
{
    (void)state;
    struct test_server run;
    begin(&run, &(struct httpd_options)OPTIONS);
    run.site.file = make_file(5000);
    run.site.file_size = 5000;
    static const char *const rows[][2] = {{"/", "Content-Length: 5\r\n"},
                                          {"/file", "Content-Length: 5000\r\n"}};
    for (size_t i = 0; i < 2; i++) {
        char *request = format_text(
            "HEAD %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nRange: bytes=0-1\r\n\r\n",
            rows[i][0]);
        struct buf answer = exchange(&run, request);
        assert_int_equal(status_of(&answer), 200);
        assert_contains(buf_str(&answer), rows[i][1]);
        assert_int_equal(body_of(&answer).n, 0);
        buf_release(&answer);
        free(request);
    }
    end(&run);
}

/* ---- the token ----------------------------------------------------------------------------------------- */

/* Copies the value of a header without its end. */
static char *copy_header(const struct buf *answer, const char *name)
{
    const char *at = strstr(buf_str(answer), name);
    assert_non_null(at);
    at += strlen(name);
    return strndup(at, strcspn(at, "\r;"));
}

static void a_visitor_needs_the_token_once_and_then_its_cookie(void **state)
{
    (void)state;
    struct test_server run;
    struct httpd_options o = OPTIONS;
    o.token = "secret+&token";
    begin(&run, &o);
    struct buf page = get(&run, "/echo?f=x", "");
    assert_int_equal(status_of(&page), 403);
    assert_contains(buf_str(&page), "<h1>&lt;Test> &amp; title</h1>");
    assert_contains(buf_str(&page), "<form method=\"post\">");
    assert_contains(buf_str(&page), "form-action 'self'");
    buf_release(&page);
    assert_status(get(&run, "/?token=wrong", ""), 403);
    assert_status(get(&run, "/?token=", ""), 403);

    struct buf moved = get(&run, "/echo?f=%20x&%74oken=secret%2B%26token&h=y", "");
    assert_int_equal(status_of(&moved), 200);
    assert_contains(buf_str(&moved), "content=\"0; url=/echo?f=%20x&amp;h=y\">");
    assert_contains(buf_str(&moved), "; Path=/; HttpOnly; SameSite=Strict\r\n");
    char *cookie = copy_header(&moved, "Set-Cookie: ");
    char *header = format_text("Cookie: other=1; %s; last=2\r\n", cookie);
    assert_body(get(&run, "/echo?f=x", header), "/echo|f=x;||");
    char *wrong = format_text("Cookie: %sx\r\n", cookie);
    assert_status(get(&run, "/", wrong), 403);
    assert_status(get(&run, "/", "Authorization: Bearer secret+&token\r\n"), 200);
    assert_status(get(&run, "/", "Authorization: Bearer secret\r\n"), 403);
    buf_release(&moved);
    free(cookie);
    free(header);
    free(wrong);
    end(&run);
}

static void the_form_of_the_token_page_sets_the_cookie_too(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int status;
    } rows[] = {{"token=secret", 303},
                {"token=+secret%0D%0A", 303},
                {"token=http%3A%2F%2Flocalhost%3A80%2Fui%2Fflamegraph%3Ff%3Dx%26token%3Dsecret%23c%3D1", 303},
                {"token=%3Ftoken%3Dwrong", 403},
                {"token=wrong", 403},
                {"token=secret&x=1", 403},
                {"", 403}};
    struct test_server run;
    struct httpd_options o = OPTIONS;
    o.token = "secret";
    begin(&run, &o);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *request = format_text("POST /below/x?f=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                    "Origin: http://localhost\r\n"
                                    "Content-Length: %zu\r\n\r\n%s",
                                    strlen(rows[i].body), rows[i].body);
        struct buf answer = exchange(&run, request);
        assert_int_equal(status_of(&answer), rows[i].status);
        if (rows[i].status == 303)
            assert_contains(buf_str(&answer), "Location: /below/x?f=1\r\n");
        buf_release(&answer);
        free(request);
    }
    /* The redirect must not lead to another server. */
    assert_status(get(&run, "//evil.example/?token=secret", ""), 400);
    struct buf moved = get(&run, "/\\evil.example/?token=secret", "");
    assert_contains(buf_str(&moved), "url=/\">");
    buf_release(&moved);
    end(&run);
}

static void each_server_has_another_cookie(void **state)
{
    (void)state;
    char *cookies[2];
    for (size_t i = 0; i < 2; i++) {
        struct test_server run;
        struct httpd_options o = OPTIONS;
        o.token = "secret";
        begin(&run, &o);
        struct buf moved = get(&run, "/?token=secret", "");
        cookies[i] = copy_header(&moved, "Set-Cookie: ");
        buf_release(&moved);
        end(&run);
    }
    assert_int_not_equal(strncmp(cookies[0], cookies[1], strcspn(cookies[0], "=")), 0);
    assert_string_not_equal(strchr(cookies[0], '='), strchr(cookies[1], '='));
    free(cookies[0]);
    free(cookies[1]);
}

/* ---- listening ----------------------------------------------------------------------------------------- */

static void addresses_that_cannot_be_used_are_reported(void **state)
{
    (void)state;
    struct test_server run;
    struct httpd *other = NULL;
    struct err err = ERR_INIT;
    struct httpd_options o = OPTIONS;
    begin(&run, &o);
    assert_ok(httpd_new(&o, &other, &err), &err);
    char long_name[100]; /* no name server is asked for a label of more than 63 bytes */
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    char *busy = format_text("127.0.0.1:%u is in use by another program", httpd_port(run.httpd));
    assert_refused(httpd_listen(other, "127.0.0.1", httpd_port(run.httpd), &err), &err, ERR_EXISTS, busy);
    assert_non_null(strstr(err.hint, "another port"));
    assert_refused(httpd_listen(other, "192.0.2.1", 0, &err), &err, ERR_NOT_FOUND,
                   "192.0.2.1 is not an address of this machine");
    assert_int_equal(httpd_listen(other, long_name, 0, &err), -1);
    assert_contains(err.msg, "cannot resolve xxx");
    free(busy);
    httpd_free(other);
    end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_choose_the_handler_and_the_methods),
        cmocka_unit_test(handlers_read_path_parameters_body_and_headers),
        cmocka_unit_test(more_than_256_parameters_are_ignored),
        cmocka_unit_test(ambiguous_requests_are_refused_and_end_the_connection),
        cmocka_unit_test(a_nul_in_the_headers_is_refused),
        cmocka_unit_test(host_and_origin_must_be_those_of_the_server),
        cmocka_unit_test(every_answer_has_the_protecting_headers),
        cmocka_unit_test(files_are_sent_whole_in_parts_or_not_at_all),
        cmocka_unit_test(a_compressible_answer_is_compressed_if_the_client_accepts_gzip),
        cmocka_unit_test(a_client_of_http_1_0_gets_a_body_of_known_length),
        cmocka_unit_test(head_gets_the_headers_of_get_without_a_body),
        cmocka_unit_test(a_visitor_needs_the_token_once_and_then_its_cookie),
        cmocka_unit_test(the_form_of_the_token_page_sets_the_cookie_too),
        cmocka_unit_test(each_server_has_another_cookie),
        cmocka_unit_test(addresses_that_cannot_be_used_are_reported),
    };
    return cmocka_run_group_tests_name("httpd", tests, NULL, NULL);
}
