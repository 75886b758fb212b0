#!/bin/bash
# shellcheck disable=SC2317  # finish is called by a trap
# Sourced by the live suites: makes a Debian sid in a folder, puts Reclaim there and runs a suite.
# Who sources it has a function usage, and ends with live_suite.
set -euo pipefail
umask 022

options_help() {
  cat <<'USAGE'
  --root FOLDER      where the Debian is kept for the next run, of any suite (default: a new folder
                     below /var/tmp, removed afterwards)
  --binaries FOLDER  take the programs of this build folder, as build/test, with the libraries that
                     sid has not; else Reclaim is built in the Debian
  --keep             keep the cloud's folder with all logs, and print where it is
  --only TEXT        run the scenarios whose name contains TEXT
  --minutes N        end after N minutes, as failed (default: 90)
  --help             print this text

Needs root, mmdebstrap, git, iproute2 and a package mirror. What runs is what is committed here. The
exit code is 0 only if every scenario passed.
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
binaries=
keep=no
only=
minutes=90
remove=
child=
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
targets="reclaim reclaim_emulator_tool reclaim_emulator"
# Of a build folder.
programs=(reclaim tests/emulator/reclaim-emulator tests/emulator/libreclaim_emulator.so)
packages=(cyborg-common eatmydata iproute2 mariadb-server-core nova-common openssl procps
  python3-cyborg python3-cyborgclient python3-fixtures python3-keystone python3-nova
  python3-openstackclient python3-pip python3-placement python3-pymysql python3-setuptools
  rabbitmq-server redis-server redis-tools)
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
  LC_ALL=C.UTF-8 TERM="${TERM-dumb}" CCACHE_DIR=/var/cache/ccache DEBIAN_FRONTEND=noninteractive)
for name in http_proxy https_proxy no_proxy; do
  [[ -z ${!name-} ]] || environment+=("$name=${!name}")
done

read_options() {
  while [[ $# -gt 0 ]]; do
    case $1 in
      --root | --binaries | --only | --minutes)
        [[ -n ${2-} ]] || wrong "$1 takes a value"
        declare -g "${1#--}=$2"
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
  local program
  for program in mmdebstrap git unshare ip; do
    command -v "$program" >/dev/null ||
      die "$program is missing: apt-get install mmdebstrap git iproute2"
  done
  [[ -z $binaries ]] || find_binaries
}

find_binaries() {
  local program
  for program in "${programs[@]}"; do
    [[ -f $binaries/$program ]] ||
      die "$binaries has no $program: cmake --preset test &&" \
        "cmake --build --preset test --target $targets, and name build/test"
  done
}

find_root() {
  if [[ -z $root ]]; then
    root=$(mktemp -d -p /var/tmp reclaim-live-XXXXXX)
    [[ $keep == yes ]] || remove=$root
  fi
  mkdir -p "$root"
  root=$(cd "$root" && pwd)
  [[ ! -e $root/srv/begun ]] || return 0
  [[ -z $(ls -A "$root") ]] ||
    die "$root holds something that no earlier run made: name an empty folder, or a new one"
  chmod 755 "$root"
}

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

# A shell's words in the root, with namespaces of its own, whose processes end with it.
apart() {
  unshare --mount --net --propagation private --pid --fork --kill-child --mount-proc \
    env --default-signal=INT,QUIT -i "${environment[@]}" bash -c "$enter" bash "$root" "$1" &
  child=$!
  local result=0
  wait "$child" || result=$?
  child=
  return "$result"
}

# The same of a program outside, with the network, for packages.
with_network() {
  unshare --mount --propagation private --pid --fork --kill-child --mount-proc "$@"
}

# Words, in the root and with the network, for packages.
get_packages() {
  local log=$root/srv/packages.log
  with_network env -i "${environment[@]}" bash -c "$enter" bash "$root" "$1" >"$log" 2>&1 ||
    { tail -20 "$log" >&2; die "packages could not be installed: see $log"; }
}

make_root() {
  [[ ! -e $root/srv/made ]] || return 0
  # Where this machine's apt finds Debian's archive.
  local archive
  archive=$(apt-get indextargets --format "\$(ORIGIN)|\$(LABEL)|\$(REPO_URI)" \
    'Created-By: Packages' 2>/dev/null | sed -n 's/^Debian|Debian|//p' | head -n 1)
  archive=${archive:-http://deb.debian.org/debian}
  echo "live: Debian sid from $archive into $root"
  # A snapshot of sid may be older than its Release file allows.
  [[ -e $root/srv/begun ]] ||
    with_network mmdebstrap --quiet --mode=root --variant=minbase \
      --aptopt='Acquire::Check-Valid-Until "false"' \
      --include=ca-certificates sid "$root" "deb $archive sid main" ||
    die "mmdebstrap failed (see above): check that the mirror is reachable and has sid," \
      "and empty $root"
  touch "$root/srv/begun"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
  # No service starts by being installed.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  get_packages "apt-get -q -y -o 'Acquire::Check-Valid-Until=false' update &&
    apt-get -q -y install --no-install-recommends ${packages[*]}"
  touch "$root/srv/made"
}

put_project() {
  rm -rf "$root/srv/reclaim.new"
  git clone --quiet --no-hardlinks "$project" "$root/srv/reclaim.new"
  # The build folder of the former run makes this one short.
  [[ ! -d $root/srv/reclaim/build ]] || mv "$root/srv/reclaim/build" "$root/srv/reclaim.new/build"
  rm -rf "$root/srv/reclaim"
  mv "$root/srv/reclaim.new" "$root/srv/reclaim"
  local log=$root/srv/pip.log
  apart "pip install -q --break-system-packages --no-deps --no-build-isolation \
    reclaim/clients/python" >"$log" 2>&1 || die "clients/python could not be installed: see $log"
}

build() {
  if [[ ! -e $root/srv/made-tools ]]; then
    echo "live: the packages that a build needs"
    mkdir -p "$root/var/cache/ccache"
    get_packages "eatmydata reclaim/tests/setup/install_packages.sh build test"
    touch "$root/srv/made-tools"
  fi
  echo "live: building what $1 is"
  local log=$root/srv/build.log
  apart "cd reclaim && cmake --preset test -DRECLAIM_WERROR=OFF \
      -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache &&
    cmake --build --preset test --target $targets" >"$log" 2>&1 ||
    { grep -m 5 -A 5 'error' "$log" >&2; die "the build failed: see $log"; }
  environment+=(RECLAIM_BUILD=/srv/reclaim/build/test)
}

# The programs of a build folder of this machine. What sid lacks of their libraries comes with them;
# nothing of sid asks for one of these, because it has another version of it, or none.
take_binaries() {
  echo "live: the programs of $binaries"
  local to=$root/srv/binaries program name path known
  rm -rf "${to:?}"/{reclaim,tests,lib}
  mkdir -p "$to/lib"
  for program in "${programs[@]}"; do
    install_file "$binaries/$program" "$to/$program"
  done
  known=$(chroot "$root" /sbin/ldconfig -p | awk '$(NF - 1) == "=>" { print $1 }')
  while read -r name path; do
    ! grep -qxF "$name" <<<"$known" || continue
    [[ $path == /* ]] || die "this machine has no $name, which the programs of $binaries need:" \
      "install it, or leave out --binaries"
    install_file "$path" "$to/lib/$name"
  done < <(ldd "${programs[@]/#/$binaries/}" | awk '$2 == "=>" { print $1, $3 }' | sort -u)
  environment+=(RECLAIM_BUILD=/srv/binaries LD_LIBRARY_PATH=/srv/binaries/lib)
  apart "binaries/reclaim --version && LD_PRELOAD=/srv/binaries/${programs[2]} true" \
    >"$root/srv/binaries.log" 2>&1 || { cat "$root/srv/binaries.log" >&2
    die "the programs of $binaries do not run in $root: leave out --binaries"; }
}

install_file() {
  mkdir -p "$(dirname "$2")"
  cp -L "$1" "$2"
}

run_suite() {
  local options=("$1" --minutes "$minutes") result=0
  [[ -z $only ]] || options+=(--only "$only")
  [[ $keep == no ]] || options+=(--keep)
  apart "exec reclaim/tests/live/run.py $(printf '%q ' "${options[@]}")" || result=$?
  [[ $keep == no ]] || echo "live: kept $root/srv/cloud; logs are there"
  return "$result"
}

# The suite's name, and the command's arguments.
live_suite() {
  local suite=$1 commit
  shift
  read_options "$@"
  commit=$(git -C "$project" rev-parse --short HEAD) || die "$project is not a git repository"
  find_root
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  make_root
  put_project
  if [[ -n $binaries ]]; then take_binaries; else build "$commit"; fi
  run_suite "$suite"
}
