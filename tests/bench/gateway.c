/*
 * Measures the gateway itself for `make bench-ssh`, without the rest of a grab:
 *
 *     gateway fetch SSH_CONFIG HOST PORT PATH
 *         opens the route, gets the path over HTTP as a grab does, and discards the body
 *     gateway hold SSH_CONFIG HOST N
 *         opens N sessions from as many threads and keeps them open
 *
 * and prints the results as `name=value`, in milliseconds, bytes and kB.
 */
#include <curl/curl.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/gateway.h"

static const struct gateway_options defaults = {
    .cancel_fd = -1, .step_timeout_ms = 60000, .keepalive_ms = GATEWAY_KEEPALIVE_MS};
static const struct proc_limits limits = {.timeout_ms = 60000, .cancel_fd = -1, .max_output = 1 << 20};

static void give_up(const struct err *err)
{
    fprintf(stderr, "gateway: %s\n", err->msg);
    exit(1);
}

static void resolve_route(char *config, char *address, struct route *ret)
{
    struct host host = {.name = address, .address = address, .ssh.config = config};
    struct err err = ERR_INIT;
    if (route_resolve(&host, NULL, &limits, ret, &err) < 0)
        give_up(&err);
}

/* ---- fetch --------------------------------------------------------------------------------------------- */

/* The body of an answer. */
struct body {
    int64_t since; /* the time of the start, by clock_now() */
    int64_t first; /* milliseconds from the start to the first byte */
    size_t n;      /* bytes */
};

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    (void)p;
    struct body *b = ctx;
    if (b->n == 0)
        b->first = clock_now() - b->since;
    b->n += size * n;
    return size * n;
}

static CURLcode http_get(const char *socket, const char *path, struct body *b)
{
    char url[600];
    CURL *easy = curl_easy_init();
    snprintf(url, sizeof url, "http://localhost%s", path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, socket);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 128L * 1024);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, b);
    CURLcode rc = curl_easy_perform(easy);
    curl_easy_cleanup(easy);
    return rc;
}

static void fetch_path(char *config, char *address, const char *port, const char *path)
{
    struct body b = {.since = clock_now()};
    struct route route = {0};
    struct gateway *gw = NULL;
    struct gateway_listener *l = NULL;
    struct err err = ERR_INIT;
    resolve_route(config, address, &route);
    struct destination to = {.host = "localhost", .port = (unsigned)strtoul(port, NULL, 10)};
    if (gateway_open(&route, &defaults, &gw, &err) < 0 || gateway_listen(gw, &to, &l, &err) < 0)
        give_up(&err);
    int64_t opened = clock_now() - b.since;
    CURLcode rc = http_get(gateway_listener_path(l), path, &b);
    int64_t all = clock_now() - b.since;
    if (rc != CURLE_OK) {
        err_set(&err, ERR_FAILED, "%s", curl_easy_strerror(rc));
        gateway_listener_failure(l, &err);
        give_up(&err);
    }
    gateway_close(gw);
    printf("open=%lld first=%lld all=%lld bytes=%zu\n", (long long)opened, (long long)b.first, (long long)all,
           b.n);
}

/* ---- hold ---------------------------------------------------------------------------------------------- */

struct holder {
    struct route route;
    struct gateway_options options;
    struct gateway *gw;
    struct err err;
};

static void *open_session(void *ctx)
{
    struct holder *h = ctx;
    gateway_open(&h->route, &h->options, &h->gw, &h->err);
    return NULL;
}

static long resident_kb(void)
{
    char line[200];
    long kb = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmRSS:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    if (f)
        fclose(f);
    return kb;
}

static void hold_sessions(char *config, char *address, size_t n)
{
    struct gateway_shared *shared = NULL;
    struct err err = ERR_INIT;
    struct holder *holders = calloc(n, sizeof *holders);
    pthread_t *threads = calloc(n, sizeof *threads);
    if (!holders || !threads || gateway_shared_new(&shared, &err) < 0)
        give_up(&err);
    for (size_t i = 0; i < n; i++) {
        holders[i] = (struct holder){.options = defaults, .err = ERR_INIT};
        holders[i].options.shared = shared;
        resolve_route(config, address, &holders[i].route);
    }
    /* The first session does the shared setup, so its time and memory are not measured. */
    open_session(&holders[0]);
    long before = resident_kb();
    int64_t since = clock_now();
    for (size_t i = 1; i < n; i++)
        if (thread_start(&threads[i], open_session, &holders[i], &err) < 0)
            give_up(&err);
    for (size_t i = 1; i < n; i++)
        pthread_join(threads[i], NULL);
    int64_t took = clock_now() - since;
    size_t lost = 0;
    for (size_t i = 0; i < n; i++)
        if (!holders[i].gw && lost++ == 0)
            fprintf(stderr, "gateway: session %zu: %s\n", i, holders[i].err.msg);
    printf("opened=%zu lost=%zu ms=%lld kb_each=%.1f\n", n - lost, lost, (long long)took,
           (double)(resident_kb() - before) / (double)(n - lost > 1 ? n - lost - 1 : 1));
    for (size_t i = 0; i < n; i++)
        gateway_close(holders[i].gw);
    gateway_shared_free(shared);
    free(holders);
    free(threads);
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (gateway_global_init(&err) < 0)
        give_up(&err);
    if (argc == 6 && strcmp(argv[1], "fetch") == 0)
        fetch_path(argv[2], argv[3], argv[4], argv[5]);
    else if (argc == 5 && strcmp(argv[1], "hold") == 0)
        hold_sessions(argv[2], argv[3], strtoul(argv[4], NULL, 10));
    else
        return fprintf(stderr, "usage: gateway fetch CONFIG HOST PORT PATH | hold CONFIG HOST N\n"), 2;
    gateway_global_cleanup();
    curl_global_cleanup();
    return 0;
}
