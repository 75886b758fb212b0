#!/usr/bin/python3
"""Whether docs/waiting.md names the paths that kolla has: those of libvirt's domains and of
Nova's compute_id, put together from lines of kolla-ansible itself (tests/data/kolla-2026.1)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def volume_of(lines, section, mounted_at):
    """What the container of that section mounts there; by the name, where it is a variable."""
    found = re.search(r"^%s:\n((?:  - .*\n)+)" % section, lines, re.MULTILINE)
    for volume in re.findall(r'  - "(.*)"', found.group(1)):
        source, _, target = volume.rpartition(":")
        if target.rstrip("/") == mounted_at:
            name = re.fullmatch(r"\{\{ (\w+) \}\}", source)
            return by_default(lines, name.group(1)) if name else source
    raise SystemExit("%s mounts nothing at %s" % (section, mounted_at))


def by_default(lines, variable):
    """The value of "{{ 'VALUE' if ... }}" or "{{ other or 'VALUE' }}/rest"."""
    value = re.search(r"^%s: \"\{\{.*?'([^']+)'.*?\}\}(.*)\"$" % variable, lines, re.MULTILINE)
    return value.group(1) + value.group(2)


def wanted(lines):
    """The words that the page has to have."""
    words = []
    for engine in ("docker", "podman"):
        volumes = by_default(lines, engine + "_volumes_path")
        domains = volume_of(lines, "nova_libvirt_default_volumes", "/etc/libvirt/qemu")
        state = volume_of(lines, "nova_compute_default_volumes", "/var/lib/nova")
        words += ["`/run/libvirt/qemu,%s/%s/_data`" % (volumes, domains),
                  "`%s/%s/_data/compute_id`" % (volumes, state)]
    return words


def problems(page, lines):
    missing = ["docs/waiting.md does not name %s" % word for word in wanted(lines)
               if word not in page]
    if '"/run:/run' not in lines or '"/run/libvirt:/run/libvirt' not in lines:
        missing.append("kolla's libvirt does not have the host's /run/libvirt any more")
    return missing


def main():
    page = (ROOT / "docs/waiting.md").read_text(encoding="utf-8")
    lines = (ROOT / "tests/data/kolla-2026.1/volumes.txt").read_text(encoding="utf-8")
    found = problems(page, lines)
    # The checker itself: another path on the page, another volume in kolla.
    assert problems(page.replace("/nova_libvirt_qemu/", "/nova_libvirt/"), lines)
    assert problems(page, lines.replace("nova_libvirt_qemu:", "libvirt_domains:"))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
