#!/usr/bin/python3
"""How long `reclaim api` takes over a large fleet: the first page of all devices and /metrics, once
read from Redis and once from the view that is kept; and one host's devices. The shipped binary and
a real Redis; the hosts, with eight devices each, are records that no worker wrote. No
authentication.

    api_bench.py [HOSTS]      default 12000
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "integration", folder)
                for folder in ("e2e", "stack")]

from api_clients import free_port  # noqa: E402
from services import BUILD, RedisServer  # noqa: E402
from waiting import wait_until  # noqa: E402

DEVICES = 8
OF_DEVICES = uuid.UUID("5b9c2e0e-7c0e-4d0e-9d55-0c5a8e1f7a31")  # state/base/uuid.cpp
QUIET_S = 5  # longer than a view is kept
WORKER = [["reclaim_surveys_total", ["ok"], [5]], ["reclaim_surveys_total", ["failed"], [0]],
          ["reclaim_request_duration_seconds", ["redis", "ok"], [3, 4, 5, 0, 0, 0, 0, 0.4]],
          ["reclaim_request_duration_seconds", ["placement", "ok"], [3, 4, 5, 0, 0, 0, 0, 0.4]]]


def host_name(number):
    return "compute-%05d.example.org" % number


def commands(hosts):
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    for number in range(hosts):
        host = host_name(number)
        key = "reclaim:{%s}:" % host
        yield "SADD", "reclaim:hosts", host
        yield "SET", key + "alive", json.dumps({
            "heartbeat_at": now, "version": "bench", "machine_id": "a" * 32, "burned": 0,
            "nodes": [host]})
        yield "SET", key + "metrics", json.dumps(WORKER)
        for device in range(DEVICES):
            address = "0000:%02x:00.0" % (device + 1)
            fields = {"host": host, "address": address, "flow": "nova", "type": "NVME",
                      "uuid": str(uuid.uuid5(OF_DEVICES, host + "/" + address)),
                      "device_state": "available", "stage": "available", "stage_since": now,
                      "model": "Bench", "serial": "S%d-%d" % (number, device)}
            yield "SADD", key + "devices", address
            yield ("HSET", key + "device:" + address, *(part for item in fields.items()
                                                       for part in item))


def fill(redis, hosts):
    pipe = subprocess.Popen(["redis-cli", "-p", str(redis.port), "--pipe"], stdin=subprocess.PIPE,
                            stdout=subprocess.DEVNULL)
    for words in commands(hosts):
        pipe.stdin.write(b"*%d\r\n" % len(words))
        for word in words:
            pipe.stdin.write(b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode()))
    pipe.stdin.close()
    assert pipe.wait() == 0, "redis-cli"


def cpu_s(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmRSS"))


class Api:
    def __init__(self, folder, redis, hosts):
        self.port = free_port()
        config = os.path.join(folder, "api.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write("[redis]\nurl = redis://%s/0\nhosts_max = %d\n[api]\nauth = none\n"
                       "bind = 127.0.0.1:%d\nmetrics = true\n" % (redis.address, hosts, self.port))
        with open(os.path.join(folder, "api.log"), "w", encoding="ascii") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "reclaim"), "api", "--config-file", config], stdout=log,
                stderr=log)
        wait_until(lambda: self.get("/healthz")[0] == 200, "the API answers")

    def get(self, path):
        said = subprocess.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{time_total}",
             "-H", "OpenStack-API-Version: accelerator 2.7",
             "http://127.0.0.1:%d%s" % (self.port, path)], capture_output=True, text=True,
            check=False).stdout.split()
        return int(said[0]), int(said[1]), float(said[2])

    def tell(self, title, path):
        before = cpu_s(self.process.pid)
        code, size, took_s = self.get(path)
        assert code == 200, (path, code)
        print("%-34s %6.2f s  %6.2f s of a processor  %9.2f MB" % (
            title, took_s, cpu_s(self.process.pid) - before, size / 1e6), flush=True)


def main():
    hosts = int(sys.argv[1]) if len(sys.argv) > 1 else 12000
    with tempfile.TemporaryDirectory(prefix="reclaim-api-bench-") as folder:
        redis = RedisServer(os.path.join(folder, "redis"))
        redis.start()
        try:
            fill(redis, hosts)
            api = Api(folder, redis, hosts)
            try:
                print("%d hosts with %d devices each" % (hosts, DEVICES))
                api.tell("100 of all devices, read", "/v2/devices?limit=100")
                api.tell("the same, from the view", "/v2/devices?limit=100")
                time.sleep(QUIET_S)
                api.tell("/metrics, read", "/metrics")
                api.tell("the same, from the view", "/metrics")
                api.tell("one host's devices", "/v2/devices?hostname=" + host_name(hosts - 1))
                print("resident: %d MB" % resident_mb(api.process.pid))
            finally:
                api.process.terminate()
                api.process.wait()
        finally:
            redis.stop()


if __name__ == "__main__":
    main()
