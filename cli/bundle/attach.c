/* `profgrab attach`: hands off an existing bundle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/args/command.h"
#include "cli/term/exit.h"
#include "cli/bundle/handoff.h"
#include "cli/hosts/inventory_file.h"
#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "gateway/gateway.h"
#include "base/banned.h"

struct attach_options {
    struct delivery_options delivery;
    const char *inventory;
    const char *passphrase_file;
    bool batch;
    bool quiet;
};

static const struct option options[] = {
    HANDOFF_OPTION_ROWS(struct attach_options, delivery),
    {"dry-run", 0, OPTION_FLAG, NULL, "make the copy and print each request; send none",
     offsetof(struct attach_options, delivery.dry_run), 0},
    {"inventory", 'i', OPTION_TEXT, "FILE",
     "the inventory (default: $PROFGRAB_INVENTORY, then ~/.config/profgrab, then /etc/profgrab)",
     offsetof(struct attach_options, inventory), 0},
    {"passphrase-file", 0, OPTION_TEXT, "FILE",
     "a file that only you can read, or a pipe, with the passphrase of the signing key in its first line",
     offsetof(struct attach_options, passphrase_file), 0},
    {"batch", 0, OPTION_FLAG, NULL, "never prompt", offsetof(struct attach_options, batch), 0},
    {"quiet", 'q', OPTION_FLAG, NULL, "print only errors", offsetof(struct attach_options, quiet), 0},
    OPTIONS_END,
};

static int refuse_copy(const char *path, struct err *err)
{
    err_set(err, ERR_USAGE, "%s is a copy that was handed off already", path);
    return err_hint(
        err, "use the original bundle; `profgrab bundle encrypt %s` encrypts this copy for others", path);
}

/* Refuses an encrypted bundle, because attach must read a bundle to redact it. */
static int refuse_encrypted(const char *path, struct err *err)
{
    err_set(err, ERR_USAGE, "%s is encrypted already; attach needs the bundle in plain text", path);
    return err_hint(err, "use the original bundle, or first `profgrab bundle decrypt -i KEY %s`", path);
}

static bool is_encrypted(const char *path)
{
    unsigned char first[256];
    int fd = file_open(path, NULL);
    ssize_t n = fd < 0 ? -1 : read(fd, first, sizeof first);
    fd_close(&fd);
    return n > 0 && age_is_encrypted(first, (size_t)n);
}

/* Refuses a file that is not a bundle in plain text, and a copy that was handed off already. Without this
 * check the hand-off would fail later, and the command that it prints for another try would fail too. */
static int check_bundle(const char *path, struct err *err)
{
    char *text = NULL;
    if (is_encrypted(path))
        return refuse_encrypted(path, err);
    if (bundle_read_manifest(path, NULL, &text, err) < 0)
        return -1;
    struct manifest *manifest = NULL;
    int rc = manifest_read(text, strlen(text), &manifest, err);
    if (rc < 0)
        err_wrap(err, "%s", path);
    else if (manifest->has_handoff)
        rc = refuse_copy(path, err);
    manifest_free(manifest);
    free(text);
    return rc;
}

static int prepare_delivery(const struct attach_options *o, const struct strlist *words,
                            struct inventory **ret_inventory, struct delivery *ret, struct err *err)
{
    bool is_requested = false;
    if (words->n != 1) {
        err_set(err, ERR_USAGE, "attach needs exactly one bundle");
        return err_hint(err, "profgrab attach BUNDLE --for TEAM");
    }
    if (delivery_is_requested(&o->delivery, &is_requested, err) < 0)
        return -1;
    if (!is_requested) {
        err_set(err, ERR_USAGE, "attach: neither --for nor --to is given");
        return err_hint(err, "add --for TEAM, a team of the inventory, or --to TRACKER:PROJECT");
    }
    if (inventory_file_load(o->inventory, ret_inventory, err) < 0 ||
        delivery_prepare(&o->delivery, *ret_inventory, signals_cancel_fd(), ret, err) < 0)
        return -1;
    return check_bundle(words->items[0], err);
}

static int hand_off_bundle(const struct attach_options *o, const char *bundle,
                           const struct delivery *delivery, struct err *err)
{
    struct prompt prompt;
    struct handoff_report report;
    prompt_init(&prompt);
    prompt.batch = o->batch;
    if (o->passphrase_file && prompt_use_file(&prompt, o->passphrase_file, GATEWAY_ASK_MS, err) < 0) {
        prompt_release(&prompt);
        return exit_status_of(err);
    }
    const struct handoff_caller caller = {
        .bundle = bundle, .inventory = o->inventory, .prompt = &prompt, .quiet = o->quiet};
    int code = handoff_command(delivery, &caller, &report);
    handoff_report_release(&report);
    prompt_release(&prompt);
    return code;
}

static int run_attach(int argc, char **argv, struct err *err)
{
    struct attach_options o = {.quiet = false};
    struct strlist words = {0};
    struct inventory *inventory = NULL;
    struct delivery delivery = {0};
    int code = EXIT_USAGE;
    if (options_parse(options, &(struct arguments){argc, argv}, &o, &words, err) == 0) {
        if (prepare_delivery(&o, &words, &inventory, &delivery, err) < 0 || signals_install(err) < 0)
            code = exit_status_of(err);
        else
            code = hand_off_bundle(&o, words.items[0], &delivery, err);
    }
    delivery_release(&delivery);
    inventory_free(inventory);
    strlist_release(&words);
    delivery_options_release(&o.delivery);
    return code;
}

const struct command command_attach = {
    .name = "attach",
    .synopsis = "BUNDLE --for TEAM | --to PLACE [options]",
    .summary = "hand a bundle over: encrypted to a team, on a confidential issue of its tracker",
    .details =
        "attach makes a copy, removes what looks like a secret and the values of some labels from the copy, "
        "signs it and\n"
        "encrypts it. It does not change the bundle. It creates a neutral issue with the confidential flag\n"
        "and reads the flag back. Only then it uploads the copy, compares it with the stored file, and adds "
        "a\n"
        "note with the summary.\n"
        "\n"
        "It prints the issue's address on stdout. Exit codes: 0 attached, 2 usage or inventory, 4 the\n"
        "hand-off failed (the bundle is unchanged, and attach prints the command to repeat); 130 "
        "interrupted.",
    .options = options,
    .words = ARGUMENTS_FILES,
    .run = run_attach,
};
