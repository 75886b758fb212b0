#!/bin/bash
# A Redis of one's own in a folder: an append-only file, a free loopback port, a unix socket;
# nothing of the system's configuration, nothing outside of the folder.
#
#   redis.sh start DIR [--owner-pid PID] [redis-server options...]
#                                                    in the background, returns once it answers; it
#                                                    is killed once the process PID is gone
#   redis.sh run DIR [redis-server options...]       in the foreground
#   redis.sh sentinel DIR PORT QUORUM [options...]   in the foreground: a Redis Sentinel instead,
#                                                    which knows the master at PORT as "cloud"
#   redis.sh stop DIR
#
# DIR/redis.port, DIR/redis.sock and DIR/redis.pid say how to reach it; a second start in the same
# DIR takes the same port and what was saved. Where the options name a --tls-cert-file, the port
# speaks TLS. RECLAIM_TEST_REDIS_SERVER names another server in the place of redis-server, as
# valkey-server. Where they say --cluster-enabled, the port 10,000 above is the node's as well.
set -euo pipefail

if [ $# -lt 2 ]; then
    sed -n '5,11s/^# *//p' "$0" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
command=$1
dir=$2
shift 2
server=${RECLAIM_TEST_REDIS_SERVER:-redis-server}

is_free() {
    ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Ports below the kernel's range for outgoing connections, so that none of these takes it first.
choose_port() {
    [ -s "$dir/redis.port" ] && return
    local port tries among=20000 bus=0
    case " $* " in
    *" --cluster-enabled "*) among=10000 bus=10000 ;;
    esac
    for ((tries = 0; tries < 100; tries++)); do
        port=$((10000 + RANDOM % among))
        if is_free "$port" && is_free $((port + bus)); then
            echo "$port" >"$dir/redis.port"
            return
        fi
    done
    echo "redis.sh: no free port found" >&2
    exit 1
}

# Its options: how it listens at that port.
port_options() {
    local port
    port=$(cat "$dir/redis.port")
    case " $* " in
    *" --tls-cert-file "*) ports=(--port 0 --tls-port "$port") ;;
    *) ports=(--port "$port") ;;
    esac
}

run() {
    choose_port "$@"
    port_options "$@"
    echo $BASHPID >"$dir/redis.pid"
    exec "$server" --bind 127.0.0.1 "${ports[@]}" \
        --unixsocket "$dir/redis.sock" --unixsocketperm 700 \
        --dir "$dir" --logfile "$dir/redis.log" --daemonize no \
        --appendonly yes --appendfsync always --save "" --maxmemory-policy noeviction "$@"
}

# It writes what it learns into its own configuration.
sentinel() {
    choose_port
    port_options "${@:3}"
    echo $BASHPID >"$dir/redis.pid"
    [ -s "$dir/sentinel.conf" ] || cat >"$dir/sentinel.conf" <<CONF
bind 127.0.0.1
unixsocket "$dir/redis.sock"
dir "$dir"
logfile "$dir/redis.log"
daemonize no
sentinel monitor cloud 127.0.0.1 $1 $2
sentinel down-after-milliseconds cloud 1000
sentinel failover-timeout cloud 10000
CONF
    exec "$server" "$dir/sentinel.conf" --sentinel "${ports[@]}" "${@:3}"
}

answers() {
    redis-cli -s "$dir/redis.sock" ping 2>&1 | grep -Eq 'PONG|NOAUTH|NOPERM'
}

# The number may be another process's by now.
is_server() {
    [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$(basename "$server")" ]
}

# The server $1 ends when $2 has, also where that was killed.
end_with() {
    "$here/await_owner.py" "$2" "$1" && kill -KILL "$1"
}

case $command in
run)
    run "$@"
    ;;
sentinel)
    sentinel "$@"
    ;;
start)
    owner=
    if [ "${1-}" = --owner-pid ]; then
        owner=$2
        shift 2
    fi
    mkdir -p "$dir"
    for choice in 1 2 3; do
        chosen=no
        [ -s "$dir/redis.port" ] || chosen=yes
        rm -f "$dir/redis.sock"
        run "$@" </dev/null >>"$dir/redis.log" 2>&1 &
        for ((tries = 0; tries < 1200; tries++)); do
            if answers; then
                if [ -n "$owner" ]; then end_with $! "$owner" </dev/null >/dev/null 2>&1 & fi
                exit 0
            fi
            kill -0 $! 2>/dev/null || break
            sleep 0.1
        done
        # Another took the port meanwhile? A second start has to have the same one, though.
        if [ $chosen = no ] || [ $choice -eq 3 ] || kill -0 $! 2>/dev/null; then break; fi
        echo "retried ($choice of 2): $server on another port" >&2
        rm -f "$dir/redis.port"
    done
    echo "redis.sh: $server does not answer, see $dir/redis.log" >&2
    tail -n 5 "$dir/redis.log" >&2 || true
    kill $! 2>/dev/null || true
    rm -f "$dir/redis.pid"
    exit 1
    ;;
stop)
    [ -s "$dir/redis.pid" ] || exit 0
    pid=$(cat "$dir/redis.pid")
    is_server "$pid" && kill "$pid"
    for ((tries = 0; tries < 300; tries++)); do
        is_server "$pid" || break
        sleep 0.1
    done
    rm -f "$dir/redis.pid"
    ;;
*)
    echo "redis.sh: '$command' is none of start, run, sentinel, stop" >&2
    exit 2
    ;;
esac
