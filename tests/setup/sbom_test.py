#!/usr/bin/python3
"""The bill of materials of a build: what the binary asks the linker for is in it, what the tests
alone use is not, and dpkg knows each package by that version.

usage: sbom_test.py BINARY BUILD_FOLDER
"""

import json
import os
import re
import subprocess
import sys

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../config/package/sbom.py")

PACKAGED_AS = {"libcrypto": "libssl", "libm": "libc"}


def said(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def look_at_llhttp(components, needed, told):
    """It is loaded, or its package and version stand in the bill and in what --version says."""
    if any(library.startswith("libllhttp") for library in needed):
        if "llhttp" in told:
            yield "llhttp is loaded, and --version says that it is compiled in"
        return
    of_it = [each for each in components if each["name"] == "node-llhttp"]
    if not of_it or {"name": "reclaim:used", "value": "compiled in"} not in of_it[0]["properties"]:
        yield "llhttp is compiled in, and not there"
    elif f"\ncompiled in: node-llhttp {of_it[0]['version']}\n" not in told:
        yield f"--version does not say that node-llhttp {of_it[0]['version']} is compiled in"


def look_at(bill, needed):
    if (bill["bomFormat"], bill["specVersion"]) != ("CycloneDX", "1.5"):
        yield "it is not CycloneDX 1.5"
    names = {}
    known = set(said("dpkg-query", "--show", "--showformat=${Package} ${Version}\n",
                     *[each["name"] for each in bill["components"]]).splitlines())
    for component in bill["components"]:
        names[component["name"]] = {each["value"] for each in component["properties"]
                                    if each["name"] == "reclaim:used"}
        if not re.fullmatch(r"pkg:deb/debian/[^@]+@[^?+]+\?arch=\w+", component["purl"]):
            yield f"{component['purl']} is no package URL"
        if f"{component['name']} {component['version']}" not in known:
            yield f"{component['name']} is not installed as {component['version']}"
    loaded = [name for name, how in names.items() if "loaded" in how]
    for library in needed:
        stem = re.match(r"lib[a-z]+", library).group(0)
        stem = PACKAGED_AS.get(stem, stem)
        if not any(name.startswith(stem) for name in loaded):
            yield f"nothing of {library}, which the binary needs"
    for package in ("rapidjson-dev", "libcli11-dev", "libspdlog-dev"):
        if "compiled in" not in names.get(package, ()):
            yield f"{package} is compiled in, and not there"
    yield from (f"{name} is used by tests only" for name in names
                if name.startswith(("libgtest", "libgmock", "libbenchmark")))
    references = {each["bom-ref"] for each in bill["components"]}
    if set(bill["dependencies"][0]["dependsOn"]) != references:
        yield "dependsOn names other components than there are"


def main():
    binary, build = sys.argv[1:]
    made = [said("/usr/bin/python3", SCRIPT, binary, build, "1.2.3") for _ in range(2)]
    needed = re.findall(r"NEEDED +(lib\S+)", said("objdump", "-p", binary))
    complaints = list(look_at(json.loads(made[0]), needed))
    complaints += look_at_llhttp(json.loads(made[0])["components"], needed,
                                 said(binary, "--version"))
    if made[0] != made[1]:
        complaints.append("made twice, it is not the same")
    for complaint in complaints:
        print(f"sbom: {complaint}")
    print(f"sbom: {len(json.loads(made[0])['components'])} packages, {len(needed)} libraries asked "
          "for")
    return 1 if complaints or not needed else 0


if __name__ == "__main__":
    sys.exit(main())
