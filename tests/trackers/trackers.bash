# Real trackers for the tests of handoff/: Debian's Redmine, Request Tracker and nginx on loopback ports, from the packages that
# tests/trackers/install installs. They write only to $RIG_DIR, and rig_stop ends them. Needs tests/rig/rig.bash.
#
#   redmine_start      RIG_PORT_redmine; REDMINE_KEY_<user> for manager, reporter, outsider
#   rt_start           RIG_PORT_rt; RT_TOKEN_<user> for manager, requestor, outsider
#   nginx_start NAME   RIG_PORT_nginx: TLS in front of NAME, with the authority $RIG_DIR/nginx/ca.pem
#
# The packages' own instances are never started or changed: the tests copy their empty databases.
# shellcheck shell=bash disable=SC2154 # RIG_*

trackers_root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# trackers_export FILE: exports the variables of its NAME=value lines.
trackers_export() {
    local line
    while read -r line; do
        [[ $line != [A-Z]*=* ]] || export "${line?}"
    done <"$1"
}

# ---- Redmine --------------------------------------------------------------------------------------------------------

# Runs a command for our instance. Redmine looks for instances below /usr/share/redmine/instances, which is a symbolic link, so the
# path begins with so many `..`.
redmine_run() { # COMMAND...
    cd /usr/share/redmine &&
        env RAILS_ENV=production REDMINE_INSTANCE="../../../..$RIG_DIR/redmine/site" SCHEMA=/dev/null "$@"
}

redmine_start() {
    local dir=$RIG_DIR/redmine/site
    mkdir -p "$dir"/{config,files,log,tmp/pids,public}
    cp /var/lib/dbconfig-common/sqlite3/redmine/instances/default/redmine_default "$dir/db"
    printf 'production:\n  adapter: sqlite3\n  database: %s/db\n  encoding: utf8\n' "$dir" >"$dir/config/database.yml"
    od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$dir/config/secret_key.txt"
    (redmine_run bin/rails runner "$trackers_root/redmine.rb") >"$dir/seeded" 2>"$dir/seed.log" || {
        tail -n 20 "$dir/seed.log" >&2
        return 1
    }
    trackers_export "$dir/seeded"
    rig_on_port redmine redmine_at 'rig_http_is_ok PORT /' 90
}

redmine_at() { # NAME PORT
    # shellcheck disable=SC2016 # for the inner shell
    rig_spawn "$1" bash -c 'cd /usr/share/redmine && exec env RAILS_ENV=production REDMINE_INSTANCE="../../../..$1" \
        rackup -r webrick -s webrick -o 127.0.0.1 -p "$2" -E production config.ru' redmine "$RIG_DIR/redmine/site" "$2"
}

# ---- Request Tracker ------------------------------------------------------------------------------------------------

rt_start() {
    local dir=$RIG_DIR/rt
    mkdir -p "$dir"/{site,mason,sessions}
    cp /etc/request-tracker5/RT_SiteConfig.d/*.pm "$dir/site/"
    cp /var/lib/dbconfig-common/sqlite3/request-tracker5/rtdb "$dir/db"
    rt_config 1 >"$dir/site/90-test.pm"
    env RT_SITE_CONFIG_DIR="$dir/site" perl "$trackers_root/rt.pl" >"$dir/seeded" 2>"$dir/seed.log" || {
        tail -n 20 "$dir/seed.log" >&2
        return 1
    }
    trackers_export "$dir/seeded"
    rig_on_port rt rt_at 'rig_connects PORT' 90
}

# Prints a configuration without mail, with all files in $RIG_DIR. With it RT drops attachments above 1 MB without a message.
rt_config() { # PORT
    cat <<EOF
Set(\$WebPath, ''); Set(\$WebDomain, '127.0.0.1'); Set(\$WebPort, $1);
Set(\$DatabaseName, '$RIG_DIR/rt/db');
Set(\$MaxAttachmentSize, 1000000); Set(\$DropLongAttachments, 1);
Set(\$LogToSyslog, undef); Set(\$LogToSTDERR, 'warning'); Set(\$MailCommand, 'testfile');
\$RT::MasonDataDir = '$RIG_DIR/rt/mason';
\$RT::MasonSessionDir = '$RIG_DIR/rt/sessions';
1;
EOF
}

rt_at() { # NAME PORT
    rt_config "$2" >"$RIG_DIR/rt/site/90-test.pm"
    rig_spawn "$1" env RT_SITE_CONFIG_DIR="$RIG_DIR/rt/site" TMPDIR="$RIG_DIR/rt" \
        /usr/share/request-tracker5/libexec/rt-server --server Standalone --host 127.0.0.1 --port "$2"
}

# ---- nginx ----------------------------------------------------------------------------------------------------------

nginx_start() { # NAME: the tracker behind nginx
    local dir=$RIG_DIR/nginx behind=RIG_PORT_$1
    mkdir -p "$dir/tmp"
    nginx_behind=${!behind}
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj '/CN=trackers CA' \
        -keyout "$dir/ca.key" -out "$dir/ca.pem" 2>/dev/null
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=127.0.0.1' -keyout "$dir/key.pem" \
        -out "$dir/request.pem" 2>/dev/null
    openssl x509 -req -in "$dir/request.pem" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial -days 1 \
        -extfile <(echo subjectAltName=IP:127.0.0.1) -out "$dir/cert.pem" 2>/dev/null
    rig_on_port nginx nginx_at 'rig_connects PORT'
}

# nginx answers bodies above 1 MB with a page and 413.
nginx_at() { # NAME PORT
    cat >"$RIG_DIR/nginx/conf" <<EOF
daemon off; master_process off; pid $RIG_DIR/nginx/pid; error_log stderr;
events { }
http {
    access_log off;
    client_body_temp_path $RIG_DIR/nginx/tmp; proxy_temp_path $RIG_DIR/nginx/tmp; fastcgi_temp_path $RIG_DIR/nginx/tmp;
    uwsgi_temp_path $RIG_DIR/nginx/tmp; scgi_temp_path $RIG_DIR/nginx/tmp;
    client_max_body_size 1m;
    server {
        listen 127.0.0.1:$2 ssl;
        ssl_certificate $RIG_DIR/nginx/cert.pem; ssl_certificate_key $RIG_DIR/nginx/key.pem;
        location / { proxy_pass http://127.0.0.1:$nginx_behind; proxy_set_header Host \$http_host; }
    }
}
EOF
    rig_spawn "$1" /usr/sbin/nginx -e stderr -c "$RIG_DIR/nginx/conf"
}
