#!/usr/bin/python3
"""The checker is checked: small bad texts it must flag, and good ones it must leave alone."""

import os
import re
import unittest

import rules
from lexer import code_only

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def file_findings(path, text):
    return [f.text for f in rules.check_file(path, text)]


def tree_findings(tree):
    return [(f.path, f.text) for f in rules.check_tree(tree)]


def cpp(line):
    return f"// It is one.\n{line}\n"


class Rooms(unittest.TestCase):
    BAD = [
        ("nvme/controller/a.cpp", '#include "nvme/host/sysfs.h"', "nvme/controller/ includes"),
        ("nvme/controller/a.cpp", '#include "nvme/drive.h"', "nvme/controller/ includes"),
        ("state/base/a.h", '#pragma once\n#include "state/device/record.h"', "nothing but itself"),
        ("handlers/attic/a.cpp", "int a;", "is no room of the map"),
    ]
    GOOD = [
        ("nvme/host/a.cpp", '#include "nvme/controller/admin.h"'),
        ("nvme/erase/a.cpp", '#include "nvme/rules.h"'),
        ("nvme/drive.cpp", '#include "nvme/host/claim.h"'),
        ("handlers/conductor/a.cpp", '#include "state/redis/store.h"'),
    ]

    def test_what_a_room_may_not_include_is_found(self):
        for path, line, wanted in self.BAD:
            with self.subTest(path=path, line=line):
                self.assertIn(wanted, "\n".join(file_findings(path, cpp(line))))

    def test_what_it_may_is_left_alone(self):
        for path, line in self.GOOD:
            with self.subTest(path=path, line=line):
                self.assertEqual([f for f in file_findings(path, cpp(line)) if "includes" in f], [])

    def test_no_room_is_reached_from_one_that_it_reaches(self):
        for top, rooms in rules.ROOMS.items():
            reached = {}
            for _ in rooms:  # as often as the longest way is long
                for room, may in rooms.items():
                    near = {other for other in may if other in rooms}
                    reached[room] = near.union(*(reached.get(other, set()) for other in near))
            for room in rooms:
                self.assertNotIn(room, reached[room], f"{top}/{room}")

    def test_the_map_of_the_documents_has_them(self):
        with open(os.path.join(ROOT, "docs/dev/architecture.md"), encoding="utf-8") as file:
            lines = file.read().split("\n")
        for top, rooms in rules.ROOMS.items():
            line = next((each for each in lines if re.match(rf"\W*{top}/ ", each)), "")
            with self.subTest(top=top):
                self.assertEqual(sorted(re.findall(r"(\w+)/ ", line.partition(f"{top}/")[2])),
                                 sorted(rooms))


class BannedWords(unittest.TestCase):
    BAD = [
        ("state/a.cpp", "co_await x;", "coroutines"),
        ("nvme/a.cpp", "uv_queue_work(loop, &r, f, g);", "thread"),
        ("state/a.cpp", "#include <hiredis/adapters/libuv.h>", "adapter"),
        ("state/a.cpp", "int i = std::rand();", "seed"),
        ("handlers/a.cpp", "std::mt19937 g;", "seed"),
        ("handlers/a.cpp", "auto t = std::chrono::system_clock::now();", "Clock"),
        ("handlers/a.cpp", "std::this_thread::sleep_for(1s);", "timer"),
        ("handlers/a.cpp", "::sleep (1);", "timer"),
        ("handlers/a.cpp", "throw 1;", "Result"),
        ("handlers/a.cpp", "auto* p = new Thing(1);", "make_unique"),
        ("handlers/a.cpp", "auto s = std::format(\"\");", "fmt"),
        ("handlers/a.cpp", "std::expected<int, int> e;", "Result"),
        ("handlers/conductor/a.cpp", "ports.providers.set_reserved(view, 0, done);", "WriteFence"),
        ("handlers/a.cpp", "assert(x);", "CHECK"),
        ("handlers/a.cpp", "f(NULL);", "nullptr"),
        ("handlers/a.cpp", "auto f = [=] { return x; };", "capture"),
        ("handlers/a.cpp", "using namespace std;", "namespace"),
        ("tests/a_test.cpp", "using testing::Not;", "::testing"),
        ("handlers/a.cpp", '#include "../state/device/record.h"', "root"),
        ("handlers/a.cpp", "std::cout << 1;", "Logger"),
        ("handlers/a.cpp", "/* a block\n comment */", "block comment"),
    ]

    def test_each_is_found_and_the_replacement_is_named(self):
        for path, line, wanted in self.BAD:
            with self.subTest(line=line):
                self.assertIn(wanted, "\n".join(file_findings(path, cpp(line))))

    def test_each_is_left_alone_in_comments_and_literals(self):
        for _, line, _ in self.BAD:
            if "\n" in line or "#include" in line or '"' in line:
                continue
            with self.subTest(line=line):
                self.assertEqual(file_findings("state/a.cpp", cpp("// " + line)), [])
                self.assertEqual(file_findings("state/a.cpp", cpp(f'f("{line}");')), [])
                self.assertEqual(file_findings("state/a.cpp", cpp(f'f(R"x({line})x");')), [])

    def test_where_they_are_at_home(self):
        self.assertEqual(file_findings("state/base/clock.cpp", cpp("system_clock::now();")), [])
        self.assertEqual(file_findings("nvme/drive_threads.cpp", cpp("sleep_for(1s);")), [])
        self.assertEqual(file_findings("state/base/uv.cpp", cpp("auto* t = new uv_timer_t;")), [])
        self.assertEqual(file_findings("handlers/a.cpp", cpp(
            "return std::unique_ptr<Client>(new Client(x));")), [])

    def test_words_that_only_look_alike(self):
        for line in ("operator new(1);", "static_assert(x);", "my_rand(1);", "now.sleep(1);",
                     "int renew = 1'000;", "using namespace std::chrono_literals;",
                     "f(/*name=*/1);", "std::unique_ptr<A>(\n    new A(1));",
                     "std::unique_ptr<A> a(new A(1));"):
            with self.subTest(line=line):
                self.assertEqual(file_findings("handlers/a.cpp", cpp(line)), [])


class PatientTests(unittest.TestCase):
    CPP, PYTHON = "tests/unit/a_test.cpp", "tests/integration/e2e/a_test.py"
    BAD = [
        (CPP, "EXPECT_LT(std::chrono::steady_clock::now() - begun, kSecond);"),
        (CPP, "ASSERT_LE(\n    elapsed_ms, 300);"),
        (CPP, "std::this_thread::sleep_for(std::chrono::milliseconds(300));\n  EXPECT_EQ(a, 1);"),
        (CPP, "::usleep(1'000);\nASSERT_TRUE(done);"),
        (PYTHON, "self.assertLess(time.monotonic() - began, 5)"),
        (PYTHON, "self.assertLessEqual(took_s, 2 * 3)"),
        (PYTHON, "time.sleep(1.1)"),
        (PYTHON, "thing.connect(timeout=5)"),
        (PYTHON, "wait_until(seen, what, deadline_s=30)"),
        (PYTHON, "Connection(read_timeout=30)"),
    ]
    GOOD = [
        (CPP, "EXPECT_LE(tries, took / kRest + 2);"),
        (CPP, "EXPECT_GE(std::chrono::steady_clock::now() - begun, kSecond);"),
        (CPP, "EXPECT_LT(passes, 3);"),
        (CPP, "sleep_for(kPause);\nreturn seen;"),
        ("state/a.cpp", "EXPECT_LT(elapsed_ms, 300);"),
        (PYTHON, "self.assertLessEqual(looks, passed_s / 2 + 2)"),
        (PYTHON, "run(command, timeout=DEADLINE_S)"),
        (PYTHON, "run(command, timeout=300)"),
        (PYTHON, "while wait(begun, timeout=0.1).not_done:"),
        ("tests/chaos/chaos.py", "time.sleep(1)"),
    ]

    def test_what_a_busy_machine_breaks_is_found(self):
        for path, line in self.BAD:
            with self.subTest(line=line):
                self.assertIn("on a busy machine", "\n".join(file_findings(path, cpp(line))))

    def test_what_it_does_not_is_left_alone(self):
        for path, line in self.GOOD:
            with self.subTest(line=line):
                self.assertNotIn("busy", "\n".join(file_findings(path, cpp(line))))

    def test_each_exception_is_needed(self):
        for _, pattern, _, homes in rules.IMPATIENT + rules.UNSEEDED:
            for home in homes:
                with open(os.path.join(ROOT, home), encoding="utf-8") as file:
                    self.assertRegex(file.read(), pattern, home)


class SeededTests(unittest.TestCase):
    CPP, PYTHON = "tests/unit/a_test.cpp", "tests/integration/e2e/a_test.py"
    BAD = [
        (CPP, "std::random_device entropy;"),
        (CPP, "std::mt19937 random(std::random_device{}());"),
        (CPP, "int i = rand() % 3;"),
        (CPP, "std::srand(7);"),
        (CPP, "std::mt19937 random(std::time(nullptr));"),
        (CPP, "std::mt19937 random(time(NULL));"),
        (PYTHON, "random.seed()"),
        (PYTHON, "draw = random.Random()"),
        (PYTHON, "draw = random.SystemRandom()"),
        (PYTHON, "number = random.randrange(7)"),
        (PYTHON, "seed = secrets.randbelow(1 << 32)"),
        ("clients/python/tests/a_test.py", "random.shuffle(rows)"),
        ("tests/setup/a.sh", "port=$((RANDOM % 7))"),
    ]
    GOOD = [
        (CPP, "std::mt19937 random(test_seed());"),
        (CPP, "// Not std::random_device.\nauto time = clock.time();"),
        (CPP, "operand(3);"),
        (PYTHON, "draw = random.Random(seed)"),
        (PYTHON, "draw = stream('frames')\nnumber = draw.randrange(7)"),
        (PYTHON, "instance = str(uuid.uuid4())"),
        (PYTHON, "password = secrets.token_hex(12)"),
        ("tests/seed.cpp", "std::random_device entropy;"),
    ]

    def test_chance_that_the_runs_seed_does_not_decide_is_found(self):
        for path, line in self.BAD:
            with self.subTest(line=line):
                self.assertIn("the run's seed", "\n".join(file_findings(path, cpp(line))))

    def test_what_it_decides_is_left_alone(self):
        for path, line in self.GOOD:
            with self.subTest(line=line):
                self.assertNotIn("seed does", "\n".join(file_findings(path, cpp(line))))


class TestsSayWhatHappens(unittest.TestCase):
    TEST = "tests/unit/a_test.cpp"
    BAD = [
        "EXPECT_NE(world->record().stage, Stage::looking);",
        "ASSERT_NE(\n    link.state(), State::open) << why;",
        "EXPECT_TRUE(pushed.ok() || pushed.error().code == Errc::cancelled);",
        "EXPECT_FALSE(a &&\n             (b || c));",
        "EXPECT_EQ(is_on, a || b);",
    ]
    GOOD = [
        "EXPECT_EQ(world->record().stage, Stage::error);",
        "EXPECT_NE(record.waiting_for, \"\");",
        "EXPECT_TRUE(matches(\"a||b\", \"c\"));",
        "EXPECT_TRUE(done);\n  if (a || b) return;",
        "EXPECT_TRUE(std::any_of(from, to, [](int i) { return i < 1 || i > 2; }));",
    ]

    def test_what_leaves_open_what_happens_is_found(self):
        for line in self.BAD:
            with self.subTest(line=line):
                self.assertIn("leaves open", "\n".join(file_findings(self.TEST, cpp(line))))

    def test_what_says_it_is_left_alone(self):
        for path, line in [(self.TEST, line) for line in self.GOOD] + [
                ("handlers/a.cpp", self.BAD[0])]:
            with self.subTest(line=line):
                self.assertNotIn("leaves open", "\n".join(file_findings(path, cpp(line))))


class IncludeDirections(unittest.TestCase):
    def test_nothing_points_back(self):
        for top, target in (("state", "nvme/a.h"), ("state", "config/a.h"),
                            ("placement", "nvme/a.h"), ("nvme", "placement/a.h"),
                            ("handlers", "config/a.h"), ("handlers", "listener/a.h"),
                            ("config", "nvme/a.h"), ("config", "nvme/policy_table.h"),
                            ("cli", "listener/a.h")):
            with self.subTest(top=top, target=target):
                self.assertEqual(
                    len(file_findings(f"{top}/b.cpp", cpp(f'#include "{target}"'))), 1)

    def test_what_ships_includes_no_tests(self):
        self.assertEqual(len(file_findings("nvme/b.cpp", cpp('#include "tests/x.h"'))), 1)

    def test_the_map_is_allowed(self):
        for top, target in (("handlers", "nvme/a.h"), ("nvme", "state/a.h"), ("nvme", "nvme/a.h"),
                            ("config", "placement/options.h"),
                            ("config", "listener/amqp/options.h"),
                            ("listener", "config/a.h"), ("tests/unit", "listener/a.h")):
            with self.subTest(top=top, target=target):
                self.assertEqual(file_findings(f"{top}/b.cpp", cpp(f'#include "{target}"')), [])

    def test_an_include_without_folder(self):
        self.assertEqual(len(file_findings("nvme/b.cpp", cpp('#include "a.h"'))), 1)


class Layout(unittest.TestCase):
    def test_columns(self):
        self.assertEqual(file_findings("nvme/a.cpp", cpp("//" + "x" * 98)), [])
        self.assertEqual(len(file_findings("nvme/a.cpp", cpp("//" + "x" * 99))), 1)
        row = "// clang-format off\n//" + "x" * 120 + "\n// clang-format on"
        self.assertEqual(file_findings("nvme/a.cpp", cpp(row)), [])
        self.assertEqual(len(file_findings("nvme/a.cpp", cpp(row + "\n//" + "x" * 99))), 1)

    def test_file_length(self):
        self.assertEqual(file_findings("nvme/a.cpp", "//\n" * 600), [])
        self.assertEqual(len(file_findings("nvme/a.cpp", "//\n" * 601)), 1)

    def test_small_things(self):
        bad = {"trailing whitespace": "int i; ", "tab": "\tint i;",
               "left undone": "// TO" + "DO: later", "path of a build machine": "// /wor" + "k/x"}
        for wanted, line in bad.items():
            with self.subTest(line=line):
                self.assertIn(wanted, "\n".join(file_findings("nvme/a.cpp", cpp(line))))
        self.assertEqual(file_findings("docs/a.txt", "see https://x.org/wor" + "k/y\n"), [])
        self.assertIn("newline", file_findings("docs/a.txt", "no end")[0])
        self.assertIn("newline", file_findings("docs/a.txt", "two ends\n\n")[0])

    def test_recorded_data_is_left_alone(self):
        self.assertEqual(file_findings("tests/data/x.jsonl", "anything \t /wor" + "k/x"), [])

    def test_headers(self):
        self.assertEqual(file_findings("nvme/a.h", "// A.\n#pragma once\n"), [])
        self.assertEqual(len(file_findings("nvme/a.h", "int i;\n")), 2)

    def test_a_shorthand_that_is_not_used(self):
        for line in ("using json::Token;", "namespace fs = std::filesystem;"):
            name = "Token" if "Token" in line else "fs"
            unused = f'"{name}" is declared here and not used'
            self.assertIn(unused, file_findings("state/a.cpp", cpp(line)))
            self.assertNotIn(unused, file_findings("state/a.cpp", cpp(f"{line}\n{name} a;")))
            self.assertNotIn(unused, file_findings("state/a.h", cpp(line)))

    def test_markdown_has_one_title(self):
        self.assertEqual(file_findings("docs/a.md", "# One\n```\n# a shell comment\n```\n"), [])
        self.assertEqual(len(file_findings("docs/a.md", "# One\n# Two\n")), 1)
        self.assertEqual(len(file_findings("docs/a.md", "none\n")), 1)

    def test_a_page_is_short(self):
        self.assertEqual(file_findings("docs/a.md", "# One\n" + "a\n" * 299), [])
        self.assertIn("300 are the limit", "".join(
            file_findings("docs/a.md", "# One\n```\n" + "a\n" * 298 + "```\n")))


class Tree(unittest.TestCase):
    GOOD = {
        "nvme/CMakeLists.txt": "add_library(nvme_core STATIC a.cpp)\n"
                               "add_library(nvme_io STATIC b.cpp)\n",
        "nvme/a.h": "// A.\n#pragma once\n",
        "nvme/a.cpp": '#include "nvme/a.h"\n#include <nvme.hpp>\n',
        "nvme/b.cpp": '// B.\n#include "nvme/a.h"\n#include <libnvme.h>\n',
    }

    def changed(self, **more):
        return tree_findings({**self.GOOD, **{k.replace("__", "/").replace("_dot_", "."): v
                                              for k, v in more.items()}})

    def test_the_good_tree(self):
        self.assertEqual(tree_findings(self.GOOD), [])

    def test_a_source_that_is_not_built(self):
        found = self.changed(nvme__c_dot_cpp="// C.\n")
        self.assertEqual([p for p, _ in found], ["nvme/c.cpp"])

    def test_a_source_named_only_in_a_comment(self):
        found = self.changed(nvme__CMakeLists_dot_txt="# a.cpp\nadd_library(nvme_io STATIC b.cpp)")
        self.assertEqual([p for p, _ in found], ["nvme/a.cpp"])

    def test_a_header_nobody_includes(self):
        found = self.changed(nvme__c_dot_h="// C.\n#pragma once\n")
        self.assertEqual([p for p, _ in found], ["nvme/c.h"])

    def test_a_source_that_says_nothing_of_itself(self):
        found = self.changed(nvme__b_dot_cpp='#include "nvme/a.h"\n')
        self.assertEqual([p for p, _ in found], ["nvme/b.cpp"])

    def test_a_citation_of_what_is_not_there(self):
        page = {"docs__safety_dot_md": '# Safety\n\n## What "remains", here\n<a id="root"></a>\n'}
        for line, wanted in (("docs/safty.md", "docs/safty.md is cited and not there"),
                             ("docs/safety.md#rot", "docs/safety.md has no #rot"),
                             ("design §5", "no such document"), ("nvme.md §2", "no such document"),
                             ("docs/safety.md#root and docs/safety.md", ""),
                             ("docs/safety.md#what-remains-here", "")):
            with self.subTest(line=line):
                found = self.changed(
                    **page, nvme__b_dot_cpp=f'// B: {line}.\n#include "nvme/a.h"\n')
                self.assertEqual(len(found), 1 if wanted else 0, found)
                self.assertIn(wanted, "".join(text for _, text in found))

    def test_a_link_that_leads_nowhere(self):
        page = "# Safety\n\n## [What](a.md) `remains`\n\n```sh\n# no heading\n```\n"
        for link, wanted in (("safty.md", "docs/safty.md is not there"),
                             ("../safety.md", "safety.md is not there"),
                             ("safety.md#no-heading", "docs/safety.md has no #no-heading"),
                             ("#here", "docs/a.md has no #here"), ("#a", ""), ("../nvme", ""),
                             ("safety.md#what-remains", ""), ("https://a.example/b", "")):
            with self.subTest(link=link):
                found = self.changed(docs__safety_dot_md=page, docs__a_dot_md=f"# A\n[b]({link})\n")
                self.assertEqual(len(found), 1 if wanted else 0, found)
                self.assertIn(wanted, "".join(text for _, text in found))

    def test_a_page_that_the_contents_lack(self):
        pages = {"docs__README_dot_md": "# Contents\n[a](a.md)\n", "docs__a_dot_md": "# A\n"}
        self.assertEqual(self.changed(**pages), [])
        found = self.changed(**pages, docs__dev__b_dot_md="# B\n")
        self.assertEqual([(p, t.partition(" is ")[0]) for p, t in found],
                         [("docs/README.md", "docs/dev/b.md")])

    def test_a_core_that_reaches_a_foreign_library_through_a_header(self):
        for header in ("uv.h", "libnvme.h", "hiredis/async.h", "curl/curl.h", "amqp.h",
                       "amqp_tcp_socket.h", "rabbitmq-c/amqp.h"):
            with self.subTest(header=header):
                found = self.changed(nvme__a_dot_h=f"// A.\n#pragma once\n#include <{header}>\n")
                self.assertEqual([p for p, said in found if "what decides" in said], ["nvme/a.h"])

    def test_a_heavy_header_that_comes_through_another(self):
        found = self.changed(nvme__a_dot_h="// A.\n#pragma once\n#include <curl/curl.h>\n")
        self.assertIn("2 sources reach <curl/curl.h>, 1 may: ", "\n".join(t for _, t in found))
        found = self.changed(nvme__b_dot_cpp='// B.\n#include "nvme/a.h"\n#include <curl/curl.h>\n')
        self.assertNotIn("sources reach", "\n".join(t for _, t in found))


class Comments(unittest.TestCase):
    BAD = ("// Of the last survey.", "  // The same, of the host.", "\n// Whether it rests.",
           "int a;\n// What it\n// has.")
    GOOD = ("// The provider of the last survey.", "int a;  // of the last survey",
            "// It:\n//\n// What it is.", "// Where it is free, it\n// rests. What it has.",
            'auto a = "// What";', "// Whatever it is, it rests.")

    def test_a_comment_whose_subject_is_left_to_be_guessed_is_found(self):
        for line in self.BAD:
            with self.subTest(line=line):
                found = file_findings("cli/a.cpp", cpp("int b;\n" + line))
                self.assertIn("leaves its subject", "\n".join(found))

    def test_one_that_names_it_is_left_alone(self):
        for line in self.GOOD:
            with self.subTest(line=line):
                found = file_findings("cli/a.cpp", cpp("int b;\n" + line))
                self.assertNotIn("leaves its subject", "\n".join(found))


class Lexer(unittest.TestCase):
    def test_lines_stay_lines(self):
        text = 'a; // x "y\n"b//c" /* d\ne */ f; R"(g\nh)" 1\'000 \'\\\'\' i;\n'
        code = code_only(text)
        self.assertEqual(len(code), len(text))
        self.assertEqual(code.split(), ["a;", "f;", "1'000", "i;"])


if __name__ == "__main__":
    unittest.main()
