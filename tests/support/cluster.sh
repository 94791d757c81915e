#!/bin/sh
# cluster.sh - a private PostgreSQL cluster for the tests: on a socket in a
# folder of its own, without a TCP port, and gone after them.
#
#   cluster.sh start PID [SETTING=VALUE...]   make one and print its folder,
#                                  which is also the host to connect to; it is
#                                  removed when the process PID is gone
#   cluster.sh stop DIR            stop it and remove the folder
#   cluster.sh halt DIR | boot DIR stop it and keep it; start it again
#   cluster.sh bin                 print the folder of PostgreSQL's programs; the
#                                  psql of /usr/bin is a slow wrapper around them
#
# As root the server runs as the user postgres, which Debian's package makes.
# The superuser is postgres, without a password on the socket; members of the
# role "secrets" need theirs.
set -u

bin=
for d in /usr/lib/postgresql/15/bin $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV); do
    [ -x "$d/initdb" ] && bin=$d && break
done
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb 2>/dev/null || echo /nowhere/initdb)")
if [ ! -x "$bin/initdb" ]; then
    echo 'cluster.sh: PostgreSQL (Debian: postgresql) is not installed' >&2
    exit 1
fi

as_server() {
    if [ "$(id -u)" = 0 ]; then
        (cd / && setpriv --reuid=postgres --regid=postgres --init-groups "$@")
    else
        "$@"
    fi
}

# A folder that the server's user can enter and whose path leaves room for the
# socket's name: 107 bytes are all that a socket may have.
folder() {
    for base in "${TMPDIR:-/tmp}" /tmp; do
        [ ${#base} -lt 70 ] && as_server test -x "$base" && mktemp -d "$base/lrun-pg.XXXXXX" && return
    done
    return 1
}

boot() { as_server "$bin/pg_ctl" -D "$1/data" -l "$1/log" -w -t 60 -s start >/dev/null 2>&1 </dev/null; }
halt() { as_server "$bin/pg_ctl" -D "$1/data" -m immediate -w -t 30 -s stop >/dev/null 2>&1 </dev/null; }

start() {
    owner=$1
    shift
    dir=$(folder) || exit 1
    trap 'stop "$dir"; rm -rf "$dir"; exit 130' INT TERM HUP
    [ "$(id -u)" = 0 ] && chown postgres "$dir"
    # The order of a language, not of bytes: most servers have such a one.
    if ! as_server "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --no-sync \
        --locale=C.UTF-8 --locale-provider=icu --icu-locale=en-US >"$dir/initdb.log" 2>&1 </dev/null; then
        cat "$dir/initdb.log" >&2
        rm -rf "$dir"
        exit 1
    fi
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$dir'"
        # Nobody needs these rows tomorrow.
        printf '%s = off\n' fsync synchronous_commit full_page_writes autovacuum
        echo 'max_wal_size = 4GB'
        echo 'shared_buffers = 64MB'
        # Not UTC, so that a time that follows the server's zone is seen.
        echo "timezone = 'Asia/Kathmandu'"
        for setting in "$@"; do printf "%s = '%s'\n" "${setting%%=*}" "${setting#*=}"; done
    } >>"$dir/data/postgresql.conf"
    {
        echo 'local all +secrets scram-sha-256'
        echo 'local all all trust'
    } >"$dir/data/pg_hba.conf"
    if ! boot "$dir"; then
        cat "$dir/log" >&2
        rm -rf "$dir"
        exit 1
    fi
    echo 'CREATE ROLE secrets' | as_server "$bin/psql" -X -q -h "$dir" -U postgres -d postgres
    # Whatever happens to the owner, nothing stays.
    setsid sh -c 'while kill -0 "$1" 2>/dev/null && [ -d "$2" ]; do sleep 1; done; exec sh "$0" stop "$2"' \
        "$0" "$owner" "$dir" >/dev/null 2>&1 </dev/null &
    echo "$dir"
}

stop() {
    [ -d "$1/data" ] || return 0
    halt "$1"
    rm -rf "$1"
}

case ${1-} in
start) shift; start "$@" ;;
stop) stop "$2" ;;
halt) halt "$2" ;;
boot) boot "$2" ;;
bin) echo "$bin" ;;
*) echo 'cluster.sh start PID | stop DIR | halt DIR | boot DIR | bin' >&2; exit 2 ;;
esac
