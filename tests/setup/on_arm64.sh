#!/bin/bash
# The unit tests of an arm64 build, cross-compiled on a fresh Debian in a folder and run under QEMU:
# see --help and docs/dev/testing.md.
set -euo pipefail

usage() {
  cat <<'USAGE'
usage: tests/setup/on_arm64.sh [12|13] [--test NAME]... [--keep] [--ccache FOLDER] [--jobs N]
                               [--help]

Makes a minimal Debian (default 12) with tests/setup/on_debian.sh, installs there Debian's compiler
and libraries for arm64, builds the unit tests of what is committed here, and runs them under QEMU's
user mode. The guest's processor is emulated, not its kernel.

  --test NAME      build and run only this one, as nvme_test; may be repeated
  --keep           keep the folder, and print how to enter it
  --ccache FOLDER  keep the compiler's cache there for the next run
  --jobs N         build N at a time (default: one per processor)
  --help           print this text

Needs what on_debian.sh needs. The exit code is 0 only if every test passed.
USAGE
}

wrong() {
  echo "on_arm64: $*" >&2
  usage >&2
  exit 2
}

here=$(dirname "${BASH_SOURCE[0]}")
version=12
inside=no
targets=()
jobs=$(nproc)
forwarded=()
while [[ $# -gt 0 ]]; do
  case $1 in
    12 | 13) version=$1 ;;
    --inside) inside=yes ;;  # how this script calls itself there
    --keep) forwarded+=(--keep) ;;
    --test | --ccache | --jobs)
      [[ -n ${2-} ]] || wrong "$1 takes a value"
      case $1 in
        --test) targets+=("$2") ;;
        --ccache) forwarded+=(--ccache "$2") ;;
        --jobs) jobs=$2 ;;
      esac
      shift
      ;;
    --help | -h) usage; exit 0 ;;
    *) wrong "unknown argument \"$1\"" ;;
  esac
  shift
done
[[ $jobs =~ ^[1-9][0-9]*$ ]] || wrong "--jobs takes a number above 0"
if [[ $inside == no ]]; then
  command="tests/setup/on_arm64.sh --inside --jobs $jobs"
  for name in "${targets[@]}"; do command+=" --test $(printf %q "$name")"; done
  exec "$here/on_debian.sh" "$version" "${forwarded[@]}" --command "$command"
fi

dpkg --add-architecture arm64
apt-get -q update --error-on=any
# Libraries for arm64, tools for this machine.
tools=(g++-aarch64-linux-gnu qemu-user-static python3)
libraries=(libbenchmark-dev:arm64 libgmock-dev:arm64 libgtest-dev:arm64)
mapfile -t needed < <(awk '$1 == "build" { print $2 }' "$here/packages.txt")
for name in "${needed[@]}"; do
  # The first alternative that this Debian has.
  for each in ${name//|/ }; do
    if apt-cache show "$each" >/dev/null 2>&1; then name=$each && break; fi
  done
  case $name in
    g++) ;;
    libcli11-dev | rapidjson-dev) tools+=("$name") ;;  # headers alone
    *-dev) libraries+=("$name:arm64") ;;
    *) tools+=("$name") ;;
  esac
done
DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3 install \
  --no-install-recommends "${tools[@]}" "${libraries[@]}"

cmake --preset arm64 -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake --build --preset arm64 --parallel "$jobs" --target "${targets[@]:-unit_tests}"
# What was built; the other tests with this label are scripts, which know no processor.
built=$(find build/arm64/tests/unit -name '*_test' -type f -executable -printf '%f|')
ctest --test-dir build/arm64 --tests-regex "^(${built%|})\$" --output-on-failure --no-tests=error \
  --parallel "$jobs"
