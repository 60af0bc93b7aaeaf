#include "cli/term/confirm.h"

#include <stdio.h>
#include <strings.h>

#include "fetch/fetch.h"
#include "base/banned.h"

/* The costly kinds, and the number of their targets and hosts. */
struct toll {
    struct strlist kinds;
    size_t targets, hosts;
    const struct host *first, *last;
};

static int add_target(struct toll *toll, const struct target *t, const struct strlist *kinds, struct err *err)
{
    struct strlist costly = {0};
    int rc = fetch_add_costly_kinds(kinds, &costly, err);
    for (size_t i = 0; rc == 0 && i < costly.n; i++)
        if (!strlist_has(&toll->kinds, costly.items[i]))
            rc = strlist_add(&toll->kinds, costly.items[i], err);
    if (rc == 0 && costly.n > 0) {
        toll->targets++;
        toll->hosts += t->host != toll->last;
        toll->first = toll->first ? toll->first : t->host;
        toll->last = t->host;
    }
    strlist_release(&costly);
    return rc;
}

/* cpu=30s, trace=5s on 37 targets, 37 hosts (file-04 ... file-40) */
static void describe_toll(const struct toll *toll, char *dst, size_t cap)
{
    struct buf kinds = BUF_INIT(4096);
    for (size_t i = 0; i < toll->kinds.n; i++)
        buf_addf(&kinds, "%s%s", i ? ", " : "", toll->kinds.items[i]);
    snprintf(dst, cap, "%.200s on %zu targets, %zu host%s (%.100s%s%.100s)", buf_str(&kinds), toll->targets,
             toll->hosts, toll->hosts == 1 ? "" : "s", toll->first->name, toll->hosts > 1 ? " ... " : "",
             toll->hosts > 1 ? toll->last->name : "");
    buf_release(&kinds);
}

static int ask_to_continue(const char *what, struct prompt *prompt, int64_t wait_ms, struct err *err)
{
    char text[700];
    struct secret answer = {0};
    snprintf(text, sizeof text, "%s: go on? [y/N] ", what);
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
    struct toll toll = {0};
    char what[600];
    int rc = 0;
    for (size_t i = 0; rc == 0 && !c->yes && i < c->targets->n; i++) {
        const struct target *t = &c->targets->items[i];
        rc = add_target(&toll, t, fetch_service_kinds(c->kinds, t->service), err);
    }
    if (rc == 0 && toll.targets > CONFIRM_TARGETS) {
        describe_toll(&toll, what, sizeof what);
        if (prompt_has_terminal(prompt)) {
            rc = ask_to_continue(what, prompt, c->wait_ms, err);
        } else {
            err_set(err, ERR_USAGE, "%s: so many are profiled only after a confirmation", what);
            rc = err_hint(err, "add --yes if you mean it; --sample N, --label and --exclude make it fewer");
        }
    }
    strlist_release(&toll.kinds);
    return rc;
}
