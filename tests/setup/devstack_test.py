#!/usr/bin/python3
"""The DevStack plugin, sourced as DevStack does, phase by phase, with its functions played: what it
installs, starts and stops, and that the options it sets are options.

usage: devstack_test.py BINARY SOURCE_FOLDER
"""

import os
import subprocess
import sys
import tempfile

# What DevStack brings, told to standard output. Nothing of this machine's is changed.
PLAYED = r"""
set -euo pipefail
for name in define_plugin enable_service install_package restart_service run_process stop_process \
  sudo cmake; do
  eval "$name() { echo $name \"\$@\"; }"
done
is_service_enabled() { [[ $1 == reclaim ]]; }
iniset() { printf '[%s]\n%s = %s\n' "$2" "$3" "$4" >>"$1"; }
STACK_USER=stack NOVA_CPU_CONF=$FOLDER/nova-cpu.conf NOVA_STATE_PATH=/opt/stack/data/nova
RECLAIM_CONF=$FOLDER/reclaim.conf
source "$RECLAIM_DIR/devstack/settings"
source "$RECLAIM_DIR/devstack/plugin.sh" "$@"
"""
PHASES = (
    (["stack", "pre-install"], []),
    (["stack", "install"], ["install_packages.sh build", "install_package redis-server",
                            "cmake --build --preset release", "sudo cmake --install"]),
    (["stack", "post-config"], ["sudo install -d"]),
    (["stack", "extra"], ["run_process reclaim /usr/bin/reclaim --config-file"]),
    (["unstack"], ["stop_process reclaim"]),
    (["clean"], ["sudo rm -f"]),
)


def play(phase, folder, source, **more):
    done = subprocess.run(["bash", "-c", PLAYED, "bash", *phase], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False,
                          env={"PATH": os.environ["PATH"], "FOLDER": folder, "RECLAIM_DIR": source,
                               **more})
    if done.returncode != 0:
        raise SystemExit(f"devstack: {phase} ended with {done.returncode}: {done.stdout}")
    return done.stdout


def look_at(binary, folder, source):
    for phase, expected in PHASES:
        said = play(phase, folder, source, RECLAIM_DEVICE_SPEC='{"vendor_id": "144d"}')
        yield from (f"{phase} does not say {words}: {said}" for words in expected
                    if words not in said)
        if not expected and "sudo" in said:
            yield f"{phase} does something: {said}"
    said = play(["stack", "install"], folder, source, RECLAIM_REDIS_URL="redis://10.0.0.1:6379/0")
    if "redis-server" in said:
        yield "Redis is installed here, though another one is used"
    # Its options, and the one of Nova's that is read beside them.
    with open(os.path.join(folder, "nova-cpu.conf"), "w", encoding="utf-8") as file:
        file.write("[DEFAULT]\ntransport_url = rabbit://a:b@127.0.0.1/\n")
    checked = subprocess.run([binary, "--config-file", os.path.join(folder, "reclaim.conf"),
                              "config", "check"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False).stdout
    if "nova-cpu.conf" not in checked or "MODE: observe" not in checked:
        yield f"the files are not read as they should be: {checked}"
    yield from (line for line in checked.splitlines() if "unknown" in line)


def main():
    binary, source = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        complaints = list(look_at(binary, folder, source))
    for complaint in complaints:
        print(f"devstack: {complaint}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
