#include "cli/input/opener.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/term/signals.h"
#include "base/banned.h"

int opener_prompt_init(struct prompt *ret, const char *passphrase_file, struct err *err)
{
    prompt_init(ret);
    if (!passphrase_file || prompt_use_file(ret, passphrase_file, OPENER_ASK_MS, err) == 0)
        return 0;
    prompt_release(ret);
    return -1;
}

/* Adds a usual SSH key of the user. Skips a key that does not exist or cannot decrypt. */
static int add_usual_key(struct age_identities *identities, const char *home, const char *name,
                         struct err *err)
{
    char *path = NULL;
    struct err why = ERR_INIT;
    if (asprintf(&path, "%s/.ssh/%s", home, name) < 0)
        return err_nomem(err);
    if (file_exists(path))
        age_identities_add_file(identities, path, &why);
    free(path);
    return 0;
}

/* Adds the usual keys, for a command without -i. A key with a passphrase is unlocked only for a file that
 * needs the key. */
static int add_usual_keys(struct age_identities *identities, struct err *err)
{
    static const char *const names[] = {"id_ed25519", "id_rsa"};
    const char *home = getenv("HOME");
    for (size_t i = 0; home && *home && i < sizeof names / sizeof *names; i++)
        if (add_usual_key(identities, home, names[i], err) < 0)
            return -1;
    return 0;
}

/* Asks the user. If nobody can be asked, adds a hint on --passphrase-file, which every command that opens
 * encrypted files has. */
static int ask_for_passphrase(void *ctx, const struct question *q, struct secret *ret, struct err *err)
{
    const struct prompt *p = ctx;
    if (prompt_ask(ctx, q, ret, err) == 0)
        return 0;
    if (err && err->kind == ERR_NOT_FOUND && !p->passphrase_file)
        err_hint(err, "--passphrase-file FILE names a file with the passphrase in its first line");
    return -1;
}

static int new_identities(const struct strlist *files, struct prompt *prompt, struct age_identities **ret,
                          struct err *err)
{
    struct age_identities *identities = NULL;
    if (age_identities_new(ask_for_passphrase, prompt, OPENER_ASK_MS, &identities, err) < 0)
        return -1;
    age_identities_set_cancel_fd(identities, signals_cancel_fd());
    for (size_t i = 0; i < files->n; i++)
        if (age_identities_add_file(identities, files->items[i], err) < 0) {
            age_identities_free(identities);
            return -1;
        }
    if (files->n == 0 && add_usual_keys(identities, err) < 0) {
        age_identities_free(identities);
        return -1;
    }
    *ret = identities;
    return 0;
}

int opener_init(struct opener *ret, const struct strlist *files, const char *passphrase_file, struct err *err)
{
    if (opener_prompt_init(&ret->prompt, passphrase_file, err) < 0)
        return -1;
    if (new_identities(files, &ret->prompt, &ret->identities, err) == 0)
        return 0;
    prompt_release(&ret->prompt);
    return -1;
}

void opener_release(struct opener *o)
{
    age_identities_free(o->identities);
    prompt_release(&o->prompt);
}
