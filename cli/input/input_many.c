/*
 * Reads several inputs at the same time. Two threads share a queue of files. The caller's thread first reads
 * standard input and members of bundles, in their order.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/input/input.h"
#include "base/banned.h"

/* A second thread starts only if all files but the largest one together have this many bytes. */
enum { SECOND_THREAD_MIN = 256 << 10 };

struct queue {
    struct input_result *inputs;
    size_t n;
    struct confined_budget *budget;
    atomic_size_t next;
};

/* Returns whether an input is a FIFO or a device, whose size is unknown until it has arrived. */
static bool is_unsized(const char *name)
{
    struct stat st;
    int rc = input_is_stdin(name) ? fstat(STDIN_FILENO, &st) : stat(name, &st);
    return rc == 0 && !S_ISREG(st.st_mode);
}

static int read_unsized(struct input_result *input, struct input_keys *keys, struct confined_budget *budget)
{
    struct buf bytes = BUF_INIT(0);
    uint64_t max = 0;
    if (input_max_of_unknown_size(&max, &input->err) < 0)
        return -1;
    confined_begin_receiving(budget, max);
    int rc = input_read(input->name, keys, &bytes, &input->err);
    confined_end_receiving(budget, max, rc == 0 ? bytes.len : 0);
    if (rc == 0)
        rc = input_parse(&bytes, input->name, &input->profile, &input->err);
    buf_release(&bytes);
    return rc;
}

static void read_input(struct input_result *input, struct input_keys *keys, struct confined_budget *budget)
{
    input->err = (struct err)ERR_INIT;
    input->profile = NULL;
    if (confined_budget_check(budget, input->name, &input->err) < 0)
        return;
    if (!input->is_file && is_unsized(input->name))
        read_unsized(input, keys, budget);
    else
        input_read_profile(input->name, keys, &input->profile, &input->err);
}

/* Reads files until the queue is empty. */
static void *read_files(void *ctx)
{
    struct queue *q = ctx;
    for (size_t i; (i = atomic_fetch_add(&q->next, 1)) < q->n;)
        if (q->inputs[i].is_file)
            read_input(&q->inputs[i], NULL, q->budget);
    return NULL;
}

/* Marks the inputs that are files. Returns their total size without the largest one. */
static uint64_t mark_files(struct input_result *inputs, size_t n)
{
    uint64_t all = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        inputs[i].is_file =
            !input_is_stdin(inputs[i].name) && stat(inputs[i].name, &st) == 0 && S_ISREG(st.st_mode);
        uint64_t size = inputs[i].is_file ? (uint64_t)st.st_size : 0;
        all += size;
        largest = size > largest ? size : largest;
    }
    return all - largest;
}

static void read_others(struct input_result *inputs, size_t n, struct input_keys *keys,
                        struct confined_budget *budget)
{
    for (size_t i = 0; i < n; i++)
        if (!inputs[i].is_file)
            read_input(&inputs[i], keys, budget);
}

void input_read_profiles(struct input_result *inputs, size_t n, struct input_keys *keys,
                         struct confined_budget *budget)
{
    struct queue q = {.inputs = inputs, .n = n, .budget = budget};
    struct err unused = ERR_INIT;
    pthread_t thread;
    /* Without the second thread, reading is only slower. */
    bool has_thread = mark_files(inputs, n) >= SECOND_THREAD_MIN && thread_has_second_processor() &&
                      thread_start(&thread, read_files, &q, &unused) == 0;
    read_others(inputs, n, keys, budget);
    read_files(&q);
    if (has_thread)
        pthread_join(thread, NULL);
}
