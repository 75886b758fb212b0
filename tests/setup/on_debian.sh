#!/bin/bash
# shellcheck disable=SC2317  # finish is called by a trap
# Both commands of the README on a fresh Debian in a folder: see --help and docs/dev/testing.md.
set -euo pipefail
umask 022

usage() {
  cat <<'USAGE'
usage: tests/setup/on_debian.sh 12|13 [--command COMMAND]... [--keep] [--ccache FOLDER] [--help]

Makes a minimal Debian 12 or 13 in a new folder below $TMPDIR (default /var/tmp; some 10 GB), clones
what is committed here into it, and runs there, as root, the two commands of the README: ./demo.sh
and ./test.sh. The packages come from the mirror of this machine's apt, or else from
deb.debian.org. The kernel is this machine's; its disks are not in the folder's /dev.

  --command COMMAND  run this with bash in the project's folder instead; may be repeated
  --keep             keep the folder, and print how to enter it
  --ccache FOLDER    keep the compiler's cache there for the next run
  --help             print this text

Needs root, mmdebstrap, git and debian-archive-keyring. Mounts and processes are in namespaces that
end with this script, and the folder is removed, also after an interrupt. The exit code is 0 only
if every command passed.
USAGE
}

die() {
  echo "on_debian: $*" >&2
  exit 1
}

wrong() {
  echo "on_debian: $*" >&2
  usage >&2
  exit 2
}

version=
commands=()
keep=no
ccache=
while [[ $# -gt 0 ]]; do
  case $1 in
    12 | 13)
      [[ -z $version ]] || wrong "give one version, not both $version and $1"
      version=$1
      ;;
    --command)
      [[ -n ${2-} ]] || wrong "--command takes a command"
      commands+=("$2")
      shift
      ;;
    --keep) keep=yes ;;
    --ccache)
      [[ -n ${2-} ]] || wrong "--ccache takes a folder"
      ccache=$2
      shift
      ;;
    --help | -h) usage; exit 0 ;;
    *) wrong "unknown argument \"$1\"" ;;
  esac
  shift
done
[[ -n $version ]] || wrong "name a Debian version, 12 or 13"
[[ ${#commands[@]} -gt 0 ]] || commands=(./demo.sh ./test.sh)
[[ $(id -u) -eq 0 ]] || die "this needs root: run it with sudo"
for program in mmdebstrap git unshare; do
  command -v "$program" >/dev/null || die "$program is missing: apt-get install mmdebstrap git"
done
declare -A names=([12]=bookworm [13]=trixie)
suite=${names[$version]}
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit=$(git -C "$project" rev-parse --short HEAD) ||
  die "$project is not a git repository: clone the project; only commits are tested"
[[ -z $(git -C "$project" status --porcelain) ]] ||
  echo "on_debian: uncommitted changes in $project are left out" >&2
[[ -z $ccache ]] || { mkdir -p "$ccache" && ccache=$(cd "$ccache" && pwd); }

# mirror LABEL DEFAULT: where this machine's apt finds Debian's archive with that label.
mirror() {
  local found
  found=$(apt-get indextargets --format "\$(ORIGIN)|\$(LABEL)|\$(REPO_URI)" \
    'Created-By: Packages' 2>/dev/null | sed -n "s/^Debian|$1|//p")
  echo "${found:-$2}" | head -n 1
}

# When the namespace's first process ends, all others end too; it has ended when wait returns.
child=
end_child() {
  [[ -n $child ]] || return 0
  local first
  first=$(cat "/proc/$child/task/$child/children" 2>/dev/null || true)
  # shellcheck disable=SC2086  # none or one
  kill -KILL ${first:-$child} 2>/dev/null || true
  wait "$child" 2>/dev/null || true
  child=
}

root=
finish() {
  local result=$?
  trap '' INT TERM HUP
  end_child
  if [[ -n $root && $keep == yes ]]; then
    echo "on_debian: kept $root; to enter it: unshare --mount --pid --fork --kill-child" \
      "sh -c 'mount -t proc proc $root/proc && exec chroot $root'; to remove it: rm -rf $root"
  elif [[ -n $root ]]; then
    rm -rf --one-file-system "$root"
  fi
  exit "$result"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Runs a command in namespaces of its own. In the background, so that a signal is handled at once;
# SIGINT, which the shell ignores there, gets its default back.
apart() {
  unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
    env --default-signal=INT,QUIT "$@" &
  child=$!
  local result=0
  wait "$child" || result=$?
  child=
  return "$result"
}

archive=$(mirror Debian http://deb.debian.org/debian)
security=$(mirror Debian-Security http://deb.debian.org/debian-security)
sources=("deb $archive $suite main" "deb $archive $suite-updates main"
  "deb $security $suite-security main")
include=()
[[ "$archive $security" != *https:* ]] || include=(--include=ca-certificates)

root=$(mktemp -d -p "${TMPDIR:-/var/tmp}" "reclaim-debian$version-XXXXXX")
chmod 755 "$root"
echo "on_debian: Debian $version ($suite) from $archive into $root"
apart mmdebstrap --quiet --mode=root --variant=minbase "${include[@]}" "$suite" "$root" \
  "${sources[@]}" ||
  die "mmdebstrap failed (see above): check that the mirror is reachable and has $suite, and that" \
    "debian-archive-keyring is new enough to have its key"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
git clone --quiet --no-hardlinks "$project" "$root/srv/reclaim"
mkdir -p "$root/var/cache/ccache"

# Of this machine's environment only the proxies.
environment=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
  TERM="${TERM-dumb}" CCACHE_DIR=/var/cache/ccache)
for name in http_proxy https_proxy no_proxy; do
  [[ -z ${!name-} ]] || environment+=("$name=${!name}")
done

# In namespaces of its own: mounts what a machine has, and goes in. ROOT CCACHE COMMAND.
# shellcheck disable=SC2016  # expanded there
enter='
  set -e
  mount -t proc proc "$1/proc"
  mount -t sysfs -o ro sysfs "$1/sys"
  mount -t devpts -o newinstance,ptmxmode=666 devpts "$1/dev/pts"
  mkdir -p "$1/dev/shm"
  mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
  [ -z "$2" ] || mount --bind "$2" "$1/var/cache/ccache"
  # Not as the last command: this shell stays, and reaps orphaned processes.
  chroot "$1" env -C /srv/reclaim bash -c "$3" || exit $?
  exit 0'

told=()
result=0
for command in "${commands[@]}"; do
  printf '\non_debian: %s on Debian %s, %s\n' "$command" "$(cat "$root/etc/debian_version")" \
    "$commit"
  began=$SECONDS
  if apart env -i "${environment[@]}" bash -c "$enter" bash "$root" "$ccache" "$command"; then
    outcome=passed
  else
    outcome=FAILED
    result=1
  fi
  took=$((SECONDS - began))
  told+=("$(printf '%-6s  %3d:%02d  %s' "$outcome" $((took / 60)) $((took % 60)) "$command")")
done
printf '\non_debian: %s on Debian %s (kernel %s)\n' "$commit" "$(cat "$root/etc/debian_version")" \
  "$(uname -r)"
printf '  %s\n' "${told[@]}"
exit "$result"
