/*
 * Makes the copy that a hand-off sends, without the hand-off:
 *
 *     copy [-s KEY] [-e RECIPIENTS] [-l LABEL]... [-r] [-t MS] BUNDLE
 *
 * writes the copy beside the bundle: signed with KEY, encrypted to the recipients in the file RECIPIENTS,
 * redacted with -r, and also without the values of the labels of -l. -t is the timeout of the SSH agent in
 * milliseconds. Prints the path of the copy, and a summary on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/term/prompt.h"
#include "cli/term/signals.h"
#include "cli/input/input.h"
#include "page/page.h"
#include "cli/term/message.h"
#include "base/banned.h"

enum { ASK_MS = 20000 };

static int add_recipients(const char *file, struct age_recipients **ret, struct err *err)
{
    return age_recipients_new(ret, err) < 0 ? -1 : age_recipients_add_file(*ret, file, err);
}

static int read_options(int argc, char **argv, struct bundle_copy_options *options,
                        struct sshsig_signer *signer, struct strlist *labels, struct age_recipients **to,
                        struct err *err)
{
    uint64_t ms = 0;
    for (int c; (c = getopt(argc, argv, "s:e:l:rt:")) != -1;) {
        if (c == 's')
            signer->key = optarg;
        else if (c == 'r')
            options->redact = true;
        else if (c == 't' && text_to_uint(optarg, 60000, &ms) == 0)
            signer->agent_ms = (int64_t)ms;
        else if (c == 'e' ? add_recipients(optarg, to, err) < 0
                          : c != 'l' || strlist_add(labels, optarg, err) < 0)
            return -1;
    }
    if (optind != argc - 1)
        return err_set(err, ERR_USAGE, "give one bundle");
    options->bundle = argv[optind];
    options->cpu_ms = confined_copy_limit_ms(input_size(options->bundle));
    options->signer = signer->key ? signer : NULL;
    options->recipients = *to;
    return 0;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    struct page_notes notes = {message_print_line, NULL};
    struct prompt prompt;
    struct strlist labels = {0};
    struct age_recipients *to = NULL;
    struct bundle_copy_result c = {0};
    prompt_init(&prompt);
    int rc = signals_install(&err);
    struct sshsig_signer signer = {.agent = getenv("SSH_AUTH_SOCK"),
                                   .agent_ms = 10000,
                                   .ask = prompt_ask,
                                   .ask_ctx = &prompt,
                                   .ask_ms = ASK_MS,
                                   .cancel_fd = signals_cancel_fd()};
    struct bundle_copy_options options = {.user = "dave",
                                          .workstation = "here",
                                          .draw = page_build_copy,
                                          .draw_ctx = &notes,
                                          .labels = &labels,
                                          .cancel_fd = signals_cancel_fd()};
    if (rc == 0)
        rc = read_options(argc, argv, &options, &signer, &labels, &to, &err);
    if (rc == 0)
        rc = bundle_copy(&options, &c, &err);
    if (rc < 0)
        fprintf(stderr, "copy: %s\n%s%s%s", err.msg, *err.hint ? "hint: " : "", err.hint,
                *err.hint ? "\n" : "");
    else
        printf("%s\n", c.path);
    if (rc == 0)
        fprintf(stderr, "%zu changed, %llu values, %zu not searched, signed by %s\n", c.changed,
                (unsigned long long)c.redactions, c.unsearched, *c.fingerprint ? c.fingerprint : "nobody");
    bundle_copy_result_release(&c);
    age_recipients_free(to);
    strlist_release(&labels);
    prompt_release(&prompt);
    return rc < 0 ? 1 : 0;
}
