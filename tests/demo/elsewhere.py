"""Commands of the documents that are not typed in a demo: what follows them instead."""

import documents

# By hand alone, for the reason that is given. That its program and its options exist is checked.
BY_HAND = None

BOOTED = ("tests/first_hour/first_hour_test.py", "documents.ten_lines()")
BENCHES = "tests/bench/CMakeLists.txt"
# It needs Nova 34 and Cyborg: Debian 12 has Nova 26 and no Cyborg. A row may name a request there.
LIVE = "tests/live/"

# How the command begins: the file that does it, and the words there that do; or BY_HAND, and why.
ELSEWHERE = {
    # On a machine of its own.
    **{line: BOOTED for lines in documents.ten_lines() for line in lines},
    "systemctl enable --now reclaim": BOOTED,
    "systemctl enable --now reclaim-api": (
        "tests/guest/confined/confined", "systemctl start --no-block reclaim.service reclaim-api"),
    "apt install reclaim": ("tests/setup/packages_test.sh", "/srv/packages/new/reclaim_*.deb"),
    "install -m 640 -g reclaim-api": ("tests/setup/packages_test.sh",
                                      "install -m 640 -g reclaim-api"),
    "reclaim config check --api && reclaim doctor --api": (
        "tests/integration/e2e/startup_test.py", 'node.command("doctor", "--api"'),
    "install -D -o root": ("tests/integration/e2e/operator_steps_test.py", 'example("link-width")'),
    "reclaim step test link": ("tests/integration/e2e/operator_steps_test.py",
                               '"step", "test", "link", FIRST, "--dry-run"'),
    "reclaim qualify": ("tests/integration/e2e/qualify_case.py", '"SPARE", "--report"'),
    "podman build": (BY_HAND, "the tests need no container runtime; container_test reads the file"),
    "podman run": (BY_HAND, "the same"),
    "podman exec": (BY_HAND, "the same"),
    "ansible-playbook -i INVENTORY rolling_upgrade.yml": (
        "tests/setup/packages_test.sh", "/rolling_upgrade.yml --syntax-check"),

    # With a key that another has replaced, while the worker is stopped.
    "reclaim certificate revoke OLD.pub": ("tests/integration/e2e/adversary_test.py",
                                           '"revoke", first, "--from"'),

    # Beside a Cyborg, or with a drive that a demo does not have.
    "pip install ./clients/python": (LIVE + "root.sh", "pip install -q --break-system-packages"),
    "systemctl restart reclaim && systemctl restart cyborg-agent": (
        LIVE + "cyborg_scenarios.py", 'ended_at_each_point(live, "cyborg-agent")'),
    "reclaim device set 0000:01:00.0 --enrol": ("tests/integration/e2e/manage_providers_test.py",
                                                '"device", "set", FIRST, "--enrol"'),
    "openstack accelerator device list --cyborg": (
        LIVE + "cyborg_scenarios.py", 'openstack("accelerator", "device", "list", "--cyborg"'),
    "openstack accelerator device profile create": (LIVE + "cyborg_scenarios.py",
                                                    '"POST", "/device_profiles"'),
    "openstack flavor create": (LIVE + "cloud.py", '"POST", "/flavors"'),
    "openstack flavor set nvme --property accel:device_profile": (
        LIVE + "cyborg_scenarios.py", "accel__device_profile=name"),
    "openstack server create": (LIVE + "life.py", '"POST", "/servers"'),
    "curl -X DELETE": (BY_HAND, "of a real Cyborg; tests/live sends ?arqs= for the same"),
    "curl --unix-socket": ("tests/integration/e2e/device_api_test.py",
                           '"http://localhost/v2/devices", "--unix-socket"'),

    # Of the package for the openstack client.
    "openstack accelerator device certificate list --project": (
        "tests/integration/e2e/device_api_test.py", '"certificate", "list", "--project"'),
    "apt install python3-openstackclient": ("tests/setup/packages.txt", "python3-openstackclient"),
    "pip install --break-system-packages": ("tests/integration/e2e/api_clients.py",
                                            '"--no-build-isolation", "--no-deps"'),
    "python3 -m venv": (BY_HAND, "the next line takes the client from the network's index"),
    "~/openstack/bin/pip": (BY_HAND, "the same"),
    "cd clients/python": ("clients/python/CMakeLists.txt", "-m unittest discover"),

    # A service of others on the network.
    "curl -H 'Content-Type: application/timestamp-query'": (
        BY_HAND, "a time stamp is another's service"),
    "openssl ts -verify": (BY_HAND, "the same"),

    # For who works on Reclaim.
    "./demo.sh": ("tests/setup/on_debian.sh", "./demo.sh ./test.sh"),
    "./demo.sh --flow": ("tests/demo/kept_test.py", 'Run("--flow", flow, "--keep")'),
    "./demo.sh --stop": ("tests/demo/kept_test.py", "self.shell.type(self.shell.stop)"),
    "./test.sh": ("tests/setup/on_debian.sh", "./demo.sh ./test.sh"),
    "./test.sh --ci": (".ci/run", "./test.sh --ci"),
    "./test.sh --": (BY_HAND, "modes of many minutes, and this is a test of one of them"),
    "cmake --preset test": ("test.sh", 'stage "test build" build test'),
    "cmake --preset dev": ("test.sh", 'stage "dev build" build dev --target all bench_tests'),
    "cmake --preset fuzz": ("test.sh", 'stage "fuzz build" build fuzz --target fuzz_tests'),
    "ctest --test-dir": ("test.sh", 'ctest --test-dir "build/$preset"'),
    "RECLAIM_ROWS=": ("tests/integration/e2e/hostile_drives_test.py",
                      'os.environ.get("RECLAIM_ROWS"'),
    "RECLAIM_FAULT=": ("tests/mutants/CMakeLists.txt", "ENVIRONMENT RECLAIM_FAULT=${fault}"),
    "build/test/tests/sim/sim --seeds": ("tests/mutants/CMakeLists.txt", "--seeds 1 1000"),
    "build/test/tests/sim/sim --fresh": ("tests/setup/search.sh", "sim/sim --fresh 10000 --jobs"),
    "build/test/tests/exhaustive/exhaustive": ("tests/exhaustive/CMakeLists.txt",
                                               "COMMAND exhaustive ${with}"),
    "build/fuzz/tests/fuzz/fuzz_envelope": ("tests/fuzz/CMakeLists.txt",
                                            "COMMAND fuzz_${name} -max_total_time="),
    **{"build/dev/tests/bench/" + name: (BENCHES, "COMMAND %s " % name)
       for name in ("decode_bench", "drain_bench", "zero_bench", "many_drives", "http_bench")},
    "build/dev/tests/bench/look_bench": (BENCHES, "COMMAND look_bench"),
    **{"tests/bench/%s.py" % name: (BENCHES, "/%s.py" % name)
       for name in ("sanitize_bench", "first_command_bench", "memory_bench", "api_bench",
                    "placement_load", "bind_window")},
    "build/dev/tests/bench/fleet/fleet_bench": ("tests/bench/fleet/CMakeLists.txt",
                                                "COMMAND fleet_bench"),
    "build/dev/tests/bench/fleet/fleet_plot": (BY_HAND, "what it draws is looked at"),
    "for n in 100": (BY_HAND, "hours: fleet_bench, four times"),
    "tests/chaos/chaos.py": ("tests/setup/search.sh", "tests/chaos/chaos.py --minutes 1"),
    "tests/guest/run_guest.py": ("tests/guest/CMakeLists.txt", "/run_guest.py"),
    "tests/live/": (BY_HAND, "an hour, in a Debian that has Nova and Cyborg"),
}


def row_of(command):
    """How the row begins that is the command's, or nothing: it is typed in a demo."""
    return max((row for row in ELSEWHERE if command.startswith(row)), key=len, default=None)
