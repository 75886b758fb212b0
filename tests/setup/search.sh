#!/bin/bash
# What `./test.sh --search MINUTES` searches with, in turns, until something is found or the time is
# over: fresh worlds of every kind, fuzzers, the tests that draw, and chaos on real services.
#
#   tests/setup/search.sh MINUTES JOBS       of the builds build/test and build/fuzz
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
minutes=$1 jobs=$2
until=$((SECONDS + minutes * 60))
unset RECLAIM_TEST_SEED
worlds=0 fuzzed_s=0 drawn=0 chaos_s=0
bases=()

# summary FOUND: the last lines, which test.sh repeats at its own end.
summary() {
  printf '\nsearched %d s: %d worlds, fuzzers %d s, the tests that draw %d times, chaos %d s\n' \
    "$SECONDS" "$worlds" "$fuzzed_s" "$drawn" "$chaos_s"
  echo "found: $1"
  [[ ${#bases[@]} -eq 0 ]] || printf 'base of the worlds: %s\n' "${bases[@]}"
}

found() {
  summary "something, by $1 (see above)"
  exit 1
}

over() { ((SECONDS >= until)); }

# So many that worlds are a good part of each turn: what is wrong is mostly found there.
play_worlds() {
  local text
  text=$(build/test/tests/sim/sim --fresh 10000 --jobs "$jobs" 2>&1) ||
    { echo "$text"; found "the simulation"; }
  worlds=$((worlds + 10000))
  bases+=("$(sed -n 's/^fresh worlds \([0-9]*\) .*/\1/p;T;q' <<<"$text")")
}

# As many fuzzers as processors, the next ones each time, for the 40 s that tests/fuzz gives them.
turn=0
mapfile -t fuzzers < <(ctest --test-dir build/fuzz --show-only |
  sed -n 's/.*: \(fuzz_.*_explore\)$/\1/p')
fuzz() {
  local names='' number
  for ((number = 0; number < jobs; number++)); do
    names+="|${fuzzers[turn++ % ${#fuzzers[@]}]}"
  done
  ctest --test-dir build/fuzz --output-on-failure --parallel "$jobs" \
    --tests-regex "^(${names#|})\$" >"$TMPDIR/fuzz.log" 2>&1 ||
    { cat "$TMPDIR/fuzz.log"; found "one of ${names#|}"; }
  fuzzed_s=$((fuzzed_s + 40 * jobs))
}

draw() {
  ctest --test-dir build/test --output-on-failure --parallel "$jobs" --label-regex '^unit$' \
    --label-exclude '^mutants$' >"$TMPDIR/drawn.log" 2>&1 ||
    { cat "$TMPDIR/drawn.log"; found "a unit test"; }
  drawn=$((drawn + 1))
}

make_chaos() {
  RECLAIM_BUILD=build/test tests/chaos/chaos.py --minutes 1 || found "chaos"
  chaos_s=$((chaos_s + 60))
}

while ! over; do
  play_worlds
  over || fuzz
  over || draw
  over || make_chaos
done
summary nothing
