#!/bin/sh
# The alert rules: they are good, each fires and is silent where it must, every metric of theirs
# exists, and each has its section in docs/metrics.md. What that looks for in the log is said there.
#   alert_rules_test.sh SOURCE
set -eu
cd "$1"
if ! command -v promtool >/dev/null; then
  echo "skipped: promtool is missing: apt-get install prometheus"
  exit 77
fi
rules=config/reclaim.rules.yml
promtool check rules "$rules"
promtool test rules tests/data/alerts/*.test.yml
failed=0
metrics=$(sed -n 's/^ *expr://p' "$rules" | grep -o 'reclaim_[a-z_]*' | sort -u)
alerts=$(sed -n 's/^ *- alert: //p' "$rules")
for metric in $metrics; do
  grep -q "^| \`$metric\` |" docs/metrics.md ||
    { echo "$rules: $metric is not in the table of docs/metrics.md"; failed=1; }
done
for alert in $alerts; do
  grep -q "^### $alert\$" docs/metrics.md ||
    { echo "docs/metrics.md has no section $alert"; failed=1; }
  anchor=docs/metrics.md#$(echo "$alert" | tr '[:upper:]' '[:lower:]')
  grep -q "runbook: $anchor\$" "$rules" || { echo "$rules: no runbook is $anchor"; failed=1; }
  # One that fires, and one that does not.
  for expected in "exp_alerts:\$" "exp_alerts: \[\]"; do
    grep -hA1 "alertname: $alert\b" tests/data/alerts/*.test.yml | grep -q "$expected" ||
      { echo "tests/data/alerts: $alert lacks a case with $expected"; failed=1; }
  done
done
# shellcheck disable=SC2016
said=$(sed -n 's/.*`journalctl -u reclaim -g "\([^"]*\)"`.*/\1/p' docs/metrics.md)
test -n "$said" || { echo "docs/metrics.md looks for nothing in the log"; failed=1; }
echo "$said" | while read -r words; do
  grep -rqF "$words" handlers listener state ||
    { echo "docs/metrics.md looks in the log for '$words', which nothing says"; exit 1; }
done || failed=1
exit $failed
