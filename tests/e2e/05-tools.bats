#!/usr/bin/env bats
# Each check of tools/ fails on a small tree that breaks its rule.

bats_require_minimum_version 1.5.0

setup() {
    tools=$(realpath "${BATS_TEST_DIRNAME}/../../tools")
    tree=$BATS_TEST_TMPDIR/tree
    mkdir "$tree"
}

# write_source FILE CODE: writes a file with a function that has this code, and its object. Lines of code before a line `---`
# stand before the function. All functions are declared by their first call.
write_source() {
    mkdir -p "$tree/${1%/*}" "$tree/build/gcc/${1%/*}"
    {
        echo 'static char *path, *a, *b, *text; static int fd, n; static void *p, *e;'
        [[ $2 != *---* ]] || echo "${2%---*}"
        printf '%s\n' 'int function(void)' '{' "${2##*---}" 'return 0;' '}'
    } >"$tree/$1"
    cc -std=c17 -D_GNU_SOURCE -I"$tree" -w -c -o "$tree/build/gcc/${1%.c}.o" "$tree/$1"
}

# define NAME...: adds an object that defines functions of the program.
define() {
    printf 'int %s(void) { return 0; }\n' "$@" | cc -c -o "$tree/build/gcc/own.o" -x c -
}

# assert_refused FILES 'NAME CODE'...: check-calls fails on each code, which is in a file of its own, and prints the name of the
# function. FILES with a number is the name of a file.
assert_refused() {
    local i=0 files=$1 row
    shift
    rm -rf "${tree:?}"/*
    for row; do write_source "${files/N/$((++i))}" "${row#* }"; done
    run "$tools/check-calls" "$tree"
    [[ $status == 1 && $output == *'not ok 1 -'* ]]
    i=0
    for row; do
        grep -qE "^# ${files/N/$((++i))}: [1-9] of ${row%% *}, the table allows 0$" <<<"$output" || {
            printf '%s\n' "accepted: ${row#* }" "$output"
            return 1
        }
    done
}

@test "check-calls accepts the rows of its table, operations of base/dir.h, members and words in texts" {
    write_source base/data/json.c 'json_loadb(text, n, 0, e);'
    write_source base/file.c 'open(path, 0); stat(path, p);'
    write_source bundle/gzfile.c 'file_open(path, e);'
    write_source bundle/pack.c 'err_hint(e, "everything is kept in %s", workdir_path(p));'
    write_source cli/text.c 'text = "unlink(path); json_loads(%s)"; json_object_get(p, "open"); /* rename(a, b) */'
    write_source cli/members.c 'struct stat { int (*open)(char *), unlink; } stat; stat.open(path); stat.unlink = 1;'
    write_source inventory/source.c 'pcre2_set_match_limit_8(p, 1000); pcre2_match_8(p, text); pcre2_match_data_free_8(p);'
    write_source pprof/prune.c 'regex_budget_for_profile(p); regex_new(text, p, &p, e);'
    write_source fetch/files.c 'dir_open(p, "a/b", e); dir_stat(p, path, e); file_join(path, "x"); file_base(path);'
    write_source bundle/archive.c 'archive_write_header(p, e); archive_write_free(p);'
    define err_hint dir_open dir_stat file_join file_base workdir_path file_open regex_budget_for_profile regex_new
    run "$tools/check-calls" "$tree"
    echo "$output"
    [[ $status == 0 && $output != *'not ok'* ]]
}

@test "check-calls fails on every function of a library that opens a path or is unknown, and on those of base, keys, seal and gateway" {
    local name rows=()
    for name in open open64 openat openat64 openat2 creat fopen fopen64 freopen opendir scandir scandirat fts_open fts64_open nftw nftw64 \
        stat lstat fstatat statx stat64 access faccessat truncate rename renameat renameat2 unlink unlinkat remove rmdir mkdir mkdirat \
        mkfifo mknod link linkat symlink symlinkat chmod lchmod fchmodat chown lchown fchownat utimes utimensat mkdtemp mkstemp mkostemp64 \
        realpath readlink canonicalize_file_name chdir chroot dlopen execv execvp execl execve posix_spawnp popen system syscall glob glob64 \
        statvfs getxattr inotify_add_watch bind connect __open_2 __open64_2 __realpath_chk gzopen gzopen64 BIO_new_file \
        SSL_CTX_load_verify_locations SSL_CTX_use_PrivateKey_file curl_mime_filedata libssh2_knownhost_writefile \
        archive_read_open_filename archive_write_open_file archive_read_disk_open archive_write_disk_new json_dump_file unknown_function \
        file_open file_read file_mkdirs file_exists atomic_file_new dir_open_user_path secret_read_line keyfile_inspect age_recipients_add_any \
        age_recipients_add_file age_identities_add_file inventory_load agent_open certificate_read listener_new mux_connect workdir_path; do
        rows+=("$name $name(path);")
    done
    assert_refused 'fetch/N.c' "${rows[@]}"
}

@test "check-calls fails on each reader of jansson and each matcher, in every folder" {
    local name rows=()
    for name in json_loads json_loadb json_loadf json_loadfd json_load_file json_load_callback regexec regcomp re_search fnmatch dlsym dlvsym \
        regex_budget_new regex_budget_for_profile source_match pcre2_regexec pcre2_regcomp pcre2_{match,dfa_match,jit_match,substitute,set_match_limit}_8 \
        pcre2_match_16 pcre2_match_32; do
        rows+=("$name $name(text);")
    done
    assert_refused 'cli/N.c' "${rows[@]}"
    assert_refused 'base/N.c' "${rows[@]}"
}

@test "check-calls fails on pointers, macros, names made of parts, and broken lines" {
    assert_refused 'fetch/N.c' \
        'fopen extern int fopen(); int (*opener)() = fopen; use(opener);' \
        'unlink extern int unlink(); walk(p, unlink);' \
        'mkdir extern int mkdir(); struct { int (*make)(); } x = {.make = &mkdir}; use(&x);' \
        $'file_open extern int file_open();\nint (*const doors[])() = {file_open};\n---' \
        'openat extern int openat(), look(); p = n ? openat : look;' \
        'open extern int open(); (open)(path, 0);' \
        $'open #define O open\n---O(path, 0);' \
        $'rename #define R(a, b) \\\n    do { \\\n        rename(a, b); \\\n    } while (0)\n---R(a, b);' \
        $'open #define O(x) op##x\n---O(en)(path, 0);' \
        $'json_loads #define L(x) json_load##x\n---L(s)(text);' \
        $'json_loads %:define L(x) json_lo%:%:x\n---L(ads)(text);' \
        $'json_loads json_lo\\\nads(text);' \
        $'json_loads text = "a \\\n// b"; json_loads(text);' \
        $'open text = "a \\\n/* b"; open(path, 0);' \
        $'json_loads extern int json_loads(); int (*reader)() =\n#ifdef __linux__\n json_loads;\n#else\n 0;\n#endif\nuse(reader);' \
        $'pcre2_match_8 extern int pcre2_match_8();\np =\n#ifndef JIT\n pcre2_match_8;\n#endif' \
        $'fopen extern int fopen();\nint (*doors[])() = {\n#ifndef L\n fopen,\n#endif\n};\nuse(doors);' \
        'json_loads extern int json_loads(); p = __extension__ json_loads;' \
        'open typedef int door(); extern door open; use(open);' \
        $'open int o() __asm__("open");\n---o(path, 0);' \
        $'open fd = open\n    (path, 0);' \
        'open fd = open/* here */(path, 0);' \
        'open message_print("/* %s", "\""); fd = open(path, 0); /* */' \
        'unlink if (n) unlink(path); else file_x(workdir_path(p));'
}

@test "check-calls fails on code of headers" {
    mkdir -p "$tree/bundle"
    echo 'static inline int shown(char *path) { return open(path, 0); }' >"$tree/bundle/header.h"
    write_source capture/new.c $'#include "bundle/header.h"\n---shown(path);'
    run "$tools/check-calls" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'# capture/new.c: 1 of open, the table allows 0'* ]]
}

@test "check-calls fails on an option of libcurl that names a file" {
    local name rows=()
    for name in CAINFO CAPATH CRLFILE SSLCERT SSLKEY COOKIEJAR COOKIEFILE NETRC_FILE SSH_PRIVATE_KEYFILE PROXY_CAINFO ALTSVC HSTS \
        UNIX_SOCKET_PATH PINNEDPUBLICKEY; do
        rows+=("CURLOPT_$name #include <curl/curl.h>"$'\n'"---curl_easy_setopt(e, CURLOPT_$name, path);")
    done
    rows+=($'CURLOPT_CAINFO #include <curl/curl.h>\n#define SET(e, o, v) curl_easy_setopt(e, CURLOPT_##o, v)\n---SET(e, CAINFO, path);'
        $'CURLOPT_CAINFO #include <curl/curl.h>\n---curl_easy_setopt(e, CURLOPT_CA\\\nINFO, path);')
    assert_refused 'http/N.c' "${rows[@]}"
}

@test "check-calls fails on one call more than a row of its table allows, and on one less" {
    local row file call name
    for row in 'cli/hosts/target.c stat(path, p);' 'bundle/gzfile.c file_open(path, e);' 'base/data/json.c json_loadb(text, n, 0, e);' \
        'bundle/pack.c workdir_path(p);' 'inventory/filter.c fnmatch(a, b, 0);' 'pprof/prune.c regex_budget_for_profile(p);'; do
        file=${row%% *} call=${row#* }
        name=${call%%(*}
        write_source "$file" "$call"
        define file_open workdir_path regex_budget_for_profile
        run "$tools/check-calls" "$tree"
        [[ $status == 0 ]]
        write_source "$file" "$call $call"
        run "$tools/check-calls" "$tree"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 1 -'*"# $file: 2 of $name, the table allows 1"* ]]
        write_source "$file" ''
        run "$tools/check-calls" "$tree"
        echo "$output"
        [[ $status == 1 && $output == *'not ok 1 -'*"# $file: 0 of $name, the table allows 1"* ]]
        rm "$tree/$file"
    done
    write_source inventory/source.c 'pcre2_match_8(p, text);'
    run "$tools/check-calls" "$tree"
    [[ $status == 1 && $output == *'# inventory/source.c: 0 of pcre2_set_match_limit_8, the table allows 1'* ]]
}

@test "check-calls fails on AT_FDCWD, on assembly, and on matches whose steps are not counted" {
    write_source base/file.c '#define AT_FDCWD -100
        linkat(AT_FDCWD, a, AT_FDCWD, b, 0);'
    write_source base/wire.c '__asm__ volatile("syscall");'
    write_source pprof/regex.c 'pcre2_match_8(p, text); pcre2_set_callout_8(p); pcre2_set_match_limit_8(p, 1); pcre2_set_match_limit_8(p, 2);'
    write_source discovery/services.c 'source_match(p, text, text, 10);'
    run "$tools/check-calls" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'ok 1 -'*'not ok 2 -'*'# base/file.c:'*'# base/wire.c:'*'not ok 3 -'*PCRE2_AUTO_CALLOUT*stop_is_out_of_time* && $output != *'not ok 1'* ]]
    rm "$tree"/*/*.c
    write_source base/dir.c '#define AT_FDCWD -100
        linkat(AT_FDCWD, a, AT_FDCWD, b, 0);'
    run "$tools/check-calls" "$tree"
    [[ $status == 0 ]]
}

@test "check-calls fails without the objects of the build" {
    write_source fetch/one.c ''
    rm "$tree/build/gcc/fetch/one.o"
    run "$tools/check-calls" "$tree"
    [[ $status != 0 ]]
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

@test "the cost of parsers: a parser fails that no row names, and one that the linker has removed, and the parts of a parser without a row" {
    mkdir "$tree/cost"
    cp "$tools/../tests/cost/unreached" "$tree/cost/"
    echo 'int index_parse(void) { return 1; } int age_header_parse(void) { return 2; } int age_stanza_parse(void) { return 3; }' >"$tree/all.c"
    cc -c -o "$tree/all" "$tree/all.c"
    unreached() { run "$tree/cost/unreached" "$tree/program" "$tree/all"; }
    printf '    {"%s", read, inputs, 2, 0},\n' index_parse 'age_header_parse of keys' >"$tree/cost/parsers_text.c"
    cp "$tree/all" "$tree/program"
    unreached
    [[ $output != *'no row'* ]]
    objcopy --strip-symbol=index_parse "$tree/all" "$tree/program"
    unreached
    [[ $output == *'# index_parse: no row measures it'* && $output != *'_header'* ]]
    cp "$tree/all" "$tree/program"
    sed -i /index_parse/d "$tree/cost/parsers_text.c"
    unreached
    [[ $output == *'# index_parse: no row measures it'* && $output != *'_stanza'* ]]
    : >"$tree/cost/parsers_text.c"
    unreached
    [[ $output == *'# age_header_parse: no row measures it'*'# age_stanza_parse: no row measures it'* ]]
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
