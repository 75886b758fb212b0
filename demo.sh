#!/bin/bash
# The main job on real services and emulated drives, shown as it happens: see --help.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() {
  cat <<'USAGE'
usage: ./demo.sh [--flow nova|cyborg|steps] [--keep] [--no-install] [--fault KEY=VALUE] [--help]
       ./demo.sh --stop

A tenant's instance is deleted, and its NVMe drive is released clean, with a certificate. The demo
runs a real RabbitMQ, Redis, Keystone and Placement, the shipped worker, and an emulated host. It
installs missing Debian packages (root or sudo), builds, runs and checks what it shows. build/, the
packages and the compiler's cache remain. No real disk is touched.

  --flow nova        a one-time-use drive of Nova's, with the recorded traffic of a real Nova;
                     another tenant left its drive locked, and it is quarantined (the default)
  --flow cyborg      a drive of Cyborg's: an accelerator request is bound and unbound, and curl and
                     the openstack client call the device API
  --flow steps       network cards, cleaned by an operator's own steps: firmware is written again,
                     what a step cannot put right is quarantined, one waits for two operators (root)

  --keep             leave it running and print how to explore it
  --stop             end a demo that was kept
  --no-install       never run apt; use the packages that are installed
  --fault KEY=VALUE  give the drive a fault, e.g. lies_keeps_data=1; the demo must then fail
  --help             print this text

The exit code is 0 only if the drive was erased, verified and released, and the others were not.
USAGE
}

install=yes
groups=(build test)
words=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --keep) words+=(--keep); groups+=(demo) ;;
    --stop) exec /usr/bin/python3 tests/demo/demo.py --stop ;;
    --flow)
      [[ ${2-} == nova || ${2-} == cyborg || ${2-} == steps ]] ||
        { echo "demo.sh: --flow takes nova, cyborg or steps" >&2; exit 2; }
      words+=(--flow "$2")
      shift
      ;;
    --no-install) install=no ;;
    --fault)
      [[ ${2-} == *=* ]] || { echo "demo.sh: --fault takes KEY=VALUE" >&2; exit 2; }
      words+=(--fault "$2")
      shift
      ;;
    --help | -h) usage; exit 0 ;;
    *) echo "demo.sh: unknown option \"$1\"" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

terminal=no
if [[ -t 1 && ${TERM-dumb} != dumb ]]; then terminal=yes; fi
bold='' cyan='' dim='' off=''
if [[ $terminal == yes && -z ${NO_COLOR+set} ]]; then
  bold=$'\e[1m' cyan=$'\e[1;36m' dim=$'\e[2m' off=$'\e[0m'
fi
log=$(mktemp)
services_log=$(mktemp)
trap 'rm -f "$log" "$services_log"' EXIT

step() { printf '%s%2d%s  %s%-18s%s%s\n' "$cyan" "$1" "$off" "$bold" "$2" "$off" "$3"; }

working() {
  [[ $terminal == no ]] || printf '\r\e[K%2d  %-18s%s%s%s' "$1" "$2" "$dim" "$3" "$off"
}

finished() { [[ $terminal == no ]] || printf '\r\e[K'; }

failed() {
  finished
  echo "demo.sh: $1; the end of its output:" >&2
  tail -n 40 "${2-$log}" >&2
  exit 1
}

# Of the whole build, from what is done of it: "2:10", or nothing while too little is.
left() {
  local done=$1 all=$2 took=$((SECONDS - began)) seconds
  [[ $done -ge 5 && $took -ge 5 ]] || return 0
  seconds=$((took * (all - done) / done))
  printf ', about %d:%02d left' $((seconds / 60)) $((seconds % 60))
}

# counted NUMBER NAME: shows ninja's "[n/m]" from standard input; where the output is no terminal,
# twice a minute.
counted() {
  local line seen='' shown told=$SECONDS
  while IFS= read -r line; do
    printf '%s\n' "$line" >> "$log"
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] && ${BASH_REMATCH[0]} != "$seen" ]] || continue
    seen=${BASH_REMATCH[0]}
    shown=$seen$(left "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}")
    working "$1" "$2" "$shown"
    if [[ $terminal == no && $((SECONDS - told)) -ge 30 ]]; then
      told=$SECONDS
      step "$1" "$2" "$shown"
    fi
  done
}

build() {
  local launcher=()
  if command -v ccache >/dev/null; then
    launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true
  fi
  # As many compilers as processors: one more only makes all of them late.
  cmake --preset test "${launcher[@]}" &&
    cmake --build --preset test --parallel "$(nproc)" \
      --target reclaim reclaim_emulator reclaim_emulator_tool
}

printf '\n %sReclaim: a deleted instance'\''s drive is released clean%s\n\n' "$bold" "$off"

installing=
if [[ $install == yes ]]; then
  working 1 Packages "looking for what is missing"
  if [[ $(id -u) -ne 0 ]]; then
    # sudo may ask for a password, which would be invisible in a log.
    tests/setup/install_packages.sh "${groups[@]}" | tee "$log" || failed "installing failed"
  else
    # What the demo runs is installed while what it compiles is compiled.
    tests/setup/install_packages.sh build > "$log" 2>&1 || failed "installing failed"
    tests/setup/install_packages.sh "${groups[@]}" > "$services_log" 2>&1 &
    installing=$!
  fi
  finished
  if grep -q 'nothing is missing' "$log"; then
    step 1 Packages "nothing is missing${installing:+ for the build}"
  else
    step 1 Packages "installed what was missing${installing:+ for the build}; no service is started"
  fi
else
  step 1 Packages "not checked (--no-install)"
fi

for folder in build/test build .; do
  [[ -e $folder ]] || continue
  # After a `sudo ./demo.sh` it belongs to root, and CMake's error fills a screen.
  [[ -w $folder ]] || { echo "demo.sh: $folder is not writable, it belongs to" \
    "$(stat -c %U "$folder"): chown it, or run this script as that user" >&2; exit 1; }
  break
done

: > "$log"
began=$SECONDS
build 2>&1 | counted 2 Build || failed "the build failed"
finished
version=$(build/test/reclaim --version | head -n 1)
step 2 Build "$version, $((SECONDS - began)) s"
if [[ -n $installing ]]; then
  working 1 Packages "installing what the demo's services need"
  wait "$installing" || failed "installing failed" "$services_log"
  finished
fi

rm -f "$log" "$services_log"
trap - EXIT
RECLAIM_BUILD=build/test exec /usr/bin/python3 tests/demo/demo.py --steps-before 2 "${words[@]}"
