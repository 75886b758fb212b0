#!/bin/bash
# A RabbitMQ of one's own: Debian's rabbitmq-server with all that it writes in one directory, on
# free loopback ports, with an epmd of its own, so that the system's broker is neither used nor
# disturbed.
#
#   rabbitmq.sh start DIR [--owner-pid PID] [PEER]
#                                   starts it (again, on the same ports, if DIR holds one) and
#                                   prints a line of JSON: port, tls_port, user, password, pid,
#                                   ca_file, cert_file, key_file, log; it is killed once the
#                                   process PID is gone. PEER: the folder of the node whose
#                                   cluster it joins, DIR itself for the first one
#   rabbitmq.sh stop DIR            stops it and its epmd; DIR stays
#   rabbitmq.sh kill DIR            the same without giving it time to say goodbye
#   rabbitmq.sh ctl DIR WORD...     rabbitmqctl of the one that runs there
set -euo pipefail

usage() { sed -n '2,14s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -ge 2 ] || usage
here=$(cd "$(dirname "$0")" && pwd)
command=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2
owner=
if [ "${1-}" = --owner-pid ]; then
  owner=$2
  shift 2
fi
[ "$command" = ctl ] || [ $# -le 1 ] || usage
peer=${1-}

# Below those that the kernel gives away by itself: the broker listens only seconds later, and
# somebody's connection would have one of them by then.
free_ports() {
  /usr/bin/python3 - "$1" <<'PY'
import random, socket, sys
ports = []
for port in random.sample(range(10000, 32768), 1000):
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    ports.append(port)
    if len(ports) == int(sys.argv[1]):
        break
print(*ports)
PY
}

certificates() {
  local tls=$dir/tls
  [ -e "$tls/client.key" ] && return
  mkdir -p "$tls"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
    -subj "/CN=test CA" -keyout "$tls/ca.key" -out "$tls/ca.pem" 2>/dev/null
  for who in server client; do
    local name=localhost
    [ $who = client ] && name=reclaim
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
      -keyout "$tls/$who.key" -out "$tls/$who.csr" 2>/dev/null
    openssl x509 -req -in "$tls/$who.csr" -CA "$tls/ca.pem" -CAkey "$tls/ca.key" \
      -CAcreateserial -days 2 -extfile <(echo "subjectAltName=DNS:$name") \
      -out "$tls/$who.pem" 2>/dev/null
  done
  chmod 644 "$tls"/*.key
}

configure() {
  mkdir -p "$dir/home" "$dir/log" "$dir/mnesia" "$dir/schema"
  read -r port tls_port dist_port epmd_port < <(free_ports 4)
  rm -f "$dir/home/.erlang.cookie"
  if [ -n "$peer" ] && [ "$peer" != "$dir" ]; then
    # Nodes of a cluster know each other's cookie, and find each other by one epmd.
    epmd_port=$(eval "$(cat "$peer/ports")"; echo "$epmd_port")
    cp "$peer/home/.erlang.cookie" "$dir/home/.erlang.cookie"
  else
    openssl rand -hex 16 > "$dir/home/.erlang.cookie"
  fi
  cat > "$dir/ports" <<EOF
port=$port tls_port=$tls_port dist_port=$dist_port epmd_port=$epmd_port
EOF
  chmod 400 "$dir/home/.erlang.cookie"
  certificates
  cat > "$dir/rabbitmq.conf" <<EOF
listeners.tcp.1 = 127.0.0.1:$port
listeners.ssl.1 = 127.0.0.1:$tls_port
ssl_options.cacertfile = $dir/tls/ca.pem
ssl_options.certfile = $dir/tls/server.pem
ssl_options.keyfile = $dir/tls/server.key
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = false
ssl_cert_login_from = common_name
auth_mechanisms.1 = PLAIN
auth_mechanisms.2 = AMQPLAIN
auth_mechanisms.3 = EXTERNAL
default_user = reclaim
default_permissions.configure = .*
default_permissions.read = .*
default_permissions.write = .*
disk_free_limit.absolute = 10MB
log.file.level = info
EOF
  # As clouds have it: the side of a partition that has no majority stops.
  [ -z "$peer" ] || echo 'cluster_partition_handling = pause_minority' >> "$dir/rabbitmq.conf"
  # rabbitmq.conf of RabbitMQ 4 takes what stands before a colon for the kind of the password.
  echo '[{rabbit, [{default_pass, <<"s3cret@:pw">>}]}].' > "$dir/advanced.config"
  echo '[rabbitmq_auth_mechanism_ssl].' > "$dir/enabled_plugins"
}

# Waits until the broker answers an AMQP header; fails when its process is gone.
wait_ready() {
  /usr/bin/python3 - "$port" "$1" <<'PY'
import os, socket, sys, time
port, pid = int(sys.argv[1]), int(sys.argv[2])
deadline = time.time() + 240
while time.time() < deadline:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        sys.exit("rabbitmq-server ended while starting")
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as s:
            s.settimeout(5)
            s.sendall(b"AMQP\x00\x00\x09\x01")
            if s.recv(1) == b"\x01":
                sys.exit(0)
    except OSError:
        pass
    time.sleep(0.2)
sys.exit("rabbitmq-server did not answer in time")
PY
}

# Where no epmd answers, Erlang starts one that belongs to nobody and stays.
no_epmd="-start_epmd false"

# rabbitmqctl of the node of this DIR, which is found by way of its own epmd.
ctl() {
  eval "$(cat "$dir/ports")"
  local ctls=(/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmqctl)
  HOME=$dir/home ERL_EPMD_PORT=$epmd_port ERL_FLAGS="$no_epmd" RABBITMQ_CONF_ENV_FILE="$dir/none" \
    RABBITMQ_NODENAME="reclaim$port@localhost" "${ctls[-1]}" "$@"
}

# Returns once it answers.
start_epmd() {
  local pid
  [ -e "$dir/epmd.pid" ] && kill -0 "$(cat "$dir/epmd.pid")" 2>/dev/null && return
  HOME=$dir/home setsid epmd -port "$epmd_port" -address 127.0.0.1 \
    > "$dir/log/epmd.log" 2>&1 < /dev/null &
  pid=$!
  echo $pid > "$dir/epmd.pid"
  until epmd -port "$epmd_port" -names > /dev/null 2>&1; do
    kill -0 $pid 2>/dev/null || { echo "epmd ended while starting" >&2; return 1; }
    sleep 0.05
  done
}

# Starts what DIR is configured for; fails when it does not come up.
start_once() {
  eval "$(cat "$dir/ports")"
  local servers=(/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin/rabbitmq-server)
  local beam_arguments="+sbwt none +sbwtdcpu none +sbwtdio none"
  beam_arguments+=" -kernel inet_dist_use_interface {127,0,0,1}"
  # A node that says nothing is given up after seconds: no test waits for the minute it is.
  [ -z "$peer" ] || beam_arguments+=" -kernel net_ticktime 8"
  if [ -z "$peer" ] || [ "$peer" = "$dir" ]; then start_epmd || return 1; fi
  env -u RABBITMQ_HOME HOME="$dir/home" ERL_EPMD_PORT="$epmd_port" ERL_EPMD_ADDRESS=127.0.0.1 \
    ERL_FLAGS="$no_epmd" \
    RABBITMQ_CONF_ENV_FILE="$dir/none" RABBITMQ_NODENAME="reclaim$port@localhost" \
    RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT="$port" RABBITMQ_DIST_PORT="$dist_port" \
    RABBITMQ_BASE="$dir" RABBITMQ_MNESIA_BASE="$dir/mnesia" RABBITMQ_LOG_BASE="$dir/log" \
    RABBITMQ_CONFIG_FILE="$dir/rabbitmq.conf" RABBITMQ_ADVANCED_CONFIG_FILE="$dir/advanced.config" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$dir/enabled_plugins" RABBITMQ_SCHEMA_DIR="$dir/schema" \
    RABBITMQ_GENERATED_CONFIG_DIR="$dir/schema" RABBITMQ_PID_FILE="$dir/mnesia/pid" \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="$beam_arguments" \
    setsid "${servers[-1]}" > "$dir/log/console.log" 2>&1 < /dev/null &
  local pid=$!
  echo $pid > "$dir/server.pid"
  # Already now: OWNER may end while it waits.
  if [ -n "$owner" ]; then
    setsid "$0" watch "$dir" --owner-pid "$owner" > /dev/null 2>&1 < /dev/null &
  fi
  wait_ready $pid || return 1
  printf '{"port": %d, "tls_port": %d, "user": "reclaim", "password": "s3cret@:pw", "pid": %d, ' \
    "$port" "$tls_port" "$pid"
  printf '"ca_file": "%s", "cert_file": "%s", "key_file": "%s", "log": "%s"}\n' \
    "$dir/tls/ca.pem" "$dir/tls/client.pem" "$dir/tls/client.key" "$dir/log"
}

# Between the choice of a port and the broker's listening, another may have taken it. A second start
# has to have the same ones, though.
start() {
  local try chosen
  for try in 1 2 3; do
    chosen=no
    [ -e "$dir/ports" ] || { configure; chosen=yes; }
    start_once && return
    tail -n 40 "$dir/log/console.log" >&2 || true
    stop KILL
    [ $chosen = yes ] && [ "$try" -lt 3 ] || exit 1
    echo "retried ($try of 2): rabbitmq-server on other ports" >&2
    rm "$dir/ports"
  done
}

# Whether anything but a zombie is left of a process group; a container's init may not reap.
alive() {
  ps -eo pgid=,stat= |
    awk -v group="$1" '$1 == group && $2 !~ /^Z/ { found = 1 } END { exit !found }'
}

# What runs for DIR, but for this script: all of it has this HOME. A pid file may be written before
# that process leads its group.
processes() { grep -lzxsF "HOME=$dir/home" /proc/[0-9]*/environ | cut -d/ -f3; }

# The server leads a process group of its own; what is left after a while is killed.
stop() {
  local pid left
  if [ "$1" = TERM ] && pid=$(cat "$dir/server.pid" 2>/dev/null); then  # else a watcher was faster
    kill -TERM -- -"$pid" 2>/dev/null || true
    for _ in $(seq 300); do
      alive "$pid" || break
      sleep 0.1
    done
  fi
  for _ in $(seq 300); do
    mapfile -t left < <(processes)
    [ ${#left[@]} -gt 0 ] || break
    kill -KILL "${left[@]}" 2>/dev/null || true
    sleep 0.1
  done
  rm -f "$dir/server.pid" "$dir/epmd.pid"
}

# Beside a broker that has an owner: nobody is left to stop it when a test was killed. Ends with the
# broker, too.
watch_owner() {
  ! "$here/await_owner.py" "$owner" "$(cat "$dir/server.pid")" || stop KILL
}

case $command in
  start) start ;;
  watch) watch_owner ;;
  stop) stop TERM ;;
  kill) stop KILL ;;
  ctl) ctl "$@" ;;
  *) usage ;;
esac
