#include "cli/askpass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/term/exit.h"
#include "gateway/gateway.h"
#include "base/banned.h"

bool askpass_is_meant(int argc, char **argv)
{
    return argc == 2 && strcmp(file_base(argv[0]), ASKPASS_NAME) == 0;
}

int askpass_run(char **argv, struct err *err)
{
    struct secret answer = {.len = 0};
    if (askpass_ask(argv[0], getenv("SSH_ASKPASS_PROMPT"), argv[1], &answer, err) < 0) {
        /* The user declined: no message is needed, and ssh continues without an answer. */
        if (err->kind == ERR_NOT_FOUND)
            err->kind = ERR_NONE;
        return EXIT_NOTHING;
    }
    /* Not with stdio, because its buffer is never wiped. */
    int rc = fd_write_all(STDOUT_FILENO, answer.text, answer.len, err);
    secret_wipe(&answer);
    return rc < 0 || fd_write_all(STDOUT_FILENO, "\n", 1, err) < 0 ? EXIT_NOTHING : 0;
}
