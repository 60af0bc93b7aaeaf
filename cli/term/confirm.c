#include "cli/term/confirm.h"

#include <stdio.h>
#include <strings.h>

#include "fetch/fetch.h"
#include "base/banned.h"

/* The costly kinds, and the number of their targets and hosts. */
struct costly {
    struct strlist kinds;
    size_t targets, hosts;
    const struct host *first_host, *last_host;
};

static int add_costly_target(struct costly *costly, const struct target *t, const struct strlist *kinds,
                             struct err *err)
{
    struct strlist names = {0};
    int rc = fetch_add_costly_kinds(kinds, &names, err);
    for (size_t i = 0; rc == 0 && i < names.n; i++)
        if (!strlist_has(&costly->kinds, names.items[i]))
            rc = strlist_add(&costly->kinds, names.items[i], err);
    if (rc == 0 && names.n > 0) {
        costly->targets++;
        costly->hosts += t->host != costly->last_host;
        costly->first_host = costly->first_host ? costly->first_host : t->host;
        costly->last_host = t->host;
    }
    strlist_release(&names);
    return rc;
}

/* Writes, for example: cpu=30s, trace=5s on 37 targets, 37 hosts (file-04 ... file-40) */
static void describe_costly(const struct costly *costly, char *dst, size_t cap)
{
    struct buf kinds = BUF_INIT(4096);
    for (size_t i = 0; i < costly->kinds.n; i++)
        buf_addf(&kinds, "%s%s", i ? ", " : "", costly->kinds.items[i]);
    snprintf(dst, cap, "%.200s on %zu targets, %zu host%s (%.100s%s%.100s)", buf_str(&kinds), costly->targets,
             costly->hosts, text_plural_s(costly->hosts), costly->first_host->name,
             costly->hosts > 1 ? " ... " : "", costly->hosts > 1 ? costly->last_host->name : "");
    buf_release(&kinds);
}

static int ask_to_continue(const char *description, struct prompt *prompt, int64_t wait_ms, struct err *err)
{
    char text[700];
    struct secret answer = {0};
    snprintf(text, sizeof text, "%s: continue? [y/N] ", description);
    const struct question q = {
        .kind = ASK_SHOWN, .prompt = text, .deadline = clock_deadline(wait_ms ? wait_ms : GATEWAY_ASK_MS)};
    if (prompt_ask(prompt, &q, &answer, err) < 0)
        return -1;
    bool yes = strcasecmp(answer.text, "y") == 0 || strcasecmp(answer.text, "yes") == 0;
    secret_wipe(&answer);
    return yes ? 0 : err_set(err, ERR_CANCELLED, "nothing was opened");
}

int confirm_many(const struct confirm *c, struct prompt *prompt, struct err *err)
{
    struct costly costly = {0};
    char description[600];
    int rc = 0;
    for (size_t i = 0; rc == 0 && !c->yes && i < c->targets->n; i++) {
        const struct target *t = &c->targets->items[i];
        rc = add_costly_target(&costly, t, fetch_service_kinds(c->kinds, t->service), err);
    }
    if (rc == 0 && costly.targets > CONFIRM_TARGETS) {
        describe_costly(&costly, description, sizeof description);
        if (prompt_has_terminal(prompt)) {
            rc = ask_to_continue(description, prompt, c->wait_ms, err);
        } else {
            err_set(err, ERR_USAGE, "%s: more than %d targets need a confirmation", description,
                    CONFIRM_TARGETS);
            rc = err_hint(err, "add --yes to confirm, or select fewer with --sample N, --label or --exclude");
        }
    }
    strlist_release(&costly.kinds);
    return rc;
}
