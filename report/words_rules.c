/*
 * The table of rules. A threshold that no source gives is called ours.
 *
 * GC guide: go.dev/doc/gc-guide, "Identifying costs". Debugging performance issues: go.dev/wiki/Performance,
 * by D. Vyukov. LeakProf: G.-V. Saioc and others, Unveiling and Vanquishing Goroutine Leaks in Enterprise
 * Microservices, CGO 2024.
 */
#include "report/words_inside.h"
#include "base/banned.h"

#define WIKI "go.dev/wiki/Performance, CPU profiler"
#define GUIDE "go.dev/doc/gc-guide, Identifying costs"
#define OURS "; the threshold is ours"
#define NONE "none: it is always said"

static const char *const collector[] = {"runtime.gcBgMarkWorker*",
                                        "runtime.gcDrain*",
                                        "runtime.gcAssistAlloc*",
                                        "runtime.gcStart*",
                                        "runtime.gcMarkDone*",
                                        "runtime.bgsweep*",
                                        "runtime.bgscavenge*",
                                        "runtime.deductSweepCredit",
                                        "runtime.gcMarkTermination*",
                                        "runtime._GC",
                                        "runtime.gcWriteBarrier*",
                                        "runtime.wbBufFlush*",
                                        NULL};
static const char *const assists[] = {"runtime.gcAssistAlloc*", NULL};
static const char *const channels[] = {"runtime.chansend*", "runtime.chanrecv*", "runtime.selectgo",
                                       "runtime.closechan", "runtime.selectnb*", NULL};
static const char *const locks[] = {"sync.(*Mutex).*",          "sync.(*RWMutex).*",
                                    "internal/sync.(*Mutex).*", "sync.runtime_Semacquire*",
                                    "sync.runtime_Semrelease*", NULL};
static const char *const scheduler[] = {"runtime.schedule",     "runtime.findRunnable",
                                        "runtime.findrunnable", "runtime.park_m",
                                        "runtime.stopm",        "runtime.startm",
                                        "runtime.wakep",        "runtime.futex*",
                                        "runtime.ready",        "runtime.goready*",
                                        "runtime._System",      "runtime.gosched_m",
                                        "runtime.goschedImpl",  NULL};
static const char *const calls[] = {"syscall.Read", "syscall.Write", "syscall.Pread", "syscall.Pwrite", NULL};
static const char *const buffered[] = {"bufio.*",
                                       "io.copyBuffer",
                                       "io.ReadAll",
                                       "os.ReadFile",
                                       "os.WriteFile",
                                       "os.(*File).ReadFrom",
                                       "bytes.(*Buffer).ReadFrom",
                                       NULL};
static const char *const native[] = {"runtime.cgocall", "runtime._ExternalCode", "runtime._LostExternalCode",
                                     NULL};
static const char *const compile[] = {"regexp.Compile*", "regexp.MustCompile*", "regexp.compile",
                                      "regexp/syntax.Parse", NULL};
static const char *const encoding[] = {"encoding/json.*", "encoding/xml.*", "encoding/gob.*", NULL};

/* What is always said stands in the order in which it is told. */
static const struct words_rule rules[] = {
    {.name = "gc-share",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_gc,
     .in = collector,
     .percent = 25,
     .sentence = "garbage collection took {0} % of the CPU time{2}{1}",
     .evidence =
         "samples in the collector (runtime.gcBgMarkWorker, gcAssistAlloc, bgsweep, …), without those in "
         "runtime.gcDrainMarkWorkerIdle, which uses processors that have nothing else to do",
     .look = "what allocates most, by samples in runtime.mallocgc; else runtime.gcBgMarkWorker",
     .source =
         GUIDE "; runtime/mgcpacer.go: marking is to take a quarter of the processors while it runs, so more "
               "than a quarter of all time means that it runs all the time"},
    {.name = "gc-assist",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = assists,
     .percent = 5,
     .sentence =
         "goroutines spent {0} % of the CPU time helping the garbage collector: they allocate faster than it "
         "collects{1}",
     .evidence = "samples below runtime.gcAssistAlloc",
     .look = "the function that is made to help most: it allocates",
     .source = GUIDE ": more than 5 %"},
    {.name = "allocation",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = words_allocator,
     .out = assists,
     .percent = 15,
     .sentence = "allocating took {0} % of the CPU time (runtime.mallocgc): many allocations{1}",
     .evidence = "samples below runtime.mallocgc, without those that help the collector",
     .look = "the function that allocates most",
     .source = GUIDE ": more than 15 %; " WIKI},
    {.name = "channels",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = channels,
     .percent = 10,
     .sentence = "operations on channels took {0} % of the CPU time{1}",
     .evidence = "samples below runtime.chansend, chanrecv, selectgo",
     .look = "the function that does most of them",
     .source = WIKI ": contention" OURS},
    {.name = "locks",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = locks,
     .percent = 10,
     .sentence = "taking and giving back locks took {0} % of the CPU time{1}",
     .evidence = "samples below the methods of sync.Mutex and sync.RWMutex",
     .look = "the function that does most of it",
     .source = WIKI ": contention" OURS},
    {.name = "scheduler",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = scheduler,
     .out = collector,
     .percent = 25,
     .sentence =
         "putting goroutines to sleep and waking them took {0} % of the CPU time: much of its work comes in "
         "small pieces, from one goroutine to another{1}",
     .evidence =
         "samples in Go's scheduler (runtime.schedule, findRunnable, futex, …), without the collector's",
     .look = "the channels and locks of the other sentences; a trace shows who wakes whom",
     .source = WIKI ": the System component" OURS},
    {.name = "unbuffered",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = calls,
     .out = buffered,
     .percent = 20,
     .sentence =
         "{2} with no buffer before it took {0} % of the CPU time: each read or write is a system call{1}",
     .evidence =
         "samples below syscall.Read or Write with no bufio, io.Copy, io.ReadAll or os.ReadFile on the stack",
     .look = "the function that reads or writes most",
     .source = WIKI ": syscall.Read and Write, buffering" OURS},
    {.name = "native",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = native,
     .percent = 10,
     .sentence = "native code took {0} % of the CPU time ({2}), where Go's profiler sees no functions{1}",
     .evidence = "samples below runtime.cgocall, or in code that is not Go's (runtime._ExternalCode)",
     .look = "the function that calls it most; perf sees what is below",
     .source = "runtime/proc.go: sigprof; cmd/cgo" OURS},
    {.name = "regexp-compile",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = compile,
     .percent = 5,
     .sentence =
         "compiling regular expressions took {0} % of the CPU time; once compiled they can be kept{1}",
     .evidence = "samples below regexp.Compile",
     .look = "the function that compiles most",
     .source = "package regexp: a Regexp is safe for use by several goroutines" OURS},
    {.name = "encoding",
     .of = WORDS_OF_CPU,
     .suspect = true,
     .apply = words_cpu_share,
     .in = encoding,
     .percent = 20,
     .sentence = "encoding and decoding took {0} % of the CPU time, most below {2}{1}",
     .evidence = "samples below encoding/json, xml, gob",
     .look = "the function that encodes or decodes most",
     .source = "the packages' work by reflection" OURS},
    {.name = "lock-waits",
     .of = WORDS_OF_GOROUTINES,
     .suspect = true,
     .apply = words_goroutines_locked,
     .sentence = "{0} wait for a lock in {1}",
     .evidence =
         "goroutines with the Lock or RLock of sync.Mutex or RWMutex on the stack, by the function that asks",
     .threshold = "10 in one function",
     .look = "that function, and who holds the lock: the mutex profile has it",
     .source = "package sync" OURS},
    {.name = "leak-suspect",
     .of = WORDS_OF_GOROUTINES,
     .suspect = true,
     .apply = words_goroutines_leak,
     .sentence = "{0} stand in {1}{2}{3}: a leak, or a pool with nothing to do",
     .evidence = "goroutines of one state, stack and creator that do not wait for the network",
     .threshold = "100 of which half have waited 10 minutes, or 10,000",
     .look = "that function, and who created them",
     .source = "LeakProf (CGO 2024): many that are blocked in one place" OURS},
    {.name = "goroutine-growth",
     .of = WORDS_OF_GOROUTINES,
     .suspect = true,
     .apply = words_goroutines_grown,
     .sentence = "{0} more than before stand in {1} ({2}, then {3})",
     .evidence = "two dumps of one process: the stack that has grown most",
     .threshold = "100 more, and a tenth more",
     .look = "that function, and who created them",
     .source = "runtime/pprof: the goroutine profile" OURS},

    {.name = "cpu-hot",
     .of = WORDS_OF_CPU,
     .apply = words_cpu_hot,
     .percent = 10,
     .sentence = "{0}outside of Go's runtime {1} used most itself, {2} %{3}",
     .evidence = "CPU time over the time that the profile covers; the largest flat outside of package "
                 "runtime; of the "
                 "program's own functions that cover half or more with all that they call, the one that "
                 "covers least, "
                 "else the one that covers most",
     .look = "the first of the two functions",
     .source = "profile.proto: duration_nanos; cmd/pprof: flat and cum" OURS},
    {.name = "cpu-spread",
     .of = WORDS_OF_CPU,
     .apply = words_cpu_spread,
     .percent = 10,
     .sentence = "{0}{1} used {2} % with all that it calls; {3} % of all was Go's runtime itself, and no "
                 "other function "
                 "has a tenth",
     .evidence = "the same, where no function outside of package runtime has that much",
     .threshold = "less than that",
     .look = "that function",
     .source = "as above"},
    {.name = "cpu-idle",
     .of = WORDS_OF_CPU,
     .apply = words_cpu_idle,
     .sentence = "the process used almost no CPU: {0} in {1} ({2} % of one core), too few to say where",
     .evidence = "samples of a CPU profile",
     .threshold = "fewer than 20",
     .look = "what it waits for: goroutines, block, mutex",
     .source = "runtime/pprof: a sample for every 10 ms of CPU time" OURS},
    {.name = "heap-in-use",
     .of = WORDS_OF_HEAP,
     .apply = words_heap_in_use,
     .sentence = "{0} of heap in use ({1}): {3} allocated {2} % of it{4}",
     .evidence =
         "inuse_space at the last finished collection, for the innermost of the program's own functions",
     .threshold = NONE,
     .look = "the function that allocated most of it",
     .source = "runtime.MemProfile"},
    {.name = "goroutine-states",
     .of = WORDS_OF_GOROUTINES,
     .apply = words_goroutines_states,
     .sentence = "{0}{1}{2}{3}",
     .evidence =
         "the dump's states, and the innermost of the program's own functions of each stack; where most "
         "stand, if they are two or more",
     .threshold = NONE,
     .look = "the function where most stand",
     .source = "runtime/pprof: the goroutine profile"},
    {.name = "heap-allocated",
     .of = WORDS_OF_HEAP,
     .apply = words_heap_allocated,
     .sentence = "{0} allocated in all ({1}): {3} {2} % of it, {5} at a time{4}",
     .evidence =
         "alloc_space since the process began (in a difference: within its time), for the innermost of the "
         "program's own functions; its bytes over its objects",
     .threshold = NONE,
     .look = "the function that allocated most",
     .source = GUIDE ": alloc_space shows the rate of allocation"},
    {.name = "mutex-delay",
     .of = WORDS_OF_MUTEX,
     .apply = words_delay,
     .sentence = "goroutines waited {0} in all{4}, {1}, for locks; {2} % of it for those that {3} held",
     .evidence = "delay and contentions of the mutex profile, which counts them where the lock is given back",
     .threshold = NONE,
     .look = "the function that held them",
     .source = "runtime.SetMutexProfileFraction"},
    {.name = "block-delay",
     .of = WORDS_OF_BLOCK,
     .apply = words_delay,
     .sentence = "goroutines waited {0} in all{4}, {1}, for each other; {2} % of it in {3}",
     .evidence = "delay and contentions of the block profile: channels, select, locks, conditions",
     .threshold = NONE,
     .look = "the function that waited",
     .source = "runtime.SetBlockProfileRate"},
};

const struct words_rule *words_rule_at(size_t i)
{
    return i < sizeof rules / sizeof *rules ? &rules[i] : NULL;
}

int words_rule_help(size_t i, struct words_rule_help *ret)
{
    static const char *const of[] = {[WORDS_OF_CPU] = "CPU",
                                     [WORDS_OF_HEAP] = "heap",
                                     [WORDS_OF_BLOCK] = "block",
                                     [WORDS_OF_MUTEX] = "mutex",
                                     [WORDS_OF_GOROUTINES] = "goroutines"};
    const struct words_rule *r = words_rule_at(i);
    if (!r)
        return -1;
    *ret = (struct words_rule_help){.name = r->name,
                                    .of = of[r->of],
                                    .suspect = r->suspect,
                                    .sentence = r->sentence,
                                    .evidence = r->evidence,
                                    .percent = r->percent,
                                    .threshold = r->threshold,
                                    .look = r->look,
                                    .source = r->source};
    return 0;
}
