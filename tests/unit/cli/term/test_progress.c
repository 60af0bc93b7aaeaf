/* The live lines on a simulated terminal, and the plain lines elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "cli/term/progress.h"
#include "tests/unit/terminal.h"
#include "tests/unit/unit.h"
#include "base/banned.h"

#define TARGETS 50

/* The progress of a run with several hosts and one service, on a simulated terminal of a given size, or
 * without a terminal (rows 0). */
struct display {
    struct progress progress;
    struct terminal terminal;
    FILE *out;
    char *output;
    size_t length, fed; /* bytes of the output; those that the terminal has received */
    struct host hosts[TARGETS];
    char names[TARGETS][16];
    struct service service;
};

static void display_init(struct display *s, unsigned rows, unsigned columns, bool quiet, bool verbose)
{
    static char service[] = "gitaly";
    memset(s, 0, sizeof *s);
    s->out = open_memstream(&s->output, &s->length);
    assert_non_null(s->out);
    terminal_init(&s->terminal, rows ? rows : 24, columns ? columns : 80);
    progress_init(&s->progress,
                  &(struct progress_options){
                      .quiet = quiet, .verbose = verbose, .out = s->out, .rows = rows, .columns = columns});
    s->service.name = service;
    for (size_t i = 0; i < TARGETS; i++) {
        snprintf(s->names[i], sizeof s->names[i], "file-%02zu", i);
        s->hosts[i].name = s->names[i];
    }
}

static void display_release(struct display *s)
{
    progress_end(&s->progress);
    fclose(s->out);
    free(s->output);
}

/* Feeds the terminal with the output since the last call. */
static void feed_terminal(struct display *s)
{
    fflush(s->out);
    terminal_feed(&s->terminal, s->output + s->fed);
    s->fed = s->length;
}

static void draw_progress(struct display *s)
{
    progress_draw(&s->progress);
    feed_terminal(s);
}

static void assert_row(struct display *s, size_t row, const char *text)
{
    feed_terminal(s);
    assert_string_equal(terminal_row(&s->terminal, row), text);
}

/* Compares all output, including escape sequences. */
static void assert_output(struct display *s, const char *text)
{
    fflush(s->out);
    assert_string_equal(s->output, text);
}

static struct target target_of(struct display *s, size_t i)
{
    return (struct target){.host = &s->hosts[i], .service = &s->service};
}

/* Adds 100 ms to the time, so that truncation to seconds cannot show a second less. */
static void report_progress(struct display *s, size_t i, const char *kind, int64_t seconds, uint64_t bytes)
{
    struct target t = target_of(s, i);
    struct fetch_progress now = {.kind = kind,
                                 .bytes = bytes,
                                 .elapsed_ms = seconds * 1000 + (seconds ? 100 : 0),
                                 .timed_ms = strcmp(kind, "cpu") == 0 ? 30000 : 0,
                                 .index = 1,
                                 .n_items = 3};
    progress_show_transfer(&s->progress, &t, &now);
}

static void report_item(struct display *s, size_t i, const char *kind)
{
    struct target t = target_of(s, i);
    struct fetch_item item = {.bytes = 1600, .duration_ms = 4};
    snprintf(item.kind, sizeof item.kind, "%s", kind);
    progress_show_item(&s->progress, &t, &item);
}

static void one_target_has_one_line(void **state)
{
    (void)state;
    struct display s;
    display_init(&s, 24, 80, false, false);
    progress_show_opening(&s.progress, &s.hosts[3]);
    draw_progress(&s);
    assert_row(&s, 0, "file-03: connecting");
    report_progress(&s, 3, "heap", 0, 0);
    draw_progress(&s);
    assert_row(&s, 0, "file-03: gitaly: heap, item 2 of 3");
    report_item(&s, 3, "heap");
    assert_row(&s, 0, "profgrab: file-03: gitaly: heap: 1.6 kB in 4ms");
    assert_row(&s, 1, "");
    report_progress(&s, 3, "cpu", 12, 4200);
    draw_progress(&s);
    assert_row(&s, 1, "file-03: gitaly: cpu 12s of 30s, 18s left, 4.2 kB, item 2 of 3");
    /* Longer than planned: no remaining time is shown. */
    report_progress(&s, 3, "cpu", 31, 4200);
    draw_progress(&s);
    assert_row(&s, 1, "file-03: gitaly: cpu 31s of 30s, 4.2 kB, item 2 of 3");
    report_item(&s, 3, "cpu");
    progress_end(&s.progress);
    assert_row(&s, 1, "profgrab: file-03: gitaly: cpu: 1.6 kB in 4ms");
    assert_row(&s, 2, "");
    assert_int_equal(s.terminal.wraps, 0);
    display_release(&s);
}

static void three_targets_have_a_line_each(void **state)
{
    (void)state;
    struct display s;
    display_init(&s, 24, 80, false, false);
    for (size_t i = 0; i < 3; i++)
        report_progress(&s, i, "cpu", 5, 0);
    draw_progress(&s);
    assert_row(&s, 0, "file-00: gitaly: cpu 5s of 30s, 25s left, item 2 of 3");
    assert_row(&s, 2, "file-02: gitaly: cpu 5s of 30s, 25s left, item 2 of 3");
    /* A plain line is above the block. The target in the middle keeps its place in the order. */
    report_item(&s, 1, "cpu");
    draw_progress(&s);
    assert_row(&s, 0, "profgrab: file-01: gitaly: cpu: 1.6 kB in 4ms");
    assert_row(&s, 1, "file-00: gitaly: cpu 5s of 30s, 25s left, item 2 of 3");
    assert_row(&s, 2, "file-02: gitaly: cpu 5s of 30s, 25s left, item 2 of 3");
    assert_row(&s, 3, "");
    report_progress(&s, 1, "trace", 2, 0);
    draw_progress(&s);
    assert_row(&s, 2, "file-01: gitaly: trace 2s, item 2 of 3");
    assert_row(&s, 3, "file-02: gitaly: cpu 5s of 30s, 25s left, item 2 of 3");
    /* At the end no live line is left. */
    progress_end(&s.progress);
    assert_row(&s, 0, "profgrab: file-01: gitaly: cpu: 1.6 kB in 4ms");
    for (size_t row = 1; row < 24; row++)
        assert_row(&s, row, "");
    assert_int_equal(s.terminal.row, 1);
    display_release(&s);
}

/* Draws more targets than fit on the screen, again and again while plain lines scroll the screen. At the
 * start the first row is `first`. The last row is always `more`, which counts the remaining targets. */
static void assert_remaining_targets_counted(unsigned rows, unsigned columns, const char *first,
                                             const char *more)
{
    struct display s;
    display_init(&s, rows, columns, false, false);
    for (size_t i = 0; i < TARGETS; i++)
        report_progress(&s, i, "cpu", 5, 123456789);
    draw_progress(&s);
    assert_row(&s, 0, first);
    assert_row(&s, rows - 3, more);
    assert_row(&s, rows - 2, "");
    for (int64_t second = 6; second < 16; second++) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_FAILED, "no");
        progress_show_host(&s.progress, &s.hosts[0], NULL, &err);
        report_progress(&s, 0, "cpu", second, 0);
        draw_progress(&s);
    }
    /* The printed lines are above the block. */
    assert_row(&s, rows - 1, more);
    assert_row(&s, 0, "profgrab: file-00: no");
    assert_row(&s, 1, "profgrab: file-00: no");
    assert_int_equal(s.terminal.wraps, 0);
    progress_end(&s.progress);
    assert_row(&s, 2, "");
    assert_row(&s, rows - 1, "");
    display_release(&s);
}

static void targets_beyond_the_screen_are_counted(void **state)
{
    (void)state;
    assert_remaining_targets_counted(
        24, 80, "file-00: gitaly: cpu 5s of 30s, 25s left, 123.5 MB, item 2 of 3", "... and 29 more targets");
}

static void targets_beyond_a_small_screen_are_counted(void **state)
{
    (void)state;
    assert_remaining_targets_counted(10, 40, "file-00: gi...: cpu 5s of 30s, 123.5 MB",
                                     "... and 43 more targets");
}

static void lines_are_shortened_on_a_small_screen(void **state)
{
    (void)state;
    struct display s;
    display_init(&s, 10, 40, false, false);
    for (size_t i = 0; i < 3; i++)
        report_progress(&s, i, "heap", 2, 900);
    draw_progress(&s);
    assert_row(&s, 0, "file-00: gitaly: heap 2s, 900 B");
    static char longer[] = "prometheus-node-exporter";
    s.service.name = longer;
    report_progress(&s, 2, "heap", 2, 900);
    draw_progress(&s);
    assert_row(&s, 2, "file-02: prometheus-...: heap 2s, 900 B");
    assert_int_equal(s.terminal.wraps, 0);
    display_release(&s);
}

/* A screen of one row has one line, and nothing is drawn above the screen. */
static void tiny_screens_are_not_exceeded(void **state)
{
    (void)state;
    for (unsigned rows = 1; rows < 6; rows++)
        for (unsigned columns = 1; columns < 30; columns++) {
            struct display s;
            display_init(&s, rows, columns, false, false);
            for (int64_t second = 0; second < 3; second++) {
                for (size_t i = 0; i < 4; i++)
                    report_progress(&s, i, "cpu", second, 1000);
                draw_progress(&s);
            }
            assert_int_equal(s.terminal.wraps, 0);
            display_release(&s);
        }
}

static void unchanged_lines_are_not_redrawn(void **state)
{
    (void)state;
    struct display s;
    display_init(&s, 24, 80, false, false);
    report_progress(&s, 0, "cpu", 5, 0);
    draw_progress(&s);
    size_t length = s.length;
    for (int i = 0; i < 5; i++) {
        report_progress(&s, 0, "cpu", 5, 0);
        draw_progress(&s);
    }
    assert_int_equal(s.length, length);
    display_release(&s);
}

static void a_waiting_item_is_shown(void **state)
{
    (void)state;
    struct display s;
    struct fetch_progress now = {
        .kind = "cpu", .timed_ms = 30000, .waiting = "another profile is being taken", .n_items = 2};
    display_init(&s, 24, 80, false, false);
    struct target t = target_of(&s, 0);
    progress_show_transfer(&s.progress, &t, &now);
    draw_progress(&s);
    assert_row(&s, 0, "file-00: gitaly: cpu waiting: another profile is being taken, item 1 of 2");
    display_release(&s);
    /* Without a terminal, a line announces the start and the end of a wait. */
    display_init(&s, 0, 0, false, false);
    t = target_of(&s, 0);
    for (int i = 0; i < 4; i++) {
        now.waiting = i < 2 ? "another profile is being taken" : NULL;
        progress_show_transfer(&s.progress, &t, &now);
    }
    assert_output(&s, "profgrab: file-00: gitaly: cpu: waiting: another profile is being taken\n"
                      "profgrab: file-00: gitaly: cpu: taking 30s\n");
    display_release(&s);
}

static void a_cost_is_printed_once_before_the_start(void **state)
{
    (void)state;
    struct display s;
    struct fetch_progress now = {.kind = "trace", .timed_ms = 5000, .cost = "slows it down", .n_items = 1};
    for (unsigned rows = 0; rows <= 24; rows += 24) {
        display_init(&s, rows, rows ? 80 : 0, false, false);
        struct target t = target_of(&s, 0);
        for (int i = 0; i < 3; i++)
            progress_show_transfer(&s.progress, &t, &now);
        assert_output(&s, rows ? "profgrab: file-00: gitaly: trace: slows it down\n"
                               : "profgrab: file-00: gitaly: trace: slows it down\n"
                                 "profgrab: file-00: gitaly: trace: taking 5s\n");
        display_release(&s);
    }
    display_init(&s, 24, 80, true, false);
    struct target t = target_of(&s, 0);
    progress_show_transfer(&s.progress, &t, &now);
    draw_progress(&s);
    assert_output(&s, "");
    display_release(&s);
}

static const struct finding_rule rules[] = {{.id = "a"}, {.id = "b", .severity = FINDING_NOTE}};
static char busy[] = "it is busy", aside[] = "by the way";
static struct finding findings[] = {{.rule = &rules[0], .text = busy}, {.rule = &rules[1], .text = aside}};

static void report_findings(struct display *s)
{
    struct target t = target_of(s, 0);
    struct fetch_service_report service = {.findings = &(struct findings){.items = findings, .n = 2}};
    progress_show_service(&s->progress, &t, &service);
}

static void notes_are_printed_only_in_verbose_mode(void **state)
{
    (void)state;
    struct display s;
    display_init(&s, 0, 0, false, false);
    report_findings(&s);
    assert_output(&s, "profgrab: file-00: gitaly: it is busy\n");
    display_release(&s);
    display_init(&s, 0, 0, false, true);
    report_findings(&s);
    assert_output(&s, "profgrab: file-00: gitaly: it is busy\nprofgrab: file-00: gitaly: by the way\n");
    display_release(&s);
    display_init(&s, 0, 0, true, false);
    report_findings(&s);
    assert_output(&s, "");
    display_release(&s);
}

/* A finding on the whole service is printed only for the first item of that service. */
static void a_finding_on_the_service_is_printed_once(void **state)
{
    (void)state;
    static const struct finding_rule per_service = {.id = "c", .per_service = true};
    static char again[] = "again";
    struct finding both[] = {{.rule = &rules[0], .text = busy}, {.rule = &per_service, .text = again}};
    struct fetch_item items[] = {{.kind = "heap"}, {.kind = "allocs"}};
    struct display s;
    display_init(&s, 0, 0, false, false);
    for (size_t host = 0; host < 2; host++)
        for (size_t i = 0; i < 2; i++) {
            struct target t = target_of(&s, host);
            items[i].status = FETCH_OK;
            items[i].findings = (struct findings){.items = both, .n = 2};
            progress_show_item(&s.progress, &t, &items[i]);
        }
    assert_output(
        &s, "profgrab: file-00: gitaly: heap: 0 B in 0s\nprofgrab: file-00: gitaly: heap: it is busy\n"
            "profgrab: file-00: gitaly: heap: again\n"
            "profgrab: file-00: gitaly: allocs: 0 B in 0s\nprofgrab: file-00: gitaly: allocs: it is busy\n"
            "profgrab: file-01: gitaly: heap: 0 B in 0s\nprofgrab: file-01: gitaly: heap: it is busy\n"
            "profgrab: file-01: gitaly: heap: again\n"
            "profgrab: file-01: gitaly: allocs: 0 B in 0s\nprofgrab: file-01: gitaly: allocs: it is busy\n");
    display_release(&s);
}

static void quiet_mode_prints_only_errors_with_their_hints(void **state)
{
    (void)state;
    struct display s;
    struct err err = ERR_INIT;
    display_init(&s, 24, 80, true, false);
    progress_show_opening(&s.progress, &s.hosts[0]);
    report_progress(&s, 0, "cpu", 3, 0);
    report_item(&s, 0, "cpu");
    draw_progress(&s);
    assert_output(&s, "");
    err_set(&err, ERR_FAILED, "connection refused");
    err_hint(&err, "is it up?");
    progress_show_host(&s.progress, &s.hosts[0], NULL, &err);
    assert_output(&s, "profgrab: file-00: connection refused\nhint: is it up?\n");
    display_release(&s);
}

static void steps_of_a_connection_are_printed_only_in_verbose_mode(void **state)
{
    (void)state;
    struct display s;
    struct err err = ERR_INIT;
    struct fetch_step handshake = {.kind = FETCH_STEP_HANDSHAKE,
                                   .hop = 0,
                                   .n_hops = 2,
                                   .detail = "SSH-2.0-OpenSSH_9.2p1",
                                   .duration_ms = 12};
    struct fetch_step request = {
        .kind = FETCH_STEP_REQUEST, .detail = "GET /debug/pprof/heap: HTTP 200, 1.6 kB", .duration_ms = 4};
    struct fetch_step exposure = {.kind = FETCH_STEP_EXPOSURE, .detail = "open to all", .warning = true};
    struct fetch_step failing = {.kind = FETCH_STEP_CONNECT,
                                 .n_hops = 1,
                                 .detail = "10.0.0.1 port 22",
                                 .duration_ms = 9,
                                 .failure = &err};
    err_set(&err, ERR_FAILED, "Connection refused");
    display_init(&s, 0, 0, false, false);
    progress_show_step(&s.progress, &s.hosts[0], NULL, &handshake);
    assert_output(&s, "");
    display_release(&s);
    display_init(&s, 0, 0, false, true);
    progress_show_step(&s.progress, &s.hosts[0], NULL, &handshake);
    progress_show_step(&s.progress, &s.hosts[0], &s.service, &request);
    progress_show_step(&s.progress, &s.hosts[0], &s.service, &exposure);
    progress_show_step(&s.progress, &s.hosts[0], NULL, &failing);
    assert_output(&s, "profgrab: file-00: [hop 1/2] handshake: SSH-2.0-OpenSSH_9.2p1 in 12ms\n"
                      "profgrab: file-00: gitaly: GET /debug/pprof/heap: HTTP 200, 1.6 kB in 4ms\n"
                      "profgrab: file-00: gitaly: exposure: warning: open to all\n"
                      "profgrab: file-00: connection: 10.0.0.1 port 22: Connection refused, after 9ms\n");
    display_release(&s);
}

/* While the user types an answer, progress prints nothing. Afterwards it prints the delayed lines. */
static void a_question_pauses_the_live_lines(void **state)
{
    (void)state;
    struct display s;
    display_init(&s, 24, 80, false, false);
    report_progress(&s, 0, "cpu", 3, 0);
    draw_progress(&s);
    assert_row(&s, 0, "file-00: gitaly: cpu 3s of 30s, 27s left, item 2 of 3");
    progress_pause(&s.progress);
    assert_row(&s, 0, "");
    size_t before = s.length;
    draw_progress(&s);
    report_item(&s, 0, "heap");
    draw_progress(&s);
    assert_int_equal(s.length, before);
    progress_resume(&s.progress);
    assert_row(&s, 0, "profgrab: file-00: gitaly: heap: 1.6 kB in 4ms");
    draw_progress(&s);
    assert_row(&s, 1, "file-00: gitaly: cpu 3s of 30s, 27s left, item 2 of 3");
    display_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_target_has_one_line),
        cmocka_unit_test(three_targets_have_a_line_each),
        cmocka_unit_test(targets_beyond_the_screen_are_counted),
        cmocka_unit_test(targets_beyond_a_small_screen_are_counted),
        cmocka_unit_test(lines_are_shortened_on_a_small_screen),
        cmocka_unit_test(tiny_screens_are_not_exceeded),
        cmocka_unit_test(unchanged_lines_are_not_redrawn),
        cmocka_unit_test(a_waiting_item_is_shown),
        cmocka_unit_test(a_cost_is_printed_once_before_the_start),
        cmocka_unit_test(notes_are_printed_only_in_verbose_mode),
        cmocka_unit_test(a_finding_on_the_service_is_printed_once),
        cmocka_unit_test(quiet_mode_prints_only_errors_with_their_hints),
        cmocka_unit_test(steps_of_a_connection_are_printed_only_in_verbose_mode),
        cmocka_unit_test(a_question_pauses_the_live_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
