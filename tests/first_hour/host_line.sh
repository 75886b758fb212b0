#!/bin/bash
# In the guest: runs the commands that the host writes to the second serial port, a line each
# (USER, a space, the script in base64), and answers each with a line: exit code and output.
set -uo pipefail
exec 3<>/dev/ttyS1
stty -F /dev/ttyS1 raw -echo
echo "ready" >&3
while read -r user script <&3; do
  printf '%s' "$script" | base64 -d >/run/host-line.script
  chmod 644 /run/host-line.script
  said=$(runuser --login "$user" --command "bash -e /run/host-line.script" </dev/null 2>&1 |
    base64 --wrap=0)
  echo "$? $said" >&3
done
