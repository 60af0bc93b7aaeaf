#!/usr/bin/env bats
# Each check of tools/ fails on a small tree that breaks its rule.

bats_require_minimum_version 1.5.0

setup() {
    tools=$(realpath "${BATS_TEST_DIRNAME}/../../tools")
    tree=$BATS_TEST_TMPDIR/tree
    mkdir "$tree"
    build_flags -std=c17 -D_GNU_SOURCE -I.
}

# build_flags FLAG...: makes these the flags of the tree's build.
build_flags() {
    flags=("$@")
    printf 'flags:\n\t@printf "%%s\\n" %s\n' "$*" >"$tree/Makefile"
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
    (cd "$tree" && cc "${flags[@]}" -w -c -o "build/gcc/${1%.c}.o" "$1")
}

# define NAME...: adds a file that defines functions of the program.
define() {
    mkdir -p "$tree"/{,build/gcc/}base
    printf 'int %s(void) { return 0; }\n' "$@" >"$tree/base/own.c"
    cc -c -o "$tree/build/gcc/base/own.o" "$tree/base/own.c"
}

# assert_reported FILE NAME...: check-calls fails, and prints that the file calls each function once.
assert_reported() {
    local file=$1 name
    shift
    run "$tools/check-calls" "$tree"
    [[ $status == 1 && $output == *'not ok 1 -'* ]]
    for name; do
        [[ $output$'\n' == *"# $file: 1 of $name, the table allows 0"$'\n'* ]] || {
            printf '%s\n' "accepted: $name" "$output"
            return 1
        }
    done
}

# assert_refused FILES 'NAME CODE'...: check-calls fails on each code, which is in a file of its own, and prints the name of the
# function. FILES with a number is the name of a file.
assert_refused() {
    local i=0 files=$1 row
    shift
    rm -rf "${tree:?}"/*/
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
    write_source cli/pprof/shell_edit.c 'history(p, e, 1); history(p, e, 2); history(p, e, 3); history(p, e, 4); el_gets(p, e);'
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
    local names=(open open64 openat openat64 openat2 creat fopen fopen64 freopen opendir scandir scandirat fts_open fts64_open nftw nftw64 \
        stat lstat fstatat statx stat64 access faccessat truncate rename renameat renameat2 unlink unlinkat remove rmdir mkdir mkdirat \
        mkfifo mknod link linkat symlink symlinkat chmod lchmod fchmodat chown lchown fchownat utimes utimensat mkdtemp mkstemp mkostemp64 \
        realpath readlink canonicalize_file_name chdir chroot dlopen execv execvp execl execve posix_spawnp popen system syscall glob glob64 \
        statvfs getxattr inotify_add_watch bind connect __open_2 __open64_2 __realpath_chk gzopen gzopen64 BIO_new_file \
        SSL_CTX_load_verify_locations SSL_CTX_use_PrivateKey_file curl_mime_filedata libssh2_knownhost_writefile \
        archive_read_open_filename archive_write_open_file archive_read_disk_open archive_write_disk_new json_dump_file unknown_function \
        el_source history history_w OPENSSL_init_crypto \
        file_open file_read file_mkdirs file_exists atomic_file_new dir_open_user_path secret_read_line keyfile_inspect age_recipients_add_any \
        age_recipients_add_file age_identities_add_file inventory_load agent_open certificate_read listener_new mux_connect workdir_path
        file_remove_created local_listener_open proc_start targets_find_source)
    write_source fetch/one.c "$(printf '%s(path);\n' "${names[@]}")"
    assert_reported fetch/one.c "${names[@]}"
}

@test "check-calls fails on each reader of jansson and each matcher, in every folder" {
    local file names=(json_loads json_loadb json_loadf json_loadfd json_load_file json_load_callback regexec regcomp re_search fnmatch dlsym dlvsym \
        regex_budget_new regex_budget_for_profile source_match pcre2_regexec pcre2_regcomp pcre2_{match,dfa_match,jit_match,substitute,set_match_limit}_8 \
        pcre2_match_16 pcre2_match_32)
    for file in cli/one.c base/one.c; do
        write_source "$file" "$(printf '%s(text);\n' "${names[@]}")"
    done
    for file in cli/one.c base/one.c; do assert_reported "$file" "${names[@]}"; done
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
        'open extern int open() __attribute__((weak)); open(path);' \
        $'open static int o() __attribute__((weakref("open")));\n---o(path);' \
        'open typedef int door(); extern door open; use(open);' \
        $'open int o() __asm__("open");\n---o(path, 0);' \
        $'open fd = open\n    (path, 0);' \
        'open fd = open/* here */(path, 0);' \
        'open message_print("/* %s", "\""); fd = open(path, 0); /* */' \
        'unlink if (n) unlink(path); else file_x(workdir_path(p));'
}

@test "check-calls fails on calls that only the macros of the build compile" {
    build_flags -std=c17 -D_GNU_SOURCE -I. -O1 -DHAVE_LIBDEFLATE
    assert_refused 'bundle/N.c' \
        $'json_loads \n#ifdef HAVE_LIBDEFLATE\njson_loads(text);\n#endif' \
        $'open \n#ifdef __OPTIMIZE__\nopen(path);\n#endif'
    write_source bundle/gzfile.c $'file_open(path, e);\n#ifdef HAVE_LIBDEFLATE\nfile_open(path, e);\n#endif'
    define file_open
    run "$tools/check-calls" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'# bundle/gzfile.c: 2 of file_open, the table allows 1'* ]]
    build_flags -std=c17 -D_GNU_SOURCE -I.
    run "$tools/check-calls" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'# bundle/1.c: json_loads is in the object, but not in its source'* ]]
    [[ $output == *'# bundle/2.c: open is in the object, but not in its source'* ]]
}

@test "check-calls fails on code of headers, of generated sources, and of new folders, and on a name that only another file has as static" {
    mkdir -p "$tree/bundle"
    echo 'static inline int shown(char *path) { return open(path, 0); }' >"$tree/bundle/header.h"
    write_source capture/new.c $'#include "bundle/header.h"\n---shown(path);'
    write_source server/new.c 'open(path, 0);'
    write_source cli/static.c $'static int unlink(char *name) { return 0; }\n---unlink(path);'
    write_source cli/other.c 'unlink(path);'
    write_source cli/made.c 'rename(a, b);'
    mkdir "$tree/build/gcc/web"
    mv "$tree/cli/made.c" "$tree/build/gcc/cli/"
    run "$tools/check-calls" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'# capture/new.c: 1 of open, the table allows 0'* && $output == *'# server/new.c: 1 of open, the table allows 0'* ]]
    [[ $output == *'# cli/other.c: 1 of unlink, the table allows 0'* && $output == *'# cli/made.c: 1 of rename, the table allows 0'* ]]
}

@test "check-calls fails on an option of libcurl that names a file, and on one that is no word of curl.h" {
    local name names=() code=
    for name in CAPATH CRLFILE SSLCERT SSLKEY COOKIEJAR COOKIEFILE NETRC_FILE SSH_PRIVATE_KEYFILE PROXY_CAINFO ALTSVC HSTS \
        UNIX_SOCKET_PATH PINNEDPUBLICKEY; do
        names+=("curl_easy_setopt_$name")
        code+="curl_easy_setopt(e, CURLOPT_$name, path);"
    done
    write_source http/names.c "#include <curl/curl.h>"$'\n'"---$code"
    write_source http/macros.c $'#include <curl/curl.h>\n#define SET(e, o, v) curl_easy_setopt(e, CURLOPT_##o, v)\n---
        SET(e, CAINFO, path); curl_easy_setopt(e, CURLOPT_CA\\\nPATH, path);\n#line 1 "/usr/include/x.h"\ncurl_easy_setopt(e, CURLOPT_SSLKEY, path);'
    write_source http/values.c $'#include <curl/curl.h>\n---CURLoption o = CURLOPT_CAINFO; curl_easy_setopt(e, (CURLoption)10065, path);
        curl_easy_setopt(e, o, path); (curl_easy_setopt)(e, CURLOPT_CAINFO, path); use(curl_easy_setopt);'
    assert_reported http/names.c "${names[@]}"
    assert_reported http/macros.c curl_easy_setopt_{CAINFO,CAPATH,SSLKEY}
    [[ $output == *'# http/values.c: 4 of curl_easy_setopt, the table allows 0'* ]]
}

@test "check-calls fails on one call more than a row of its table allows, and on one less" {
    local row file call name copies rows=('cli/hosts/target.c stat(path, p);' 'bundle/gzfile.c file_open(path, e);'
        'base/data/json.c json_loadb(text, n, 0, e);' 'bundle/pack.c workdir_path(p);' 'inventory/filter.c fnmatch(a, b, 0);'
        'pprof/prune.c regex_budget_for_profile(p);')
    define file_open workdir_path regex_budget_for_profile
    for copies in 1 2 0; do
        for row in "${rows[@]}"; do
            call=${row#* }
            write_source "${row%% *}" "$(for ((i = 0; i < copies; i++)); do echo "$call"; done)"
        done
        run "$tools/check-calls" "$tree"
        echo "$output"
        if ((copies == 1)); then
            [[ $status == 0 ]]
            continue
        fi
        [[ $status == 1 && $output == *'not ok 1 -'* ]]
        for row in "${rows[@]}"; do
            file=${row%% *} call=${row#* }
            [[ $output == *"# $file: $copies of ${call%%(*}, the table allows 1"* ]]
        done
    done
    write_source inventory/source.c 'pcre2_match_8(p, text);'
    run "$tools/check-calls" "$tree"
    [[ $status == 1 && $output == *'# inventory/source.c: 0 of pcre2_set_match_limit_8, the table allows 1'* ]]
}

@test "check-calls fails on AT_FDCWD, on assembly, on a file with the history of libedit, and on matches whose steps are not counted" {
    write_source base/file.c '#define AT_FDCWD -100
        linkat(AT_FDCWD, a, AT_FDCWD, b, 0);'
    write_source base/wire.c '__asm__ volatile("syscall");'
    write_source cli/pprof/shell_edit.c $'#define H_LOAD 17
        #define H_SAVE 18\n---history(p, e, H_LOAD, path); history(p, e, H_SAVE, path); history(p, e, 1); history(p, e, 2);'
    write_source pprof/regex.c 'pcre2_match_8(p, text); pcre2_set_callout_8(p); pcre2_set_match_limit_8(p, 1); pcre2_set_match_limit_8(p, 2);'
    write_source discovery/services.c 'source_match(p, text, text, 10);'
    run "$tools/check-calls" "$tree"
    echo "$output"
    [[ $status == 1 && $output == *'ok 1 -'*'not ok 2 -'*'# base/file.c:'*'# base/wire.c:'*'# cli/pprof/shell_edit.c:'*'not ok 3 -'*PCRE2_AUTO_CALLOUT*stop_is_out_of_time* && $output != *'not ok 1'* ]]
    rm -r "${tree:?}"/*/
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

@test "check-globals fails on mutable variables, also in functions and in named sections, accepts constants and the exceptions of the document, and needs all objects" {
    cd "$tree"
    mkdir -p keys docs
    echo 'FOLDERS := keys' >Makefile
    cat >keys/a.c <<'C'
int set = 1, unset;
static const char *const names[] = {"a", "b"};
const char *name(int i) { static const int last = 1; static int calls; calls++; return names[i ? last : calls]; }
static _Thread_local int of_thread;
__attribute__((section("state"))) static int named;
__attribute__((weak, section(".rodata.state"))) int weak = 1;
int *const pointer = &(int){1};
int *address(int i) { return i ? &of_thread : &named; }
C
    echo 'const int *const constant = &(const int){1};' >keys/b.c
    echo 'int generated;' >keys/made.c
    for file in a b made; do cc -fPIC -c -o "keys/$file.o" "keys/$file.c"; done
    mkdir build
    cp -r keys build/
    rm keys/*.o keys/made.c
    echo 'Mutable are `set` (`keys/a.c`), for a reason, and `unset` (`keys/b.c`).' >docs/architecture.md
    run "$tools/check-globals" build
    echo "$output"
    [[ $status == 1 && $output == *'keys/made.c: generated is mutable'* ]] && ((${#lines[@]} == 7))
    for variable in __compound_literal calls named of_thread unset weak; do
        [[ $output =~ "keys/a.c: $variable"(\.[0-9]+)?' is mutable' ]]
    done
    echo 'const char *name(void) { return "a"; }' >keys/a.c
    cc -fPIC -c -o build/keys/a.o keys/a.c
    rm build/keys/made.c
    "$tools/check-globals" build
    rm build/keys/a.o
    run "$tools/check-globals" build
    [[ $status != 0 ]]
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
