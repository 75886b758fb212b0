#!/bin/bash
# Reclaim beside a real Cyborg, Nova, Placement and Keystone of Debian sid: see --help.
set -euo pipefail
# shellcheck source=tests/live/root.sh
source "$(dirname "${BASH_SOURCE[0]}")/root.sh"

usage() {
  cat <<'USAGE'
usage: tests/live/cyborg.sh [--root FOLDER] [--binaries FOLDER] [--keep] [--only TEXT] [--minutes N]
                            [--help]

Makes a Debian sid in a folder, with Cyborg, Nova with its fake driver, Placement, Keystone,
MariaDB, RabbitMQ and Redis, and runs the scenarios of tests/live/cyborg_scenarios.py on emulated
drives. Services listen on loopback addresses of a network namespace of its own.

USAGE
  options_help
}

live_suite cyborg "$@"
