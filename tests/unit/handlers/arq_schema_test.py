#!/usr/bin/python3
"""The published schema of ARQ notifications against the messages that the decoder is tested with,
what docs/cyborg-notifications.md shows, and what docs/examples/arq_notifier.py sends."""
import json
import os
import re
import runpy
import sys
import types
import unittest

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "../../../docs")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Schema(unittest.TestCase):
    def setUp(self):
        schema = json.loads(read(os.path.join(DOCS, "cyborg-notifications.schema.json")))
        jsonschema.Draft4Validator.check_schema(schema)
        self.validator = jsonschema.Draft4Validator(schema)
        self.messages = json.loads(read(os.path.join(HERE, "../../data/arq/messages.json")))

    def test_what_the_decoder_takes_is_valid(self):
        for message in self.messages["good"]:
            with self.subTest(message):
                self.validator.validate(message)

    def test_what_the_decoder_rejects_is_not(self):
        for message in self.messages["bad"]:
            with self.subTest(message):
                self.assertFalse(self.validator.is_valid(message))

    def test_the_documents_payload_is_valid(self):
        text = read(os.path.join(DOCS, "cyborg-notifications.md"))
        payload = json.loads(re.search("```json\n(.*?)```", text, re.DOTALL).group(1))
        self.validator.validate({"event_type": "accelerator_request.bind.end", "payload": payload})

    def test_what_the_example_sends_is_valid(self):
        sent = []

        class Notifier:
            def __init__(self, *_arguments, **_options):
                pass

            @staticmethod
            def info(_context, event_type, payload):
                sent.append({"event_type": event_type, "payload": payload})

        stand_in = types.ModuleType("oslo_messaging")
        stand_in.Notifier = Notifier
        stand_in.set_transport_defaults = stand_in.get_notification_transport = (
            lambda *_arguments, **_options: None)
        sys.modules["oslo_messaging"] = stand_in
        path = os.path.join(DOCS, "examples/arq_notifier.py")
        sys.argv = [path, "rabbit://", "cmp1"]
        runpy.run_path(path, run_name="__main__")
        self.assertEqual([message["event_type"] for message in sent],
                         ["accelerator_request.bind.end", "accelerator_request.unbind.end"])
        for message in sent:
            self.validator.validate(message)
        self.assertLessEqual(len(read(path).splitlines()), 30)


if __name__ == "__main__":
    unittest.main()
