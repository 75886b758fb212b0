#!/bin/bash
# shellcheck disable=SC2317  # functions are called by name, through stage
# Builds Reclaim and runs its test ladder (docs/dev/testing.md). build/, packages
# and caches below ~/.cache remain.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit 1

usage() {
  cat <<'USAGE'
usage: ./test.sh [--ci | --long | --search MINUTES | --packages | --first-hour] [--no-install]
                 [--jobs N] [--help]

Installs missing Debian packages (root or sudo), builds Reclaim and runs its tests.

  --ci          also: ASan+UBSan (clang), TSan for tests with threads, the mutants, the
                benchmarks, and clang-tidy
  --long        also: what tests an engine for minutes (Redis and RabbitMQ that fail over in every
                stage), all tests of what ships (optimised, compiled file by file) and under TSan,
                the fuzzers for a bounded time, clang-tidy over the tests; the measured figures
                again, beside those of before
  --search MINUTES
                only: worlds, inputs and faults that nobody has seen, until something is found or
                the time is over
  --packages    only: the Debian packages, tried in a root of their own (needs root, some minutes)
  --first-hour  only: docs/install.md followed in a Debian that QEMU boots, up to a first cleaned
                drive (needs root, some minutes)
  --no-install  never run apt; use the packages that are installed
  --jobs N      build N at a time (default: one per processor)
  --help        print this text

What is random is drawn from the commit, so that a commit always has the same verdict;
RECLAIM_TEST_SEED in the environment chooses another, and --search draws from the machine. The exit
code is 0 only if every stage passed. Logs are under build/test-logs/. The last lines say where the
time went.
USAGE
}

mode=normal
install=yes
jobs=$(nproc)
while [[ $# -gt 0 ]]; do
  case $1 in
    --ci) mode=ci ;;
    --long) mode=long ;;
    --search)
      mode=search
      shift
      [[ ${1-} =~ ^[1-9][0-9]*$ ]] ||
        { echo "test.sh: --search takes a number of minutes above 0" >&2; exit 2; }
      minutes=$1
      ;;
    --packages) mode=packages ;;
    --first-hour) mode=first-hour ;;
    --no-install) install=no ;;
    --jobs)
      shift
      [[ ${1-} =~ ^[1-9][0-9]*$ ]] || { echo "test.sh: --jobs takes a number above 0" >&2; exit 2; }
      jobs=$1
      ;;
    --help | -h) usage; exit 0 ;;
    *) echo "test.sh: unknown option \"$1\"" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

if [[ $mode == packages ]]; then
  [[ $install == no ]] || tests/setup/install_packages.sh build deb packages || exit 1
  exec tests/setup/packages_test.sh
fi
if [[ $mode == first-hour ]]; then
  [[ $install == no ]] || tests/setup/install_packages.sh build test guest packages || exit 1
  exec tests/first_hour/first_hour_test.py
fi

logs=build/test-logs
green=$logs/green
mkdir -p "$logs"
rm -f "$logs"/*.log "$logs"/*.took
# The commit that is tested; nothing where the tree is another than the commit's, or none of git's.
tested() { [[ -z $(git status --porcelain 2>&1) ]] && git rev-parse 'HEAD^{tree}' 2>/dev/null; }
tree=$(tested)
[[ ! -e $green ]] || sed -i "/^$mode /d" "$green"
# The tests' TMPDIR and nobody else's: what is there in the end, a test has left behind.
temporary=$(mktemp -d -t reclaim-test.XXXXXX) || exit 1
failed=()
report=()
closing=()
retried=()

duration() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# Seconds that this machine's processors have worked, whoever for: services of tests are nobody's
# children.
worked() {
  awk -v ticks="$(getconf CLK_TCK)" '/^cpu / { print int(($2 + $3 + $4) / ticks) }' /proc/stat
}
worked_before=$(worked)

log_of() { echo "$logs/${1// /-}.log"; }

# told NAME RESULT SECONDS: adds a line to the report.
told() {
  if [[ $2 -eq 0 ]]; then
    report+=("$(printf '%-22s %6s  ok' "$1" "$(duration "$3")")")
  else
    report+=("$(printf '%-22s %6s  FAILED (%s)' "$1" "$(duration "$3")" "$(log_of "$1")")")
    failed+=("$1")
  fi
  return "$2"
}

# stage NAME COMMAND...: runs the command with its output on the terminal and in a log.
stage() {
  local name=$1 began=$SECONDS
  shift
  printf '\n==== %s  (%s into the run)\n' "$name" "$(duration "$SECONDS")"
  "$@" 2>&1 | tee "$(log_of "$name")"
  told "$name" "${PIPESTATUS[0]}" $((SECONDS - began))
}

# begin NAME COMMAND...: the same in the background until `await NAME`, which shows its output.
# Tests that wait for services leave the processors to a compiler.
declare -A beside=() begun=()
trap 'kill "${beside[@]}" 2>/dev/null; rm -rf "$temporary"' EXIT
begin() {
  local name=$1
  shift
  printf '\n==== %s begin in the background  (%s into the run)\n' "$name" \
    "$(duration "$SECONDS")"
  begun[$name]=$SECONDS
  (
    "$@" >"$(log_of "$name")" 2>&1
    rc=$?
    echo $((SECONDS - begun[$name])) >"$(log_of "$name").took"
    exit "$rc"
  ) &
  beside[$name]=$!
}
await() {
  local rc
  wait "${beside[$1]}"
  rc=$?
  unset "beside[$1]"
  printf '\n==== %s, begun %s into the run\n' "$1" "$(duration "${begun[$1]}")"
  cat "$(log_of "$1")"
  told "$1" "$rc" "$(cat "$(log_of "$1").took")"
}

launcher=()
use_ccache() {
  command -v ccache >/dev/null || return 0
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  # What one clone compiled serves another.
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true
}

# The sanitizers of g++ 12 and clang 14 cannot place their shadow memory where the kernel randomizes
# addresses by more than 28 bits; there they run without randomization, if the machine allows it.
steady=()
steady_addresses() {
  local bits
  bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28)
  if [[ $bits -gt 28 ]] && setarch -R true 2>/dev/null; then steady=(setarch -R); fi
}

build() {
  local preset=$1
  shift
  # ccache does not read what clang is told by -fsanitize-ignorelist.
  if [[ $preset == asan || $preset == fuzz ]]; then
    local -x CCACHE_EXTRAFILES=$PWD/tests/setup/sanitizer_ignored.txt
  fi
  "${steady[@]}" cmake --preset "$preset" "${launcher[@]}" &&
    "${steady[@]}" cmake --build --preset "$preset" --parallel "$jobs" "$@"
}

# Most tests wait for services rather than compute: as many at once as have room, and no more than
# three for each processor. Services of one test take half a gigabyte.
tests_at_once() {
  local room
  room=$(awk '/^MemAvailable:/ { print int($2 / 1024 / 600) }' /proc/meminfo)
  ((room < jobs * 3)) || room=$((jobs * 3))
  ((room > jobs)) || room=$jobs
  echo "$room"
}

# What failed may be run once more where real services may be to blame (run_again.py).
run_ctest() {
  local preset=$1
  shift
  rm -f "build/$preset/Testing/Temporary/"{First,LastTestsFailed,Told}*.log
  TMPDIR=$temporary "${steady[@]}" ctest --test-dir "build/$preset" --output-on-failure \
    --output-log "build/$preset/Testing/Temporary/Told.log" \
    --no-tests=error --parallel "$(tests_at_once)" "$@" ||
    { [[ -e build/$preset/Testing/Temporary/LastTestsFailed.log ]] &&
      TMPDIR=$temporary "${steady[@]}" tests/setup/run_again.py "build/$preset"; }
}

# close PRESET: keeps the closing line and the retries of its tests for the end.
close() {
  closing+=("$(grep -E '^[0-9]+% tests passed' "$logs/$1-tests.log" | tail -1)  ($1)")
  mapfile -t -O "${#retried[@]}" retried < <(grep -ha '^retried ' "$logs/$1-tests.log" \
    "build/$1/Testing/Temporary/"{First,Last}Test.log 2>/dev/null | sort -u | sed "s/\$/  ($1)/")
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
  close "$preset"
}

# The tests that took longest, of all builds.
slowest() {
  local each preset
  echo "==== slowest tests (seconds)"
  for each in "$logs"/*-tests.log; do
    preset=$(basename "$each" -tests.log)
    sed -nE "s|^ *[0-9]+/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*|\2 \1 ($preset)|p" "$each"
  done | sort -rn | head -8
  echo
}

finish() {
  local line
  printf '\n==== stages\n'
  for line in "${report[@]}"; do echo "$line"; done
  printf '%-22s %6s  (the processors worked %s)\n\n' total "$(duration "$SECONDS")" \
    "$(duration $(($(worked) - worked_before)))"
  slowest
  if [[ ${#failed[@]} -gt 0 ]]; then
    printf 'failed: %s\n' "${failed[@]}"
  fi
  # Requests that the tests repeated.
  for line in "${retried[@]}"; do echo "$line"; done
  for line in "${closing[@]}"; do echo "$line"; done
  [[ ${#failed[@]} -eq 0 ]] || exit 1
  if [[ -n $tree && $(tested) == "$tree" ]]; then
    echo "$mode $tree $(date -u +%FT%TZ) $(duration "$SECONDS")" >>"$green"
  fi
  exit 0
}

if [[ $install == yes ]]; then
  groups=(build test tidy guest)
  if [[ $mode != normal ]]; then groups+=(ci); fi
  stage packages tests/setup/install_packages.sh "${groups[@]}" || finish
fi
use_ccache
steady_addresses

if [[ $mode == search ]]; then
  stage "test build" build test || finish
  stage "fuzz build" build fuzz --target fuzz_tests || finish
  stage search env TMPDIR="$temporary" tests/setup/search.sh "$minutes" "$jobs"
  mapfile -t closing < <(sed -n '/^searched /,$p' "$(log_of search)")
  finish
fi

# The same commit draws the same.
if [[ -z ${RECLAIM_TEST_SEED-} ]]; then
  committed=$(git rev-parse 'HEAD^{tree}' 2>/dev/null)
  RECLAIM_TEST_SEED=$((16#0${committed:0:15}))
fi
export RECLAIM_TEST_SEED

# The checks that need no build come first: they take seconds. The tests repeat them.
stage tidy tests/tidy/tidy_test.py

if [[ $mode == normal ]]; then
  stage "test build" build test || finish
  stage "test tests" run_ctest test --label-exclude '^(ci|long)$'
  close test
  stage leftovers tests/setup/leftovers.py "$temporary"
  finish
fi

short=(--label-exclude '^long$')
if [[ $mode == long ]]; then
  # Tests that can go deeper read this (docs/dev/testing.md).
  export RECLAIM_TEST_DEPTH=long
  short=()
fi

# The sanitizers' build comes first: its tests mostly wait, and run while the rest is compiled.
stage "asan build" build asan && begin "asan tests" run_ctest asan "${short[@]}"
stage "tsan build" build tsan --target threads_tests
stage "test build" build test --target all mutants_tests bench_tests
if [[ -n ${beside["asan tests"]-} ]]; then
  await "asan tests"
  close asan
fi
stage "tsan tests" run_ctest tsan --label-regex '^threads$' "${short[@]}"
close tsan
stage "test tests" run_ctest test "${short[@]}"
close test

if [[ $mode == long ]]; then
  stage "dev build" build dev --target all bench_tests && stage "dev tests" run_ctest dev &&
    stage figures tests/bench/figures.py
  close dev
  check tsan
  check fuzz fuzz
fi
stage leftovers tests/setup/leftovers.py "$temporary"
finish
