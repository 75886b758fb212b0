# shellcheck shell=bash
# The DevStack plugin: builds Reclaim, configures it beside nova-compute, and runs the worker.
# DevStack sources this file with the phase in $1 and $2, and brings the functions it calls.

function install_reclaim {
  sudo "$RECLAIM_DIR/tests/setup/install_packages.sh" build
  if [[ $RECLAIM_REDIS_URL == *//127.0.0.1:* ]]; then
    install_package redis-server
    restart_service redis-server
  fi
  (cd "$RECLAIM_DIR" && cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr &&
    cmake --build --preset release && sudo cmake --install build/release)
}

function configure_reclaim {
  sudo install -d -m 0755 -o "$STACK_USER" "$(dirname "$RECLAIM_CONF")"
  rm -f "$RECLAIM_CONF"
  iniset "$RECLAIM_CONF" DEFAULT service_config "$NOVA_CPU_CONF"
  iniset "$RECLAIM_CONF" redis url "$RECLAIM_REDIS_URL"
  iniset "$RECLAIM_CONF" reclaim mode "$RECLAIM_MODE"
  iniset "$RECLAIM_CONF" reclaim compute_id_file "$NOVA_STATE_PATH/compute_id"
  if [[ -n $RECLAIM_DEVICE_SPEC ]]; then
    iniset "$RECLAIM_CONF" nvme device_spec "$RECLAIM_DEVICE_SPEC"
  fi
}

# The worker opens drives and binds drivers, so it is root's.
function start_reclaim {
  sudo install -d -m 0700 /var/lib/reclaim
  sudo install -d -m 0711 /run/reclaim
  run_process reclaim "/usr/bin/reclaim --config-file $RECLAIM_CONF serve" root root
}

if is_service_enabled reclaim; then
  case "$1 ${2:-}" in
    "stack install") install_reclaim ;;
    "stack post-config") configure_reclaim ;;
    "stack extra") start_reclaim ;;
    "unstack "*) stop_process reclaim ;;
    # The ledger knows which drives are dirty: it is kept.
    "clean "*) sudo rm -f "$RECLAIM_CONF" ;;
  esac
fi
