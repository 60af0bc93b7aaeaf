/* The parts of an HTTP request that httpd/ reads itself: Host, Origin, Range, and the parameters of the
 * query. The input has them in lines. */
#include "tests/fuzz/fuzz.h"

#include "httpd/access.h"
#include "httpd/range.h"
#include "httpd/request.h"
#include "base/banned.h"

/* Returns the next line of the text, and ends it with NUL. */
static const char *next_line(char **rest)
{
    char *line = *rest, *end = strchr(line, '\n');
    *rest = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    return line;
}

/* Returns whether the host, perhaps with a port, is one of the top domain `evil`. (`x.evil.localhost` is
 * loopback.) */
static bool is_of_evil(const char *host)
{
    static const char domain[] = ".evil";
    const char *end = host + strcspn(host, ":");
    size_t n = strlen(domain);
    return (size_t)(end - host) >= n && strncasecmp(end - n, domain, n) == 0;
}

static void check_host_and_origin(const char *host, const char *origin)
{
    static const struct httpd_route routes[] = {{NULL, 0, NULL, 0}};
    static const char *const names[] = {"workstation.example", NULL};
    const struct httpd_options options = {
        .routes = routes, .limits = HTTPD_LIMITS, .host_names = names, .title = "t"};
    struct httpd *server = NULL;
    struct err err = ERR_INIT;
    assert(httpd_new(&options, &server, &err) == 0);
    bool ours = access_host_is_ours(server, host);
    /* A name of another site is never ours. */
    assert(!ours || !is_of_evil(host));
    if (access_origin_is_ours(server, origin, host))
        assert(strlen(origin) > strlen(host) &&
               strcasecmp(origin + strlen(origin) - strlen(host), host) == 0);
    httpd_free(server);
}

static void check_range(const char *range)
{
    static const uint64_t sizes[] = {0, 1, 100, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t first = 0, n = 0;
        if (range_parse(range, sizes[i], &first, &n) == RANGE_PART)
            assert(n > 0 && first < sizes[i] && n <= sizes[i] - first);
    }
}

static void check_parameters(const char *query)
{
    struct httpd_request r = {.query_string = query};
    size_t n = 0, length = 0;
    const struct httpd_parameter *p = httpd_parameters(&r, &n);
    for (size_t i = 0; i < n; i++) {
        length += strlen(p[i].name) + strlen(p[i].value);
        assert(httpd_parameter(&r, p[i].name));
    }
    assert(length <= strlen(query));
    free(r.parameters);
    free(r.parameter_text);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    char *text = strndup((const char *)p, n), *rest = text;
    assert(text);
    const char *host = next_line(&rest), *origin = next_line(&rest);
    check_host_and_origin(host, origin);
    check_range(next_line(&rest));
    check_parameters(next_line(&rest));
    free(text);
    return 0;
}
