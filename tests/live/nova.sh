#!/bin/bash
# Reclaim beside a real Nova, Placement and Keystone of Debian sid: see --help.
set -euo pipefail
# shellcheck source=tests/live/root.sh
source "$(dirname "${BASH_SOURCE[0]}")/root.sh"

usage() {
  cat <<'USAGE'
usage: tests/live/nova.sh [--root FOLDER] [--binaries FOLDER] [--keep] [--only TEXT] [--minutes N]
                          [--help]

Makes a Debian sid in a folder, with Nova, Placement, Keystone, MariaDB, RabbitMQ and Redis, and
runs the scenarios of tests/live/nova_scenarios.py: two hosts of Nova's fake driver have
one-time-use PCI devices, which are emulated drives, and each has a worker. Services listen on
loopback addresses of a network namespace of its own.

USAGE
  options_help
}

live_suite nova "$@"
