/* Checks of a request before the run. */
#include "capture/capture.h"

#include "base/banned.h"

static int check_duration(const struct strlist *kinds, bool yes, struct err *err)
{
    int64_t longest = 0;
    char text[32];
    if (fetch_check_kinds(kinds, &longest, err) < 0)
        return -1;
    if (longest <= FETCH_LONG_MS || yes)
        return 0;
    err_set(err, ERR_USAGE, "a profile of %s is longer than 5 minutes",
            text_duration(text, sizeof text, longest));
    return err_hint(err, "add --yes if you mean it");
}

int capture_check_kinds(const struct strlist *kinds, const struct targets *targets, bool yes, struct err *err)
{
    if (kinds->n > 0)
        return check_duration(kinds, yes, err);
    for (size_t i = 0; i < targets->n; i++)
        if (check_duration(&targets->items[i].service->kinds, yes, err) < 0)
            return err_wrap(err, "kinds of the service \"%s\"", targets->items[i].service->name);
    return 0;
}

int capture_check_room(const struct strlist *kinds, const struct targets *targets, bool pair, struct err *err)
{
    size_t n_items = 0, total = 0;
    for (size_t i = 0; i < targets->n; i++) {
        if ((i == 0 || kinds->n == 0) &&
            fetch_count_items(fetch_service_kinds(kinds, targets->items[i].service), &n_items, err) < 0)
            return -1;
        total += pair ? 2 * n_items : n_items;
    }
    return bundle_check_room(targets->n, total, err);
}

int capture_check_sync(bool sync, unsigned parallel, const struct targets *targets, struct err *err)
{
    size_t hosts = targets_count_hosts(targets);
    if (!sync || parallel == 0 || parallel >= hosts)
        return 0;
    err_set(err, ERR_USAGE, "all %zu hosts are opened at once, and --parallel %u allows fewer", hosts,
            parallel);
    return err_hint(err, "profiles that begin at one instant (--sync, --against) need all of them: leave "
                         "--parallel out");
}
