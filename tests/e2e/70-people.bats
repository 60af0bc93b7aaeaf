#!/usr/bin/env bats
# Output for people: progress lines, -v and -q, JSON, help, completions and manual pages.

load helper

# on_screen ROWS COLUMNS [PTY-OPTION...] -- ARG...: runs profgrab on a terminal of that size; the terminal's text is in $output,
# and the final lines of the screen in $screen. The standard output of profgrab is in the file path.
on_screen() {
    local rows=$1 columns=$2 options=()
    shift 2
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    with_pty --deadline 30 --stdout path "${options[@]}" -- \
        sh -c 'stty rows "$1" cols "$2"; shift 2; exec "$@"' - "$rows" "$columns" \
        "$profgrab_program" --ssh-config "$SSH_CONFIG" "${@:2}"
    mapfile -t screen < <(python3 "$rig_root/tests/screen.py" "$rows" "$columns" <<<"$output")
}

# assert_schema WORD [TEXT]: TEXT, or else standard output of the last run, follows the schema whose title has that word. Sets $json
# to a file with it.
assert_schema() {
    json=$PWD/out.json
    printf '%s\n' "${2-$output}" >"$json"
    python3 "$rig_root/tests/schema.py" "$rig_root/docs/formats.md#$1" "$json" || fail_run 'it does not follow the schema'
}

# bash_offers WORD... -- CANDIDATE...: calls the completion function as readline does, with the cursor after the last word, and
# compares the candidates. : and = are words of their own, without blanks around them in the line.
bash_offers() {
    local words=()
    while [[ $1 != -- ]]; do
        words+=("$1")
        shift
    done
    shift
    # shellcheck disable=SC2016
    run bash --norc -u -c 'source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"
        for c in : =; do COMP_LINE=${COMP_LINE//" $c"/$c}; COMP_LINE=${COMP_LINE//"$c "/$c}; done
        COMP_POINT=${#COMP_LINE}; _profgrab; echo "${COMPREPLY[*]-}"' \
        - profgrab "${words[@]}"
    [[ $output == "$*" ]] || fail "offered for ${words[*]}: $output" "expected: $*"
}

# assert_width WIDTH ARG...: runs profgrab on a terminal of WIDTH columns, stdout included; no line is longer.
assert_width() {
    with_pty --deadline 30 -- sh -c 'stty rows 50 cols "$1"; shift; exec "$@"' - "$1" \
        "$profgrab_program" "${@:2}"
    # Only a single word, such as a path, may be longer than a line.
    assert_equal "$(tr -d '\r' <<<"$output" | awk -v most="$1" 'length > most && $0 !~ /^ *[^ ]+$/')" ''
}

# ---- progress lines ---------------------------------------------------------------------------------------------

@test "progress lines are redrawn in place at most ten times a second, and removed at the end" {
    write_inventory
    on_screen 24 100 -- --host file-03 heap cpu=2s
    assert_status 0
    assert_stdout_has 'file-03: node: cpu 1s of 2s, 1s left, item 2 of 2'
    assert_stdout_has 'file-03: caddy: cpu 1s of 2s, 1s left, '
    # Each redraw ends with a control sequence, and each plain line has one in front.
    local drawings=${output//[^$'\e']/}
    ((${#drawings} < 150)) || fail "${#drawings} control sequences in about 3 seconds"
    # Only whole plain lines stay, and the table.
    local line
    for line in "${screen[@]}"; do
        [[ $line != TARGET* ]] || break
        [[ $line == 'profgrab: file-0'* || $line == 'profgrab: estimate for each process, from file-0'* ]] || fail "left: $line" "${screen[@]}"
    done
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -c 'heap: .* in ')" 2
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -c 'cpu=2s: .* in ')" 2
}

@test "progress lines fit a screen of 10 by 40, and the rest is counted" {
    {
        echo 'version: 1'
        echo "services: { rude: { port: $RIG_PORT_rude, kinds: [goroutines=proto] } }"
        echo 'hosts: { "m-[01-12]": { connect: direct, address: 127.0.0.1, services: [rude] } }'
    } >inv.yaml
    chmod 600 inv.yaml
    on_screen 10 40 -- -q -i inv.yaml --host 'm-*'
    assert_status 0
    assert_equal "$output" ''
    on_screen 10 40 -- --yes -i inv.yaml --host 'm-*' mutex=2s
    assert_status 0
    assert_stdout_has '... and 5 more targets'
    assert_stdout_has ': rude: mutex 1s of 2s'
    # No progress line is wider, and no redraw higher, than the terminal.
    assert_equal "$(grep -o 'm-[0-9]*: rude: mutex [^'$'\e'$'\r'']*' <<<"$output" | awk 'length > 39')" ''
    assert_equal "$(grep -oE $'\e''\[[0-9]+A' <<<"$output" | tr -dc '0-9\n' | sort -n | tail -n 1)" 7
}

@test "with 60 columns a table's errors, the steps of check and help fit" {
    write_inventory
    assert_width 60 check --ssh-config "$SSH_CONFIG" -i "$INVENTORY" --host file-03
    assert_status 0
    [[ $output =~ host\ key[^$'\n']*$'\r\n'\ +ssh-ed25519 ]] || fail_run 'the host key is not below its step'
    local topic
    for topic in findings summary; do
        assert_width 60 help "$topic"
        assert_status 0
    done
    # The kinds of a plan are below their row.
    assert_width 60 -q --ssh-config "$SSH_CONFIG" -i "$INVENTORY" --host file-04 --dry-run cpu=3s heap goroutines
    assert_status 0
    [[ $(tr -d '\r' <<<"$output") =~ $'\n    heap ('[0-9]*' '.*'cpu=3s'$'\n' ]] || fail_run 'a kind is missing'
    assert_equal "$(tr -d '\r' <<<"$output" | awk 'length > 60')" ''
    write_inventory html
    on_screen 24 60 -- --host file-04,file-05 heap threadcreate mutex
    # Progress lines of a slow run begin with the target's name too, so only the table is checked.
    output=TARGET${output#*TARGET}
    assert_equal "$(tr -d '\r' <<<"$output" | sed -n '/^file-05: html/,/^[^ ]/p' | sed '1d;$d' | awk 'length > 60 || !/^    [^ ]/')" ''
    [[ $output =~ file-05:\ html[^$'\n']*$'\r\n'(\ {4}[^$'\n']*$'\r\n')+'profgrab: not complete' ]] || fail_run 'WHAT FAILED is not below'
    assert_stdout_has '(and 2 more)'
    local command
    for command in '' grab forward attach; do
        # shellcheck disable=SC2086 # none or one word
        assert_width 60 help $command
        assert_status 0
    done
    # Without a terminal prose has 80 columns, or those of COLUMNS.
    for columns in 80 60; do
        COLUMNS=$columns run_profgrab pprof -h
        assert_equal "$(awk -v most="$columns" 'length > most && $0 !~ /^ *[^ ]+$/' <<<"$stderr")" ''
    done
    for topic in findings summary; do
        run_profgrab help "$topic"
        assert_equal "$(awk 'length > 80 && $0 !~ /^ *[^ ]+$/' <<<"${output//…/.}")" ''
    done
}

@test "Ctrl-C removes the progress lines" {
    write_inventory
    on_screen 24 100 --ctrl-c 'cpu [1-9]s of 30s' -- --host file-03 heap cpu
    assert_status 130
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -v '^profgrab: ' | grep -v '^hint: ' | sed '/^TARGET/,$d')" ''
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -c 'stopping and bundling the collected items; Ctrl-C again quits')" 1
    assert_equal "$(printf '%s\n' "${screen[@]}" | grep -c 'heap: .* in ')" 2
}

@test "there are no progress lines on a dumb terminal or with -q" {
    write_inventory
    TERM=dumb on_screen 24 80 -- --host file-04 cpu=1s
    assert_status 0
    refute_stdout_has $'\e'
    assert_stdout_has 'cpu: taking 1s'
    on_screen 24 80 -- -q --host file-04 cpu=1s
    assert_status 0
    assert_equal "$output" ''
}

# ---- -v and -q --------------------------------------------------------------------------------------------------

@test "-q and -v together are refused" {
    run_profgrab -q -v --host file-04 heap
    assert_status 2
    assert_stderr_has '--quiet and --verbose'
}

# ---- JSON -------------------------------------------------------------------------------------------------------

# json EXPRESSION: prints a Python expression over the JSON in $json, `o`.
json() {
    python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$json" "$1"
}

@test "--json describes a complete capture" {
    write_inventory
    run_profgrab --json --host file-04 heap cpu=1s
    assert_status 0
    assert_schema grab
    assert_equal "$(json 'o["exit_code"], o["complete"], o["interrupted"], o["failures"]')" '(0, True, False, [])'
    assert_equal "$(json '[(i["host"], i["service"], i["kind"], i.get("argument"), i["status"]) for i in o["items"]]')" \
        "[('file-04', 'rude', 'heap', None, 'ok'), ('file-04', 'rude', 'cpu', '1s', 'ok')]"
    local bundle
    bundle=$(json 'o["bundle"]')
    dir=$("$profgrab_program" bundle extract "$bundle")
    assert_equal "$(json 'sum(i["bytes"] for i in o["items"])')" "$(cat "$dir"/file-04/rude/* | wc -c)"
    assert_equal "$(cd "$dir" && ls file-04/rude/*)" "$(json '"\n".join(sorted(i["file"] for i in o["items"]))')"
}

@test "--json lists missing items with the messages and hints of stderr" {
    write_inventory busy notfound
    local port
    port=$(rig_free_port)
    sed -i "s/^services:/&\n  closed: { port: $port }/; s/^hosts:/&\n  bad-01: { services: [rude] }/; s/services: \[rude\]/services: [rude, closed]/" \
        "$INVENTORY"
    rig_alias bad-01 sshd "Port $port"
    run_profgrab --json --host 'file-0[4-5],bad-01' --service rude,closed,busy heap cpu=1s
    assert_status 3
    assert_schema grab
    assert_equal "$(json 'o["exit_code"], o["complete"], o["bundle"].endswith(".tar.gz")')" '(3, False, True)'
    assert_equal "$(json 'sorted((f["host"], f.get("service")) for f in o["failures"] if "kind" not in f and f["host"] != "file-05")')" \
        "[('bad-01', None), ('file-04', 'closed')]"
    # Each item that is not whole is listed, with its identity and the reason.
    assert_equal "$(json '[(f["kind"], f["status"], f["service"]) for f in o["failures"] if "kind" in f] == [(i["kind"], i["status"], i["service"]) for i in o["items"] if i["status"] != "ok"] != []')" True
    local sentence
    while IFS= read -r sentence; do
        assert_stderr_has "$sentence"
    done < <(json '"\n".join([x[k] for x in o["failures"] + o["items"] for k in ("error", "hint") if k in x])')
}

@test "--json describes a capture without any item or open host" {
    write_inventory notfound
    run_profgrab --json --host file-05 --service notfound heap
    assert_status 1
    assert_schema grab
    assert_equal "$(json 'o["bundle"], o["exit_code"], [i["status"] for i in o["items"]]')" "(None, 1, ['failed'])"
    assert_equal "$(json '[(f["kind"], f["status"], f["error"]) for f in o["failures"]]')" \
        "[('heap', 'failed', 'HTTP 404: Unknown profile')]"
    write_inventory short
    run_profgrab --json --host file-05 --service short heap
    assert_status 1
    assert_schema grab
    assert_equal "$(json 'o["exit_code"], o["complete"], o["targets"][0]["got"], o["targets"][0]["bytes"], len(o["failures"])')" "(1, False, 0, 0, 1)"
    run_profgrab --json --host nobody heap
    assert_status 2
    assert_schema grab
    assert_equal "$(json 'o["exit_code"], o["items"], "hint" in o')" '(2, [], True)'
    assert_stderr_has "$(json 'o["error"]')"
    # A usage error prints nothing on stdout.
    run_profgrab --json --hots nobody
    assert_status 2
    assert_equal "$output" ''
}

@test "--json describes an interrupted capture" {
    write_inventory
    on_screen 24 80 --ctrl-c 'cpu [1-9]s of 30s' -- --json --host file-04 heap cpu
    assert_status 130
    assert_schema grab "$(cat path)"
    assert_equal "$(json 'o["exit_code"], o["complete"], o["interrupted"], [i["status"] for i in o["items"]]')" \
        "(130, False, True, ['ok', 'interrupted'])"
}

@test "--json with a full stdout prints the bundle's path on stderr" {
    write_inventory
    run --separate-stderr bash -c '"$@" >/dev/full' - "$profgrab_program" --ssh-config "$SSH_CONFIG" --json --host file-04 heap
    assert_status 3
    assert_stderr_has 'the bundle is profgrab-file-04-'
    run --separate-stderr bash -c '"$@" >/dev/full' - "$profgrab_program" bundle list --json profgrab-file-04-*.tar.gz
    assert_status 1
    assert_stderr_has 'cannot write to standard output: No space left on device'
}

@test "every listing has --json as documented" {
    write_inventory
    run_profgrab hosts --json
    assert_schema hosts
    assert_equal "$(json 'len(o)')" 3
    run_profgrab -q --host file-04 -o one.tar.gz heap
    run_profgrab bundle list --json one.tar.gz
    assert_status 0
    assert_schema list
    run_profgrab bundle verify --json one.tar.gz
    assert_status 0
    assert_schema verify
    assert_equal "$(json 'o["intact"], sorted(f["path"] for f in o["files"])')" "(True, ['file-04/rude/heap.pb.gz', 'report.html'])"
}

# ---- completions ------------------------------------------------------------------------------------------------

# Makes an inventory, puts the program on PATH, and writes the completion script of a shell to `script`.
prepare_completion() { # SHELL
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
    cat >"$PROFGRAB_INVENTORY" <<'Y'
version: 1
services: { gitaly: { port: 1 }, caddy: { port: 2 } }
hosts: { "file-[03-05]": { services: [gitaly], labels: { env: gprd, shard: 3 } }, laptop: { services: [caddy] } }
groups: { storage: ["file-*"], everything: [storage, laptop] }
teams: { gitaly: { recipients: [ keys ] }, sre: { recipients: [ keys ] } }
Y
    sed 's/laptop/desktop/' "$PROFGRAB_INVENTORY" >other.yaml
    chmod 600 -- *.yaml
    mkdir bin
    ln -s "$profgrab_program" bin/profgrab
    export PATH=$PWD/bin:$PATH
    profgrab completion "$1" >script
}

# Makes bundles for completion, of the services node and caddy: b.tar.gz and `dir/x:y.tar.gz`, with a member whose name contains
# a shell command; b.tar.gz.age, which the key of ~/.ssh opens; locked.age, whose key has a passphrase.
prepare_members() {
    write_inventory
    mkdir dir
    "$profgrab_program" -q --ssh-config "$SSH_CONFIG" -o b.tar.gz --host file-03 heap goroutines trace=1s >/dev/null
    tar xzf b.tar.gz
    python3 - b <<'PY'
import json, os, sys
path = sys.argv[1] + "/manifest.json"
m = json.load(open(path))
items = m["hosts"][0]["services"][1]["items"]
odd = dict(next(i for i in items if i["kind"] == "heap"), file="file-03/caddy/$(touch pwned) x.pb.gz")
items.append(odd)
json.dump(m, open(path, "w"))
PY
    tar czf b.tar.gz b/manifest.json b/file-03
    cp b.tar.gz dir/x:y.tar.gz
    mkdir -m 700 "$HOME/.ssh"
    ssh-keygen -q -t ed25519 -N '' -f "$HOME/.ssh/id_ed25519"
    ssh-keygen -q -t ed25519 -N open-sesame -a 2 -f locked
    "$profgrab_program" bundle encrypt --encrypt-to "$HOME/.ssh/id_ed25519.pub" b.tar.gz >/dev/null
    "$profgrab_program" bundle encrypt --encrypt-to locked.pub -o locked.age b.tar.gz >/dev/null
}

@test "completion in bash offers commands, options, kinds, names of the inventory and files" {
    prepare_completion bash
    bash_offers '' -- grab resume check forward hosts bundle attach pprof goroutines diff merge report view completion version help
    bash_offers --ho -- --host
    bash_offers bundle '' -- list verify extract create encrypt decrypt
    bash_offers bundle encrypt --encrypt-to inv -- inventory.yaml
    bash_offers bundle decrypt -i inv -- inventory.yaml
    bash_offers bundle list inv -- inventory.yaml
    bash_offers bundle list --j -- --json
    bash_offers help bu -- bundle
    bash_offers help f -- formats findings forward
    bash_offers completion '' -- bash zsh fish
    bash_offers --host file-03 cpu tr -- trace
    bash_offers grab -q --host fil -- file-03 file-04 file-05
    bash_offers -H file-03,la -- file-03,laptop
    bash_offers --host = la -- laptop
    bash_offers --host = -- file-03 file-04 file-05 laptop
    bash_offers -g st -- storage
    bash_offers -s '' -- gitaly caddy
    bash_offers --group everything --exclude la -- laptop
    bash_offers --label '' -- env=gprd shard=3
    bash_offers --label env=gprd,sh -- env=gprd,shard=3
    bash_offers --issue-label '' --
    bash_offers --for '' -- gitaly sre
    bash_offers attach inv -- inventory.yaml
    bash_offers attach --for s -- sre
    bash_offers -i other.yaml --host '' -- file-03 file-04 file-05 desktop
    bash_offers --inventory = other.yaml --host d -- desktop
    bash_offers -i inv -- inventory.yaml
    bash_offers --reason '' --
    bash_offers --via '' -- auto libssh2 openssh
    bash_offers check --via o -- openssh
    bash_offers --scheme = https -- https
    bash_offers hosts lap -- laptop
    bash_offers pprof -com -- -comments -compact_labels
    bash_offers pprof -top inv -- inventory.yaml
    bash_offers pprof -output inv -- inventory.yaml
    bash_offers pprof --diff_base inv -- inventory.yaml
    bash_offers pprof -symbolize = fast -- fastlocal
    bash_offers pprof -focus '' --
    bash_offers diff -sample_i -- -sample_index
    # Without an inventory it offers nothing and prints nothing.
    bash_offers -i missing.yaml --host '' --
}

@test "completion in bash offers the members of a bundle that a command reads" {
    prepare_members
    prepare_completion bash
    local node=file-03/node caddy=file-03/caddy command
    for command in pprof diff merge; do
        bash_offers "$command" b.tar.gz : -- $node/heap.pb.gz $node/goroutines.pb.gz $caddy/heap.pb.gz $caddy/goroutines.pb.gz
    done
    bash_offers goroutines b.tar.gz : -- $node/goroutines.pb.gz $node/goroutines.txt $caddy/goroutines.pb.gz $caddy/goroutines.txt
    bash_offers view b.tar.gz : $caddy/ -- $caddy/heap.pb.gz $caddy/goroutines.pb.gz $caddy/goroutines.txt
    bash_offers pprof -top b.tar.gz : $node/h -- $node/heap.pb.gz
    bash_offers pprof -base b.tar.gz : $caddy/h -- $caddy/heap.pb.gz
    bash_offers pprof -diff_base = b.tar.gz : $caddy/h -- $caddy/heap.pb.gz
    bash_offers diff b.tar.gz : $caddy/heap.pb.gz dir/x : y.tar.gz : $node/h -- $node/heap.pb.gz
    bash_offers merge -o out ./b.tar.gz : $node/h -- $node/heap.pb.gz
    cp b.tar.gz "$HOME"
    # shellcheck disable=SC2088 # the completing shell expands it
    bash_offers pprof '~/b.tar.gz' : $node/h -- $node/heap.pb.gz
    bash_offers pprof b.tar.gz.age : $node/h -- $node/heap.pb.gz
    # For a bundle that cannot be read, completion offers nothing and asks no question.
    bash_offers pprof locked.age : --
    bash_offers pprof missing.tar.gz : --
    bash_offers pprof inventory.yaml : --
    bash_offers goroutines b.tar.gz : $node/h --
    # Files are still offered; commands that read no members get none.
    bash_offers pprof b.tar -- b.tar.gz b.tar.gz.age
    bash_offers report b.tar.gz : $node/h --
}

@test "bundle list --profiles and --dumps list those members from the manifest alone" {
    prepare_members
    run_profgrab bundle list --profiles b.tar.gz
    assert_status 0
    assert_equal "$output" 'file-03/node/heap.pb.gz
file-03/node/goroutines.pb.gz
file-03/caddy/heap.pb.gz
file-03/caddy/goroutines.pb.gz
file-03/caddy/$(touch pwned) x.pb.gz'
    run_profgrab bundle list --dumps b.tar.gz.age
    assert_status 0
    assert_equal "$output" 'file-03/node/goroutines.pb.gz
file-03/node/goroutines.txt
file-03/caddy/goroutines.pb.gz
file-03/caddy/goroutines.txt'
    run_profgrab bundle list --profiles --dumps b.tar.gz
    assert_equal "$(wc -l <<<"$output")" 7
    run_profgrab bundle list --profiles --json b.tar.gz
    assert_status 2
    assert_stderr_has '--json cannot be combined with --profiles or --dumps'
    # On a terminal too, the command asks for no passphrase.
    with_pty --deadline 30 -- "$profgrab_program" bundle list --profiles -i locked locked.age
    assert_status 1
    refute_stdout_has 'passphrase:'
    assert_stdout_has 'locked.age'
}

@test "completion in bash offers every option of each command's help" {
    prepare_completion bash
    local command options
    for command in grab hosts bundle; do
        mapfile -t options < <("$profgrab_program" help "$command" | sed -nE 's/^  (-.,|   ) (--[a-z-]+).*/\2/p')
        ((${#options[@]} > 3))
        bash_offers "$command" - -- "${options[@]}" --help
    done
}

# tab_in SHELL-COMMAND... -- LINE...: types each line and a tab. The shell's start-up file makes it print READY when it waits, and
# write the completed line to the file lines.
tab_in() {
    local shell=() steps=()
    while [[ $1 != -- ]]; do
        shell+=("$1")
        shift
    done
    for line in "${@:2}"; do
        steps+=(--send READY "$line"$'\t')
    done
    : >lines
    with_pty --deadline 30 "${steps[@]}" --send READY $'\x04' -- "${shell[@]}"
}

@test "completion works in an interactive bash" {
    prepare_completion bash
    # A tab completes the line, then writes it to the file lines and empties it. ^D ends the shell.
    cat >rc <<'RC'
source ./script
show() { printf '%s\n' "$READLINE_LINE" >>lines; READLINE_LINE=; READLINE_POINT=0; printf READY; }
bind -x '"\C-g": show'
bind '"\C-x1": complete'
bind '"\t": "\C-x1\C-g"'
PS1=READY
RC
    tab_in bash --rcfile rc -i -- 'profgrab bu' 'profgrab --host=lap' 'profgrab -H file-03,l' 'profgrab -i oth'
    assert_equal "$(cat lines)" 'profgrab bundle 
profgrab --host=laptop 
profgrab -H file-03,laptop 
profgrab -i other.yaml '
    prepare_members
    tab_in bash --rcfile rc -i -- 'profgrab pprof -top b.tar.gz:file-03/no' 'profgrab pprof -top b.tar.gz:file-03/node/h' 'profgrab pprof -base=b.tar.gz:file-03/caddy/h' \
        'profgrab pprof locked.age:'
    assert_equal "$(cat lines)" 'profgrab pprof -top b.tar.gz:file-03/node/
profgrab pprof -top b.tar.gz:file-03/node/heap.pb.gz 
profgrab pprof -base=b.tar.gz:file-03/caddy/heap.pb.gz 
profgrab pprof locked.age:'
    [[ ! -e pwned ]]
}

@test "completion works in zsh" {
    command -v zsh >/dev/null || skip 'there is no zsh'
    prepare_completion zsh
    zsh -n script
    mkdir functions
    cp script functions/_profgrab
    cat >.zshrc <<'RC'
fpath=($PWD/functions $fpath)
autoload -Uz compinit
compinit -u -D
show() { zle complete-word; print -r -- "$BUFFER" >>lines; BUFFER=; print -n READY }
zle -N show
bindkey '^I' show
PS1=READY
RC
    export ZDOTDIR=$PWD
    tab_in zsh -i -- 'profgrab bu' 'profgrab --host lap' 'profgrab --host=lap' 'profgrab grab -H file-03,l' 'profgrab -g sto' \
        'profgrab bundle ver' 'profgrab --host x --quie' 'profgrab --host x goroutinel' 'profgrab help bu' 'profgrab -i oth' \
        'profgrab -i other.yaml --host desk' 'profgrab hosts lap' 'profgrab -i missing.yaml -g sto' 'profgrab bundle list oth' 'profgrab --via lib' \
        'profgrab pprof -comm' 'profgrab pprof -top -output oth' 'profgrab diff -symbolize=fa' 'profgrab pprof -cum oth' \
        'profgrab help summ' 'profgrab -g all --exclude lap' 'profgrab --label en'
    assert_equal "$(cat lines)" 'profgrab bundle 
profgrab --host laptop 
profgrab --host=laptop 
profgrab grab -H file-03,laptop 
profgrab -g storage 
profgrab bundle verify 
profgrab --host x --quiet 
profgrab --host x goroutineleak 
profgrab help bundle 
profgrab -i other.yaml 
profgrab -i other.yaml --host desktop 
profgrab hosts laptop 
profgrab -i missing.yaml -g sto
profgrab bundle list other.yaml 
profgrab --via libssh2 
profgrab pprof -comments 
profgrab pprof -top -output other.yaml 
profgrab diff -symbolize=fastlocal 
profgrab pprof -cum other.yaml 
profgrab help summary 
profgrab -g all --exclude laptop 
profgrab --label env=gprd '
    prepare_members
    tab_in zsh -i -- 'profgrab pprof -top b.tar.gz:file-03/node/h' 'profgrab pprof -diff_base=b.tar.gz:file-03/caddy/h' 'profgrab pprof -base b.tar.gz:file-03/caddy/h' \
        'profgrab goroutines dir/x:y.tar.gz:file-03/caddy/goroutines.t' 'profgrab view b.tar.gz:file-03/node/goroutines.t' 'profgrab diff ./b.tar.gz:file-03/node/h' \
        'profgrab merge -o out b.tar.gz.age:file-03/node/h' 'profgrab pprof locked.age:f' 'profgrab pprof b.tar.gz:file-03/caddy/\$'
    assert_equal "$(cat lines)" 'profgrab pprof -top b.tar.gz:file-03/node/heap.pb.gz 
profgrab pprof -diff_base=b.tar.gz:file-03/caddy/heap.pb.gz 
profgrab pprof -base b.tar.gz:file-03/caddy/heap.pb.gz 
profgrab goroutines dir/x:y.tar.gz:file-03/caddy/goroutines.txt 
profgrab view b.tar.gz:file-03/node/goroutines.txt 
profgrab diff ./b.tar.gz:file-03/node/heap.pb.gz 
profgrab merge -o out b.tar.gz.age:file-03/node/heap.pb.gz 
profgrab pprof locked.age:f
profgrab pprof b.tar.gz:file-03/caddy/\$\(touch\ pwned\)\ x.pb.gz '
    [[ ! -e pwned ]]
}

# fish_offers LINE CANDIDATE...: compares fish's candidates, without their descriptions.
fish_offers() {
    assert_equal "$(fish --no-config -c 'source ./script; complete -C $argv[1]' "$1" 2>&1 | cut -f1 | tr '\n' ' ')" "${*:2}${2:+ }"
}

@test "completion works in fish" {
    command -v fish >/dev/null || skip 'there is no fish'
    prepare_completion fish
    fish --no-config -n script
    fish_offers 'profgrab ' attach bundle check completion diff forward goroutines grab help hosts merge pprof report resume version view
    fish_offers 'profgrab --ho' --host
    fish_offers 'profgrab bundle ' create decrypt encrypt extract list verify
    fish_offers 'profgrab bundle encrypt --encrypt-to inv' inventory.yaml
    fish_offers 'profgrab bundle list inv' inventory.yaml
    fish_offers 'profgrab pprof -comm' -comments
    fish_offers 'profgrab pprof -top -output inv' inventory.yaml
    fish_offers 'profgrab diff -symbolize fa' fastlocal
    fish_offers 'profgrab pprof -top inv' inventory.yaml
    fish_offers 'profgrab grab --host x go' goroutineleak goroutines
    fish_offers 'profgrab --host fil' file-03 file-04 file-05
    fish_offers 'profgrab --host=lap' --host=laptop
    fish_offers 'profgrab -H file-03,l' file-03,laptop
    fish_offers 'profgrab -g st' storage
    fish_offers 'profgrab --exclude lap' laptop
    fish_offers 'profgrab --label en' env=gprd
    fish_offers 'profgrab --via ' auto libssh2 openssh
    fish_offers 'profgrab -i other.yaml --host desk' desktop
    fish_offers 'profgrab -i oth' other.yaml
    fish_offers 'profgrab hosts lap' laptop
    fish_offers 'profgrab help bu' bundle
    fish_offers 'profgrab help f' findings formats forward
    fish_offers 'profgrab -i missing.yaml -g st'
    prepare_members
    local node=b.tar.gz:file-03/node caddy=b.tar.gz:file-03/caddy command
    for command in pprof diff merge; do
        fish_offers "profgrab $command b.tar.gz:file-03/node/" $node/goroutines.pb.gz $node/heap.pb.gz
    done
    fish_offers 'profgrab goroutines b.tar.gz:' $caddy/goroutines.{pb.gz,txt} $node/goroutines.{pb.gz,txt}
    fish_offers 'profgrab view b.tar.gz:file-03/node' $node/goroutines.{pb.gz,txt} $node/heap.pb.gz
    fish_offers 'profgrab pprof -base b.tar.gz:file-03/caddy/h' $caddy/heap.pb.gz
    fish_offers 'profgrab pprof dir/x:y.tar.gz:file-03/caddy/h' dir/x:y.tar.gz:file-03/caddy/heap.pb.gz
    fish_offers 'profgrab pprof b.tar.gz.age:file-03/caddy/h' b.tar.gz.age:file-03/caddy/heap.pb.gz
    fish_offers 'profgrab pprof locked.age:f'
    fish_offers 'profgrab report b.tar.gz:file-03/caddy/h'
    fish_offers 'profgrab pprof missing.tar.gz:file-03/h'
    [[ ! -e pwned ]]
}

@test "completion refuses an unknown shell" {
    run_profgrab completion tcsh
    assert_status 2
    assert_stderr_has 'bash, zsh or fish'
}

# ---- manual pages -----------------------------------------------------------------------------------------------

# page NAME: the built page's source, with plain hyphens.
page() {
    sed 's/\\-/-/g; s/\\(aq/'\''/g; s/\\(dq/"/g' "${profgrab_program%/*}/share/man/man${1##*.}/$1"
}

@test "mandoc has no warning about the manual pages" {
    command -v mandoc >/dev/null || skip 'there is no mandoc'
    local name
    for name in man1/profgrab.1 man5/profgrab-inventory.5 man7/profgrab-{formats,exit-codes,kinds}.7; do
        run mandoc -T lint -W warning "${profgrab_program%/*}/share/man/$name"
        assert_status 0
        assert_equal "$output" ''
    done
}

# Prints the commands that the help lists, group by group.
commands() {
    "$profgrab_program" help | sed -nE '/^Topics/q; s/^  ([a-z]+)  .*/\1/p'
}

@test "profgrab(1) has every command, option and kind of the help" {
    page profgrab.1 >page.txt
    ! grep -F '" @' page.txt || fail 'a marker was left'
    local command option
    for command in $(commands); do
        grep -qE "^\.It Cm $command( |\$)" page.txt || fail "no command $command"
        sed -n "/^\.Ss Options of $command\$/,/^\.S[sh] /p" page.txt >options
        "$profgrab_program" help "$command" >help.txt
        while IFS= read -r option; do
            grep -qE "^\.It .*Fl -$option( |\$)" options || fail "no option --$option of $command"
        done < <(sed -nE 's/^  (-.,|   ) --([a-z-]+).*/\2/p' help.txt)
        [[ $command != grab ]] || sed -nE '/^Kinds/,/^$/s/^  ([a-z]+)[[ ].*/\1/p' help.txt >kinds
    done
    (($(wc -l <kinds) > 10))
    while IFS= read -r option; do
        grep -qE "^\.It Cm $option( |\$)" page.txt || fail "no kind $option"
    done <kinds
}

@test "every example of profgrab(1) works" {
    cat >inventory.yaml <<Y
version: 1
services: { gitaly: { port: $RIG_PORT_node_exporter } }
hosts: { "file-[03-04]": { services: [gitaly] } }
teams: { gitaly: { recipients: [ ann.pub ] } }
groups: { storage: ["file-*"] }
Y
    chmod 600 inventory.yaml
    export PROFGRAB_INVENTORY=$PWD/inventory.yaml
    mkdir -m 700 ~/.ssh
    ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519
    cp ~/.ssh/id_ed25519.pub ann.pub
    local example examples
    mapfile -t examples < <(page profgrab.1 | sed -n 's/^\.Dl \$ //p')
    ((${#examples[@]} > 8))
    for example in "${examples[@]}"; do
        # The rig has another port and another directory for sockets than the page.
        example=${example/--port 6060/--port $RIG_PORT_rude}
        example=${example//\/run\/user\/1000/$PWD}
        # A forward runs until it is ended.
        if [[ $example == "profgrab forward"* ]]; then
            run --separate-stderr eval "timeout --preserve-status --signal=INT 5 $profgrab_program forward --ssh-config $SSH_CONFIG ${example#profgrab forward}"
            assert_status 130
            assert_stdout_has "${example##*unix:}"
        else
            run --separate-stderr eval "$example"
            ((status == 0)) || fail_run "$example"
        fi
    done
    [[ -s incident/file-03/gitaly/heap.pb.gz ]]
}

# keys_at YAML: prints the keys that the inventory accepts in place of `zzzzzzzzzz`.
keys_at() {
    printf 'version: 1\n%s\n' "$1" >probe.yaml
    chmod 600 probe.yaml
    run_profgrab hosts -i probe.yaml
    [[ $stderr == *'unknown key "zzzzzzzzzz"'*'the valid keys are '* ]] || fail_run "$1"
    tr -d ',' <<<"${stderr##*the valid keys are }"
}

@test "profgrab-inventory(5) has every key of the inventory, and its example is valid" {
    local keys key
    page profgrab-inventory.5 >page.txt
    keys=$(keys_at 'services: { a: { zzzzzzzzzz: 1 } }')
    if [[ " $keys " == *' tls '* ]]; then
        keys+=" $(keys_at 'services: { a: { port: 1, scheme: https, tls: { zzzzzzzzzz: 1 } } }')"
        keys+=" $(keys_at 'services: { a: { port: 1, auth: { zzzzzzzzzz: 1 } } }')"
    fi
    keys+=" $(keys_at 'zzzzzzzzzz: 1') $(keys_at 'hosts: { a: { zzzzzzzzzz: 1 } }')"
    keys+=" $(keys_at 'hosts: { a: { services: [], ssh: { zzzzzzzzzz: 1 } } }')"
    keys+=" $(keys_at 'trackers: { a: { zzzzzzzzzz: 1 } }') $(keys_at 'teams: { a: { zzzzzzzzzz: 1 } }')"
    keys+=" $(keys_at 'self: { zzzzzzzzzz: 1 }')"
    for key in $keys; do
        grep -qx "\.It Cm $key" page.txt || fail "no key $key"
    done
    sed -n '/^\.Sh EXAMPLES/,$ { /^\.Bd -literal/,/^\.Ed/ { /^\./d; p } }' page.txt >example.yaml
    chmod 600 example.yaml
    run_profgrab hosts -i example.yaml
    assert_status 0
    assert_stdout_has 'file-40.example.internal'
    # The example of DISCOVERY belongs to the same inventory. hosts --names queries no source.
    sed -n '/^\.Sh DISCOVERY/,/^\.Sh GLOBS/ { /^\.Bd -literal/,/^\.Ed/ { /^\./d; p } }' page.txt >discovery.yaml
    grep -q '^discovery:' discovery.yaml
    cat discovery.yaml >>example.yaml
    run_profgrab hosts --names -i example.yaml
    assert_status 0
    assert_stderr ''
}

# ---- help -------------------------------------------------------------------------------------------------------

@test "help fits 80 columns, and every command has a help text" {
    local command
    run_profgrab help
    assert_status 0
    for command in '' $(commands); do
        # shellcheck disable=SC2086 # none or one word
        run_profgrab help $command
        assert_status 0
        assert_equal "$(awk 'length > 80' <<<"$output")" ''
        [[ -z $command || $output == "usage: profgrab $command"* ]] || fail_run "$command"
    done
    local topic
    for topic in inventory kinds formats exit-codes; do
        run_profgrab help "$topic"
        assert_status 0
        assert_equal "$(awk 'length > 80' <<<"$output")" ''
        assert_equal "${lines[0]}" NAME
        [[ $output != *'.Sh'* && $output != *\\[-e\&]* && $output != *' @'*@* ]] || fail_run "$topic is not rendered"
    done
    for topic in findings summary; do
        run_profgrab help help
        assert_stdout_has "help $topic"
        run_profgrab help "$topic"
        assert_status 0
        assert_stdout_has '    says: '
        assert_stdout_has '    evidence: '
    done
    assert_stdout_has 'gc-share (CPU, suspect)'
    assert_stdout_has '    threshold: 25 %'
    run_profgrab help summry
    assert_status 2
    assert_stderr_has 'did you mean "summary"'
    run_profgrab help grb
    assert_status 2
    assert_stderr_has 'did you mean "grab"'
    run_profgrab help grab hosts
    assert_status 2
}

@test "help lists commands in groups, topics, and examples before kinds before groups of options" {
    run_profgrab help
    assert_equal "$(grep -E '^[A-Z].*:$' <<<"$output")" 'Collect profiles:
Keep and hand over bundles:
Read profiles:
This program:
Topics:'
    assert_equal "$(commands | wc -l)" 16
    run_profgrab help grab
    assert_equal "$(grep -E '^[A-Z].*:$' <<<"$output")" 'Examples:
Kinds:
Hosts and services:
Profiling:
The bundle:
Hand-off:
Connections:
Questions and messages:'
    # The help of resume names the options that it shares with grab; only grab's help describes them.
    grab=$output
    run_profgrab help resume
    assert_stdout_has 'Other options, described by `profgrab help grab`:'
    assert_stdout_has '--ssh-config, '
    shared=$(comm -12 <(sort -u <<<"$grab") <(sort -u <<<"$output") | awk 'length > 30')
    assert_equal "$shared" ''
}

@test "help of a subcommand has its usage and its options" {
    run_profgrab help bundle verify
    assert_status 0
    assert_stdout_has 'usage: profgrab bundle verify [options] FILE'
    assert_stdout_has 'compare every file with the manifest'
    assert_stdout_has '--allowed-signers FILE'
    assert_stdout_has '--identity FILE'
    refute_stdout_has '--encrypt-to'
    for words in '--help' '--json -h FILE'; do
        # shellcheck disable=SC2086 # several words
        same=$("$profgrab_program" bundle verify $words)
        assert_equal "$same" "$output"
    done
    run_profgrab help bundle encrypt
    assert_stdout_has '--output PATH'
    refute_stdout_has '--json'
    run_profgrab help bundle verifi
    assert_status 2
    assert_stderr_has 'bundle: unknown verb "verifi"'
    assert_stderr_has 'did you mean "verify"?'
    run_profgrab help check verify
    assert_status 2
}

@test "help opens the pages of sections 5 and 7 by their topics" {
    run_profgrab help inventory
    assert_stdout_has $'\nDISCOVERY\n'
    assert_stdout_has '  - { prometheus: "https://prometheus.example", job: [gitaly, web] }'
    run_profgrab help bundle formats
    assert_stdout_has 'manifest.json'
    run_profgrab help exit codes
    assert_stdout_has $'\n    4\n'
    # One table makes the page, the manual and the help.
    page profgrab.1 | sed -n '/^\.Sh EXIT STATUS/,/^\.El/p' | grep -c '^\.It' | grep -qx 7
    run_profgrab help kinds
    assert_stdout_has $'\n    cpu[=30s]\n'
}
