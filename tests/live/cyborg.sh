#!/bin/bash
# shellcheck disable=SC2317  # finish is called by a trap
# Reclaim beside a real Cyborg, Nova, Placement and Keystone of Debian sid: see --help.
set -euo pipefail
umask 022

usage() {
  cat <<'USAGE'
usage: tests/live/cyborg.sh [--root FOLDER] [--keep] [--only TEXT] [--minutes N] [--help]

Makes a Debian sid in a folder (some 6 GB), with Cyborg, Nova with its fake driver, Placement,
Keystone, MariaDB, RabbitMQ and Redis; clones what is committed here into it, builds Reclaim there,
and runs the scenarios of tests/live/scenarios.py on emulated drives. Services listen on loopback
addresses of a network namespace of its own.

  --root FOLDER  where the Debian is kept for the next run (default: a new folder below /var/tmp,
                 removed afterwards)
  --keep         keep the cloud's folder with all logs, and print where it is
  --only TEXT    run the scenarios whose name contains TEXT
  --minutes N    end after N minutes, as failed (default: 90)
  --help         print this text

Needs root, mmdebstrap, git, iproute2 and a package mirror. The exit code is 0 only if every
scenario passed.
USAGE
}

die() {
  echo "live: $*" >&2
  exit 1
}

wrong() {
  echo "live: $*" >&2
  usage >&2
  exit 2
}

root=
keep=no
only=
minutes=90
while [[ $# -gt 0 ]]; do
  case $1 in
    --root | --only | --minutes)
      [[ -n ${2-} ]] || wrong "$1 takes a value"
      declare "${1#--}=$2"
      shift
      ;;
    --keep) keep=yes ;;
    --help | -h) usage; exit 0 ;;
    *) wrong "unknown argument \"$1\"" ;;
  esac
  shift
done
[[ $minutes =~ ^[1-9][0-9]*$ ]] || wrong "--minutes takes a number above 0"
[[ $(id -u) -eq 0 ]] || die "this needs root: run it with sudo"
for program in mmdebstrap git unshare ip; do
  command -v "$program" >/dev/null ||
    die "$program is missing: apt-get install mmdebstrap git iproute2"
done
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=$(git -C "$project" rev-parse --short HEAD) || die "$project is not a git repository"

remove=
if [[ -z $root ]]; then
  root=$(mktemp -d -p /var/tmp reclaim-live-XXXXXX)
  [[ $keep == yes ]] || remove=$root
fi
mkdir -p "$root"
root=$(cd "$root" && pwd)
chmod 755 "$root"

child=
finish() {
  local result=$?
  trap '' INT TERM HUP
  if [[ -n $child ]]; then
    kill -KILL "$(cat "/proc/$child/task/$child/children" 2>/dev/null || true)" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  [[ -z $remove ]] || rm -rf --one-file-system "$remove"
  exit "$result"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# In namespaces of its own, whose processes end with it.
apart() {
  unshare --mount --net --propagation private --pid --fork --kill-child --mount-proc \
    env --default-signal=INT,QUIT "$@" &
  child=$!
  local result=0
  wait "$child" || result=$?
  child=
  return "$result"
}

# With the network, for packages.
with_network() {
  unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$@"
}

# shellcheck disable=SC2016  # expanded there
enter='
  set -e
  ip link set lo up 2>/dev/null || true
  mount -t proc proc "$1/proc"
  mount -t sysfs -o ro sysfs "$1/sys"
  mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
  mkdir -p "$1/dev/shm"
  mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
  chroot "$1" env -C /srv bash -c "$2" || exit $?
  exit 0'
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
  LC_ALL=C.UTF-8 TERM="${TERM-dumb}" CCACHE_DIR=/var/cache/ccache DEBIAN_FRONTEND=noninteractive)
for name in http_proxy https_proxy no_proxy; do
  [[ -z ${!name-} ]] || environment+=("$name=${!name}")
done
# Where this machine's apt finds Debian's archive.
archive=$(apt-get indextargets --format "\$(ORIGIN)|\$(LABEL)|\$(REPO_URI)" \
  'Created-By: Packages' 2>/dev/null | sed -n 's/^Debian|Debian|//p' | head -n 1)
archive=${archive:-http://deb.debian.org/debian}
# A snapshot of sid may be older than its Release file allows.
stale='Acquire::Check-Valid-Until "false"'

packages=(cyborg-common eatmydata iproute2 mariadb-server-core nova-common openssl procps
  python3-cyborg python3-cyborgclient python3-fixtures python3-keystone python3-nova python3-pip
  python3-setuptools
  python3-openstackclient python3-placement python3-pymysql rabbitmq-server redis-server)

if [[ ! -e $root/srv/made ]]; then
  echo "live: Debian sid from $archive into $root"
  [[ -e $root/etc/debian_version ]] ||
    with_network mmdebstrap --quiet --mode=root --variant=minbase --aptopt="$stale" \
      --include=ca-certificates sid "$root" "deb $archive sid main" ||
    die "mmdebstrap failed (see above): check that the mirror is reachable and has sid"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
  # No service starts by being installed.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  mkdir -p "$root/var/cache/ccache"
  rm -rf "$root/srv/setup"
  cp -r "$project/tests/setup" "$root/srv/setup"
  log=$root/srv/packages.log
  with_network env -i "${environment[@]}" bash -c "$enter" bash "$root" \
    "apt-get -q -y -o 'Acquire::Check-Valid-Until=false' update &&
     apt-get -q -y install --no-install-recommends ${packages[*]} &&
     eatmydata setup/install_packages.sh build test" >"$log" 2>&1 ||
    { tail -20 "$log" >&2; die "packages could not be installed: see $log"; }
  touch "$root/srv/made"
fi

echo "live: building what $commit is"
rm -rf "$root/srv/reclaim.new"
git clone --quiet --no-hardlinks "$project" "$root/srv/reclaim.new"
# The build folder of the former run makes this one short.
[[ ! -d $root/srv/reclaim/build ]] || mv "$root/srv/reclaim/build" "$root/srv/reclaim.new/build"
rm -rf "$root/srv/reclaim"
mv "$root/srv/reclaim.new" "$root/srv/reclaim"
log=$root/srv/build.log
apart env -i "${environment[@]}" bash -c "$enter" bash "$root" \
  "cd reclaim && cmake --preset dev -DRECLAIM_WERROR=OFF -DCMAKE_C_COMPILER_LAUNCHER=ccache \
     -DCMAKE_CXX_COMPILER_LAUNCHER=ccache &&
   cmake --build --preset dev --target reclaim reclaim_emulator_tool reclaim_emulator &&
   pip install -q --break-system-packages --no-deps --no-build-isolation clients/python" \
  >"$log" 2>&1 ||
  { grep -m 5 -A 5 'error' "$log" >&2; die "the build failed: see $log"; }

options=(--minutes "$minutes")
[[ -z $only ]] || options+=(--only "$only")
[[ $keep == no ]] || options+=(--keep)
result=0
apart env -i "${environment[@]}" bash -c "$enter" bash "$root" \
  "exec reclaim/tests/live/run.py ${options[*]}" || result=$?
[[ $keep == no ]] || echo "live: kept $root/srv/cloud; logs are there"
exit "$result"
