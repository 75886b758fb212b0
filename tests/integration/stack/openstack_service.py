#!/usr/bin/python3
"""One OpenStack service in the foreground: Debian's own code behind a threaded WSGI server.

Started by openstack.py, which hands over the listening sockets (so that no port is guessed), the
directory with the service's configuration, and the owner's pid: when the owner is gone, so are we.
"""
import argparse
import faulthandler
import os
import ssl
import sys
import threading
from unittest import mock

import mariadb  # beside this file
import service_process

# What Nova and Cyborg use and Debian's os-traits does not know yet: HW_PCI_* are in Debian 13's,
# HW_NVME_* in none. Placement's API creates CUSTOM_ traits only, so they are put where a newer
# os-traits would have put them.
NEWER_TRAITS = ("HW_PCI_ONE_TIME_USE", "HW_PCI_LIVE_MIGRATABLE", "OWNER_NOVA", "OWNER_CYBORG",
                "HW_NVME_CES", "HW_NVME_BES", "HW_NVME_WZS")
SLOW_S = 60


def keystone_app(directory, settings):
    """`settings`: None where the database and the keys have been made already."""
    from keystone.cmd import bootstrap
    from keystone.common import fernet_utils
    from keystone.common.sql import upgrades
    from keystone.server.flask import core
    import keystone.conf

    def make_keys_and_tables():
        if not settings:
            return
        conf = keystone.conf.CONF
        for group in ("fernet_tokens", "fernet_receipts", "credential"):
            repository = getattr(conf, group).key_repository
            os.makedirs(repository, mode=0o700, exist_ok=True)
            fernet_utils.FernetUtils(repository, 3, group).initialize_key_repository()
        upgrades.offline_sync_database_to_version()

    app = core.initialize_application(
        name="public", post_log_configured_function=make_keys_and_tables,
        config_files=[os.path.join(directory, "keystone.conf")])
    if not settings:
        return app
    # The application has loaded the backends; keystone-manage would load them in its own process.
    with mock.patch.object(bootstrap.backends, "load_backends"):
        boot = bootstrap.Bootstrapper()
    boot.admin_username = "admin"
    boot.admin_password = settings["admin_password"]
    boot.project_name = "admin"
    boot.admin_role_name = "admin"
    boot.service_name = "keystone"
    boot.region_id = settings["region"]
    boot.public_url = boot.internal_url = boot.admin_url = settings["auth_url"]
    boot.bootstrap()
    return app


def placement_app(directory, without_traits):
    # Placement reads its configuration's folder from the environment only.
    os.environ["OS_PLACEMENT_CONFIG_DIR"] = directory
    from placement import wsgi
    app = wsgi.init_application()
    if not without_traits:
        mariadb.execute(directory, "placement",
                        "INSERT IGNORE INTO traits (name, created_at) VALUES " +
                        ", ".join(["(%s, NOW())"] * len(NEWER_TRAITS)), NEWER_TRAITS)
    return app


def told_where_slow(app):
    """A request that takes longer than SLOW_S has all threads written to the service's .out."""
    def call(environ, start_response):
        slow = threading.Timer(SLOW_S, faulthandler.dump_traceback)
        slow.daemon = True
        slow.start()
        try:
            return app(environ, start_response)
        finally:
            slow.cancel()
    return call


def listen(app, fd, tls=None):
    from werkzeug import serving

    class Handler(serving.WSGIRequestHandler):
        disable_nagle_algorithm = True  # headers and body are written apart

        def log(self, kind, message, *args):
            pass

    server = serving.make_server("127.0.0.1", 0, app, threaded=True, fd=fd,
                                 request_handler=Handler, ssl_context=tls)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()


def tls_context(directory, client_certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(directory, "server.pem"))
    if client_certificate:
        context.load_verify_locations(os.path.join(directory, "ca.pem"))
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("service", choices=("keystone", "placement"))
    parser.add_argument("directory")
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--tls-fd", type=int)
    parser.add_argument("--mtls-fd", type=int)
    parser.add_argument("--owner-pid", type=int)
    parser.add_argument("--prepared", action="store_true", help="the database is made already")
    parser.add_argument("--without-traits", action="store_true")
    parser.add_argument("--region")
    parser.add_argument("--auth-url")
    args = parser.parse_args()
    sys.argv = sys.argv[:1]  # oslo.config would take our arguments for its own
    service_process.end_with_owner(args.owner_pid)
    if args.service == "keystone":
        app = keystone_app(args.directory, None if args.prepared else {
            "admin_password": os.environ["ADMIN_PASSWORD"], "region": args.region,
            "auth_url": args.auth_url})
    else:
        app = placement_app(args.directory, args.without_traits)
    app = told_where_slow(app)
    listen(app, args.fd)
    if args.tls_fd is not None:
        listen(app, args.tls_fd, tls_context(args.directory, False))
    if args.mtls_fd is not None:
        listen(app, args.mtls_fd, tls_context(args.directory, True))
    threading.Event().wait()


if __name__ == "__main__":
    main()
