#include "cli/hosts/suggest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/args/shell.h"
#include "cli/term/talk.h"
#include "base/banned.h"

/* The commands that show more about a failure. They run here, or in the host's shell through ssh. {A} is the
 * host for ssh, {F} the option for ssh's configuration, {U} the arguments of curl. */
static const struct {
    const char *here;
    const char *there;
} next_commands[] = {
    [FETCH_STEP_CONFIG] = {"ssh{F} -G {A}", NULL},
    [FETCH_STEP_CONNECT] = {"ssh{F} -v -o ConnectTimeout=5 {A} true", NULL},
    [FETCH_STEP_HANDSHAKE] = {"ssh{F} -vv {A} true", NULL},
    [FETCH_STEP_HOST_KEY] = {"ssh{F} {A} true", NULL},
    [FETCH_STEP_AUTH] = {"ssh-add -l; ssh{F} -v -o BatchMode=yes {A} true", NULL},
    [FETCH_STEP_DIAL] = {"ssh{F} {A} ", "ss -ltnx"},
    [FETCH_STEP_INDEX] = {"ssh{F} {A} ", "curl -sSi {U}"},
    [FETCH_STEP_EXPOSURE] = {NULL, NULL},
    [FETCH_STEP_REQUEST] = {NULL, NULL},
};

/* Adds curl's arguments for the index page. For a direct host, its address replaces localhost. */
static void add_url(struct buf *b, const struct host *host, const struct service *service)
{
    char url[700];
    struct service seen = *service;
    if (host->direct && strcmp(service->host, "localhost") == 0)
        seen.host = host->address;
    if (service->unix_path) {
        buf_adds(b, "--unix-socket ");
        shell_add_word(b, service->unix_path);
        buf_addc(b, ' ');
        snprintf(url, sizeof url, "%s://localhost%s/", service->https ? "https" : "http", service->path);
    } else {
        fetch_service_url(&seen, url, sizeof url - 1);
        size_t n = strlen(url);
        snprintf(url + n, sizeof url - n, "/");
    }
    shell_add_word(b, url);
}

static void add_place(struct buf *b, char place, const struct next_subject *s)
{
    if (place == 'A')
        shell_add_word(b, s->host->address);
    if (place == 'F' && s->ssh_config) {
        buf_adds(b, " -F ");
        shell_add_word(b, s->ssh_config);
    }
    if (place == 'U' && s->service)
        add_url(b, s->host, s->service);
}

static void fill_template(struct buf *b, const char *command, const struct next_subject *s)
{
    for (const char *p = command; p && *p; p++) {
        if (p[0] == '{' && p[1] && p[2] == '}') {
            add_place(b, p[1], s);
            p += 2;
        } else {
            buf_addc(b, *p);
        }
    }
}

void next_command(const struct next_subject *s, enum fetch_step_kind kind, struct buf *ret)
{
    struct buf there = BUF_INIT(2000);
    fill_template(&there, next_commands[kind].there, s);
    if (!s->host->direct) {
        fill_template(ret, next_commands[kind].here, s);
        if (there.len)
            shell_add_word(ret, buf_str(&there)); /* one word here, a whole command there */
    } else if (kind == FETCH_STEP_INDEX) {
        buf_adds(ret, buf_str(&there));
    }
    buf_release(&there);
}

void next_say_bundle(const char *path)
{
    struct buf word = BUF_INIT(8192);
    shell_add_word(&word, path);
    if (isatty(STDERR_FILENO) && !word.failed)
        talk("next: `profgrab view %s` draws it in a browser, `profgrab report --text %s` says what it shows",
             buf_str(&word), buf_str(&word));
    buf_release(&word);
}
