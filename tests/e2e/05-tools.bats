#!/usr/bin/env bats
# Each check of tools/ fails on a small tree that breaks its rule.

bats_require_minimum_version 1.5.0

setup() {
    tools=$(realpath "${BATS_TEST_DIRNAME}/../../tools")
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree/base/data" "$tree/cli" "$tree/pprof" "$tree/tests/unit"
}

@test "check-json accepts jansson's readers in base/data/json.c and in tests" {
    echo 'json_t *root = json_loadb(text, n, 0, NULL);' | tee "$tree/base/data/json.c" >"$tree/tests/unit/test_x.c"
    echo 'return json_load_nothing(text);' >"$tree/cli/other.c"
    run "$tools/check-json" "$tree"
    echo "$output"
    [[ $status == 0 && $output == *'ok 1 -'* && $output != *'not ok'* ]]
}

@test "check-json fails on each of jansson's readers elsewhere" {
    local reader
    for reader in json_loads json_loadb json_loadf json_loadfd json_load_file json_load_callback; do
        printf 'int x;\njson_t *root = %s(text, 0, NULL);\n' "$reader" >"$tree/cli/digest.c"
        run "$tools/check-json" "$tree"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 1 -'* && $output == *"./cli/digest.c:2:json_t *root = $reader("* ]]
    done
}

@test "check-json fails on a reader in a macro, in a pointer and beside the one in base/data/json.c" {
    local bad
    for bad in '#define L(x) json_load##x' '#define L(x) json_##x' '#define L json_loads' 'json_t *(*f)(const char *, size_t, json_error_t *) = json_loads;' \
        $'#define L(x) \\\n    (json_loads((x), 0, NULL))' 'root = (json_loads)(text, 0, NULL);' 'void *f = dlsym(NULL, "json_loads");' \
        'json_t *f(const char *, size_t, void *) __asm__("json_loads");'; do
        printf '%s\n' "$bad" >"$tree/cli/digest.c"
        run "$tools/check-json" "$tree"
        echo "$bad: $output"
        [[ $status == 1 && $output == *'not ok 1 -'*'# ./cli/digest.c:'* ]]
    done
    rm "$tree/cli/digest.c"
    printf '%s\n' 'root = json_loadb(text, n, 0, NULL);' 'root = json_loadb(text, n, 0, NULL);' >"$tree/base/data/json.c"
    run "$tools/check-json" "$tree"
    [[ $status == 1 && $output == *'# ./base/data/json.c:2:'* ]]
}

@test "check-patterns accepts expressions with a budget" {
    echo 'rc = pcre2_match(code, text, n, 0, 0, m, limits);' | tee "$tree/pprof/regex.c" >"$tree/tests/unit/test_x.c"
    echo 'budget->left -= 1; pcre2_set_callout(c, f, r); x = PCRE2_AUTO_CALLOUT;' >>"$tree/pprof/regex.c"
    echo 'if (regex_new(pattern, &budget, &r, NULL) < 0)' >"$tree/pprof/prune.c"
    run "$tools/check-patterns" "$tree"
    echo "$output"
    [[ $status == 0 && $output != *'not ok'* ]]
}

@test "check-patterns fails on each matcher elsewhere, and on uncounted steps" {
    local matcher
    for matcher in pcre2_match pcre2_dfa_match pcre2_jit_match pcre2_substitute regexec regcomp; do
        printf 'int x;\nint rc = %s(code, text);\n' "$matcher" >"$tree/cli/names.c"
        run "$tools/check-patterns" "$tree"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 1 -'* && $output == *"./cli/names.c:2:int rc = $matcher("* ]]
    done
    rm "$tree/cli/names.c"
    echo 'rc = pcre2_match(code, text, n, 0, 0, m, limits);' >"$tree/pprof/regex.c"
    run "$tools/check-patterns" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'not ok 2 -'* ]]
}

@test "check-patterns fails on a second matcher, another matcher or a missing limit in a file that may match" {
    local bad file limited='pcre2_set_match_limit(limits, 1000); int n = pcre2_match(code, text);'
    mkdir -p "$tree/inventory" "$tree/proto"
    for file in inventory/source.c proto/profile_text_match.c; do
        echo "$limited" >"$tree/$file"
        run "$tools/check-patterns" "$tree"
        [[ $status == 0 ]]
        for bad in 'pcre2_match(re, p, 1, 0, 0, d, NULL);' 'regexec(&r, text, 0, NULL, 0);' 'fnmatch(a, b, 0);' '#define M pcre2_match' \
            'f = &pcre2_match;' '#define M(x) pcre2_##x'; do
            printf '%s\n' "$limited" "$bad" >"$tree/$file"
            run "$tools/check-patterns" "$tree"
            echo "$bad: $output"
            [[ $status == 1 && $output == *'not ok 1 -'*"# ./$file:2:"* ]]
        done
        echo 'int n = pcre2_match(code, text);' >"$tree/$file"
        run "$tools/check-patterns" "$tree"
        echo "$output"
        [[ $status == 1 && $output == *"# $file: the row allows 1 of pcre2_set_match_limit, the file has 0"* ]]
        rm "$tree/$file"
    done
}

@test "check-patterns fails on fnmatch and on budgets of any size elsewhere" {
    local bad
    for bad in 'if (fnmatch(pattern, profile_str(p, i).p, 0) == 0)' 'match = fnmatch;' 'b = regex_budget_new(UINT64_MAX);' '#define B regex_budget_new'; do
        printf '%s\n' "$bad" >"$tree/pprof/names.c"
        run "$tools/check-patterns" "$tree"
        echo "$bad: $output"
        [[ $status == 1 && $output == *'not ok 1 -'*'# ./pprof/names.c:1:'* ]]
    done
}

# compiles STATEMENT: compiles a function with this statement.
compiles() {
    printf '%s\n' '#include <string.h>' '#include "pprof/regex.h"' 'void f(struct regex_budget *b, struct regex **r);' \
        'void f(struct regex_budget *b, struct regex **r)' '{' "$1" '}' |
        cc -std=c17 -D_GNU_SOURCE -I"$tools/.." -fsyntax-only -x c -
}

@test "the compiler refuses budgets that pprof/regex.c did not create, and changes of its budgets" {
    local bad
    compiles 'regex_new(STR("a"), b, r, NULL);'
    for bad in 'struct regex_budget c; memset(&c, 255, sizeof c); regex_new(STR("a"), &c, r, NULL);' 'struct regex_budget c = {1000};' \
        'regex_new(STR("a"), &(struct regex_budget){1000}, r, NULL);' 'b->left = UINT64_MAX;' 'b->left += 1000;' '*b = *b;' \
        'memset(b, 255, sizeof *b);' 'struct { struct regex_budget budget; } job = {{1000}};'; do
        run compiles "$bad"
        echo "$bad: $output"
        [[ $status == 1 && $output =~ 'incomplete type'|'undefined type'|'storage size' ]]
    done
}

@test "check-patterns fails on wrapped calls and matchers of one width" {
    local bad
    for bad in 'rc = pcre2_match_8(code, text);' 'rc = pcre2_dfa_match_16(code, text);' $'rc = pcre2_match\n    (code, text);' \
        'match = pcre2_jit_match;' 'regexec (&r, text, 0, NULL, 0);'; do
        printf '%s\n' "$bad" >"$tree/cli/names.c"
        run "$tools/check-patterns" "$tree"
        echo "$bad: $output"
        [[ $status == 1 && $output == *'not ok 1 -'*'# ./cli/names.c:'* && $output != *'not ok 2'* ]]
    done
    cat >"$tree/cli/names.c" <<'C'
/* pcre2_match(code) in words, 'as here */
static const char *words = "pcre2_match(code); fnmatch(a, b, 0)";
if (regex_new(pattern, j->budget, &r, NULL) < 0 || t->regexec(t) || (*t).fnmatch)
    pcre2_match_data_free(t->match);
struct regexec *regex = x.pcre2_match;
C
    run "$tools/check-patterns" "$tree"
    echo "$output"
    [[ $status == 0 && $output != *'not ok'* ]]
}

@test "check-paths accepts messages, the rows of its table and paths relative to a descriptor" {
    mkdir -p "$tree/fetch" "$tree/bundle"
    cat >"$tree/cli/capture.c" <<'C'
static int say(struct run *r, struct err *err)
{
    err_hint(err, "everything collected is in %s: make room, then `%s`", workdir_path(r->work),
             resume_line(r->capture, workdir_path(r->work), &line));
    message_print("%s stays as it was", c->bundle ? c->bundle : workdir_path(r->work));
    return dir_open(workdir_files(r->work), "a/b", err) + t->type->open(t);
}
C
    echo 'fd = file_open(path, err);' >"$tree/bundle/gzfile.c"
    cat >"$tree/cli/create.h" <<'C'
/* open(2) and workdir_path(w) are named in comments; so is "unlink(" */
#include <fcntl.h> // rename(a, b)
static const char *words = "open(path); { unlinkat(";
int fd_of = dir_open (below, path, err), n = files.open(path), m = files->stat(path);
C
    run timeout 20 "$tools/check-paths" "$tree"
    echo "$output"
    [[ $status == 0 && $output != *'not ok'* ]]
}

@test "check-paths fails on a work directory's path outside a message, and on a file opened by its path" {
    local bad
    mkdir -p "$tree/fetch" "$tree/bundle"
    for bad in 'char *path = file_join(workdir_path(w), "x");' 'dir = workdir_path(w);' $'rc = look(a,\n   workdir_path(w));' \
        'if (talked) go(workdir_path(w)); message_print("x");' 'if (err_set(err, KIND, "x") < 0 || file_x(workdir_path(w)))' \
        'message_print("%s", file_x(workdir_path(w)));' $'go\n    (workdir_path\n   (w));' 'x = message_print("a;") + go((workdir_path(w)));'; do
        printf 'int x;\n%s\n' "$bad" >"$tree/bundle/pack.c"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$bad: $output"
        [[ $status == 1 && $output == *'not ok 1 -'*'# bundle/pack.c:'* ]]
    done
    echo >"$tree/bundle/pack.c"
    for bad in 'fd = open(path, O_RDONLY);' 'if (lstat(path, &st) == 0)' 'rename(a, b);' 'return file_read(path, &b, err);' \
        'FILE *f = fopen(path, "r");' 'unlink(path);' 'if (!atomic_file_new(path, &d, err))' 'fd = dir_open_user_path(path, err);' \
        'rc = archive_read_open_filename(a, path, 512);' 'archive_write_open_file(a, path);'; do
        printf 'int x;\n%s\n' "$bad" >"$tree/fetch/recovered.c"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$bad: $output"
        [[ $status == 1 && $output == *'not ok 2 -'*'# fetch/recovered.c:2:'* ]]
    done
    echo >"$tree/fetch/recovered.c"
    printf 'struct workdir *w;\nfd = file_open(path, err);\n' >"$tree/cli/capture.c"
    run timeout 20 "$tools/check-paths" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'not ok 2 -'*'# cli/capture.c:2:'* ]]
}

@test "check-paths fails on a function pointer to an opening function, on a macro with one, and on AT_FDCWD" {
    local bad
    mkdir -p "$tree/fetch"
    for bad in 'FILE *(*opener)(const char *, const char *) = fopen;' 'walk(tree, unlink, NULL);' 'struct x x = {.make = &mkdir};' \
        $'const struct door d = {file_open,\n    file_read};' 'f = deep ? openat : look;' 'int (*o)(const char *, int, ...) = open;' \
        'look(stat, path);' 'typeof(stat) *s;' 'fd = (open)(path, 0);' 'return open;' '#define O open' '#define S(p) stat((p), &st)' \
        $'#define R(a, b) \\\n    do { \\\n        rename(a, b); \\\n    } while (0)' '#define O(x) op##x' 'int o(const char *, int, ...) __asm__("open");'; do
        printf 'int x;\n%s\n' "$bad" >"$tree/fetch/recovered.c"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$bad: $output"
        [[ $status == 1 && $output == *'not ok 2 -'*'# fetch/recovered.c:'* ]]
    done
    for bad in 'const char *(*f)(const struct workdir *) = workdir_path;' '#define W workdir_path'; do
        printf 'int x;\n%s\n' "$bad" >"$tree/fetch/recovered.c"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$bad: $output"
        [[ $status == 1 && $output == *'not ok 1 -'*'# fetch/recovered.c:2:'* ]]
    done
    echo >"$tree/fetch/recovered.c"
    echo 'int here = AT_FDCWD;' >"$tree/base/file.c"
    run timeout 20 "$tools/check-paths" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'not ok 3 -'*'# base/file.c:1:'* && $output != *'not ok 2'* ]]
    mv "$tree/base/file.c" "$tree/base/dir.c"
    run timeout 20 "$tools/check-paths" "$tree"
    [[ $status == 0 ]]
    rm "$tree/base/dir.c"
}

@test "check-paths fails on one mention more than a row of its table allows, and on one less" {
    local row file call
    mkdir -p "$tree/cli/hosts" "$tree/bundle"
    for row in 'cli/hosts/target.c stat(path, &st);' 'bundle/gzfile.c file_open(path, err);' 'cli/main.c open(path, 0);'; do
        file=${row%% *} call=${row#* }
        printf '%s\n' "$call" >"$tree/$file"
        run timeout 20 "$tools/check-paths" "$tree"
        [[ $status == 0 ]]
        printf '%s\n' "$call" "$call" >"$tree/$file"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 2 -'*"# $file:2:$call"* ]]
        echo >"$tree/$file"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 2 -'*"# $file: the row allows 1 of ${call%%(*}, the file has 0"* ]]
        rm "$tree/$file"
    done
}

@test "check-paths fails on other forms of a call: at a descriptor, 64 bits, exec, wrapped; in headers, handoff/ and cli/" {
    local bad file
    mkdir -p "$tree/fetch" "$tree/capture" "$tree/bundle" "$tree/handoff"
    for bad in 'fd = openat(AT_FDCWD, path, O_RDONLY);' 'fd = openat(-100, path, O_RDONLY);' 'unlinkat(fd, path, 0);' \
        'if (renameat(AT_FDCWD, a, AT_FDCWD, b) < 0)' 'renameat2(fd, a, fd, b, 0);' 'linkat(AT_FDCWD, a, AT_FDCWD, b, 0);' \
        'return chdir(path);' 'fd = open64(path, 0);' 'f = fopen64(path, "r");' 'execv(path, argv);' 'execvp(path, argv);' \
        'execl(path, "x", NULL);' 'fd = openat2(-100, path, &how, sizeof how);' 'fstatat(AT_FDCWD, path, &st, 0);' \
        'mkdirat(AT_FDCWD, path, 0700);' $'fd = open\n    (path, O_RDONLY);' 'fd = open (path, O_RDONLY);' \
        'z = gzopen(path, "rb");' 'json_dump_file(root, path, 0);' 'b = BIO_new_file(path, "r");' 'fd = syscall(SYS_open, path, 0);' \
        'glob(pattern, 0, NULL, &found);' 'statvfs(path, &room);' 'n = getxattr(path, name, p, n);' \
        'inotify_add_watch(fd, path, mask);' 'bind(fd, (struct sockaddr *)&address, sizeof address);' \
        'fd = open/* here */(path, 0);' 'message_print("/* %s", "\""); fd = open(path, 0); /* */' 'x = a >open(path, 0);'; do
        printf 'int x;\n%s\n' "$bad" >"$tree/fetch/recovered.c"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$bad: $output"
        [[ $status == 1 && $output == *'not ok 2 -'*'# fetch/recovered.c:2:'* ]]
    done
    echo >"$tree/fetch/recovered.c"
    for file in bundle/bundle.h fetch/fetch.h capture/record.h handoff/cargo_of_two.c handoff/handoff.h cli/knows_no_work_directory.c; do
        printf 'int x;\nfd = open(path, O_RDONLY);\n' >"$tree/$file"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$file: $output"
        [[ $status == 1 && $output == *'not ok 2 -'*"# $file:2:"* ]]
        printf 'int x;\nfile_x(workdir_path(w));\n' >"$tree/$file"
        run timeout 20 "$tools/check-paths" "$tree"
        echo "$file: $output"
        [[ $status == 1 && $output == *'not ok 1 -'*"# $file:2:"* ]]
        rm "$tree/$file"
    done
}

@test "check-cycles fails on a cycle of files in a folder, and names the functions" {
    cd "$tree"
    mkdir -p keys
    echo 'FOLDERS := keys' >Makefile
    echo 'int two(void); int one(void) { return two(); } int three(void) { return 3; }' >keys/a.c
    echo 'int three(void); int two(void) { return three(); }' >keys/b.c
    echo 'int one(void); int four(void) { return one(); }' >keys/c.c
    for file in a b c; do cc -c -o "keys/$file.o" "keys/$file.c"; done
    run "$tools/check-cycles" .
    echo "$output"
    [[ $status == 1 && $output == *'not ok 1 - keys:'* && $output != *c.c* ]]
    [[ $output == *'a.c uses two of b.c'*'b.c uses three of a.c'* ]]
    echo 'int two(void) { return 2; }' >keys/b.c
    cc -c -o keys/b.o keys/b.c
    run "$tools/check-cycles" .
    [[ $status == 0 && $output == *'ok 1 - keys:'* && $output != *'not ok'* ]]
}

@test "check-globals fails on mutable variables, also in functions, and accepts constants and the exceptions of the document" {
    cd "$tree"
    mkdir -p keys docs
    echo 'FOLDERS := keys' >Makefile
    cat >keys/a.c <<'C'
int set = 1, unset;
static const char *const names[] = {"a", "b"};
const char *name(int i) { static const int last = 1; static int calls; calls++; return names[i ? last : calls]; }
static _Thread_local int of_thread;
int *address(void) { return &of_thread; }
C
    echo 'const int *const constant = &(const int){1};' >keys/b.c
    for file in a b; do cc -fPIC -c -o "keys/$file.o" "keys/$file.c"; done
    echo 'Mutable are `set` (`keys/a.c`), for a reason, and `unset` (`keys/b.c`).' >docs/architecture.md
    run "$tools/check-globals" .
    echo "$output"
    [[ $status == 1 ]] && ((${#lines[@]} == 3))
    for variable in calls of_thread unset; do [[ $output == *"keys/a.c: $variable is mutable"* ]]; done
    echo 'const char *name(void) { return "a"; }' >keys/a.c
    cc -fPIC -c -o keys/a.o keys/a.c
    "$tools/check-globals" .
}

@test "check-layers fails on a function with more than five parameters, and on one that its list need not have" {
    cd "$tree"
    mkdir -p keys
    cat >keys/a.c <<'C'
/* A comment (of, some, words, with, many, commas)
 * and (a, second, line, with, many, commas). */
__attribute__((format(printf, 1, 2, 3, 4, 5, 6))) static int five(int a, int (*b)(int x, int y, int z), int c, int d, int e)
{
    return call(a, b, c, d, e, 6);
}

/* one, two, three, four, five, six */
static struct x *six(const char *a, int b, void (*c)(int x), int d,
                     int e, struct err *err)
{
    return NULL;
}

__attribute__((format(printf, 2, 3))) static int six_after_attribute(int a, const char *b, int c, int d, int e, int f)
{
    return 0;
}

int(six_in_parentheses)(int a, int b /* two, three */, int c, int d, int e, int f)
{
    return 0;
}

static int (*six_for_a_function(int a, int b, int c, int d, int e, int f))(int x)
{
    return NULL;
}
C
    run "$tools/check-layers"
    echo "$output"
    [[ $status == 1 && $output != *five\ has* ]]
    for name in six six_after_attribute six_in_parentheses six_for_a_function; do
        [[ $output == *"keys/a.c: $name has more than five parameters"* ]]
    done
    [[ $output == *'gateway/ssh/session.c: on_disconnect has few parameters now'* ]]
}

@test "check-layers fails on a function with more than 60 lines, with its head and braces" {
    cd "$tree"
    mkdir -p keys
    {
        printf 'static int sixty(int a,\n                 int b)\n{\n'
        printf '    a++;\n%.0s' {1..56}
        printf '}\n\nstatic int more(int a,\n                 int b)\n{\n'
        printf '    a++;\n\n%.0s' {1..28}
        printf '    a++;\n}\n'
    } >keys/a.c
    run "$tools/check-layers"
    echo "$output"
    [[ $status == 1 && $output == *'keys/a.c: more has 61 lines: at most 60'* && $output != *sixty* ]]
}

@test "check-layers fails on an include that points up, on a permission that no file uses, and on a table that points up" {
    cd "$tree"
    mkdir -p keys seal http
    printf '#include "http/http.h"\n#include "keys/sshwire.h"\n#include "base/base.h"\n' >seal/a.c
    run "$tools/check-layers"
    echo "$output"
    [[ $status == 1 && $output == *'seal/a.c:1: seal must not include http'* && $output == *'seal/a.c:2: keys/sshwire.h is private to keys'* ]]
    [[ $output != *base.h* && $output != *'no file of seal'* ]]
    echo '#include "base/base.h"' >seal/a.c
    run "$tools/check-layers"
    echo "$output"
    [[ $status == 1 && $output == *'no file of seal includes keys: remove keys from the row of seal'* && $output != *seal/a.c* ]]
    sed 's/^keys$/keys seal/' "$tools/check-layers" >check-layers
    run bash ./check-layers
    echo "$output"
    [[ $status == 1 && $output == *'keys may include only folders of earlier rows, not seal'* ]]
}

@test "check-layers fails on a cycle of headers, and names only its headers" {
    cd "$tree"
    mkdir -p keys
    echo '#include "keys/b.h"' | tee keys/a.h >keys/above.h
    echo '#include "keys/c.h"' >keys/b.h
    printf '#include "keys/a.h"\n#include "keys/below.h"\n' >keys/c.h
    echo '#include "keys/above.h"' >keys/a.c
    touch keys/below.h
    run "$tools/check-layers"
    echo "$output"
    [[ $status == 1 && $output == *'keys/a.h: a cycle of headers: keys/a.h keys/b.h keys/c.h'* && $output != *above.h* && $output != *below.h* ]]
    : >keys/c.h
    run "$tools/check-layers"
    [[ $output != *cycle* ]]
}

# promise REFERENCES: checks a document with one promise.
promise() {
    printf '# Security\n\n- Nothing is lost. Tests: %s\n' "$1" >"$tree/security.md"
    run "$tools/check-promises" "$tree/security.md"
}

@test "check-promises accepts the whole names of tests, several of one file, and fuzz targets without a name" {
    promise '`test_hash_index.c` names_chosen_to_collide_start_at_different_slots; each_process_has_its_own_seeds; `10-grab.bats` "a direct route uses no ssh";
  "a host behind a jump host has its own session"; `fuzz_check.c`'
    [[ $status == 0 && $output == *'ok 1 - promise: Nothing is lost.'* ]]
}

@test "check-promises fails on a missing file, a missing name, the beginning of a name, and a promise without tests" {
    local reference
    for reference in '`test_none.c` names_chosen_to_collide_start_at_different_slots' '`test_hash_index.c`' '`test_hash_index.c`; `fuzz_check.c`' '`test_hash_index.c` colliding_names' \
        '`test_hash_index.c` names_chosen_to_collide_start_at_different_slots; nobody' '`10-grab.bats` "a direct route"' '`10-grab.bats` "a direct route uses no ssh"; "x y"' ''; do
        promise "$reference"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 1 - promise: Nothing is lost.'* ]]
    done
}

@test "check-promises fails on text outside of list items, except before the first section and in the section of limits" {
    local promise='- Nothing is lost. Tests: `fuzz_check.c`' text='Nothing is ever late.'
    printf '%s\n\n' '# Security' "$text" '## Files' "$promise" '## Limits of these promises' "$text" "1. $text" >"$tree/security.md"
    "$tools/check-promises" "$tree/security.md"
    for text in "$text" "1. $text" "* $text" "| $text |"; do
        printf '%s\n\n' '# Security' '## Files' "$promise" "$text" >"$tree/security.md"
        run "$tools/check-promises" "$tree/security.md"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 2 - sections contain promises only'*"# $text"* ]]
    done
}
