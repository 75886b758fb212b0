#!/usr/bin/python3
"""The published schema of Reclaim's notifications against what it sends (tests/data/notifications,
which device_notification_test compares with the code) and what docs/notifications.md shows."""
import copy
import json
import os
import re
import unittest

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "../../../docs")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Schema(unittest.TestCase):
    def setUp(self):
        self.schema = json.loads(read(os.path.join(DOCS, "notifications.schema.json")))
        jsonschema.Draft4Validator.check_schema(self.schema)
        self.validator = jsonschema.Draft4Validator(self.schema)
        self.messages = json.loads(
            read(os.path.join(HERE, "../../data/notifications/messages.json")))["good"]

    def test_what_is_sent_is_valid_and_has_every_event_and_member(self):
        events = set()
        for message in self.messages:
            with self.subTest(message):
                self.validator.validate(message)
            events.add(message["event_type"])
            self.assertEqual(set(message["payload"]["reclaim_object.data"]),
                             set(self.schema["definitions"]["device"]["properties"]))
        self.assertEqual(events, set(self.schema["properties"]["event_type"]["enum"]))

    def test_what_lacks_a_member_or_has_a_wrong_one_is_not(self):
        def data(message):
            return message["payload"]["reclaim_object.data"]
        for spoil in (lambda m: m.pop("message_id"),
                      lambda m: m.update(event_type="device.clean.begin"),
                      lambda m: m.update(timestamp="yesterday"),
                      lambda m: m["payload"].update({"reclaim_object.version": "2.0"}),
                      lambda m: data(m).pop("serial"),
                      lambda m: data(m).update(state="dirty"),
                      lambda m: data(m).update(at="12:00"),
                      lambda m: data(m).update(tags=None),
                      lambda m: data(m).update(address="c1:00")):
            message = copy.deepcopy(self.messages[0])
            spoil(message)
            self.assertFalse(self.validator.is_valid(message), message)

    def test_the_documents_examples_are_valid_and_name_every_event(self):
        text = read(os.path.join(DOCS, "notifications.md"))
        examples = re.findall("```json\n(.*?)```", text, re.DOTALL)
        self.assertGreaterEqual(len(examples), 1)
        for example in examples:
            message = json.loads(example)
            if "oslo.message" in message:
                message = json.loads(message["oslo.message"])
            self.validator.validate(message)
        for event in self.schema["properties"]["event_type"]["enum"]:
            self.assertIn("| `%s` |" % event, text)
        for member in self.schema["definitions"]["device"]["properties"]:
            self.assertIn("`%s`" % member, text)


if __name__ == "__main__":
    unittest.main()
