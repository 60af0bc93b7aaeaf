/* Findings on profiles: each rule on both sides of its threshold, their order, hostile names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fetch/fetch.h"
#include "findings/rules.h"
#include "tests/unit/unit.h"

#include "base/banned.h"

#define SECOND INT64_C(1000000000)

/* ---- profiles ---------------------------------------------------------------------------------------- */

static uint32_t intern(struct profile *p, const char *s)
{
    struct err err = ERR_INIT;
    uint32_t ret = 0;
    assert_ok(profile_intern(p, s, strlen(s), &ret, &err), &err);
    return ret;
}

static void add_type(struct profile *p, const char *type, const char *unit)
{
    struct err err = ERR_INIT;
    assert_ok(profile_add_sample_type(p, (struct profile_value_type){intern(p, type), intern(p, unit)}, &err),
              &err);
}

static uint32_t add_location(struct profile *p, const char *name)
{
    struct err err = ERR_INIT;
    struct profile_function f = {.id = p->n_functions + 1, .name = intern(p, name)};
    struct profile_location l = {.id = p->n_locations + 1, .mapping = PROFILE_NONE, .n_lines = 1};
    assert_ok(profile_add_function(p, &f, &err), &err);
    struct profile_line line = {.function = (uint32_t)p->n_functions - 1};
    assert_ok(profile_add_location(p, &l, &line, &err), &err);
    return (uint32_t)p->n_locations - 1;
}

/* Adds a sample. `stack` is "leaf caller root"; `values` has a value of each type. */
static void add_sample(struct profile *p, const char *stack, const int64_t *values)
{
    struct err err = ERR_INIT;
    uint32_t locations[64];
    size_t depth = 0;
    char *copy = strdup(stack), *rest = NULL;
    assert_non_null(copy);
    for (char *at = strtok_r(copy, " ", &rest); at; at = strtok_r(NULL, " ", &rest))
        locations[depth++] = add_location(p, at);
    assert_ok(profile_add_sample(p, &(struct profile_new_sample){locations, depth, values, NULL, 0}, &err),
              &err);
    free(copy);
}

/* Adds samples of ten milliseconds each. */
static void add_cpu(struct profile *p, const char *stack, int64_t samples)
{
    add_sample(p, stack, (const int64_t[]){samples, samples * 10000000});
}

static struct profile *profile_with_types(const char *const *types)
{
    struct err err = ERR_INIT;
    struct profile *p = profile_new(&err);
    assert_non_null(p);
    for (; types[0]; types += 2)
        add_type(p, types[0], types[1]);
    return p;
}

static struct profile *cpu_profile(void)
{
    struct profile *p =
        profile_with_types((const char *const[]){"samples", "count", "cpu", "nanoseconds", NULL});
    p->duration_ns = 10 * SECOND;
    return p;
}

static struct profile *heap_profile(void)
{
    return profile_with_types((const char *const[]){"alloc_objects", "count", "alloc_space", "bytes",
                                                    "inuse_objects", "count", "inuse_space", "bytes", NULL});
}

static struct profile *delay_profile(void)
{
    return profile_with_types((const char *const[]){"contentions", "count", "delay", "nanoseconds", NULL});
}

/* ---- findings ---------------------------------------------------------------------------------------- */

/* Adds the findings on a profile, and frees the profile. */
static void add_findings(struct findings *findings, struct profile *p, const struct finding_subject *s)
{
    struct err err = ERR_INIT;
    assert_ok(findings_add_profile(findings, p, s, &err), &err);
    profile_free(p);
}

static const struct finding_subject default_subject = {
    .host = "file-03", .service = "gitaly", .kind = "x", .file = "file-03/gitaly/x.pb.gz"};

/* Returns the findings on a profile, and frees the profile. */
static struct findings findings_of(struct profile *p, const struct finding_subject *s)
{
    struct findings findings = FINDINGS_INIT;
    struct err err = ERR_INIT;
    add_findings(&findings, p, s);
    assert_ok(findings_finish(&findings, &err), &err);
    return findings;
}

static const struct finding *find_finding(const struct findings *findings, const char *rule)
{
    for (size_t i = 0; i < findings->n; i++)
        if (strcmp(findings->items[i].rule->id, rule) == 0)
            return &findings->items[i];
    return NULL;
}

static void assert_finding(const struct findings *findings, const char *rule, const char *text,
                           const char *look)
{
    const struct finding *found = find_finding(findings, rule);
    if (!found)
        fail_msg("there is no finding of the rule %s", rule);
    assert_string_equal(found->text, text);
    assert_string_equal(found->look_at ? found->look_at : "", look);
}

/* ---- CPU --------------------------------------------------------------------------------------------- */

/* The findings on 10 s of CPU time in 10 s: of 1000 samples, `samples` have this stack. */
static struct findings findings_of_thousand(const char *stack, int64_t samples)
{
    struct profile *p = cpu_profile();
    add_cpu(p, stack, samples);
    add_cpu(p, "main.rest main.main", 1000 - samples);
    return findings_of(p, &default_subject);
}

static void cpu_findings_begin_at_their_thresholds(void **state)
{
    (void)state;
    /* `above` is more than two standard errors above the threshold, `below` is less. */
    static const struct {
        const char *rule, *stack;
        int64_t below, above;
        const char *look;
    } rows[] = {
        {"gc-share", "runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker.func2", 270, 285,
         "runtime.gcBgMarkWorker"},
        {"gc-assist", "runtime.gcDrainN runtime.gcAssistAlloc1 runtime.mallocgc main.f main.main", 60, 72,
         "main.f"},
        {"allocation", "runtime.nextFreeFast runtime.mallocgcTiny runtime.newobject main.f main.main", 165,
         180, "main.f"},
        {"channels", "runtime.lock2 runtime.chansend runtime.chansend1 main.f main.main", 115, 125, "main.f"},
        {"locks", "sync.(*Mutex).lockSlow sync.(*Mutex).Lock main.f main.main", 115, 125, "main.f"},
        {"locks", "internal/sync.(*Mutex).lockSlow main.f main.main", 115, 125, "main.f"},
        {"scheduler", "runtime.futex runtime.futexwakeup runtime.schedule runtime.mcall", 270, 285, ""},
        {"unbuffered", "syscall.Syscall syscall.write syscall.Write os.(*File).Write main.f main.main", 220,
         235, "main.f"},
        {"native", "runtime.cgocall main._Cfunc_spin main.f main.main", 115, 125, "main.f"},
        {"native", "runtime._ExternalCode", 115, 125, ""},
        {"regexp-compile", "regexp/syntax.Parse regexp.compile regexp.MustCompile main.f main.main", 60, 72,
         "main.f"},
        {"encoding",
         "reflect.Value.Field encoding/json.structEncoder.encode encoding/json.Marshal main.f main.main", 220,
         235, "main.f"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct findings findings = findings_of_thousand(rows[i].stack, rows[i].below);
        if (find_finding(&findings, rows[i].rule))
            fail_msg("%s: reported for %d samples", rows[i].rule, (int)rows[i].below);
        findings_release(&findings);
        findings = findings_of_thousand(rows[i].stack, rows[i].above);
        const struct finding *item = find_finding(&findings, rows[i].rule);
        if (!item)
            fail_msg("%s: not reported for %d samples", rows[i].rule, (int)rows[i].above);
        assert_true((item->rule->severity == FINDING_SUSPECT));
        assert_string_equal(item->look_at ? item->look_at : "", rows[i].look);
        assert_string_equal(item->file, default_subject.file);
        findings_release(&findings);
    }
}

static void cpu_findings_have_their_sentences(void **state)
{
    (void)state;
    struct profile *p = cpu_profile();
    add_cpu(p, "runtime.mallocgc runtime.newobject main.(*tree).add main.build main.main", 300);
    add_cpu(p, "runtime.mallocgc strings.(*Builder).grow main.name main.build main.main", 100);
    add_cpu(p, "runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker.func2 runtime.systemstack", 300);
    add_cpu(p,
            "runtime.scanobject runtime.gcDrain runtime.gcDrainMarkWorkerIdle runtime.gcBgMarkWorker.func2",
            50);
    add_cpu(p, "strconv.formatBits main.name main.build main.main", 250);
    struct findings findings = findings_of(p, &default_subject);
    assert_int_equal(findings.n, 3);
    assert_finding(
        &findings, "gc-share",
        "garbage collection took 30 % of the CPU time and another 5.0 % on processors that were idle; "
        "main.(*tree).add allocates most",
        "main.(*tree).add");
    assert_finding(
        &findings, "allocation",
        "allocating took 40 % of the CPU time (runtime.mallocgc): many allocations, 75 % of that in "
        "main.(*tree).add",
        "main.(*tree).add");
    assert_finding(&findings, "cpu-hot",
                   "CPU was 100 % busy (100 % is one core): outside of Go's runtime strconv.formatBits used "
                   "most CPU time "
                   "itself, 25 %, and main.build with all that it calls 65 %",
                   "strconv.formatBits");
    assert_string_equal(findings.items[0].rule->id, "allocation"); /* the heavier one */
    assert_false((findings.items[2].rule->severity == FINDING_SUSPECT));
    findings_release(&findings);
}

/* These stacks are similar to those of findings, and are no finding in any amount. */
static void stacks_of_harmless_calls_are_no_finding(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *stack;
    } rows[] = {
        {"unbuffered", "syscall.Write os.(*File).Write bufio.(*Writer).Flush main.f"},
        {"unbuffered", "syscall.Read os.(*File).Read io.copyBuffer main.f"},
        {"allocation", "runtime.gcDrainN runtime.gcAssistAlloc runtime.mallocgc main.f"},
        {"gc-share", "runtime.gcDrain runtime.gcDrainMarkWorkerIdle runtime.gcBgMarkWorker"},
        {"scheduler", "runtime.futex runtime.wakep runtime.gcDrain runtime.gcBgMarkWorker"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct findings findings = findings_of_thousand(rows[i].stack, 900);
        if (find_finding(&findings, rows[i].rule))
            fail_msg("%s: reported for %s", rows[i].rule, rows[i].stack);
        findings_release(&findings);
    }
}

static void the_cpu_summary_depends_on_the_samples_of_functions(void **state)
{
    (void)state;
    struct profile *p = cpu_profile();
    p->duration_ns = 30 * SECOND; /* 1.3 % of a core */
    add_cpu(p, "runtime.mallocgc main.f main.main", 40);
    struct findings findings = findings_of(p, &default_subject);
    assert_int_equal(findings.n, 1);
    assert_finding(&findings, "cpu-spread",
                   "CPU was 1.3 % busy (100 % is one core): main.f used 100 % with all that it calls; 100 % "
                   "was spent in Go's runtime; no function of the service has more than 10 % itself; next: "
                   "profgrab pprof -peek shows what main.f calls",
                   "main.f");
    findings_release(&findings);
    p = cpu_profile();
    add_cpu(p, "runtime.mallocgc main.f main.main", 19);
    findings = findings_of(p, &default_subject);
    assert_int_equal(findings.n, 1);
    assert_finding(
        &findings, "cpu-idle",
        "the process used almost no CPU: 19 samples in 10s (1.9 % of one core), too few to say where", "");
    findings_release(&findings);
    p = cpu_profile();
    findings = findings_of(p, &default_subject);
    assert_non_null(find_finding(&findings, "cpu-idle"));
    findings_release(&findings);
    p = cpu_profile();
    add_cpu(p, "main.a main.main", 100);
    add_cpu(p, "runtime.memmove main.f main.main", 900);
    findings = findings_of(p, &default_subject);
    assert_non_null(find_finding(&findings, "cpu-hot"));
    assert_null(find_finding(&findings, "cpu-spread"));
    findings_release(&findings);
    p = cpu_profile();
    add_cpu(p, "main.a main.main", 99);
    add_cpu(p, "runtime.memmove main.f main.main", 901);
    findings = findings_of(p, &default_subject);
    assert_null(find_finding(&findings, "cpu-hot"));
    assert_finding(&findings, "cpu-spread",
                   "CPU was 100 % busy (100 % is one core): main.f used 90 % with all that it calls; 90 % "
                   "was spent in Go's runtime; no function of the service has more than 10 % itself; next: "
                   "profgrab pprof -peek shows what main.f calls",
                   "main.f");
    findings_release(&findings);
    p = cpu_profile();
    p->duration_ns = 0; /* not known */
    add_cpu(p, "main.f main.main", 20);
    findings = findings_of(p, &default_subject);
    assert_finding(&findings, "cpu-hot",
                   "CPU: outside of Go's runtime main.f used most CPU time itself, 100 %", "main.f");
    findings_release(&findings);
}

/* ---- memory and waiting ------------------------------------------------------------------------------ */

static void heap_findings_have_their_sentences(void **state)
{
    (void)state;
    struct profile *p = heap_profile();
    add_sample(p, "bytes.growSlice bytes.(*Buffer).Write main.load main.main",
               (const int64_t[]){1000, 3000000, 100, 750000});
    add_sample(p, "main.small main.main", (const int64_t[]){1234567, 24000000, 0, 0});
    add_sample(p, "main.keep main.main", (const int64_t[]){10, 250000, 10, 250000});
    struct findings findings = findings_of(p, &default_subject);
    assert_int_equal(findings.n, 2);
    assert_finding(&findings, "heap-in-use",
                   "976.56kB of heap in use (110 objects): main.load allocated 75 % of it", "main.load");
    assert_finding(
        &findings, "heap-allocated",
        "25.99MB allocated in all (1,235,577 objects): main.small allocated 88 % of it, 19B an object",
        "main.small");
    findings_release(&findings);
    p = heap_profile();
    p->duration_ns = 5 * SECOND; /* a difference */
    add_sample(p, "main.keep main.main", (const int64_t[]){10, 250000, 10, -250000});
    findings = findings_of(p, &default_subject);
    assert_null(find_finding(&findings, "heap-in-use"));
    assert_non_null(find_finding(&findings, "heap-allocated"));
    findings_release(&findings);
    findings = findings_of(heap_profile(), &default_subject);
    assert_int_equal(findings.n, 0);
    findings_release(&findings);
}

#define SERVED "net/http.HandlerFunc.ServeHTTP net/http.(*conn).serve"

/* The cost of taking profiles is reported as such, and no function of the service gets it. */
static void memory_of_profilers_is_reported_separately(void **state)
{
    (void)state;
    static const char innocent[] = "net/http.(*conn).serve";
    struct profile *p = heap_profile();
    add_sample(p,
               "compress/flate.NewWriter runtime/pprof.newProfileBuilder runtime/pprof.StartCPUProfile "
               "net/http/pprof.Profile " SERVED,
               (const int64_t[]){2, 2038, 2, 2038});
    add_sample(p, "runtime/trace.Start.func1", (const int64_t[]){1, 100, 0, 0});
    add_sample(p, "net/http/pprof.collectProfile " SERVED, (const int64_t[]){1, 50, 0, 0});
    add_sample(p, "main.load main.main", (const int64_t[]){10, 7812, 10, 1962});
    struct findings findings = findings_of(p, &default_subject);
    assert_int_equal(findings.n, 4);
    assert_string_equal(
        findings.items[1].text,
        "the profilers themselves caused 51 % of the heap in use "
        "(runtime/pprof.StartCPUProfile): it is the cost of taking profiles, not of the service");
    assert_string_equal(
        findings.items[2].text,
        "the profilers themselves caused 22 % of all that was allocated "
        "(runtime/pprof.StartCPUProfile): it is the cost of taking profiles, not of the service");
    assert_finding(&findings, "heap-in-use",
                   "3.91kB of heap in use (12 objects): main.load allocated 49 % of it", "main.load");
    for (size_t i = 0; i < findings.n; i++)
        assert_null(strstr(findings.items[i].text, innocent));
    findings_release(&findings);
    /* If nothing else allocated, the share of the profilers is the only finding. Below a tenth it is no
     * finding. */
    p = heap_profile();
    add_sample(p, "runtime/pprof.StartCPUProfile net/http/pprof.Profile " SERVED,
               (const int64_t[]){2, 2000, 0, 0});
    findings = findings_of(p, &default_subject);
    assert_int_equal(findings.n, 1);
    assert_string_equal(findings.items[0].rule->id, "profilers-heap");
    findings_release(&findings);
    p = heap_profile();
    add_sample(p, "runtime/pprof.StartCPUProfile net/http/pprof.Profile " SERVED,
               (const int64_t[]){2, 99, 0, 0});
    add_sample(p, "main.load main.main", (const int64_t[]){10, 901, 0, 0});
    findings = findings_of(p, &default_subject);
    assert_null(find_finding(&findings, "profilers-heap"));
    findings_release(&findings);
}

/* The CPU time of profilers is neither a suspect nor the hottest function nor a part of a caller. */
static void time_of_profilers_is_reported_separately(void **state)
{
    (void)state;
    struct profile *p = cpu_profile();
    add_cpu(p,
            "runtime.nextFree runtime.mallocgc compress/flate.(*compressor).deflate "
            "runtime/pprof.(*profileBuilder).build runtime/pprof.profileWriter",
            400);
    add_cpu(p,
            "compress/flate.(*compressor).deflate runtime/pprof.(*Profile).WriteTo "
            "net/http/pprof.handler.ServeHTTP " SERVED " main.middleware",
            300);
    add_cpu(p, "main.work main.main", 300);
    struct findings findings = findings_of(p, &default_subject);
    assert_int_equal(findings.n, 2);
    assert_finding(
        &findings, "profilers-cpu",
        "the profilers themselves caused 70 % of the CPU time (runtime/pprof.profileWriter): it is the "
        "cost of taking profiles, not of the service",
        "runtime/pprof.profileWriter");
    assert_finding(&findings, "cpu-hot",
                   "CPU was 100 % busy (100 % is one core): outside of Go's runtime main.work used most CPU "
                   "time itself, "
                   "30 %",
                   "main.work");
    findings_release(&findings);
    /* The handler of a CPU profile sleeps, which is not a wait of the service. */
    struct finding_subject s = default_subject;
    s.kind = "block";
    p = delay_profile();
    add_sample(p, "runtime.selectgo net/http/pprof.sleep net/http/pprof.Profile " SERVED,
               (const int64_t[]){1, 30 * SECOND});
    add_sample(p, "runtime.chanrecv1 main.wait main.main", (const int64_t[]){1, 10 * SECOND});
    findings = findings_of(p, &s);
    assert_non_null(find_finding(&findings, "profilers-block"));
    assert_finding(&findings, "block-delay",
                   "goroutines waited 40s in all, 2 times, for each other; 25 % of it in main.wait",
                   "main.wait");
    findings_release(&findings);
}

static void delays_of_mutexes_and_blocks_are_reported(void **state)
{
    (void)state;
    struct finding_subject s = default_subject;
    struct profile *p = delay_profile();
    add_sample(p, "sync.(*Mutex).Unlock main.update main.main", (const int64_t[]){4200, 9 * SECOND});
    add_sample(p, "sync.(*Mutex).Unlock main.other main.main", (const int64_t[]){1, 1 * SECOND});
    s.kind = "mutex";
    struct findings findings = findings_of(p, &s);
    assert_finding(
        &findings, "mutex-delay",
        "goroutines waited 10s in all, 4,201 times, for locks; 90 % of it for locks that main.update held",
        "main.update");
    findings_release(&findings);
    p = delay_profile();
    p->duration_ns = 5 * SECOND;
    add_sample(p, "runtime.chanrecv1 main.wait main.main", (const int64_t[]){2, 3 * SECOND});
    s = (struct finding_subject){.file = "block.pb.gz"};
    findings = findings_of(p, &s);
    assert_finding(&findings, "block-delay",
                   "goroutines waited 3s in all within 5s, 2 times, for each other; 100 % of it in main.wait",
                   "main.wait");
    findings_release(&findings);
    findings = findings_of(delay_profile(), &s);
    assert_int_equal(findings.n, 0);
    findings_release(&findings);
}

/* Returns the first finding on a profile of delays with this kind and file; "" if there is none. */
static const char *first_rule_on_delays(const char *kind, const char *file)
{
    struct profile *p = delay_profile();
    add_sample(p, "runtime.chanrecv1 main.wait main.main", (const int64_t[]){2, 3 * SECOND});
    struct findings w = findings_of(p, &(struct finding_subject){.kind = kind, .file = file});
    const char *id = w.n > 0 ? w.items[0].rule->id : "";
    findings_release(&w);
    return id;
}

static void the_name_tells_block_from_mutex_profiles(void **state)
{
    (void)state;
    assert_string_equal(first_rule_on_delays("mutex", "h/s/block.pb.gz"), "mutex-delay");
    assert_string_equal(first_rule_on_delays("block", "h/s/mutex.pb.gz"), "block-delay");
    assert_string_equal(first_rule_on_delays("/debug/pprof/mutex?seconds=5", "f"), "mutex-delay");
    assert_string_equal(first_rule_on_delays("", "a/mutex-delta.pb.gz"), "mutex-delay");
    assert_string_equal(first_rule_on_delays(NULL, "block.later.pb.gz"), "block-delay");
    assert_string_equal(first_rule_on_delays("contention", "mutex.pb.gz"), "");
    assert_string_equal(first_rule_on_delays(NULL, "cpu.pb.gz"), "");
    assert_string_equal(first_rule_on_delays(NULL, NULL), "");
}

/* ---- goroutines -------------------------------------------------------------------------------------- */

/* Adds n goroutines of one stack. */
static void add_goroutines(struct buf *b, int n, const char *state, const char *frames)
{
    for (int i = 0; i < n; i++)
        buf_addf(b, "goroutine %d [%s]:\n%s\n", i + 1, state, frames);
}

static struct findings findings_of_dumps(struct buf *dumps, size_t n)
{
    struct err err = ERR_INIT;
    struct goroutines *g = NULL;
    struct findings findings = FINDINGS_INIT;
    struct str texts[2];
    for (size_t i = 0; i < n; i++)
        texts[i] = (struct str){buf_str(&dumps[i]), dumps[i].len};
    assert_ok(goroutines_read(&(struct goroutines_input){texts, (const char *const[]){"a", "b"}, n, 1 << 20},
                              &g, &err),
              &err);
    assert_ok(findings_add_goroutines(&findings, g, &default_subject, &err), &err);
    assert_ok(findings_finish(&findings, &err), &err);
    goroutines_free(g);
    for (size_t i = 0; i < n; i++)
        buf_release(&dumps[i]);
    return findings;
}

static struct findings findings_of_dump(int n, const char *state, const char *frames)
{
    struct buf b = BUF_INIT(8 << 20);
    add_goroutines(&b, 1, "running", "main.main()\n\t/main.go:1\n");
    add_goroutines(&b, n, state, frames);
    return findings_of_dumps(&b, 1);
}

#define POOL "main.(*pool).wait(0x1)\n\t/pool.go:7\ncreated by main.start\n\t/main.go:3\n"
#define LOCK "sync.(*Mutex).Lock(...)\n\t/mutex.go:1\nmain.update()\n\t/main.go:9\n"
#define IDLE "internal/poll.runtime_pollWait()\n\t/netpoll.go:1\nmain.serve()\n\t/main.go:9\n"

static void goroutine_findings_begin_at_their_thresholds(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *state, *frames;
        int n;
        bool found;
    } rows[] = {
        {"leak-suspect", "chan receive, 10 minutes", POOL, 100, true},
        {"leak-suspect", "chan receive, 10 minutes", POOL, 99, false},
        {"leak-suspect", "chan receive, 9 minutes", POOL, 100, false},
        {"leak-suspect", "chan receive", POOL, 10000, true},
        {"leak-suspect", "chan receive", POOL, 9999, false},
        {"leak-suspect", "IO wait, 90 minutes", IDLE, 10000, false},
        {"lock-waits", "sync.Mutex.Lock", LOCK, 10, true},
        {"lock-waits", "semacquire", LOCK, 9, false},
        {"lock-waits", "chan receive", POOL, 1000, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct findings findings = findings_of_dump(rows[i].n, rows[i].state, rows[i].frames);
        if ((find_finding(&findings, rows[i].rule) != NULL) != rows[i].found)
            fail_msg("%s: %d of %s", rows[i].rule, rows[i].n, rows[i].state);
        findings_release(&findings);
    }
}

static void goroutine_findings_have_their_sentences(void **state)
{
    (void)state;
    struct findings findings = findings_of_dump(148, "chan receive, 47 minutes", POOL);
    assert_int_equal(findings.n, 2);
    assert_finding(
        &findings, "leak-suspect",
        "148 goroutines are in main.(*pool).wait (chan receive), half of them for 47 minutes or longer: a "
        "leak, or a pool with nothing to do",
        "main.(*pool).wait");
    assert_finding(&findings, "goroutine-states",
                   "149 goroutines: 148 chan receive, 1 running; most in one place: 148 of them in "
                   "main.(*pool).wait; the "
                   "longest has waited 47 minutes",
                   "main.(*pool).wait");
    findings_release(&findings);
    findings = findings_of_dump(1, "select", LOCK);
    assert_finding(&findings, "goroutine-states", "2 goroutines: 1 running, 1 select", "main.main");
    findings_release(&findings);
    findings = findings_of_dump(12, "sync.RWMutex.RLock", LOCK);
    assert_finding(&findings, "lock-waits", "12 goroutines wait for a lock in main.update", "main.update");
    findings_release(&findings);
}

static void growth_of_goroutines_is_found_above_its_threshold(void **state)
{
    (void)state;
    static const struct {
        int before, now;
        bool found;
    } rows[] = {{0, 100, true}, {0, 99, false}, {500, 600, true}, {2000, 2150, false}, {600, 500, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buf dumps[2] = {BUF_INIT(8 << 20), BUF_INIT(8 << 20)};
        add_goroutines(&dumps[0], 1, "running", "main.main()\n\t/main.go:1\n");
        add_goroutines(&dumps[0], rows[i].before, "select", POOL);
        add_goroutines(&dumps[1], 1, "running", "main.main()\n\t/main.go:1\n");
        add_goroutines(&dumps[1], rows[i].now, "select", POOL);
        struct findings findings = findings_of_dumps(dumps, 2);
        assert_int_equal(find_finding(&findings, "goroutine-growth") != NULL, rows[i].found);
        if (i == 2)
            assert_finding(&findings, "goroutine-growth",
                           "100 goroutines more than before are in main.(*pool).wait (500, then 600)",
                           "main.(*pool).wait");
        findings_release(&findings);
    }
}

/* ---- the list ---------------------------------------------------------------------------------------- */

/* A finding names its host if there are several hosts. Equal findings are merged into the heaviest of
 * them. */
static void findings_of_several_hosts_name_the_host(void **state)
{
    (void)state;
    struct findings findings = FINDINGS_INIT;
    struct err err = ERR_INIT;
    for (int i = 0; i < 6; i++) {
        char host[20];
        struct finding_subject s = {.host = host, .service = "gitaly", .kind = "cpu", .file = "f"};
        struct profile *p = cpu_profile();
        snprintf(host, sizeof host, "file-%02d", i);
        add_cpu(p, "runtime.mallocgc main.f main.main", 300 + 10 * i);
        add_cpu(p, i < 3 ? "main.a main.main" : "main.b main.main", 700 - 10 * i);
        add_findings(&findings, p, &s);
    }
    assert_ok(findings_finish(&findings, &err), &err);
    assert_int_equal(findings.n, 3);
    assert_string_equal(findings.items[0].text,
                        "file-05 gitaly: allocating took 35 % of the CPU time (runtime.mallocgc): "
                        "many allocations, 100 % of that in main.f (likewise file-04 gitaly, "
                        "file-03 gitaly, file-02 gitaly and 2 more)");
    assert_string_equal(findings.items[0].host, "file-05");
    findings_release(&findings);
}

/* Suspects and other facts of 40 hosts: the list has no more than the maximum. */
static void the_number_of_findings_is_limited(void **state)
{
    (void)state;
    struct findings findings = FINDINGS_INIT;
    struct err err = ERR_INIT;
    for (int i = 0; i < 40; i++) {
        char host[20], name[60];
        struct finding_subject s = {.host = host, .service = "gitaly", .file = "f"};
        struct profile *p = cpu_profile(), *h = heap_profile();
        snprintf(host, sizeof host, "file-%02d", i);
        snprintf(name, sizeof name, "runtime.mallocgc main.f%d main.main", i);
        add_cpu(p, name, 300 + i);
        snprintf(name, sizeof name, "main.f%d main.main", i);
        add_cpu(p, name, 600);
        add_findings(&findings, p, &s);
        add_sample(h, name, (const int64_t[]){1, 10, 1, 10});
        add_findings(&findings, h, &s);
    }
    assert_ok(findings_finish(&findings, &err), &err);
    assert_int_equal(findings.n, FINDINGS_MAX);
    assert_string_equal(findings.items[0].host, "file-39");
    assert_true((findings.items[4].rule->severity == FINDING_SUSPECT));
    assert_false((findings.items[5].rule->severity == FINDING_SUSPECT));
    assert_non_null(find_finding(&findings, "cpu-hot"));
    assert_non_null(find_finding(&findings, "heap-in-use"));
    assert_non_null(find_finding(&findings, "heap-allocated"));
    findings_release(&findings);
}

/* Two CPU profiles of one service give one finding. Two local files give a finding each. */
static void repeated_findings_are_merged(void **state)
{
    (void)state;
    struct findings findings = FINDINGS_INIT;
    struct err err = ERR_INIT;
    struct finding_subject s = default_subject;
    for (int i = 1; i < 3; i++) {
        struct profile *p = cpu_profile();
        add_cpu(p, "main.f main.main", 100 * i);
        add_findings(&findings, p, &s);
        s.file = "file-03/gitaly/cpu-2.pb.gz";
    }
    assert_ok(findings_finish(&findings, &err), &err);
    assert_int_equal(findings.n, 1);
    assert_string_equal(findings.items[0].file, s.file);
    findings_release(&findings);
    s = (struct finding_subject){.file = "a.pb.gz"};
    for (int i = 1; i < 3; i++) {
        struct profile *p = cpu_profile();
        add_cpu(p, "main.f main.main", 100 * i);
        add_findings(&findings, p, &s);
        s.file = "b.pb.gz";
    }
    assert_ok(findings_finish(&findings, &err), &err);
    assert_int_equal(findings.n, 2);
    findings_release(&findings);
}

static void hostile_names_are_printable_in_findings(void **state)
{
    (void)state;
    struct finding_subject s = {
        .host = "h\x1b[31m", .service = "s\xe2\x80\xae", .kind = "cpu", .file = "f\n\xff.pb.gz"};
    struct profile *p = cpu_profile();
    char *stack = malloc(20001);
    assert_non_null(stack);
    memset(stack, 'x', 20000);
    stack[20000] = '\0';
    add_cpu(p, "main.<script>\xe2\x80\xae\xff\x1b[0m", 100);
    add_cpu(p, stack, 200);
    struct findings findings = findings_of(p, &s);
    assert_int_equal(findings.n, 1);
    assert_true(text_is_visible(findings.items[0].text));
    assert_true(text_is_visible(findings.items[0].file));
    assert_true(text_is_visible(findings.items[0].host));
    assert_true(strlen(findings.items[0].text) < 800);
    assert_null(findings.items[0].look_at); /* 20 kB are not worth a command */
    findings_release(&findings);
    p = cpu_profile();
    add_cpu(p, "main.\xe2\x80\xae", 100);
    findings = findings_of(p, &s);
    assert_null(findings.items[0].look_at);
    findings_release(&findings);
    free(stack);
}

/* ---- names and the table ----------------------------------------------------------------------------- */

static void functions_are_assigned_to_runtime_library_or_program(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum functions_origin origin;
    } rows[] = {
        {"runtime.gopark", FUNCTION_OF_RUNTIME},
        {"runtime/internal/syscall.Syscall6", FUNCTION_OF_RUNTIME},
        {"internal/runtime/maps.(*Map).Put", FUNCTION_OF_RUNTIME},
        {"runtime/pprof.StartCPUProfile", FUNCTION_OF_PROFILERS},
        {"runtime/trace.Start.func1", FUNCTION_OF_PROFILERS},
        {"net/http/pprof.Profile", FUNCTION_OF_PROFILERS},
        {"runtime/debug.FreeOSMemory", FUNCTION_OF_STANDARD},
        {"net/http.(*conn).serve", FUNCTION_OF_STANDARD},
        {"sync.(*Mutex).Lock", FUNCTION_OF_STANDARD},
        {"vendor/golang.org/x/net/http2.f", FUNCTION_OF_STANDARD},
        {"main.main", FUNCTION_OF_PROGRAM},
        {"github.com/x/net/http.f", FUNCTION_OF_PROGRAM},
        {"network/x.f", FUNCTION_OF_PROGRAM},
        {"github.com/x/y._Cfunc_spin", FUNCTION_OF_STANDARD},
        {"net", FUNCTION_OF_PROGRAM},
        {"", FUNCTION_OF_PROGRAM},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(functions_origin_of(str_of(rows[i].name)), rows[i].origin);
}

/* Every rule has all its texts and a name of its own. */
static void the_table_of_rules_is_complete(void **state)
{
    (void)state;
    const struct finding_rule *r;
    size_t n = 0;
    for (; (r = findings_rule(n)); n++) {
        assert_true(r->id && r->sentence && r->evidence && r->look && r->source && r->apply);
        assert_true(*finding_topic_name(r->topic));
        assert_true(r->threshold || r->percent > 0);
        assert_true((r->severity == FINDING_SUSPECT) == (n < 22)); /* suspects are first */
        for (size_t i = 0; i < n; i++)
            assert_string_not_equal(r->id, findings_rule(i)->id);
    }
    assert_int_equal(n, 38);
}

static void check_arguments(const struct finding_rule *r)
{
    size_t n_placeholders = 0;
    bool ended = false;
    for (size_t i = 0; i < SENTENCE_MAX_ARGUMENTS; i++) {
        const char *name = r->arguments[i];
        char placeholder[8];
        snprintf(placeholder, sizeof placeholder, "{%zu}", i);
        if ((strstr(r->sentence, placeholder) != NULL) != (name != NULL) || (name && ended))
            fail_msg("%s: %s has %s name", r->id, placeholder, name ? "an unneeded" : "no");
        if (name && (!*name || strpbrk(name, "{}|<>*_`\\")))
            fail_msg("%s: \"%s\" is no name for a Markdown table", r->id, name);
        ended = !name;
        for (const char *p = r->sentence; (p = strstr(p, placeholder)); p++)
            n_placeholders++;
    }
    for (const char *p = r->sentence; (p = strchr(p, '{')); p++)
        if (n_placeholders-- == 0)
            fail_msg("%s: a brace of the sentence begins no placeholder", r->id);
}

/* The documentation prints these names in the sentences. */
static void rules_name_the_arguments_of_their_sentences(void **state)
{
    const struct finding_rule *r;
    (void)state;
    for (size_t i = 0; (r = findings_rule(i)); i++)
        check_arguments(r);
    for (size_t i = 0; (r = fetch_rule(i)); i++)
        check_arguments(r);
}

/* ---- the document ------------------------------------------------------------------------------------ */

#define DOCUMENT "docs/reading.md"
#define BEGIN "<!-- rules -->\n"
#define END "<!-- end of rules -->\n"

static void add_rule_row(struct buf *b, const struct finding_rule *r)
{
    buf_addf(b, "| `%s` | %s, %s | ", r->id, finding_topic_name(r->topic),
             r->severity == FINDING_SUSPECT ? "suspect" : "fact");
    char *sentence = finding_rule_describe(r);
    assert_non_null(sentence);
    buf_addf(b, "%s | %s | ", sentence, r->evidence);
    free(sentence);
    if (r->threshold)
        buf_adds(b, r->threshold);
    else
        buf_addf(b, "%g %%", r->percent);
    buf_addf(b, " | %s | %s |\n", r->look, r->source);
}

/* FINDINGS_TABLE=renew writes the table instead of checking it. */
static void docs_list_every_rule(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    const struct finding_rule *r;
    struct buf document = BUF_INIT(1u << 20), renewed = BUF_INIT(1u << 20);
    assert_ok(file_read(DOCUMENT, &document, &err), &err);
    const char *begin = strstr(buf_str(&document), BEGIN), *end = strstr(buf_str(&document), END);
    assert_true(begin && end && begin < end);
    begin += strlen(BEGIN);
    buf_add(&renewed, buf_str(&document), (size_t)(begin - buf_str(&document)));
    buf_adds(&renewed, "| finding | profiles | sentence | evidence | threshold | where to look | source "
                       "|\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; (r = findings_rule(i)); i++)
        add_rule_row(&renewed, r);
    buf_adds(&renewed, end);
    const char *mode = getenv("FINDINGS_TABLE");
    if (mode && strcmp(mode, "renew") == 0)
        assert_ok(file_write(DOCUMENT, buf_str(&renewed), renewed.len, &err), &err);
    else
        assert_string_equal(buf_str(&document), buf_str(&renewed));
    buf_release(&document);
    buf_release(&renewed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_findings_begin_at_their_thresholds),
        cmocka_unit_test(cpu_findings_have_their_sentences),
        cmocka_unit_test(stacks_of_harmless_calls_are_no_finding),
        cmocka_unit_test(the_cpu_summary_depends_on_the_samples_of_functions),
        cmocka_unit_test(heap_findings_have_their_sentences),
        cmocka_unit_test(memory_of_profilers_is_reported_separately),
        cmocka_unit_test(time_of_profilers_is_reported_separately),
        cmocka_unit_test(delays_of_mutexes_and_blocks_are_reported),
        cmocka_unit_test(the_name_tells_block_from_mutex_profiles),
        cmocka_unit_test(goroutine_findings_begin_at_their_thresholds),
        cmocka_unit_test(goroutine_findings_have_their_sentences),
        cmocka_unit_test(growth_of_goroutines_is_found_above_its_threshold),
        cmocka_unit_test(findings_of_several_hosts_name_the_host),
        cmocka_unit_test(the_number_of_findings_is_limited),
        cmocka_unit_test(repeated_findings_are_merged),
        cmocka_unit_test(hostile_names_are_printable_in_findings),
        cmocka_unit_test(functions_are_assigned_to_runtime_library_or_program),
        cmocka_unit_test(the_table_of_rules_is_complete),
        cmocka_unit_test(rules_name_the_arguments_of_their_sentences),
        cmocka_unit_test(docs_list_every_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
