#!/usr/bin/python3
"""An entry of Nova's [pci] device_spec can be copied: each key that Nova takes is known here. Of an
installed Nova the keys are read from the help of its option, of none from what was recorded.

    nova_keys_test.py SOURCE RECLAIM
"""
import importlib
import pathlib
import re
import subprocess
import sys
import tempfile


def recorded(source):
    text = (source / "tests/data/nova-2026.2/device_spec_keys.txt").read_text(encoding="utf-8")
    return dict(line.split(" ", 1) for line in text.splitlines())


def installed():
    try:
        options = importlib.import_module("nova.conf.pci").pci_opts
    except ImportError:
        print("no Nova is installed: only the recorded keys are tried")
        return set()
    text = next(option.help for option in options if option.name == "device_spec")
    return set(re.findall(r"^ +(?:- )?``([a-z_]+)``", text, re.MULTILINE))


def told(reclaim, entry):
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write(f"[devices]\ndevice_spec = {entry}\n")
        conf.flush()
        done = subprocess.run([reclaim, "config", "check", "--config-file", conf.name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
    return [line for line in done.stdout.splitlines() if "[devices] device_spec: " in line]


def main(source, reclaim):
    values = recorded(pathlib.Path(source))
    unknown = installed() - set(values)
    assert not unknown, f"Nova takes keys that are not recorded: {unknown}"
    for key, value in values.items():
        found = told(reclaim, f'{{"{key}": {value}}}')
        assert not any("key" in line or "must be" in line for line in found), found
        assert any("is left out" in line for line in found) == (key == "devname"), found
    print(f"{len(values)} keys are known")


main(*sys.argv[1:])
