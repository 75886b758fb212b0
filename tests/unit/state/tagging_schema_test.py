#!/usr/bin/python3
"""The published schema of a device with its tags, and the specification's own, against what Reclaim
tells (tests/data/device-role-tagging, which record_test compares with the code) and the example of
docs/device-api-reference.md."""
import json
import pathlib
import re
import unittest

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[3]
DATA = ROOT / "tests/data/device-role-tagging"


def validator(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft4Validator.check_schema(schema)
    return jsonschema.Draft4Validator(schema)


class Schema(unittest.TestCase):
    def setUp(self):
        self.ours = validator(ROOT / "docs/device-role-tagging.schema.json")
        self.theirs = validator(DATA / "specification.schema.json")
        lines = (DATA / "devices.jsonl").read_text(encoding="utf-8").splitlines()
        self.devices = [json.loads(line) for line in lines]

    def test_what_is_told_is_valid_by_both(self):
        self.theirs.validate({"devices": self.devices})
        for device in self.devices:
            self.ours.validate(device)

    def test_the_documents_example_is(self):
        text = " ".join((ROOT / "docs/device-api-reference.md").read_text(encoding="utf-8").split())
        example = json.loads(re.search('`({"type": "disk", .*?})`', text).group(1))
        self.ours.validate(example)
        self.theirs.validate({"devices": [example]})

    def test_a_nic_without_a_mac_and_other_faults_are_not(self):
        nic = self.devices[-1]
        self.assertEqual(nic["type"], "nic")
        for spoil in ({"mac": "00:1b"}, {"bus": "usb"}, {"tags": "db"}, {"type": "NIC"}):
            self.assertFalse(self.ours.is_valid({**nic, **spoil}), spoil)
        for member in ("mac", "tags", "address"):
            less = {name: value for name, value in nic.items() if name != member}
            self.assertFalse(self.ours.is_valid(less), member)


if __name__ == "__main__":
    unittest.main()
