"""Commands of the documents that are not typed in a demo: what follows them instead."""

BOOTED = "tests/first_hour/first_hour_test.py"
LIVE = "tests/live/cyborg.sh"  # by hand: Nova and Cyborg are not in Debian 12
GATE = ".ci/run"
BY_HAND = None  # minutes, or what no test has; that its program and its options exist is checked

# How the command begins: the file that does it.
ELSEWHERE = {
    # On a machine of its own.
    "tests/setup/install_packages.sh": GATE,
    "cmake --preset release": BOOTED,
    "cmake --build --preset release": BOOTED,
    "(cd build/release": BOOTED,
    "sudo": BOOTED,
    "systemctl enable --now reclaim": BOOTED,
    "apt install reclaim": "tests/setup/packages_test.sh",
    "install -m 640 -g reclaim-api": "tests/integration/e2e/startup_test.py",
    "reclaim config check --api && reclaim doctor --api": "tests/integration/e2e/startup_test.py",
    "install -D -o root": "tests/integration/e2e/operator_steps_test.py",
    "reclaim step test link": "tests/integration/e2e/operator_steps_test.py",
    "reclaim qualify": "tests/integration/nvme_qualify_test.cpp",
    "podman": "tests/setup/container_test.py",

    # Beside a Cyborg, or with a drive that a demo does not have.
    "pip install ./clients/python": LIVE,
    "systemctl restart reclaim && systemctl restart cyborg-agent": LIVE,
    "reclaim device set 0000:01:00.0 --enrol": "tests/integration/e2e/manage_providers_test.py",
    "openstack accelerator device list --cyborg": "tests/integration/e2e/device_api_test.py",
    "openstack accelerator device profile create": LIVE,
    "openstack flavor": LIVE,
    "openstack server create": LIVE,
    "curl -X DELETE": LIVE,
    "curl --unix-socket": "tests/integration/e2e/device_api_test.py",

    # Nova's RabbitMQ.
    "rabbitmqctl set_policy": "tests/integration/nova_queues_test.cpp",
    "rabbitmqctl list_queues": BY_HAND,
    "rabbitmqctl clear_policy": BY_HAND,

    # A service of others on the network.
    "curl -H 'Content-Type: application/timestamp-query'": BY_HAND,
    "openssl ts -verify": BY_HAND,
    "apt install python3-openstackclient": "tests/setup/packages.txt",
    "pip install --break-system-packages": "tests/integration/e2e/api_clients.py",
    "python3 -m venv": BY_HAND,
    "~/openstack/bin/pip": BY_HAND,

    # For who works on Reclaim.
    "./demo.sh": "tests/demo/demo_test.py",
    "./test.sh": GATE,
    "cmake --preset": GATE,
    "ctest --test-dir": GATE,
    "RECLAIM_ROWS=": GATE,
    "RECLAIM_FAULT=": GATE,
    "build/": GATE,
    "for n in 100": BY_HAND,
    "tests/bench/": GATE,
    "tests/chaos/": BY_HAND,
    "tests/guest/run_guest.py": GATE,
    "cd clients/python": GATE,
}
