#!/usr/bin/python3
"""A MariaDB of one's own in a folder, for Keystone and Placement: clouds run them on one, and it
takes concurrent writers, which sqlite answers with "database is locked".

  mariadb.py run DIR [--owner-pid PID]    in the foreground

It listens on DIR/mariadb.sock alone, has no accounts, reads nothing of /etc, and does nothing for
durability: its files live as long as one test. Debian's mariadb-server-core is all that it takes.
"""
import argparse
import os
import signal
import subprocess
import sys
import time

import pymysql  # Debian's python3-pymysql

import service_process  # beside this file

SERVER = "/usr/sbin/mariadbd"

# Small, and quick to start and to copy: one file of tables that grows by megabytes.
CONFIGURATION = """\
[mariadbd]
datadir = {dir}/mariadb
socket = {dir}/mariadb.sock
tmpdir = {dir}
pid-file = {dir}/mariadb.pid
skip-networking
skip-grant-tables
skip-name-resolve
skip-log-bin
character-set-server = utf8mb3
performance-schema = OFF
max-connections = 200
table-open-cache = 400
key-buffer-size = 1M
aria-pagecache-buffer-size = 1M
innodb-buffer-pool-size = 32M
innodb-buffer-pool-dump-at-shutdown = OFF
innodb-buffer-pool-load-at-startup = OFF
innodb-log-file-size = 8M
innodb-file-per-table = OFF
innodb-data-file-path = ibdata1:4M:autoextend
innodb-temp-data-file-path = ibtmp1:1M:autoextend
innodb-autoextend-increment = 1
innodb-undo-tablespaces = 0
innodb-stats-persistent = OFF
innodb-flush-log-at-trx-commit = 0
innodb-flush-method = nosync
innodb-doublewrite = OFF
innodb-use-native-aio = OFF
"""


def data_folder(directory):
    return os.path.join(directory, "mariadb")


def url(directory, database):
    """For SQLAlchemy."""
    return "mysql+pymysql://root@localhost/%s?charset=utf8&unix_socket=%s" % (
        database, os.path.join(directory, "mariadb.sock"))


def connect(directory, database=None):
    return pymysql.connect(unix_socket=os.path.join(directory, "mariadb.sock"), user="root",
                           database=database, autocommit=True)


def execute(directory, database, statement, values=()):
    connection = connect(directory, database)
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
    finally:
        connection.close()


def start(directory, owner_pid=None):
    """The process that keeps the server, which may not answer yet."""
    with open(os.path.join(directory, "mariadb.out"), "wb") as log:
        return subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "run", directory] +
            (["--owner-pid", str(owner_pid)] if owner_pid else []),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            cwd=directory)


def wait_until_it_answers(directory, process, deadline_s=120):
    deadline = time.monotonic() + deadline_s
    while True:
        try:
            connect(directory).close()
            return
        except pymysql.err.OperationalError:
            log = os.path.join(directory, "mariadb.out")
            if process.poll() is not None:
                raise SystemExit("MariaDB ended with status %s while it started; see %s" % (
                    process.returncode, log)) from None
            if time.monotonic() > deadline:
                raise SystemExit("MariaDB does not answer after %d s; see %s" % (
                    deadline_s, log)) from None
            time.sleep(0.02)


def shut_down(directory, process, deadline_s=120):
    """In order, so that what it leaves behind can be copied."""
    execute(directory, None, "SHUTDOWN")
    if process.wait(deadline_s) != 0:
        raise SystemExit("MariaDB ended with status %s; see %s" % (
            process.returncode, os.path.join(directory, "mariadb.out")))


def run(args):
    directory = os.path.abspath(args.directory)
    os.makedirs(os.path.join(data_folder(directory), "mysql"), exist_ok=True)
    configuration = os.path.join(directory, "mariadb.cnf")
    with open(configuration, "w", encoding="ascii") as file:
        file.write(CONFIGURATION.format(dir=directory))
    # It refuses to be root unless it is told to.
    words = [SERVER, "--defaults-file=" + configuration] + (
        ["--user=root"] if os.geteuid() == 0 else [])
    server = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                              preexec_fn=service_process.die_with_parent)
    signal.signal(signal.SIGTERM, lambda number, frame: server.kill())
    service_process.end_with_owner(args.owner_pid)
    sys.exit(server.wait())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    sub = commands.add_parser("run")
    sub.add_argument("directory", metavar="DIR")
    sub.add_argument("--owner-pid", type=int)
    run(parser.parse_args())
