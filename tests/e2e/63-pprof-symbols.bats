#!/usr/bin/env bats
# Profiles without names: `profgrab pprof` with the binutils and with test servers, compared with google/pprof.

load helper

setup_file() {
    rig_start
    rig_service node_exporter
}

teardown_file() { rig_stop; }
teardown() { :; }

pprof_tests=$rig_root/tests/pprof

# with_server FILE PATH FLAG...: runs profgrab pprof on that path of a test server. If FILE is not '', the server also serves
# that file, as `heap`; and go tool pprof runs too and writes to descriptor 3.
with_server() {
    python3 - "$pprof_tests" "$profgrab_program" "$@" <<'END'
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import symbols, odd


def endless(handler, _):
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"0x1 a\n" * 100000)
    except OSError:
        pass


def silent(handler, _):
    handler.rfile.read(1)


program, real, where, *flags = sys.argv[2:]
p = odd.Profile()
m = p.mapping("", 0x400000, 0x800000, flags=(0, 0, 0, 0))
for address in 0x400010, 0x400020:
    p.sample([p.location(address, (), m)], [1, 1])
profiles = {"profile": p.encode()}
if real:
    with open(real, "rb") as f:
        profiles["heap"] = f.read()
with symbols.serving(profiles, dict(symbols.ANSWERS, endless=endless, silent=silent), os.environ.get("REAL")) as (server, url):
    ours = subprocess.run([program, "pprof", *flags, url + where], stdin=subprocess.DEVNULL)
    theirs = subprocess.run(["go", "tool", "pprof", *flags, url + where], stdin=subprocess.DEVNULL, stdout=3) if real else None
print("asked %d times" % len(server.asked), file=sys.stderr)
sys.exit(ours.returncode)
END
}

@test "names from binaries and servers, and demangled names, equal those of google/pprof in hundreds of cases" {
    [[ -d $(go env GOROOT)/src/cmd/vendor/github.com/google/pprof ]] || skip 'this Go brings no sources of pprof'
    [[ $(go env GOVERSION) =~ go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 24)) || skip 'the pprof of this Go is old'
    run env PROFGRAB="$profgrab_program" python3 "$pprof_tests/symbols.py"
    echo "$output"
    ((status == 0))
}

@test "a text profile that has only addresses gets its names from the service that sent it" {
    export REAL=http://127.0.0.1:$RIG_PORT_node_exporter
    curl -sf "$REAL/debug/pprof/heap?debug=1" >heap
    run --separate-stderr with_server "$PWD/heap" '/real/debug/pprof/heap' -top -sample_index=space 3>theirs
    assert_status 0
    assert_stderr_has 'asked 2 times'
    [[ $output == *'runtime.'* || $output == *'main.'* ]] || fail_run 'there are no names'
    assert_equal "$output" "$(<theirs)"
}

@test "a request to a silent server times out, and an endless answer exceeds a limit" {
    run --separate-stderr with_server '' '/silent/debug/pprof/profile' -top -timeout=1
    assert_status 2
    assert_stderr_has 'http post http://127.0.0.1:'
    assert_stderr_has 'hint: -symbolize=local'
    run --separate-stderr with_server '' '/endless/debug/pprof/profile' -top -timeout=20
    assert_status 2
    assert_stderr_has 'the answer is larger than'
}

@test "a profile with names starts no program, opens no binary and sends no request" {
    strace -o /dev/null true 2>/dev/null || skip 'nothing can be traced here'
    curl -sf "http://127.0.0.1:$RIG_PORT_node_exporter/debug/pprof/heap" >heap.pb.gz
    run strace -f -o trace -e trace=execve,openat,connect "$profgrab_program" pprof -top heap.pb.gz
    assert_status 0
    assert_equal "$(grep -c execve trace)" 1
    ! grep 'connect(.*sin' trace || fail_run 'it connected'
    [[ $(<trace) != *addr2line* && $(<trace) != *node_exporter* ]] || fail_run 'it looked for a program or a binary'
}

@test "only regular files are opened, and a file name that looks like an option is not taken for an option" {
    cp "$(type -P true)" ./--plugin=x
    cp ./--plugin=x ./@options
    mkfifo pipe
    python3 - "$pprof_tests" "$PWD" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import odd, symbols
for file in "pipe", "--plugin=x", "@options", "/dev/zero", "/":
    p = odd.Profile()
    m = p.mapping(file, 0x1000, 0x100000, 0x1000, flags=(0, 0, 0, 0))
    p.sample([p.location(0x3000, (), m)], [1, 1])
    with open("%s.pb" % abs(hash(file)), "wb") as f:
        f.write(p.encode())
END
    for file in ./*.pb; do
        run timeout 10 "$profgrab_program" pprof -top "$file"
        assert_status 0
    done
    run "$profgrab_program" pprof -top -tools=/nonexistent ./*.pb
    assert_status 0
}

# Runs pprof on a profile whose only mapping is BINARY, with substitutes for the binutils in ./tools that run SCRIPT.
with_tools() { # SCRIPT [BINARY]
    python3 - "$pprof_tests" "${2-/bin/sh}" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import odd
p = odd.Profile()
m = p.mapping(sys.argv[2], 0x400000, 0x800000, flags=(0, 0, 0, 0))
p.sample([p.location(0x400100, (), m)], [1, 1])
with open("binary.pb", "wb") as f:
    f.write(p.encode())
END
    mkdir -p tools
    printf '#!/bin/bash\n%s\n' "$1" | tee tools/nm >tools/addr2line
    chmod +x tools/*
    run --separate-stderr "$profgrab_program" pprof -top -symbolize=local -tools="$PWD/tools" binary.pb
}

@test "addr2line and nm run within limits and without new privileges, and exceeding them is reported" {
    with_tools "{ ulimit -t -d -c; grep NoNewPrivs /proc/self/status; } >$PWD/limits.\${0##*/}"
    assert_status 0
    local tool
    for tool in nm addr2line; do
        grep -qx 'cpu time .* 30' "limits.$tool"
        awk '/data seg size/ { found = $NF > 524288 && $NF < 600000 } END { exit !found }' "limits.$tool"
        grep -qx 'core file size .* 0' "limits.$tool"
        grep -qx $'NoNewPrivs:\t1' "limits.$tool"
    done
    # All programs of one command share the time limit.
    with_tools "ulimit -t >$PWD/time.\${0##*/}; python3 -c 'import time
while time.process_time() < 1.1: pass'"
    assert_equal "$(cat time.nm)" 30
    (($(cat time.addr2line) < 30))
    with_tools 'kill -XCPU $$'
    assert_status 0
    assert_stderr_has 'Local symbolization failed for sh: addr2line takes more than 30 s of processor time'
    with_tools 'kill -KILL $$'
    assert_stderr_has 'Local symbolization failed for sh: addr2line was ended by signal 9'
}

@test "llvm-symbolizer is asked first, and addr2line if it fails; they cannot ask a debuginfod server" {
    local answer='read -r address; printf "%s\n" "${DEBUGINFOD_URLS-none}" >urls.${0##*/}
printf "%s\nfound_by_%s\n/src/x.c:7\n" "$address" "${0##*/}"'
    export DEBUGINFOD_URLS=http://127.0.0.1:1/
    with_tools "$answer"
    assert_status 0
    [[ $output == *found_by_addr2line* ]] || fail_run 'addr2line was not asked'
    assert_equal "$(<urls.addr2line)" none
    rm urls.*
    cp tools/addr2line tools/llvm-symbolizer
    with_tools "$answer"
    assert_status 0
    [[ $output == *found_by_llvm-symbolizer* ]] || fail_run 'llvm-symbolizer was not asked'
    assert_equal "$(<urls.llvm-symbolizer)" none
    [[ ! -e urls.addr2line ]] || fail_run 'addr2line was asked too'
    # An old one does not know the options. A hostile binary may crash it.
    local failure
    for failure in 'exit 1' 'kill -SEGV $$'; do
        printf '#!/bin/bash\n%s\n' "$failure" >tools/llvm-symbolizer
        with_tools "$answer"
        assert_status 0
        [[ $output == *found_by_addr2line* ]] || fail_run "addr2line was not asked after $failure"
        assert_equal "$stderr" ''
    done
}

@test "the limits grow with the binary" {
    local change size time data tool
    local -A change_option=([fallocate]=l [truncate]=s)
    while read -r change size time data; do
        cp /bin/sh large
        # A hole takes no space on the disk, so truncate does not raise the limits.
        "$change" "-${change_option[$change]}" "$size" large
        with_tools "ulimit -t -d >$PWD/limits.\${0##*/}" "$PWD/large"
        assert_status 0
        for tool in nm addr2line; do
            # Seconds and kB.
            grep -qx "cpu time .* $time" "limits.$tool" || fail "$size: $(cat "limits.$tool")"
            awk -v data="$data" '/data seg size/ { found = $NF >= data && $NF < data + 65536 } END { exit !found }' "limits.$tool" ||
                fail "$size: $(cat "limits.$tool")"
        done
    done <<'END'
fallocate 100000000 130 2086788
fallocate 1000000000 900 8388608
truncate 4000000000 30 524288
END
}
