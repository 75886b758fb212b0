#!/bin/bash
# shellcheck disable=SC2317  # functions are called by name, through stage
# Builds Reclaim and runs its test ladder (docs/testing.md). Leaves nothing behind but build/.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1

usage() {
  cat <<'USAGE'
usage: ./test.sh [--full | --release-only] [--no-install] [--jobs N] [--help]

Installs the Debian packages that are missing (root or sudo), builds, and runs every test:
release and ASan+UBSan in full, TSan for what has threads.

  --full          also: all tests under TSan, a build and run with clang, the fuzzers for a bounded
                  time, longer simulations
  --release-only  only the release build and its tests (the quick loop of a developer)
  --no-install    take the machine as it is: never run apt
  --jobs N        build N at a time and test twice as many (default: one per processor)
  --help          this text

The exit code is 0 only when every stage passed. Outputs stand under build/test-logs/.
USAGE
}

mode=normal
install=yes
jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case $1 in
    --full) mode=full ;;
    --release-only) mode=release-only ;;
    --no-install) install=no ;;
    --jobs)
      shift
      [[ ${1-} =~ ^[1-9][0-9]*$ ]] || { echo "test.sh: --jobs takes a number from 1" >&2; exit 2; }
      jobs=$1
      ;;
    --help | -h) usage; exit 0 ;;
    *) echo "test.sh: unknown option \"$1\"" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

logs=build/test-logs
mkdir -p "$logs"
rm -f "$logs"/*.log
failed=()
report=()
closing=()
retried=()

duration() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# stage NAME COMMAND...: runs the command with its output on the terminal and in a log.
stage() {
  local name=$1 began=$SECONDS rc took
  shift
  printf '\n==== %s  (%s into the run)\n' "$name" "$(duration "$SECONDS")"
  "$@" 2>&1 | tee "$logs/${name// /-}.log"
  rc=${PIPESTATUS[0]}
  took=$(duration $((SECONDS - began)))
  if [[ $rc -eq 0 ]]; then
    report+=("$(printf '%-22s %6s  ok' "$name" "$took")")
  else
    report+=("$(printf '%-22s %6s  FAILED (%s)' "$name" "$took" "$logs/${name// /-}.log")")
    failed+=("$name")
  fi
  return "$rc"
}

launcher=()
use_ccache() {
  command -v ccache >/dev/null || return 0
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
}

# The sanitizers of g++ 12 and clang 14 cannot place their shadow memory where the kernel randomizes
# addresses by more than 28 bits; there they run without randomization, if the machine lets us.
steady=()
steady_addresses() {
  local bits
  bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)
  if [[ $bits -gt 28 ]] && setarch -R true 2>/dev/null; then steady=(setarch -R); fi
}

build() {
  local preset=$1
  shift
  "${steady[@]}" cmake --preset "$preset" "${launcher[@]}" &&
    "${steady[@]}" cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

# Twice as many tests as processors: half of them wait for services rather than compute.
run_ctest() {
  local preset=$1
  shift
  "${steady[@]}" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
    --parallel "$((jobs * 2))" "$@"
}

# check PRESET [LABEL]: builds the preset, or what the tests of the label need, and runs the tests.
check() {
  local preset=$1 targets=()
  shift
  if [[ $# -gt 0 ]]; then
    targets=(--target "${1}_tests")
    set -- --label-regex "^$1\$"
  fi
  stage "$preset build" build "$preset" "${targets[@]}" || return 1
  stage "$preset tests" run_ctest "$preset" "$@"
  local rc=$?
  closing+=("$(grep -E '^[0-9]+% tests passed' "$logs/$preset-tests.log" | tail -1)  ($preset)")
  mapfile -t -O "${#retried[@]}" retried < <(grep -ha '^retried ' \
    "build/$preset/Testing/Temporary/LastTest.log" 2>/dev/null | sed "s/\$/  ($preset)/")
  return "$rc"
}

finish() {
  local line
  printf '\n==== stages\n'
  for line in "${report[@]}"; do echo "$line"; done
  printf '%-22s %6s\n\n' total "$(duration "$SECONDS")"
  if [[ ${#failed[@]} -gt 0 ]]; then
    printf 'failed: %s\n' "${failed[@]}"
  fi
  # What the tests asked their own services for more than once.
  for line in "${retried[@]}"; do echo "$line"; done
  for line in "${closing[@]}"; do echo "$line"; done
  [[ ${#failed[@]} -eq 0 ]]
  exit
}

if [[ $install == yes ]]; then
  groups=(build test tidy guest)
  if [[ $mode == full ]]; then groups+=(full); fi
  stage packages tests/setup/install_packages.sh "${groups[@]}" || finish
fi
use_ccache
steady_addresses

# The checks that need no build come first: they take seconds. The release run repeats them.
stage tidy tests/tidy/tidy_test.py

if [[ $mode == full ]]; then
  # Tests that can go deeper read this (docs/testing.md).
  export RECLAIM_TEST_DEPTH=full
fi

case $mode in
  release-only)
    check release
    ;;
  normal)
    check asan
    check tsan threads
    check release
    ;;
  full)
    check asan
    check tsan
    check clang
    check fuzz fuzz
    check release
    stage "long simulation" build/release/tests/sim/sim --fresh 500000 --jobs "$jobs"
    ;;
esac
finish
