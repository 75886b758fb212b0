"""A shell of someone who looks around in a demo that is kept."""
import os
import re
import signal
import subprocess

from services import ROOT
from waiting import DEADLINE_S


class Shell:
    """Where a person types what the screen says."""

    def __init__(self, run, text):
        self.run = run
        shown, _, ending = text.partition("Kept running ")[2].partition("To end it:")
        # A line that ends with a backslash goes on in the next.
        self.source, *self.commands = re.findall(r"\n {6}(\S(?:.*\\\n)*.*)", shown)
        self.stop = ending.strip()

    def start(self, command, **more):
        # Nothing of the cloud that this shell may speak to already.
        environment = {name: value for name, value in self.run.environment.items()
                       if not name.startswith("OS_") and not name.lower().endswith("_proxy")}
        return subprocess.Popen(["bash", "-c", self.source + "\n" + command], text=True,
                                env=environment, stdout=subprocess.PIPE, start_new_session=True,
                                **{"cwd": ROOT, "stdin": subprocess.DEVNULL, **more})

    def type(self, command):
        """(exit code, what it printed)."""
        process = self.start(command, stderr=subprocess.STDOUT)
        text, _ = process.communicate(timeout=DEADLINE_S)
        return process.returncode, text

    def follow(self, command):
        """The same, interrupted once it has printed something; then the code is None."""
        with self.start(command) as process:
            line = process.stdout.readline()
            code = process.poll() if line else process.wait()
            if code is None:
                os.killpg(process.pid, signal.SIGTERM)
            return code, line


class Session:
    """One such shell that remembers what was set before."""

    ENDED = "the command ended with"

    def __init__(self, shell, folder):
        self.process = shell.start("exec bash", cwd=folder, stdin=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def type(self, command):
        """(exit code, what it printed)."""
        # A program that reads would take the next command for its input.
        self.process.stdin.write("{ %s\n} < /dev/null; ended=$?; echo; echo '%s' $ended\n" % (
            command, self.ENDED))
        self.process.stdin.flush()
        text = ""
        for line in self.process.stdout:
            if line.startswith(self.ENDED):
                return int(line.rpartition(" ")[2]), text
            text += line
        raise AssertionError("the shell ended at %s: %s" % (command, text))
