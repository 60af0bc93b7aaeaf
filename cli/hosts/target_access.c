/* The access of the commands to hosts: settings, prompts, libraries. */
#include "cli/hosts/target.h"

#include "capture/capture.h"
#include "cli/term/signals.h"
#include "cli/term/message.h"
#include "base/banned.h"

int target_configure_prompt(const struct target_options *o, struct prompt *prompt, struct err *err)
{
    int64_t wait_ms = o->ask_timeout_ms ? o->ask_timeout_ms : GATEWAY_ASK_MS;
    prompt->batch = o->batch;
    return o->passphrase_file && !prompt->passphrase_file
               ? prompt_use_file(prompt, o->passphrase_file, wait_ms, err)
               : 0;
}

struct ssh_settings target_ssh(const struct target_options *o)
{
    return (struct ssh_settings){.config = (char *)(uintptr_t)o->ssh_config,
                                 .via = o->ssh_via,
                                 .compress = o->ssh_compress,
                                 .accept_new = o->accept_new};
}

struct fetch_access target_access(const struct target_options *o, struct ssh_settings *ssh,
                                  struct prompt *prompt)
{
    *ssh = target_ssh(o);
    return (struct fetch_access){.ssh = ssh,
                                 .timeout_ms = o->timeout_ms,
                                 .connect_timeout_ms = o->connect_timeout_ms,
                                 .cancel_fd = signals_cancel_fd(),
                                 .askpass = prompt->program,
                                 .ask_ms = o->ask_timeout_ms,
                                 .ask = o->batch && !o->passphrase_file ? NULL : prompt_ask,
                                 .ask_ctx = prompt,
                                 .keyring = prompt->keyring,
                                 .ask_keys_only = o->batch};
}

struct fetch_job target_grab(const struct target_options *o, const struct targets *targets,
                             struct ssh_settings *ssh, struct prompt *prompt)
{
    return (struct fetch_job){.targets = targets,
                              .options.parallel = o->parallel ? o->parallel : FETCH_PARALLEL,
                              .access = target_access(o, ssh, prompt)};
}

int target_begin(struct fetch_job *grab, struct err *err)
{
    unsigned parallel = grab->options.parallel;
    size_t open_files = 0;
    if (open_files_make_room(grab, &open_files, err) < 0)
        return -1;
    if (grab->options.parallel < parallel)
        target_print_fewer_hosts(grab->options.parallel, open_files);
    return capture_global_init(err);
}

void target_end(void)
{
    capture_global_cleanup();
}

void target_print_fewer_hosts(unsigned parallel, size_t open_files)
{
    message_print("hosts at a time: only %u, since no more than %zu files may be open here (`ulimit -Hn`)",
                  parallel, open_files);
}
