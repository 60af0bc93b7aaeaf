#!/usr/bin/env bats
# Work directories, outputs, caches and known hosts with links, FIFOs or second names of files: strace shows that profgrab
# opens, makes, renames and removes nothing outside of them, and waits for none.

# shellcheck disable=SC2030,SC2031 # each test is a subshell
load helper

setup_file() {
    e2e_setup_file
    rig_on_port source source_at 'rig_http_is_ok PORT /sd.json'
    # The original of all work directories: the whole items heap and goroutines; of allocs, a part that a killed run left, and a
    # damaged file.
    export BASE=$RIG_DIR/base
    mkdir "$RIG_DIR/capture" "$BASE"
    (
        cd "$RIG_DIR/capture" || exit
        env -u PROFGRAB_INVENTORY HOME="$RIG_DIR" "$profgrab_program" --ssh-config "$SSH_CONFIG" -q -o b.tar.gz \
            --host file-03 --port "$RIG_PORT_node_exporter" heap goroutines allocs >/dev/null
        tar -xzf b.tar.gz
        mv b "$BASE/b.partial"
    )
    chmod 700 "$BASE/b.partial"
    service=$(dirname "$(cd "$BASE/b.partial" && compgen -G 'file-03/*/heap.pb.gz')")
    export SERVICE=$service
    python3 - "$BASE/b.partial/manifest.json" <<'PY'
import json, sys
m = json.load(open(sys.argv[1]))
for host in m["hosts"]:
    for service in host["services"]:
        service["items"] = [i for i in service["items"] if i["kind"] != "allocs"]
json.dump(m, open(sys.argv[1], "w"))
PY
    rm "$BASE/b.partial/$SERVICE/allocs.pb.gz"
    head -c 100 /dev/zero >"$BASE/b.partial/$SERVICE/allocs.pb.gz.part"
    head -c 50 /dev/zero >"$BASE/b.partial/$SERVICE/allocs.pb.gz.damaged"
    find "$BASE/b.partial" -type f -exec chmod 600 {} +
}

source_at() { # NAME PORT
    mkdir -p "$RIG_DIR/www"
    echo '[{"targets":["file-03:1"],"labels":{"job":"node"}}]' >"$RIG_DIR/www/sd.json"
    rig_spawn "$1" python3 -m http.server --bind 127.0.0.1 --directory "$RIG_DIR/www" "$2"
}

setup() {
    e2e_setup
    # strace -y reads the descriptors of a program that forbids ptrace.
    ((EUID == 0)) || skip 'only root can watch a program that cannot be attached to'
    ! is_sanitized || skip 'the sanitizers look into /proc themselves'
    mkdir place outside
    export XDG_CACHE_HOME=$PWD/cache
}

# All calls that open a file or change a name, a mode, an owner or a size. The question mark permits a call that this architecture
# or this strace does not have.
traced_calls='?open,?openat,?openat2,?creat,?rename,?renameat,?renameat2,?link,?linkat,?symlink,?symlinkat,?unlink,?unlinkat,?rmdir,?mkdir'
traced_calls+=',?mkdirat,?mknod,?mknodat,?truncate,?ftruncate,?fallocate,?chmod,?fchmod,?fchmodat,?fchmodat2,?chown,?fchown,?lchown,?fchownat,?utimensat'

# run_traced ARG...: runs profgrab under strace; the logs are trace.PID.
run_traced() {
    rm -f trace.*
    # 60 s is far more than any of these runs takes: a run that takes longer hangs.
    run --separate-stderr timeout 60 strace -ff -y -qq -s 300 -o "$PWD/trace" \
        -e trace="$traced_calls" \
        "$profgrab_program" "$@"
    ((status != 124)) || fail_run 'it did not end'
}

# Prints the state of a directory with all bytes and times, without the number of links of each file.
snapshot() { # DIR
    find "$1" -printf '%P %y %s %m %T@ %l\n' | sort
    find "$1" -type f -exec sha256sum {} + | sort
}

# assert_confined [--reads] [ARG...]: the last run changed files only in place/, in its own directories and where the ARGs of
# confined.py allow it. It opened no file in outside/, except with --reads, and did not change outside/.
assert_confined() {
    local may_not_open=(--may-not-open outside)
    if [[ ${1-} == --reads ]]; then
        may_not_open=()
        shift
    fi
    # In an if, because bats' trap would end the test before fail_run prints the reason.
    if ! python3 "$rig_root/tests/rig/confined.py" "$PWD/trace" --may-change place --may-change "$TMPDIR" \
        --may-change "$XDG_RUNTIME_DIR" "${may_not_open[@]}" "$@" >found; then
        fail_run "it left its directories: $(cat found)"
    fi
    assert_equal "$(snapshot outside)" "$before"
}

# Makes place/ with a work directory, and outside/.
make_fresh() {
    rm -rf place outside
    mkdir -m 700 place outside
    cp -a "$BASE/b.partial" place/
    echo precious >outside/precious
    before=$(snapshot outside)
}

# Replaces a component of the work directory, or (foreign, open) changes its owner or mode.
replace() { # PATH link|relative|hard|fifo|socket|device|foreign|open
    case $2 in
    link)
        mv "$1" outside/thing
        ln -s "$PWD/outside/thing" "$1"
        ;;
    relative)
        mv "$1" outside/thing
        ln -s "$(realpath --relative-to="$(dirname "$1")" outside/thing)" "$1"
        ;;
    hard) mv "$1" outside/thing && ln outside/thing "$1" ;;
    fifo) rm -rf "$1" && mkfifo -m 600 "$1" ;;
    socket)
        rm -rf "$1"
        python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$1"
        chmod 600 "$1"
        ;;
    device) rm -rf "$1" && mknod -m 600 "$1" c 1 3 ;;
    foreign) chown 64123 "$1" ;;
    open) chmod 0777 "$1" ;;
    esac
    before=$(snapshot outside)
}

# ---- the harness itself -----------------------------------------------------------------------------------------

@test "the test's own checks detect every access outside" {
    echo precious >outside/precious
    before=$(snapshot outside)
    local command commands=('cat outside/precious' 'touch elsewhere' 'mv place/file elsewhere' 'rm outside/precious'
        'mkdir elsewhere' 'ln outside/precious place/second' 'ln -s x elsewhere' 'chmod 600 outside/precious'
        'truncate -s 1 outside/precious' 'sh -c "echo x >place/link/new"' 'rm place/link/precious' 'cat place/link/precious')
    for command in "${commands[@]}"; do
        rm -rf place outside elsewhere
        mkdir place outside
        echo precious >outside/precious
        echo x >place/file
        ln -s "$PWD/outside" place/link
        profgrab_program=/bin/sh run_traced -c "$command"
        run python3 "$rig_root/tests/rig/confined.py" "$PWD/trace" --may-change place --may-not-open outside
        assert_equal "$command: $status" "$command: 1"
    done
    profgrab_program=/bin/sh run_traced -c 'echo y >place/new; mv place/new place/newer; mkdir place/dir; rm -r place/dir'
    run python3 "$rig_root/tests/rig/confined.py" "$PWD/trace" --may-change place --may-not-open outside
    assert_equal "$status: $output" '0: '
}

# ---- work directory ---------------------------------------------------------------------------------------------

@test "resume finishes a killed run's work directory in its place" {
    make_fresh
    run_traced resume --ssh-config "$SSH_CONFIG" place/b.partial
    assert_status 0
    assert_confined
    [[ -s place/b.tar.gz && ! -e place/b.partial ]]
    # A killed run may leave a file under both its names.
    make_fresh
    ln "place/b.partial/$SERVICE/heap.pb.gz" "place/b.partial/$SERVICE/heap.pb.gz.part"
    run_traced resume --ssh-config "$SSH_CONFIG" place/b.partial
    assert_status 0
    assert_confined
}

@test "resume refuses and names every entry that is not a file or directory of the user" {
    local component kind words
    for component in manifest.json README.md report.html file-03 "$SERVICE" "$SERVICE/heap.pb.gz" "$SERVICE/allocs.pb.gz.part" \
        "$SERVICE/allocs.pb.gz.damaged" "$SERVICE/allocs.pb.gz"; do
        for kind in link hard fifo relative socket device foreign open; do
            # For the rarer kinds one directory and one file are enough.
            [[ $kind == @(link|hard|fifo) || $component == @(file-03|*/heap.pb.gz) ]] || continue
            make_fresh
            # allocs.pb.gz does not exist: resume would adopt a file of that name.
            [[ -e place/b.partial/$component ]] || cp -a "$BASE/b.partial/$SERVICE/heap.pb.gz" "place/b.partial/$component"
            [[ $kind != hard || ! -d place/b.partial/$component ]] || continue
            replace "place/b.partial/$component" "$kind"
            case $kind in
            link | relative) words='is a symbolic link' ;;
            hard) words='has another name outside of it' ;;
            foreign) words='belongs to another user' ;;
            open) words='can be written by others' ;;
            *) words='is neither a file nor a directory' ;;
            esac
            run_traced resume --ssh-config "$SSH_CONFIG" place/b.partial
            assert_status 1
            assert_stderr_has "place/b.partial is not safe to resume: $component in it $words"
            assert_stderr_has 'hint: profgrab makes no such entry'
            assert_confined
            [[ ! -e place/b.tar.gz && -d place/b.partial ]] || fail "$component $kind: the command continued"
        done
    done
}

@test "bundle create refuses a work directory with a foreign entry, and prints nothing of its content" {
    local component kind words name
    for name in b.partial renamed; do
        for component in "$SERVICE/heap.pb.gz" "$SERVICE/allocs.pb.gz" file-03; do
            for kind in link hard fifo device foreign open; do
                make_fresh
                [[ -e place/b.partial/$component ]] || cp -a "$BASE/b.partial/$SERVICE/heap.pb.gz" "place/b.partial/$component"
                [[ $kind != hard || ! -d place/b.partial/$component ]] || continue
                [[ -d place/b.partial/$component ]] || echo 'PRIVATE KEY' >"place/b.partial/$component"
                replace "place/b.partial/$component" "$kind"
                before=$(snapshot outside)
                [[ $name == b.partial ]] || mv place/b.partial "place/$name"
                case $kind in
                link) words='is a symbolic link' ;;
                hard) words='has another name outside of it' ;;
                foreign) words='belongs to another user' ;;
                open) words='can be written by others' ;;
                *) words='is neither a file nor a directory' ;;
                esac
                run_traced bundle create -o place/new.tar.gz "place/$name/"
                assert_status 1
                assert_stderr_has "place/$name is not safe to bundle: $component in it $words"
                [[ $stderr != *PRIVATE* ]] || fail_run "$name $component $kind: it shows the content"
                assert_confined
                [[ ! -e place/new.tar.gz && ! -e place/new.partial && -d place/$name ]] || fail "$name $component $kind: the command continued"
            done
        done
    done
}

@test "bundle create refuses a work directory of another user or a link, and packs a whole one" {
    local kind
    for kind in link foreign open; do
        make_fresh
        replace place/b.partial "$kind"
        before=$(snapshot outside)
        run_traced bundle create -o place/new.tar.gz place/b.partial
        assert_status 1
        assert_confined
        [[ ! -e place/new.tar.gz && ! -e place/new.partial ]] || fail "$kind: the command continued"
    done
    make_fresh
    ln -s place way
    run_traced bundle create -o place/new.tar.gz way/b.partial
    assert_status 3
    assert_confined
    "$profgrab_program" bundle list place/new.tar.gz | grep -q " files/$SERVICE/heap.pb.gz$"
}

@test "resume refuses a work directory that is a link or a FIFO" {
    for kind in link fifo; do
        make_fresh
        replace place/b.partial "$kind"
        run_traced resume --ssh-config "$SSH_CONFIG" place/b.partial
        assert_status 1
        assert_confined
    done
    # The path to it may contain the user's own link.
    make_fresh
    ln -s place way
    run_traced resume --ssh-config "$SSH_CONFIG" way/b.partial
    assert_status 0
    assert_confined
    [[ -s place/b.tar.gz ]]
}

@test "resume refuses a work directory that is deep or has very many entries, without reading all of it" {
    make_fresh
    (cd place/b.partial && for ((i = 0; i < 40; i++)); do mkdir d && cd d || exit; done)
    run_traced resume --ssh-config "$SSH_CONFIG" place/b.partial
    assert_status 1
    assert_stderr_has 'lies deeper than 32 directories'
    assert_confined
}

# The test replaces the directory during the run: half a body has arrived, and the rest never arrives.
@test "a link put in place of a host's directory during a run is not followed" {
    local i pid
    write_inventory stall
    make_fresh
    rm -rf place/b.partial
    strace -ff -y -qq -s 300 -o "$PWD/trace" -e trace="$traced_calls" \
        "$profgrab_program" --ssh-config "$SSH_CONFIG" -q --timeout 5m -o place/b.tar.gz --host file-05 heap >path 2>log 3>&- &
    pid=$!
    for ((i = 0; i < 1500; i++)); do
        [[ ! -s $(compgen -G 'place/b.partial/file-05/stall/heap*.part') ]] || break
        sleep 0.02
    done
    ((i < 1500)) || fail 'no item began' "$(cat log)"
    mv place/b.partial/file-05 place/away
    ln -s "$PWD/outside" place/b.partial/file-05
    mkdir outside/stall
    cp place/away/stall/heap*.part outside/stall/
    before=$(snapshot outside)
    kill -TERM "$(pgrep -P "$pid")"
    ! wait "$pid" || fail 'the run continued' "$(cat log)"
    grep -q 'place/b.partial/file-05 is a symbolic link, and profgrab follows no links in this directory' log || fail "$(cat log)"
    grep -q 'hint: everything collected is in place/b.partial: correct this, then `profgrab resume' log || fail "$(cat log)"
    assert_confined
}

# ---- output -----------------------------------------------------------------------------------------------------

@test "grab -o does not follow, replace or wait for an existing name" {
    local kind name
    for name in b.tar.gz b.partial; do
        for kind in link dangling fifo hard; do
            make_fresh
            rm -rf place/b.partial
            case $kind in
            dangling) ln -s "$PWD/outside/new" "place/$name" ;;
            *) echo x >"place/$name" && replace "place/$name" "$kind" ;;
            esac
            before=$(snapshot outside)
            run_traced --ssh-config "$SSH_CONFIG" -q -o place/b.tar.gz --host file-03 --port "$RIG_PORT_node_exporter" heap
            assert_status 1
            assert_stderr_has "place/$name exists already"
            assert_confined
            [[ $kind != dangling || ! -e outside/new ]]
        done
    done
    # A directory that the user names may be a link.
    make_fresh
    rm -rf place/b.partial
    ln -s place way
    run_traced --ssh-config "$SSH_CONFIG" -q -o way/b.tar.gz --host file-03 --port "$RIG_PORT_node_exporter" heap
    assert_status 0
    assert_confined
    [[ -s place/b.tar.gz ]]
}

@test "report -o, bundle create -o, bundle encrypt and bundle decrypt do not follow, replace or wait for an existing name" {
    local kind out
    cp "$RIG_DIR/capture/b.tar.gz" in.tar.gz
    ssh-keygen -q -t ed25519 -N '' -f key
    "$profgrab_program" bundle encrypt --encrypt-to key.pub -o in.age in.tar.gz
    for kind in link dangling fifo hard; do
        for out in r.html n.tar.gz e.age d.tar.gz; do
            make_fresh
            if [[ $kind == dangling ]]; then
                ln -s "$PWD/outside/new" "place/$out"
                before=$(snapshot outside)
            else
                echo x >"place/$out"
                replace "place/$out" "$kind"
            fi
            case $out in
            r.html) run_traced report -o place/r.html in.tar.gz ;;
            n.tar.gz) run_traced bundle create -o place/n.tar.gz key.pub ;;
            e.age) run_traced bundle encrypt --encrypt-to key.pub -o place/e.age in.tar.gz ;;
            d.tar.gz) run_traced bundle decrypt -i key -o place/d.tar.gz in.age ;;
            esac
            ((status != 0)) || fail_run "$out $kind: it was made"
            assert_stderr_has "place/$out exists already"
            assert_confined
        done
    done
}

# pprof writes into a FIFO: it is not tested here because it waits for a reader.
@test "pprof -output and merge --force replace links and change nothing else" {
    local kind out
    cp "$BASE/b.partial/$SERVICE/heap.pb.gz" heap.pb.gz
    for kind in link dangling hard; do
        for out in report merged.pb.gz; do
            make_fresh
            if [[ $kind == dangling ]]; then
                ln -s "$PWD/outside/new" "place/$out"
            else
                echo x >"place/$out"
                replace "place/$out" "$kind"
            fi
            before=$(snapshot outside)
            case $out in
            report) run_traced pprof -top -output place/report heap.pb.gz ;;
            merged.pb.gz)
                run_traced merge -o place/merged.pb.gz heap.pb.gz
                ((status != 0)) || fail_run "$kind: it was replaced without --force"
                assert_confined
                run_traced merge --force -o place/merged.pb.gz heap.pb.gz
                ;;
            esac
            assert_status 0
            assert_confined
            [[ -s place/$out && ! -L place/$out && ! -e outside/new ]]
        done
    done
}

@test "bundle extract makes a new directory, also in a directory that is the user's link" {
    local kind
    cp "$RIG_DIR/capture/b.tar.gz" in.tar.gz
    for kind in link dangling fifo hard; do
        make_fresh
        rm -rf place/b.partial
        if [[ $kind == dangling ]]; then
            ln -s "$PWD/outside/new" place/b
            before=$(snapshot outside)
        else
            echo x >place/b
            replace place/b "$kind"
        fi
        run_traced bundle extract -C place in.tar.gz
        assert_status 1
        assert_stderr_has 'place/b: File exists'
        assert_confined
    done
    make_fresh
    ln -s place way
    run_traced bundle extract -C way in.tar.gz
    assert_status 0
    assert_stdout way/b
    assert_confined
    [[ -s place/b/$SERVICE/heap.pb.gz ]]
}

# ---- the cache of discovery -------------------------------------------------------------------------------------

discovery_inventory() {
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
    cat >inventory.yaml <<YAML
version: 1
hosts:
  file-03: {}
discovery:
  - { http_sd: "http://127.0.0.1:$RIG_PORT_source/sd.json", match: address }
YAML
    chmod 600 inventory.yaml
}

@test "hosts neither reads nor writes a cache that is a link, a hard link, a FIFO or another user's" {
    local kind file
    discovery_inventory
    make_fresh
    # The user's own cache directory may be a link.
    ln -s place cache
    run_traced hosts --refresh
    assert_status 0
    assert_confined
    file=$(compgen -G 'place/profgrab/discovery-*')
    [[ -s $file ]]
    cp -a place/profgrab kept
    for kind in link fifo foreign open; do
        make_fresh
        cp -a kept place/profgrab
        replace place/profgrab "$kind"
        run_traced hosts --refresh
        assert_status 0
        assert_stderr_has 'its answer cannot be cached: '
        assert_confined
        run_traced hosts
        assert_status 0
        assert_confined
    done
    # A file is replaced by a new one; the old one is neither read nor written.
    for kind in link fifo hard; do
        make_fresh
        cp -a kept place/profgrab
        replace "$file" "$kind"
        run_traced hosts
        assert_status 0
        assert_confined
        run_traced hosts --refresh
        assert_status 0
        assert_confined
        [[ -f $file && ! -L $file && $(stat -c %h "$file") == 1 ]]
    done
}

# ---- known hosts ------------------------------------------------------------------------------------------------

known_hosts_config() { # FILE
    cat >config <<EOF
Host mine
    HostName 127.0.0.1
    Port $RIG_PORT_sshd
    User $RIG_USER
    IdentityFile $RIG_KEY
    IdentitiesOnly yes
    IdentityAgent none
    GlobalKnownHostsFile /dev/null
    UserKnownHostsFile $1
EOF
}

accept() { run_traced check --ssh-config "$PWD/config" --via libssh2 --accept-new --host mine --port "$RIG_PORT_rude"; }

@test "--accept-new does not change known hosts that are a link, a FIFO or a second name of another file" {
    local kind known=$PWD/place/known
    known_hosts_config "$known"
    for kind in link relative hard dangling fifo; do
        make_fresh
        rm -rf place/b.partial
        if [[ $kind == dangling ]]; then
            ln -s "$PWD/outside/new" "$known"
            before=$(snapshot outside)
        else
            echo 'export PATH=/bin' >"$known"
            replace "$known" "$kind"
        fi
        accept
        # ssh-keygen and profgrab may read the file at the end of the link; neither writes it.
        assert_confined --reads
        if [[ $kind == fifo ]]; then
            assert_status 1
            assert_stdout_has "the known_hosts file $known is not a regular file"
        elif [[ $kind == dangling ]]; then
            # ssh-keygen cannot read known hosts through that link.
            assert_status 1
            [[ ! -e outside/new ]]
        else
            assert_status 0
            assert_stdout_has 'new, not written down: '
        fi
    done
    # Neither through a link to authorized_keys, with or without options.
    for kind in '' 'no-pty ' 'from="10.0.0.1",restrict '; do
        make_fresh
        rm -rf place/b.partial
        echo "$kind$(cat "$RIG_KEY.pub")" >"$known"
        replace "$known" link
        accept
        assert_status 0
        assert_stdout_has 'new, not written down: '
        assert_confined --reads
    done
    # profgrab follows a link to the user's own known hosts in another place, as ssh does. The file may be empty.
    for kind in '' '# known hosts' '|1|c2FsdA==|aGFzaA== ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA'; do
        make_fresh
        rm -rf place/b.partial elsewhere
        mkdir elsewhere
        printf '%s' "$kind" >elsewhere/known
        ln -s "$PWD/elsewhere/known" "$known"
        before=$(snapshot outside)
        accept
        assert_status 0
        assert_confined --may-change elsewhere
        grep -q ' ssh-' elsewhere/known
        [[ -L $known ]]
    done
}

@test "--accept-new creates known hosts in a linked directory, not through a dangling link" {
    local kind
    known_hosts_config "$PWD/place/ssh/known"
    for kind in fifo file dangling; do
        make_fresh
        rm -rf place/b.partial
        case $kind in
        fifo) mkfifo place/ssh ;;
        file) echo x >place/ssh ;;
        dangling) ln -s "$PWD/outside/new" place/ssh ;;
        esac
        accept
        assert_status 0
        assert_stdout_has "new, not written down: cannot use the directory $PWD/place/ssh: "
        assert_confined
        [[ ! -e outside/new ]]
    done
    make_fresh
    rm -rf place/b.partial elsewhere
    mkdir -m 700 elsewhere
    ln -s "$PWD/elsewhere" place/ssh
    accept
    assert_status 0
    assert_confined --may-change elsewhere
    grep -q ' ssh-' elsewhere/known
}

@test "bundle create copies hard links of the user's own directory, and refuses those that others may have made" {
    mkdir -p mine/sub shared/sub own/open
    echo private >private
    chmod 755 mine mine/sub shared/sub own
    chmod 777 shared own/open
    for link in mine/a mine/sub/b shared/a own/open/b; do ln private "$link"; done
    echo x >shared/sub/single
    run_profgrab bundle create -o mine.tar.gz mine
    assert_status 0
    assert_equal "$(tar xzOf mine.tar.gz mine/files/a mine/files/sub/b)" $'private\nprivate'
    for dir in shared own; do
        run_profgrab bundle create -o refused.tar.gz "$dir"
        assert_status 1
        assert_stderr_has 'has several names (hard links) in a directory that others can write'
        assert_equal "$(ls -d refused*)" ''
    done
    # A file with one name is no hard link, and a file that the user names may have several.
    rm shared/a
    run_profgrab bundle create -o single.tar.gz shared own/open/b
    assert_status 0
}
