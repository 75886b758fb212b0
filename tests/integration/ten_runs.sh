#!/bin/bash
# Runs the tests repeatedly, also beside processes that keep every core busy.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

usage() {
  cat <<'USAGE'
usage: tests/integration/ten_runs.sh [--runs N] [--build DIR] [--jobs N] [--tests REGEX] [--hogs N]
       tests/integration/ten_runs.sh --whole [--runs N] [--hogs N]

Runs the tests that use real services (ctest label "integration") of a finished build in a row,
beside one process for each processor that keeps it busy. A test that passes by luck fails here.
Continues after a failure; the exit code is 0 only if every run passed.

With --whole each run is all of ./test.sh in a fresh clone of what is committed, as a newcomer
types it: the first half of the runs with nothing beside them, the others beside two busy processes
for each processor.

  --runs N        number of runs (default: 10)
  --build DIR     the build (default: build/test)
  --jobs N        tests at a time (default: twice the processors)
  --tests REGEX   only tests whose name matches
  --hogs N        processes that keep a core busy (default: one for each processor, with --whole
                  two); 0 where another load keeps the machine busy
  --help          print this text

At its end it prints a table of the runs, what failed in which of them, and each "retried" line of
a test that repeated a request to its own services. Logs are under DIR/ten-runs/, with --whole under
build/ten-runs/.
USAGE
}

runs=10
build=$root/build/test
jobs=$(($(nproc) * 2))
tests=.
hogs_wanted=''
whole=no
while [[ $# -gt 0 ]]; do
  option=$1
  case $option in
    --help | -h) usage; exit 0 ;;
    --whole) whole=yes; shift; continue ;;
    --runs | --build | --jobs | --tests | --hogs) ;;
    *) echo "ten_runs.sh: unknown option \"$option\"" >&2; usage >&2; exit 2 ;;
  esac
  [[ $# -ge 2 ]] || { echo "ten_runs.sh: $option takes a value" >&2; exit 2; }
  value=$2
  shift 2
  if [[ $option == --runs || $option == --jobs ]] && ! [[ $value =~ ^[1-9][0-9]*$ ]]; then
    echo "ten_runs.sh: $option takes a number from 1" >&2
    exit 2
  fi
  if [[ $option == --hogs ]]; then
    [[ $value =~ ^[0-9]+$ ]] || { echo "ten_runs.sh: --hogs takes a number from 0" >&2; exit 2; }
    hogs_wanted=$value
    continue
  fi
  declare "${option#--}=$value"
done
logs=$build/ten-runs
if [[ $whole == yes ]]; then
  logs=$root/build/ten-runs
elif [[ ! -f $build/CTestTestfile.cmake ]]; then
  echo "ten_runs.sh: $build holds no build; make one (./test.sh), or name it with" \
    "--build" >&2
  exit 2
fi
if [[ -z $hogs_wanted ]]; then
  hogs_wanted=$(nproc)
  [[ $whole == no ]] || hogs_wanted=$((hogs_wanted * 2))
fi

# Each ends with this script, even when that is killed.
hogs=()
eat() {
  while kill -0 "$1"; do :; done
}
feed() {
  local i
  for ((i = hogs_wanted; i > 0; --i)); do
    eat $$ < /dev/null > /dev/null 2>&1 &
    hogs+=($!)
  done
}
stop_hogs() {
  [[ ${#hogs[@]} -eq 0 ]] || kill "${hogs[@]}" 2>/dev/null
  hogs=()
}
clone=''
trap 'stop_hogs; [[ -z $clone ]] || rm -rf "$clone"' EXIT
trap 'exit 130' INT TERM

duration() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# The tests of real services of a build that is there.
run_services() {
  ctest --test-dir "$build" --label-regex '^integration$' --tests-regex "$tests" \
    --output-on-failure --no-tests=error --parallel "$jobs"
  local rc=$?
  grep -ha '^retried ' "$build/Testing/Temporary/LastTest.log" | sort -u
  return $rc
}

# All of it, as a newcomer has it.
run_whole() {
  local rc
  clone=$(mktemp -d) && git clone -q "$root" "$clone/reclaim" && (cd "$clone/reclaim" && ./test.sh)
  rc=$?
  rm -rf "$clone"
  return $rc
}

run_once=run_services
[[ $whole == no ]] || run_once=run_whole
mkdir -p "$logs"
rm -f "$logs"/run-*.log
table=()
named=()
bad=0
[[ $whole == yes ]] || feed
for ((run = 1; run <= runs; ++run)); do
  log=$logs/run-$run.log
  [[ ${#hogs[@]} -gt 0 || $run -le $((runs / 2)) ]] || feed
  began=$SECONDS
  echo "run $run of $runs begins ($(duration "$SECONDS") so far, ${#hogs[@]} processes beside it)"
  $run_once > "$log" 2>&1
  rc=$?
  mapfile -t failed < <(sed -n 's/^[[:space:]]*[0-9]* - \([^ ]*\) (.*)$/\1/p' "$log")
  mapfile -t retried < <(grep -a '^retried ' "$log" | sort -u)
  passed=$(grep -E '^[0-9]+% tests passed' "$log" | tail -1)
  verdict=ok
  [[ $rc -eq 0 ]] || { verdict=FAILED; bad=$((bad + 1)); }
  line=$(printf '%3d  %6s  %2d beside it  %-6s  %2d retried  %s' "$run" \
    "$(duration $((SECONDS - began)))" "${#hogs[@]}" "$verdict" "${#retried[@]}" \
    "${passed:-see $log}")
  echo "$line"
  table+=("$line")
  for name in "${failed[@]}"; do named+=("run $run: failed: $name ($log)"); done
  for text in "${retried[@]}"; do named+=("run $run: $text"); done
done
stop_hogs

printf '\nrun    took\n'
printf '%s\n' "${table[@]}"
[[ ${#named[@]} -eq 0 ]] || printf '%s\n' "${named[@]}"
echo "$((runs - bad)) of $runs passed in $(duration "$SECONDS")"
[[ $bad -eq 0 ]]
