"""The chance of tests: RECLAIM_TEST_SEED decides it, as tests/seed.h has it for those in C++."""
import os
import random
import re
import sys

NAME = "RECLAIM_TEST_SEED"


def stream(name):
    """A random.Random by the run's seed and this name; how to repeat it is printed."""
    text = os.environ.get(NAME, str(random.SystemRandom().getrandbits(64)))
    if not re.fullmatch("[0-9]+", text, re.ASCII) or int(text) >= 1 << 64:
        print('%s is "%s": it takes a number from 0 to 2^64 - 1' % (NAME, text), file=sys.stderr)
        sys.exit(2)
    print("again: %s=%s %s" % (NAME, text, " ".join(sys.argv)), file=sys.stderr)
    return random.Random("%d %s" % (int(text), name))
