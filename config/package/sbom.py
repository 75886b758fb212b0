#!/usr/bin/python3
"""The software bill of materials of a built binary, as CycloneDX 1.5: Debian's packages of the
libraries that it loads, and of the headers and sources that were compiled into it.

usage: sbom.py BINARY BUILD_FOLDER VERSION >FILE

Asks ldd, ninja and dpkg. It has no date and no random number: the same build has the same text.
"""

import hashlib
import json
import os
import re
import subprocess
import sys

OURS = re.compile(r"^(CMakeFiles|state|config|placement|nvme|handlers|listener|cli)/")
LOADED, COMPILED = "loaded", "compiled in"


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def loaded(binary):
    """The libraries that the dynamic linker loads for it."""
    return set(re.findall(r"(/\S+) \(0x", said("ldd", binary)))


def compiled(build):
    """What ninja knows to have been read outside of the project for each object that ships."""
    paths, wanted = set(), False
    for line in said("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            wanted = bool(OURS.match(line))
        elif wanted and line.strip().startswith("/usr/"):
            paths.add(line.strip())
    return paths


def packages_of(paths):
    """{path: package}; dpkg may know a file of /usr/lib by its place in /lib, and the reverse."""
    names = {}
    for path in paths:
        for name in {path, os.path.realpath(path), re.sub("^/usr(?=/lib)", "", path),
                     re.sub("^(?=/lib)", "/usr", os.path.realpath(path))}:
            names.setdefault(name, path)
    done = subprocess.run(["dpkg", "-S", *sorted(names)], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=False)
    found = {}
    for line in done.stdout.splitlines():
        package, _, name = line.rpartition(": ")
        if name in names and not line.startswith("diversion "):
            found[names[name]] = package.split(", ")[0]
    return found


def described(packages):
    """{package: what dpkg has of it}, for names as dpkg -S gives them."""
    form = "${binary:Package}\t${Package}\t${Version}\t${Architecture}\t${source:Package}\t" \
           "${Homepage}\n"
    rows = {}
    for line in said("dpkg-query", "--show", f"--showformat={form}", *packages).splitlines():
        installed, *rest = line.split("\t")
        rows[installed] = rest
    return {package: rows.get(package) or rows[package.partition(":")[0]] for package in packages}


def component(row, how):
    name, version, architecture, source, homepage = row
    purl = f"pkg:deb/debian/{name}@{version}?arch={architecture}".replace("+", "%2B")
    made = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "properties": [{"name": "reclaim:used", "value": each} for each in sorted(how)]
            + [{"name": "debian:source", "value": source}]}
    if homepage:
        made["externalReferences"] = [{"type": "website", "url": homepage}]
    return made


def bill(binary, build, version):
    used, orphans = {}, []
    for paths, how in ((loaded(binary), LOADED), (compiled(build), COMPILED)):
        found = packages_of(paths)
        orphans += sorted(paths - set(found))
        for package in found.values():
            used.setdefault(package, set()).add(how)
    with open(binary, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    rows = described(sorted(used))
    components = sorted((component(rows[package], how) for package, how in used.items()),
                        key=lambda c: c["bom-ref"])
    subject = {"type": "application", "bom-ref": "reclaim", "name": "reclaim", "version": version,
               "licenses": [{"license": {"id": "Apache-2.0"}}],
               "hashes": [{"alg": "SHA-256", "content": digest}]}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"component": subject}, "components": components,
            "dependencies": [{"ref": "reclaim",
                              "dependsOn": [each["bom-ref"] for each in components]}]}, orphans


def main():
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    made, orphans = bill(*sys.argv[1:])
    for path in orphans:
        print(f"sbom: no Debian package has {path}", file=sys.stderr)
    print(json.dumps(made, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
