"""What was reported to Cyborg, kept in a file from then on.

A drive that Cyborg has once been told of has to be reported always, whatever its state and while
the worker is away: Cyborg deletes the provider of one that is missing, and makes it again
unreserved.
"""
import json
import os
import re
import tempfile

VERSION = 1
FILE_BYTES_MAX = 1 << 20
DRIVES_MAX = 1024

ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
CLASS = re.compile(r"[A-Z0-9_]{1,255}\Z")
TEXTS = ("serial", "vendor", "product_id", "rc", "action")
OWNER = "OWNER_CYBORG"


class ReportError(Exception):
    """The file cannot be used. Nothing may be reported without it."""


def _why_not(host, told):
    """Why the parsed file is not one of ours; None: it is."""
    if not isinstance(told, dict) or told.get("version") != VERSION:
        return "it is not of version %d" % VERSION
    if told.get("host") != host:
        return "it is of host %r and not of %r" % (told.get("host"), host)
    drives = told.get("drives")
    if not isinstance(drives, dict) or len(drives) > DRIVES_MAX:
        return "it has no object 'drives' of at most %d" % DRIVES_MAX
    for address, drive in drives.items():
        if not ADDRESS.match(address):
            return "%.40r is not a PCI address" % address
        if not is_entry(drive):
            return "its entry of %s is not whole" % address
    return None


def is_entry(drive):
    return (isinstance(drive, dict) and all(isinstance(drive.get(key), str) for key in TEXTS) and
            isinstance(drive.get("managed"), bool) and CLASS.match(drive["rc"]) is not None and
            isinstance(drive.get("traits"), list) and
            all(isinstance(trait, str) and CLASS.match(trait) for trait in drive["traits"]))


class ReportFile:
    def __init__(self, path, host):
        self.path = path
        self._host = host

    def load(self):
        """{address: entry}; None: there is no file."""
        try:
            with open(self.path, "rb") as file:
                text = file.read(FILE_BYTES_MAX + 1)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise ReportError("[reclaim] report_file %s cannot be read: %s" %
                              (self.path, problem.strerror)) from problem
        why = "it is longer than %d bytes" % FILE_BYTES_MAX
        if len(text) <= FILE_BYTES_MAX:
            try:
                told = json.loads(text)
                why = _why_not(self._host, told)
            except (ValueError, RecursionError):
                why = "it is not JSON"
        if why is not None:
            raise ReportError(
                "[reclaim] report_file %s is not what this driver wrote: %s. Nothing is reported, "
                "for Cyborg would take the drives of this host for gone. Put the file back from a "
                "backup, or delete it while the worker runs and no drive is being cleaned"
                % (self.path, why))
        return told["drives"]

    def save(self, drives):
        """Whole and durable, or not at all."""
        if len(drives) > DRIVES_MAX:
            raise ReportError("%d drives are more than the %d that can be reported" %
                              (len(drives), DRIVES_MAX))
        text = json.dumps({"version": VERSION, "host": self._host, "drives": drives}, indent=1,
                          sort_keys=True)
        folder = os.path.dirname(self.path)
        try:
            descriptor, name = tempfile.mkstemp(prefix=".reclaim-", dir=folder)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    file.write(text + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(name, self.path)
            except BaseException:
                os.unlink(name)
                raise
            self._sync(folder)
        except OSError as problem:
            raise ReportError(
                "[reclaim] report_file %s cannot be written: %s; its folder has to be the agent's"
                % (self.path, problem.strerror)) from problem

    @staticmethod
    def _sync(folder):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
