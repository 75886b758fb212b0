#!/usr/bin/python3
"""Holds our policy against Debian's oslo.policy: the same rules, callers and targets.

usage: policy_oslo.py POLICY_TABLE_PROGRAM TABLE

Compared are the expressions of the table and our own default rules. What oslo.policy denies because
it could not read it is not in the table: we refuse that when the policy is read.
"""

import json
import logging
import subprocess
import sys
import unittest

from oslo_policy import _checks
from oslo_policy import _parser

PROGRAM, TABLE = sys.argv[1:3]


class Enforcer:
    """As much of oslo.policy's own as a `rule:` check needs."""

    def __init__(self, rules):
        self.rules = rules


def credentials_of(caller):
    """What Cyborg's API hands to oslo.policy; a fact that a token does not have is left out."""
    facts = dict(caller)
    facts.setdefault("roles", [])
    facts["is_admin"] = "admin" in facts["roles"]
    return facts


class PolicyTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        logging.disable(logging.CRITICAL)
        with open(TABLE, encoding="utf-8") as stream:
            cls.table = json.load(stream)
        run = subprocess.run([PROGRAM, TABLE], check=True, capture_output=True, text=True)
        cls.ours = json.loads(run.stdout)
        texts = dict(cls.ours["defaults"])
        texts.update({text: text for text in cls.table["expressions"]})
        cls.enforcer = Enforcer({name: _parser.parse_rule(text) for name, text in texts.items()})

    def oslos(self, name):
        rule = self.enforcer.rules[name]
        return "".join(
            "1" if _checks._check(rule, dict(target), credentials_of(caller), self.enforcer, name)
            else "0"
            for caller in self.table["callers"] for target in self.table["targets"])

    def test_every_answer_is_oslo_policys(self):
        self.assertEqual(self.ours["refused"], [])
        self.assertEqual(len(self.ours["answers"]),
                         len(self.table["expressions"]) + len(self.ours["defaults"]))
        self.assertEqual(self.ours["answers"],
                         {name: self.oslos(name) for name in self.ours["answers"]})

    def test_the_table_is_worth_asking(self):
        """Both answers occur for most expressions, or comparing them would prove little."""
        mixed = [name for name, digits in self.ours["answers"].items() if "1" in digits
                 and "0" in digits]
        self.assertGreater(len(mixed), len(self.ours["answers"]) * 0.7)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
