#!/bin/bash
# A Redis of one's own in a folder: an append-only file, a free loopback port, a unix socket;
# nothing of the system's configuration, nothing outside of the folder.
#
#   redis.sh start DIR [redis-server options...]   in the background, returns once it answers
#   redis.sh run DIR [redis-server options...]     in the foreground
#   redis.sh stop DIR
#
# DIR/redis.port, DIR/redis.sock and DIR/redis.pid say how to reach it; a second start in the same
# DIR takes the same port and what was saved.
set -euo pipefail

if [ $# -lt 2 ]; then
    sed -n '5,7s/^# *//p' "$0" >&2
    exit 2
fi
command=$1
dir=$2
shift 2

# Ports below the kernel's range for outgoing connections, so that none of these takes it first.
choose_port() {
    [ -s "$dir/redis.port" ] && return
    local port tries
    for ((tries = 0; tries < 100; tries++)); do
        port=$((10000 + RANDOM % 20000))
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port" >"$dir/redis.port"
            return
        fi
    done
    echo "redis.sh: no free port found" >&2
    exit 1
}

run() {
    choose_port
    echo $BASHPID >"$dir/redis.pid"
    exec redis-server --bind 127.0.0.1 --port "$(cat "$dir/redis.port")" \
        --unixsocket "$dir/redis.sock" --unixsocketperm 700 \
        --dir "$dir" --logfile "$dir/redis.log" --daemonize no \
        --appendonly yes --appendfsync always --save "" --maxmemory-policy noeviction "$@"
}

answers() {
    redis-cli -s "$dir/redis.sock" ping 2>&1 | grep -Eq 'PONG|NOAUTH|NOPERM'
}

case $command in
run)
    run "$@"
    ;;
start)
    mkdir -p "$dir"
    for choice in 1 2 3; do
        chosen=no
        [ -s "$dir/redis.port" ] || chosen=yes
        rm -f "$dir/redis.sock"
        run "$@" </dev/null >>"$dir/redis.log" 2>&1 &
        for ((tries = 0; tries < 1200; tries++)); do
            answers && exit 0
            kill -0 $! 2>/dev/null || break
            sleep 0.1
        done
        # Another took the port meanwhile? A second start has to have the same one, though.
        if [ $chosen = no ] || [ $choice -eq 3 ] || kill -0 $! 2>/dev/null; then break; fi
        echo "retried ($choice of 2): redis-server on another port" >&2
        rm -f "$dir/redis.port"
    done
    echo "redis.sh: redis-server does not answer, see $dir/redis.log" >&2
    tail -n 5 "$dir/redis.log" >&2 || true
    kill $! 2>/dev/null || true
    rm -f "$dir/redis.pid"
    exit 1
    ;;
stop)
    [ -s "$dir/redis.pid" ] || exit 0
    pid=$(cat "$dir/redis.pid")
    # The number may be another process's by now.
    ours() { [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = redis-server ]; }
    ours && kill "$pid"
    for ((tries = 0; tries < 300; tries++)); do
        ours || break
        sleep 0.1
    done
    rm -f "$dir/redis.pid"
    ;;
*)
    echo "redis.sh: '$command' is none of start, run, stop" >&2
    exit 2
    ;;
esac
