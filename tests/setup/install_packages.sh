#!/bin/bash
# Installs the missing Debian packages of the named groups of packages.txt.
#
#   tests/setup/install_packages.sh GROUP...        e.g. build test tidy
#
# Needs root or sudo only if something is missing. Several packages start a service when they are
# installed (rabbitmq-server, redis-server); a policy-rc.d forbids that during the installation. A
# policy that existed before is restored, also after an interrupt.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
policy=/usr/sbin/policy-rc.d
saved=$policy.reclaim-saved
mark='written by Reclaim tests/setup/install_packages.sh'

die() {
  echo "install_packages: $*" >&2
  exit 1
}

installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Prints the alternatives of every package of the named groups, one "a|b" a line.
wanted() {
  local group known
  for group in "$@"; do
    known=$(sed 's/#.*//' "$here/packages.txt" | awk -v g="$group" '$1 == g { print $2 }')
    [[ -n $known ]] || die "packages.txt has no group \"$group\""
    echo "$known"
  done
}

# Prints those of the wanted that no alternative satisfies.
missing() {
  local line name found
  wanted "$@" | sort -u | while read -r line; do
    found=
    for name in ${line//|/ }; do
      if installed "$name"; then found=yes; fi
    done
    [[ -n $found ]] || echo "$line"
  done
}

# Prints the first alternative that the package lists offer; fails when there is none.
candidate() {
  local name known
  for name in ${1//|/ }; do
    # Not through a pipe: grep -q exits early, which pipefail would treat as a failure.
    known=$(LC_ALL=C apt-cache policy "$name" 2>/dev/null)
    if grep -q '^  Candidate: [^(]' <<<"$known"; then
      echo "$name"
      return 0
    fi
  done
  return 1
}

as_root=()
become_root() {
  [[ $(id -u) -ne 0 ]] || return 0
  command -v sudo >/dev/null ||
    die "packages are missing ($1): run this as root, or install sudo"
  sudo -v || die "packages are missing ($1), and sudo is refused: run this as root"
  as_root=(sudo)
}

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
    apt-get -q -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 "$@"
}

updated=
update_lists() {
  [[ -z $updated ]] || return 0
  updated=yes
  # apt-get update exits with 0 if a mirror cannot be reached; --error-on makes it fail.
  apt update --error-on=any ||
    die "apt-get update failed: check that the mirror in /etc/apt/sources.list* is reachable"
}

resolve() {
  local line name
  names=()
  unknown=()
  for line in "$@"; do
    if name=$(candidate "$line"); then names+=("$name"); else unknown+=("$line"); fi
  done
}

restore_policy() {
  if "${as_root[@]}" test -e "$saved" -o -L "$saved"; then
    "${as_root[@]}" mv -f "$saved" "$policy"
  elif "${as_root[@]}" grep -qs "$mark" "$policy"; then
    "${as_root[@]}" rm -f "$policy"
  fi
}

forbid_services() {
  restore_policy  # A run that was killed may have left ours behind.
  trap restore_policy EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  if [[ -e $policy || -L $policy ]]; then "${as_root[@]}" mv "$policy" "$saved"; fi
  printf '#!/bin/sh\n# %s; removed when it ends.\nexit 101\n' "$mark" |
    "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
}

# Services that were installed for tests must not start with the next boot of this machine.
disable_new_services() {
  local name
  command -v systemctl >/dev/null || return 0
  for name in prometheus rabbitmq-server redis-server valkey-server; do
    case " ${names[*]} " in
      *" $name "*) "${as_root[@]}" systemctl --quiet disable "$name" 2>/dev/null || true ;;
    esac
  done
}

[[ $# -gt 0 ]] || die "name at least one group of packages.txt, e.g. build"
command -v apt-get >/dev/null ||
  die "this machine has no apt: install the packages of tests/setup/packages.txt by hand"
wanted "$@" >/dev/null
mapfile -t lines < <(missing "$@")
if [[ ${#lines[@]} -eq 0 ]]; then
  echo "install_packages: nothing is missing ($*)"
  exit 0
fi
echo "install_packages: missing: ${lines[*]}"
become_root "${lines[*]}"
resolve "${lines[@]}"
if [[ ${#unknown[@]} -gt 0 ]]; then
  update_lists
  resolve "${lines[@]}"
fi
[[ ${#unknown[@]} -eq 0 ]] || die "the package mirror does not have: ${unknown[*]}"

forbid_services
if ! apt install --no-install-recommends "${names[@]}"; then
  # Package lists older than the mirror name files that no longer exist.
  [[ -z $updated ]] || die "apt-get install failed (see above)"
  update_lists
  apt install --no-install-recommends "${names[@]}" || die "apt-get install failed (see above)"
fi
disable_new_services
mapfile -t lines < <(missing "$@")
[[ ${#lines[@]} -eq 0 ]] || die "still missing after the installation: ${lines[*]}"
