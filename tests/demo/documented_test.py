#!/usr/bin/python3
"""Each command that the README and the documents tell to type succeeds in a demo that is kept, or
something else is known to do it; and each `reclaim ...` that they name is one that there is."""
import glob
import os
import re
import shutil
import sys
import tempfile
import types
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (HERE, os.path.join(HERE, "../integration/e2e"), os.path.join(HERE, "../first_hour"),
               os.path.join(HERE, "../setup")):
    sys.path.insert(0, folder)

import documents  # noqa: E402
from demo_run import Run  # noqa: E402
from elsewhere import BY_HAND, ELSEWHERE, row_of  # noqa: E402
from services import BUILD, ROOT, STACK  # noqa: E402
from shell import Session, Shell  # noqa: E402
from usage import Usage, usage_of, why_not  # noqa: E402
from waiting import wait_until  # noqa: E402

EXAMPLES = os.path.join(ROOT, "docs/examples")
OPTION = re.compile(r"--[a-z][\w-]*")


def program(command):
    """The repository's own program in a command, or nothing."""
    for word in command.split():
        if re.match(r"(\./)?(tests/|build/test/|test\.sh|demo\.sh)", word):
            return word
    return None


class Elsewhere(unittest.TestCase):
    """Of what is not typed in a demo."""

    def test_each_row_is_for_a_command_and_names_what_does_it(self):
        used = {row_of(line) for lines in documents.every_command().values() for line, _ in lines}
        for beginning, (where, words) in ELSEWHERE.items():
            with self.subTest(beginning):
                self.assertIn(beginning, used)
                self.assertTrue(words)
                if where != BY_HAND:
                    with open(os.path.join(ROOT, where), encoding="utf-8") as file:
                        self.assertTrue(words in file.read(), "%s has no %s" % (where, words))

    def test_a_program_of_ours_is_there_and_knows_the_options(self):
        for lines in documents.every_command().values():
            for command, _ in lines:
                with self.subTest(command):
                    self.look_at(program(command), command)

    def look_at(self, path, command):
        # Mutants and benchmarks are built in some runs only.
        if not path or re.match("build/test/tests/(mutants|bench)/", path):
            return
        found = glob.glob(os.path.join(ROOT, path.replace("build/test", BUILD)))
        self.assertTrue(found, path + " is not there")
        if path.endswith((".sh", ".py")):
            with open(found[0], encoding="utf-8") as file:
                text = file.read()
            for option in OPTION.findall(command.partition(path)[2].partition(" -- ")[0]):
                self.assertTrue(re.search(option + r"(?![\w-])", text), option)

    def test_no_other_block_hides_a_command(self):
        first_words = {command.split()[0] for lines in documents.every_command().values()
                       for command, _ in lines}
        first_words |= {row.split()[0] for row in ELSEWHERE}
        first_words |= {"$", "for", "while", "until", "if", "case", "sed", "grep", "cat"}
        for path in [os.path.join(ROOT, "README.md"),
                     *glob.glob(os.path.join(ROOT, "docs/**/*.md"), recursive=True),
                     *glob.glob(os.path.join(ROOT, "clients/**/*.md"), recursive=True)]:
            with open(path, encoding="utf-8") as file:
                blocks = documents.other_blocks(file.read())
            for line in "".join(blocks).splitlines():
                self.assertFalse(first_words.intersection(line.split()[:1]),
                                 "%s: a block of commands begins with ```sh: %s" % (path, line))


class Named(unittest.TestCase):
    def test_each_command_is_one_that_there_is(self):
        for document, text in documents.named_commands():
            with self.subTest(text, document=document):
                line = re.split(r" [|>] ", text)[0].translate(str.maketrans("", "", "[]\\"))
                self.assertIsNone(why_not(line.split()[1:], self.usage))

    @staticmethod
    def usage(command):
        return usage_of(os.path.join(BUILD, "reclaim"), command)


class TheWholeLine(unittest.TestCase):
    HELP = {
        (): "Options:\n  --debug    Log\n  --version  Show\n\nSubcommands:\n  device  Devices\n",
        ("device",): "Options:\n  -h,--help  Help\n\nSubcommands:\n  show  One\n  list  All\n",
        ("device", "list"): "Options:\n  --all-hosts  All\n  -f,--format TEXT  How\n",
        ("device", "show"): "Positionals:\n  DEVICE TEXT  One\n\nOptions:\n  --host TEXT  At\n",
    }

    def why(self, line):
        return why_not(line.split(), lambda command: Usage(self.HELP[command]))

    def test_what_is_taken_passes(self):
        for line in ("device", "--version", "device list --all-hosts --debug",
                     "device list -f json", "device show ADDRESS --host=H", "device show"):
            self.assertIsNone(self.why(line), line)

    def test_what_is_not_taken_is_named(self):
        for line, said in (("device lists", "takes no 'lists'"), ("devices", "takes no 'devices'"),
                           ("device list ADDRESS", "takes no 'ADDRESS'"),
                           ("device list --all", "no option --all"),
                           ("device --all-hosts", "no option --all-hosts"),
                           ("device list --format", "--format takes a value"),
                           ("device show --host --debug", "--host takes a value")):
            self.assertIn(said, self.why(line) or "nothing", line)


class ASession(unittest.TestCase):
    """In a shell whose source says nothing."""

    def test_its_code_is_the_commands(self):
        run = types.SimpleNamespace(environment=os.environ)
        shell = Shell(run, "Kept running \n      true\nTo end it:")
        with tempfile.TemporaryDirectory() as folder, Session(shell, folder) as session:
            for command, wanted in (("true", 0), ("false", 1), ("(exit 7)", 7), ("cat", 0),
                                    ("false; true", 0), ("true && false", 1)):
                self.assertEqual(session.type(command)[0], wanted, command)
            self.assertEqual(session.type("NAME=$(printf kept)")[0], 0)
            self.assertEqual(session.type("printf $NAME"), (0, "kept\n"))


class Typed(unittest.TestCase):
    def test_each_command_succeeds(self):
        run = Run("--flow", "cyborg", "--keep")
        self.addCleanup(run.folder.cleanup)
        self.addCleanup(run.stop)
        code, text = run.end()
        self.assertEqual(code, 0, text)
        self.shell = Shell(run, text)
        self.scratch = os.path.join(run.folder.name, "scratch")
        os.mkdir(self.scratch)
        self.here = self.read_here(run)
        for document, lines in documents.every_command().items():
            with Session(self.shell, self.scratch) as session:
                for command, said in lines:
                    if row_of(command) is None:
                        with self.subTest(command, document=document):
                            self.check(session, command, said, document)
        with open(self.note, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"\A[1-9]\d*:[0-9a-f]{64}\n\Z")

    def read_here(self, run):
        """The documents' examples, and what stands here in their place."""
        folder, = glob.glob(run.folder.name + "/reclaim-demo-*/reclaim")
        state = os.path.join(folder, "state")
        shown = " ".join(self.shell.commands)
        port = re.search(r"redis-cli -p (\d+)", shown).group(1)
        cleaned = re.search(r"device show (\S+)", shown).group(1)
        code, certificate = self.shell.type("reclaim certificate list -f value -c ID")
        self.assertEqual(code, 0, certificate)
        chain = os.path.join(state, "certificates")
        code, head = self.shell.type("reclaim certificate head")
        self.assertEqual(code, 0, head)
        noted = re.sub(r"(?s)(\w+)  0*(\d+)-.*", r"\2:\1", head)
        keys = os.path.join(self.scratch, "keys")
        os.mkdir(keys)
        shutil.copy(os.path.join(state, "certificate.key.pub"), keys + "/compute-2.pub")
        self.note = keys + "/compute-2.head"
        return (
            ("compute-7 compute-8", "compute-2"), ("compute-1", "compute-2"),
            ("0000:c1:00.0", cleaned), ("ADDRESS", cleaned), ("--project ID", "--project demo"),
            # It asks, and nobody is there.
            ("--label rack=7", "--label rack=7 --yes"), ("120:SHA256", noted), ("KEYS", keys),
            ("rabbitmqctl", "%s/rabbitmq.sh ctl %s" % (STACK, os.path.join(
                os.path.dirname(folder), "services/rabbitmq"))),
            ("build/test/", BUILD + "/"),
            ("redis-cli", "redis-cli -p " + port), ("source .demo/env", self.shell.source),
            ("https://reclaim.example.org:6667", "$API"), ("$UUID", "$DEVICE"),
            ("show UUID", "show $DEVICE"), ("password …", "password $OS_PASSWORD"),
            ("verify-certificate.sh", os.path.join(EXAMPLES, "verify-certificate.sh")),
            ("HOST.pub", os.path.join(state, "certificate.key.pub")),
            ("COPY/*/head", os.path.join(os.path.dirname(folder), "mirror/*/head")),
            ("COPY", chain),
            ("FOLDER", chain), ("FILE", sorted(glob.glob(chain + "/*.json"))[0]),
            ("show ID", "show " + certificate.split()[0]),
            ("verify ID", "verify " + certificate.split()[0]),
            # What curl takes for a success would hide a refusal.
            ("curl ", "curl --no-progress-meter --fail-with-body "))

    def check(self, session, command, said, document):
        # Each document registers the API, and a name that two services have finds neither.
        of_its_own = "cleaning-in-" + os.path.basename(document)
        typed = command
        for example, own in (*self.here, ("accelerator-cleaning", of_its_own)):
            typed = typed.replace(example, own)

        def succeeds():
            code, text = session.type(typed)
            if "-X POST" in command:  # of a drive that is on offer
                self.assertIn("it is clean already", text)
            else:
                self.assertEqual(code, 0, "%s\n%s" % (typed, text))
            return text.strip()
        if command.endswith("-c device_state"):  # which the next survey sees
            state = said.split()[-1]
            wait_until(lambda: succeeds() == state, "%s: %s" % (command, state))
        else:
            succeeds()


if __name__ == "__main__":
    unittest.main(verbosity=2)
