# 65-check.bats runs this script in a network namespace of its own. The namespace is a host with a non-loopback address, with one
# service on all addresses and one only on loopback. Its address 192.0.2.1 is reserved for documentation.
# shellcheck disable=SC2154 # the rig sets RIG_PORT_*
set -euo pipefail
program=$1
PATH=$PATH:/sbin:/usr/sbin
ip link set lo up
ip address add 192.0.2.1/32 dev lo
source "$(dirname "$0")/../rig/rig.bash"
trap rig_stop EXIT
rig_start 'ListenAddress 192.0.2.1'
rig_fixture open -listen 0.0.0.0:0
rig_fixture closed -listen 127.0.0.1:0
ssh-keyscan -p "$RIG_PORT_sshd" 192.0.2.1 2>/dev/null >>"$RIG_KNOWN_HOSTS"
printf 'Host app\n    HostName 192.0.2.1\n    Port %s\n    User %s\n    IdentityFile %s\n    IdentitiesOnly yes\n    UserKnownHostsFile %s\n' \
    "$RIG_PORT_sshd" "$RIG_USER" "$RIG_KEY" "$RIG_KNOWN_HOSTS" >"$RIG_DIR/config"
for name in open closed; do
    port=RIG_PORT_$name
    "$program" check -F "$RIG_DIR/config" --host app --port "${!port}" | sed -n "s/^ *\(exposure .*\)/$name: \1/p"
done
