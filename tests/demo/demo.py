#!/usr/bin/python3
"""One of the flows on real services, shown as it happens. Started by demo.sh, which has built the
programs; everything it starts is its own, in one temporary folder, and gone afterwards."""
import argparse
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "integration", "e2e"))
sys.path.insert(0, HERE)
# No compiled files beside the sources: the demo leaves nothing behind.
sys.dont_write_bytecode = True

import keeping  # noqa: E402
from cyborg_flow import CyborgFlow  # noqa: E402
from nova_flow import NovaFlow  # noqa: E402
from screen import Screen  # noqa: E402
from steps_flow import StepsFlow  # noqa: E402

FLOWS = {"nova": NovaFlow, "cyborg": CyborgFlow, "steps": StepsFlow}


class Interrupted(BaseException):
    def __init__(self, number):
        super().__init__()
        self.number = number


def on_signal(number, _frame):
    raise Interrupted(number)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flow", choices=FLOWS, default="nova")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--stop", action="store_true")
    parser.add_argument("--steps-before", type=int, default=0, help="steps demo.sh has shown")
    parser.add_argument("--fault", metavar="KEY=VALUE", help="a fault of the drive to be cleaned")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    screen = Screen()
    if arguments.stop:
        return keeping.stop(screen)
    if arguments.keep and keeping.kept():
        screen.line("demo: a demo is already running; run ./demo.sh --stop first")
        return 1
    screen.number = arguments.steps_before
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    began = time.monotonic()
    code = 1
    demo = FLOWS[arguments.flow](arguments, screen)
    try:
        demo.run()
        if arguments.keep:
            demo.keep()
        code = 0
    except Interrupted as interrupted:
        code = 128 + interrupted.number
        screen.line()
        screen.line("demo: interrupted; stopping its services")
    except (Exception, SystemExit) as problem:
        screen.line()
        screen.line(screen.red("demo failed: ") + str(problem))
        demo.show_logs()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if code != 0 or not arguments.keep:
            screen.working("Clean up", "stopping the services")
            gone = demo.clean_up()
            screen.clear()
    if code == 0 and not arguments.keep:
        if not gone:
            screen.line(screen.red("demo failed: ") + "processes were left behind and killed")
            return 1
        screen.step("Cleaned up", "every service stopped, every file removed; %d s in all" %
                    (time.monotonic() - began))
        screen.line()
    return code


if __name__ == "__main__":
    sys.exit(main())
