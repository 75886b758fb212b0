"""A demo as a test runs it, and what it leaves behind."""
import glob
import os
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Run:
    """One demo with a folder of its own for temporary files, so that what it leaves is seen."""

    def __init__(self, *words):
        self.folder = tempfile.TemporaryDirectory(prefix="demo-test-")
        self.environment = {**os.environ, "TMPDIR": self.folder.name, "COLUMNS": "80",
                            "RECLAIM_DEMO_KEPT": self.folder.name + "/kept"}
        self.process = subprocess.Popen(
            ["/usr/bin/python3", os.path.join(HERE, "demo.py"), *words], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=self.environment)

    def end(self):
        text, _ = self.process.communicate(timeout=600)
        return self.process.returncode, text

    def stop(self):
        """Of one that was kept, in case that it still runs."""
        subprocess.run(["/usr/bin/python3", os.path.join(HERE, "demo.py"), "--stop"], check=False,
                       stdout=subprocess.DEVNULL, env=self.environment)

    def wait_for_folder(self):
        end = time.monotonic() + 300
        while not glob.glob(self.folder.name + "/reclaim-demo-*/services/rabbitmq/server.pid"):
            if time.monotonic() > end:
                raise AssertionError("it does not start")
            time.sleep(0.02)

    def left_behind(self):
        """What was killed may take its time to be gone."""
        end = time.monotonic() + 60
        while self.processes() and time.monotonic() < end:
            time.sleep(0.05)
        folders = glob.glob("/run/reclaim-demo-%d-*" % self.process.pid)
        return os.listdir(self.folder.name) + folders + self.processes()

    def processes(self):
        """Whatever it started, which has its environment, and perhaps nothing else of it."""
        mark = b"TMPDIR=" + os.fsencode(self.folder.name)
        found = []
        for path in glob.glob("/proc/[0-9]*"):
            try:
                with open(path + "/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        with open(path + "/cmdline", "rb") as words:
                            found.append(words.read().replace(b"\0", b" ").decode())
            except OSError:  # it has ended, or is not ours
                continue
        return found
