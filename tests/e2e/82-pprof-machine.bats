#!/usr/bin/env bats
# Machine code: `profgrab pprof -disasm` and `-weblist`, compared with google/pprof, and their limits. Opens no host.

load helper

setup_file() { :; }
teardown_file() { :; }

pprof_tests=$rig_root/tests/pprof

# Makes the file `program` with debug information, and `program.pb`, a profile of it with the names of its functions.
make_program() {
    python3 - "$pprof_tests" "$profgrab_program" "$PWD" <<'END'
import subprocess, sys
sys.path.insert(0, sys.argv[1])
import machine, symbols
directory = sys.argv[3]
open("padding.c", "w").write(machine.PADDING)
symbols.run("gcc", "-g", "-O1", "-pie", "-fPIE", directory + "/padding.c", "work.c", "-o", directory + "/program", cwd=symbols.SOURCES)
with open("bare.pb", "wb") as f:
    f.write(symbols.profile_of(directory + "/program").encode())
subprocess.run([sys.argv[2], "pprof", "-proto", "-output=program.pb", "bare.pb"], check=True, capture_output=True)
END
}

# with_objdump SCRIPT FLAG...: runs pprof on the profile with an objdump that runs SCRIPT.
with_objdump() {
    mkdir -p tools
    printf '#!/bin/bash\n%s\n' "$1" >tools/objdump
    chmod +x tools/objdump
    run --separate-stderr "$profgrab_program" pprof -tools="objdump:$PWD/tools,addr2line:/usr/bin" "${@:2}" program.pb
}

@test "-disasm and -weblist print what a recent google/pprof printed when it was recorded" {
    run env PROFGRAB="$profgrab_program" python3 "$pprof_tests/machine.py"
    echo "$output"
    ((status == 0))
}

@test "-disasm and -weblist of real programs equal those of google/pprof in hundreds of cases" {
    [[ -d $(go env GOROOT)/src/cmd/vendor/github.com/google/pprof ]] || skip 'this Go brings no sources of pprof'
    [[ $(go env GOVERSION) =~ go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 24)) || skip 'the pprof of this Go is old'
    run env PROFGRAB="$profgrab_program" python3 "$pprof_tests/machine.py" --live
    echo "$output"
    ((status == 0))
}

@test "lines and inlined calls of programs of Go, with DWARF 4 and 5, equal those of google/pprof and go tool pprof" {
    type -P llvm-symbolizer >/dev/null || skip 'llvm-symbolizer is not installed'
    [[ -d $(go env GOROOT)/src/cmd/vendor/github.com/google/pprof ]] || skip 'this Go brings no sources of pprof'
    [[ $(go env GOVERSION) =~ go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 24)) || skip 'the pprof of this Go is old'
    run env PROFGRAB="$profgrab_program" python3 "$pprof_tests/machine.py" --go
    echo "$output"
    ((status == 0))
}

@test "every instruction of a function is shown, and the values add up to those of its lines and of -list" {
    make_program
    "$profgrab_program" pprof -disasm='^work_leaf$' -unit=ns program.pb >disasm
    "$profgrab_program" pprof -list='^work_leaf$' -unit=ns -noinlines program.pb >list
    "$profgrab_program" pprof -weblist='^work_leaf$' -unit=ns -output=page.html program.pb
    python3 - "$pprof_tests" <<'END'
import re, subprocess, sys
sys.path.insert(0, sys.argv[1])
import machine
value = lambda text: int(text.replace("ns", "").replace(".", "0"))
disasm = open("disasm").read().split("\n")
head = disasm[2].split()
rows = [line.split() for line in disasm[3:] if re.match(r" *\S+ +\S+ +[0-9a-f]+: ", line)]
assert sum(value(row[0]) for row in rows) == value(head[0]) > 0
name, _, start, size = next(line.split() for line in subprocess.run(["nm", "-P", "program"], capture_output=True, text=True).stdout.split("\n")
                            if line.startswith("work_leaf "))
start, size = int(start, 16), int(size, 16)
shown = subprocess.run(["objdump", "-d", "--start-address=%d" % start, "--stop-address=%d" % (start + size), "program"], capture_output=True, text=True)
addresses = re.findall(r"(?m)^ +([0-9a-f]+):\t.*\t", shown.stdout)
assert addresses == [row[2].rstrip(":") for row in rows][:len(addresses)] and len(addresses) > 10
totals = [line.split()[0] for line in open("list") if "(flat, cum)" in line]
assert totals == [head[0]], (totals, head)
functions = machine.read_ours(open("page.html").read())
lines = [line for f in functions for line in f[5]]
assert sum(value(f[2]) for f in functions) == value(head[0]) == sum(value(line[2]) for line in lines)
for number, opens, flat, cum, text, code in lines:
    assert value(flat) == sum(value(row[1]) for row in code if row[0] == "code"), number
assert {row[3] for line in lines for row in line[5] if row[0] == "code"} >= set(addresses)
END
}

@test "without the binary or objdump, -weblist shows the sources and the reason, and -disasm fails" {
    make_program
    mv program gone
    # Without -source_path, pprof would cut the source's path at a directory that has the same name as the current one.
    run_profgrab pprof -weblist=work_leaf -source_path="$pprof_tests/symbols" -output=page.html program.pb
    assert_status 0
    grep -q "Note: open $PWD/program: no such file or directory" page.html
    grep -q 'unsigned work_leaf' page.html
    run_profgrab pprof -disasm=work_leaf program.pb
    assert_status 2
    assert_stderr_has 'no matches found for regexp work_leaf'
    mv gone program
    run_profgrab pprof -disasm=work_leaf -tools=objdump:/nonexistent program.pb
    assert_status 2
    assert_stderr_has 'cannot disasm: no objdump tool available'
    with_objdump 'exit 3' -disasm=work_leaf
    assert_status 2
    assert_stderr_has 'program]: exit status 3'
    with_objdump 'exit 3' -weblist=work_leaf -source_path="$pprof_tests/symbols" -output=page.html
    assert_status 0
    grep -q 'Note: .*exit status 3' page.html
    grep -q 'unsigned work_leaf' page.html
}

@test "a binary with another build ID is refused" {
    make_program
    printf 'int main(void) { return 0; }\n' >other.c
    gcc -o program other.c
    run_profgrab pprof -disasm=main program.pb
    assert_status 2
    assert_stderr_has 'build ID mismatch'
    run_profgrab pprof -weblist=main -output=page.html program.pb
    assert_status 0
    grep -q 'build ID mismatch' page.html
}

@test "objdump runs within limits and without new privileges, and exceeding them is reported" {
    make_program
    with_objdump "{ ulimit -t -d -c; grep NoNewPrivs /proc/self/status; } >$PWD/limits; exit 1" -disasm=work_leaf
    assert_status 2
    grep -Eqx 'cpu time .* (29|30)' limits
    awk '/data seg size/ { found = $NF > 524288 && $NF < 600000 } END { exit !found }' limits
    grep -qx 'core file size .* 0' limits
    grep -qx $'NoNewPrivs:\t1' limits
    with_objdump 'kill -XCPU $$' -disasm=work_leaf
    assert_status 2
    assert_stderr_has 'objdump takes more than'
    with_objdump 'kill -KILL $$' -weblist=work_leaf -output=page.html
    assert_status 0
    grep -q 'objdump was ended by signal 9' page.html
    with_objdump 'yes "  401000: nop"' -disasm=work_leaf
    assert_status 2
}

@test "Ctrl-C ends objdump" {
    make_program
    with_objdump "echo \$\$ >$PWD/pid; echo begun >/dev/tty; exec sleep 1000" -disasm=nothing
    with_pty --deadline 30 --ctrl-c begun -- "$profgrab_program" pprof -tools="objdump:$PWD/tools" -disasm=work_leaf program.pb
    assert_status 130
    wait_for eval '! kill -0 "$(<pid)" 2>/dev/null'
    # In the shell it ends only the report.
    with_pty --deadline 30 --send '\(pprof\) ' $'disasm work_leaf\n' --send begun $'\003' --send '\(pprof\) ' $'top 1\n' --send '\(pprof\) ' $'quit\n' \
        -- "$profgrab_program" pprof -tools="objdump:$PWD/tools" program.pb
    assert_status 0
    assert_stdout_has 'Showing top 1 nodes'
    wait_for eval '! kill -0 "$(<pid)" 2>/dev/null'
}

@test "the shell shows machine code, also in Intel's syntax" {
    make_program
    printf '%s\n' 'disasm work_leaf >att' 'intel_syntax=true' 'disasm work_leaf >intel' 'weblist work_leaf >page.html' 'disasm nothing' >commands
    run_profgrab pprof program.pb <commands
    assert_status 0
    assert_stderr_has 'no matches found for regexp nothing'
    grep -q '%e' att
    ! grep -q '%e' intel || fail 'the syntax is not Intel'\''s'
    grep -q '^ROUTINE =* work_leaf$' intel
    grep -q '<details>' page.html
}

@test "a hostile page of -weblist has no script and loads nothing" {
    python3 - "$pprof_tests" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import odd
p = odd.Profile()
m = p.mapping("/gone/<script>alert(1)</script>", 0x400000, 0x800000)
f = p.function("<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>")
p.sample([p.location(0x400100, [(f, 3)], m)], [1, 1])
open("hostile.pb", "wb").write(p.encode())
END
    run_profgrab pprof -weblist=. -output=page.html hostile.pb
    assert_status 0
    grep -q "default-src 'none'; style-src 'sha256-" page.html
    ! grep -Eiq '<(script|img|link|iframe)|onerror=[^&]*>' page.html || fail "$(cat page.html)"
    # The policy allows the style of the page.
    python3 - <<'END'
import base64, hashlib, re
page = open("page.html", encoding="utf-8").read()
style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
assert "'sha256-%s'" % base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in page
END
}
