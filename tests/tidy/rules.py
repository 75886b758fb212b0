"""The rules of the house as functions over texts: a tree of files in, findings out. No I/O.

Every rule yields Finding(path, line, text). The tables at the top are the one place where the map
of the project (which directory may include which) and the banned words stand.
"""

import re
from fnmatch import fnmatch

from lexer import code_only, has_block_comment
from pages import Finding, check_citations, check_contents, check_links, check_markdown

# What a directory may include, besides itself: whole directories, or headers by pattern. tests/ may
# include everything. config/ hands out what it read as the plain option structs of each module.
MAP = {
    "state": set(),
    "placement": {"state"},
    "nvme": {"state"},
    "handlers": {"placement", "nvme", "state"},
    # policy.h: the words an operator writes into device_spec choose the erasure; plan.h: which
    # clean steps there are to be ordered; pci/: the words of [devices] device_spec; strictest.h:
    # what of several policies counts.
    "config": {"state", "*options.h", "handlers/api/policy.h", "handlers/survey/plan.h",
               "handlers/survey/function_plan.h", "handlers/survey/strictest.h",
               "nvme/erase/policy.h", "nvme/rules.h", "nvme/pci/config_compare.h",
               "nvme/pci/pci_step.h"},
    "cli": {"handlers", "placement", "nvme", "state", "config"},
    "listener": {"cli", "handlers", "placement", "nvme", "state", "config"},
}

# The rooms of a directory, and what of the same directory a room may include besides itself: other
# rooms, or single headers of the directory's own. Files of the directory itself may include every
# room.
ROOMS = {
    "state": {"base": set(), "device": {"base"}, "ledger": {"base", "device"},
              "certificate": {"base", "device", "ledger"},
              "redis": {"base", "device", "certificate"}},
    "placement": {"http": {"options.h"}, "keystone": {"http", "options.h", "providers.h"},
                  "cyborg": {"http", "keystone", "options.h", "providers.h", "conversations.h"}},
    "nvme": {"controller": {"rules.h", "stop_flag.h"},
             "command": {"controller", "pci", "stop_flag.h"},
             "firmware": {"controller"},
             "verify": {"controller"},
             "erase": {"controller", "verify", "host", "rules.h", "stop_flag.h", "drive_context.h"},
             "host": {"controller", "verify", "drives.h", "options.h", "stop_flag.h"},
             "pci": {"controller", "host", "options.h", "stop_flag.h"},
             "qualify": {"controller", "verify", "erase", "host", "rules.h", "options.h",
                         "stop_flag.h", "drive_context.h", "baseline.h", "clean_steps.h",
                         "controller_reset.h", "verification.h"}},
    "handlers": {"arq": set(), "bus": {"arq"}, "survey": {"operator_step.h", "options.h"},
                 "conductor": {"arq", "survey", "options.h", "accepted_drive.h",
                               "reported_drive.h"},
                 "api": {"accepted_drive.h", "drive_wear.h", "worker_metric_rows.h",
                         "worker_samples.h"},
                 "metrics": {"survey", "drive_wear.h", "worker_samples.h"},
                 "door": {"api", "reported_drive.h"},
                 "notify": set()},
    "config": {"oslo": set(), "device_spec": {"oslo"}},
    "listener": {"amqp": set(), "http": set()},
}

# Libraries that decide. Neither their sources nor what these include may reach a foreign library.
CORE = re.compile(r"^\w+_core$|^handlers_(kick|api|door)$|^cli_explain$")
FOREIGN = re.compile(r"^(uv\.h|uv/|hiredis|curl/|amqp|rabbitmq-c/|libnvme|nvme/(?:ioctl|tree|types|"
                     r"linux|fabrics|filters|util|mi|log|api-types)\.h$)")

# What makes a source slow to compile: how many sources of what ships may reach it. It only falls.
HEAVY = {"rapidjson/document.h": 74, "fmt/core.h": 322, "functional": 255, "CLI/CLI.hpp": 6,
         "uv.h": 99, "curl/curl.h": 1, "spdlog/spdlog.h": 1, "regex": 0}

# Headers that the build writes.
GENERATED = {"certificate_schema.h", "udev_rules_text.h", "version.h"}

COLUMNS_MAX = 100
TABLE_COLUMNS_MAX = 200
FILE_LINES_MAX = 600

# (pattern over code without comments and literals, what to use instead, paths where it is at home)
BANNED = [
    (r"\bco_(await|yield|return)\b", "a state machine and events (g++ 12 breaks coroutines)", ()),
    (r"\buv_queue_work\b", "a drive thread and uv::Mailbox: the shared pool is not ours", ()),
    (r"hiredis/adapters/", "our own adapter in state/: the packaged one loses errors", ()),
    (r"\b(std::)?s?rand\s*\(|\bstd::(mt19937|random_device)\b",
     "an injected generator: a failing run is a seed", ("tests/",)),
    (r"\b(system|steady|high_resolution)_clock::now\b", "the injected Clock",
     ("state/base/clock.cpp", "tests/")),
    (r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>])sleep\s*\(",
     "a timer on the loop (only a drive's thread may wait)",
     # A chain that is looked at from a command: its head comes a moment after its newest entry.
     ("nvme/drive_thread", "state/certificate/chain.cpp", "tests/")),
    # A write that may come late is known, and overtaken.
    (r"\bproviders\.set_reserved\b", "WriteFence::put()", ("handlers/conductor/write_fence.cpp",
                                                           "tests/")),
    # What RapidJSON asserts on while it parses has no other way out of it.
    (r"\bthrow\b", "Result<T>: nothing here throws", ("state/base/json.cpp",)),
    (r"#\s*include <rapidjson/", "state/base/rapidjson.h: its assertion is ours",
     ("state/base/rapidjson",)),
    # std::unique_ptr<T>(new T(...)) is how a create() reaches its private constructor.
    (r"(?<!operator )(?<!_ptr<T>\()\bnew\b(?!\s*\()",
     "std::make_unique, or the owners in state/base/uv.h",
     ("state/base/uv.cpp", "state/base/uv.h", "tests/emulator/shim/")),
    (r"\bstd::format\b|#include <format>", "fmt::format: g++ 12 has no std::format", ()),
    (r"\bstd::(expected|source_location|move_only_function)\b|\bstd::(ranges::)?views\b",
     "what g++ 12 and clang 14 both have (Result, std::function, plain loops)", ()),
    (r"(?<!_)\bassert\s*\(|#include <cassert>", "CHECK: assertions stay on in release", ()),
    (r"\bNULL\b", "nullptr", ()),
    (r"\[=[\],]", "a capture list that names what it captures", ()),
    (r"\busing namespace (?!std::(chrono_|string_view_|string_)?literals|reclaim\b)",
     "names with their namespace (only std literals and our own may be opened)", ()),
    (r"\busing testing::", "::testing:: or reclaim::testing::, which are both there in a batch",
     ()),
    (r"#\s*include \"\.\.?/", "an include relative to the root of the repository", ()),
    (r"\bstd::(cout|cerr)\b", "the Logger, or fmt::print in cli/",
     ("cli/", "listener/main.cpp", "listener/command_line", "listener/certificate_commands.cpp",
      "tests/")),
]
_BANNED = [(re.compile(p), instead, homes) for p, instead, homes in BANNED]

# What makes a test red on a busy machine: (files, pattern, what to use instead, where it is needed)
_CPP_TESTS = r"tests/.*\.(cpp|h)$"
_PYTHON_TESTS = r"(tests/(?!tidy/)|clients/python/tests/).*\.py$"
_END_TO_END = r"tests/integration/e2e/.*\.py$"
_TIME_PASSED = r"(?:elapsed|took|passed)\w*"
IMPATIENT = [
    (_CPP_TESTS, rf"\b(EXPECT|ASSERT)_L[ET]\(\s*([\w:]*_clock::now\(\) - |{_TIME_PASSED}\b)[^,;]*,",
     "an event that is waited for, or a clock that the test sets",
     # A wait of two minutes is to be told from none, and no event ends either.
     ("tests/unit/listener/amqp_stop_test.cpp",)),
    (_CPP_TESTS, r"\b(sleep_for|u?sleep)\([^;]*\);\s*(EXPECT|ASSERT)_\w+",
     "a wait for what is then asserted", ()),
    (_PYTHON_TESTS, rf"\bassertLess(Equal)?\(\s*(time\.monotonic\(\) - |{_TIME_PASSED}\b)[^,]*,",
     "an event that is waited for, or a bound that grows with the time that passed", ()),
    (_END_TO_END, r"\btime\.sleep\(", "wait_until()",
     # wait_until() itself, and the pace of clients that go on all the time.
     ("tests/integration/e2e/waiting.py", "tests/integration/e2e/slow_clients_test.py")),
    # Of a fraction of a second it is a poll's pause.
    (_END_TO_END, r"\b(\w+_)?(timeout|deadline_s)=[1-5]?\d\b(?!\.)",
     "DEADLINE_S: a busy machine makes a minute of a second", ()),
]
_IMPATIENT = [(re.compile(files), re.compile(pattern), instead, homes)
              for files, pattern, instead, homes in IMPATIENT]

# Chance that RECLAIM_TEST_SEED does not decide, so that a commit has two verdicts: (files, pattern,
# what to use instead, where it is needed)
UNSEEDED = [
    (_CPP_TESTS, r"\bstd::random_device\b|\bs?rand\s*\(|\btime\s*\(\s*(nullptr|NULL|0)\s*\)",
     "test_seed() or seed_of()",
     # It draws where nobody sets the seed.
     ("tests/seed.cpp",)),
    (_PYTHON_TESTS,
     r"\brandom\.(?!Random\(\s*[^\s)])\w+\(|\bsecrets\.(randbelow|randbits|choice)\(",
     "stream() of tests/integration/e2e/seed.py",
     # The same; a search, which prints the seed that it draws; a port of those that are free.
     ("tests/integration/e2e/seed.py", "tests/chaos/chaos.py",
      "tests/integration/e2e/api_clients.py",
      # Figures, which no test asserts, of drives and moments that differ.
      "tests/bench/bind_window.py", "tests/bench/sanitize_bench.py")),
    (r"tests/.*\.sh$", r"\bRANDOM\b", "a number that is given",
     ("tests/integration/stack/redis.sh",)),  # a port of those that are free
]
_UNSEEDED = [(re.compile(files), re.compile(pattern), instead, homes)
             for files, pattern, instead, homes in UNSEEDED]

# What a broken product passes, too: (pattern, what to use instead)
VAGUE = [
    (r"\b(EXPECT|ASSERT)_NE\([^;]*\bS(tage|tate)::", "EXPECT_EQ with the one that it has to be in"),
    (r"\b(EXPECT|ASSERT)_\w+\([^;{]*\|\|",
     "an expectation for each case, behind an `if` of what the case depends on"),
]
_VAGUE = [(re.compile(pattern), instead) for pattern, instead in VAGUE]

# Spelled in two halves, so that the checker does not find itself.
_LEFT_UNDONE = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
_MACHINE_PATH = re.compile(r"(?<![\w.$}{/-])/(wor" + r"k/|roo" + r"t/|hom" + r"e/[a-z])")
_SMART_POINTER = re.compile(r"(?<=unique)_ptr<[\w:]+>(?: \w+)?\(\s*(?=new )")
_SHORTHAND = re.compile(r"^\s*(?:using +(?!namespace)[\w:]+::(\w+) *;|namespace +(\w+) *=)",
                        re.MULTILINE)
_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

CPP = (".cpp", ".h")
TEXT_LIMITED = (".cpp", ".h", ".py", ".sh", ".cmake", "CMakeLists.txt")


def is_foreign_data(path):
    """Recorded traffic, corpora and golden files are kept byte for byte."""
    return path.startswith(("tests/data/", "tests/fuzz/corpus/", "tests/golden/")) or (
        path == "LICENSE")


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text):
    """(line, "<" or '"', path) of every include."""
    return [(line_of(text, m.start(1)), m.group(1), m.group(2)) for m in _INCLUDE.finditer(text)]


def check_include_directions(path, text):
    top = path.split("/")[0]
    if top not in MAP or not path.endswith(CPP):
        return
    for line, kind, target in includes(text):
        other = target.split("/")[0]
        if kind != '"':
            continue
        if target in GENERATED:
            continue
        if "/" not in target:
            yield Finding(path, line, f'"{target}" is not relative to the root of the repository')
        elif other == "tests":
            yield Finding(path, line, f'"{target}": what ships includes nothing of tests/')
        elif other in MAP and other != top and other not in MAP[top]:
            if any(fnmatch(target, pattern) for pattern in MAP[top]):
                continue
            allowed = ", ".join(sorted(MAP[top])) or "nothing but itself"
            yield Finding(path, line, f'{top}/ includes "{target}"; it may include {allowed}')


def check_rooms(path, text):
    top, _, rest = path.partition("/")
    room = rest.rpartition("/")[0]
    if top not in ROOMS or not path.endswith(CPP):
        return
    if room and room not in ROOMS[top]:
        yield Finding(path, 1, f"{top}/{room}/ is no room of the map; {top}/ has "
                               f"{', '.join(sorted(ROOMS[top]))}")
        return
    if not room:
        return
    for line, kind, target in includes(text):
        there, _, header = target.partition("/")
        other = header.rpartition("/")[0]
        if kind != '"' or there != top or other == room:
            continue
        if (other or header) not in ROOMS[top][room]:
            allowed = ", ".join(sorted(ROOMS[top][room])) or "nothing but itself"
            yield Finding(path, line,
                          f'{top}/{room}/ includes "{target}"; of {top}/ it may include {allowed}')


def _same_lines(text, model):
    """The text behind as many line ends as the model has, so that line numbers stay right."""
    return "\n" * model.count("\n") + text


def check_banned_words(path, text):
    if not path.endswith(CPP):
        return
    code = _SMART_POINTER.sub(lambda m: _same_lines("_ptr<T>(", m.group(0)), code_only(text))
    for pattern, instead, homes in _BANNED:
        if path.startswith(tuple(homes)):
            continue
        for match in pattern.finditer(code):
            yield Finding(path, line_of(code, match.start()),
                          f'"{match.group(0).strip()}" is banned; use {instead}')
    offset = has_block_comment(text)
    if offset is not None:
        yield Finding(path, line_of(text, offset), "block comment; use //")


def check_tests_have_one_verdict(path, text):
    code = code_only(text) if path.endswith(CPP) else text
    for table, why in ((_IMPATIENT, "is red on a busy machine"),
                       (_UNSEEDED, "draws what the run's seed does not decide")):
        for files, pattern, instead, homes in table:
            if path in homes or not files.match(path):
                continue
            for match in pattern.finditer(code):
                yield Finding(path, line_of(code, match.start()),
                              f'"{match.group(0).strip()}" {why}; use {instead}')


def check_tests_say_what_happens(path, text):
    """What an assertion leaves open is left open by the code it was written for."""
    if not re.match(_CPP_TESTS, path):
        return
    code = code_only(text)
    for pattern, instead in _VAGUE:
        for match in pattern.finditer(code):
            said = " ".join(match.group(0).split())
            yield Finding(path, line_of(code, match.start()),
                          f'"{said}" leaves open what happens; use {instead}')


def check_shorthands_are_used(path, text):
    """clang-tidy looks for these only in a file that it reads by itself."""
    if not path.endswith(".cpp"):
        return
    code = code_only(text)
    for match in _SHORTHAND.finditer(code):
        name = match.group(1) or match.group(2)
        if len(re.findall(rf"\b{name}\b", code)) == 1:
            yield Finding(path, line_of(code, match.start(match.lastindex)),
                          f'"{name}" is declared here and not used')


_FRAGMENT = re.compile(r"\s*// (What|Of|Whether|The same|Which|Whose|How|Why|Like)\b")


def check_comments_name_their_subject(path, text):
    """Whoever opens this file alone has not read the comment or the name before."""
    if path.split("/")[0] not in ("cli", *ROOMS) or not path.endswith(CPP):
        return
    goes_on = False
    for number, line in enumerate(text.split("\n"), 1):
        found = None if goes_on else _FRAGMENT.match(line)
        if found:
            yield Finding(path, number, f'a comment that begins with "{found.group(1)}" leaves its '
                          "subject to be guessed: say who does, has or is what")
        goes_on = re.match(r"\s*//( |$)", line) is not None


def check_header(path, text):
    if path.endswith(".h") and "#pragma once" not in text:
        yield Finding(path, 1, "header without #pragma once")
    if path.endswith(".h") and not text.startswith("//"):
        yield Finding(path, 1, "the first line is no comment that says what this file is")


def check_purpose_is_said(tree):
    """A .cpp without a header of its name has to say itself what it is."""
    for path, text in sorted(tree.items()):
        if path.endswith(".cpp") and not is_foreign_data(path) and not text.startswith("//"):
            if path[:-4] + ".h" not in tree and not path.endswith("_test.cpp"):
                yield Finding(path, 1, "the first line is no comment that says what this file is")


def check_layout(path, text):
    if not text:
        return
    lines = text.split("\n")
    table = False  # Between "clang-format off" and "on" stand tables, whose rows may be longer.
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield Finding(path, len(lines), "the file does not end with exactly one newline")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield Finding(path, number, "trailing whitespace")
        if path.endswith(TEXT_LIMITED):
            if "// clang-format o" in line:
                table = line.strip().endswith("off")
            if len(line) > (TABLE_COLUMNS_MAX if table else COLUMNS_MAX):
                yield Finding(path, number, f"{len(line)} columns, {COLUMNS_MAX} are the limit")
            if "\t" in line:
                yield Finding(path, number, "tab; use spaces")
        if _LEFT_UNDONE.search(line):
            yield Finding(path, number, "left undone: do it, or write an issue")
        if _MACHINE_PATH.search(line):
            yield Finding(path, number, "path of a build machine or of somebody's home")
    if path.endswith(CPP) and len(lines) - 1 > FILE_LINES_MAX:
        yield Finding(path, 1, f"{len(lines) - 1} lines, {FILE_LINES_MAX} are the limit")


FILE_RULES = (check_include_directions, check_rooms, check_banned_words,
              check_tests_have_one_verdict, check_tests_say_what_happens,
              check_shorthands_are_used, check_header, check_layout, check_markdown,
              check_comments_name_their_subject)


def check_file(path, text):
    """Every finding of the rules that look at one file."""
    if is_foreign_data(path):
        return
    for rule in FILE_RULES:
        yield from rule(path, text)


def _cmake_code(text):
    return re.sub(r"#[^\n]*", "", text)


def check_sources_are_built(tree):
    """A .cpp that no CMakeLists.txt names is never compiled, so it only looks tested."""
    listings = {p: _cmake_code(t) for p, t in tree.items()
                if p.endswith(("CMakeLists.txt", ".cmake"))}
    for path in sorted(tree):
        if not path.endswith(".cpp") or is_foreign_data(path):
            continue
        if not any(_names(path, listing, text) for listing, text in listings.items()):
            yield Finding(path, 1, "no CMakeLists.txt names this file: it is never compiled")


def _names(path, listing, text):
    """Whether the listing names the path: relative to its own folder or to the root."""
    folder = listing.rpartition("/")[0]
    words = set(re.findall(r"[\w./${}-]+", text))
    if folder and not path.startswith(folder + "/"):
        return any(w.endswith("}/" + path) for w in words)
    return (path[len(folder) + 1:] if folder else path) in words or any(
        w.endswith("}/" + path) for w in words)


def check_headers_are_included(tree):
    """A header that nobody but its own .cpp includes is dead, or should be in that .cpp."""
    included = {}
    for path, text in tree.items():
        if path.endswith(CPP):
            for _, _, target in includes(text):
                included.setdefault(target, set()).add(path)
    for path in sorted(tree):
        if path.endswith(".h") and not is_foreign_data(path):
            if not included.get(path, set()) - {path[:-2] + ".cpp", path}:
                yield Finding(path, 1, "nobody but its own .cpp includes this header")


_LIBRARY = re.compile(r"add_library\(\s*(\w+)\s+(?:STATIC|OBJECT|SHARED)\s+([^)]*)\)")


def core_sources(tree):
    """{library: [paths]} of the libraries that decide."""
    found = {}
    for listing, text in tree.items():
        if not listing.endswith("CMakeLists.txt") or listing.startswith("tests/"):
            continue
        folder = listing.rpartition("/")[0]
        for match in _LIBRARY.finditer(_cmake_code(text)):
            if CORE.match(match.group(1)):
                found[match.group(1)] = [f"{folder}/{s}" for s in match.group(2).split()
                                         if s.endswith(".cpp")]
    return found


def check_cores_are_pure(tree):
    for library, sources in sorted(core_sources(tree).items()):
        seen, queue = set(), list(sources)
        while queue:
            path = queue.pop()
            if path in seen or path not in tree:
                continue
            seen.add(path)
            for line, kind, target in includes(tree[path]):
                if kind == "<" and FOREIGN.match(target):
                    yield Finding(path, line, f"{library} reaches <{target}>: what decides "
                                  "knows no loop, no network and no drive")
                elif kind == '"':
                    queue.append(target)


def check_heavy_headers(tree):
    """Reached through headers, a heavy one costs every source that never asked for it."""
    targets = {p: {target for _, _, target in includes(t)} for p, t in tree.items()
               if p.endswith(CPP)}
    reached = dict.fromkeys(HEAVY, 0)
    for path in targets:
        if not path.endswith(".cpp") or path.split("/")[0] not in MAP:
            continue
        seen, queue = set(), [path]
        while queue:
            new = targets.get(queue.pop(), set()) - seen
            seen |= new
            queue += new
        for header in seen & HEAVY.keys():
            reached[header] += 1
    for header, most in HEAVY.items():
        if reached[header] > most:
            yield Finding("tests/tidy/rules.py", 1, f"{reached[header]} sources reach <{header}>, "
                          f"{most} may: include it where it is needed, not in a header")


TREE_RULES = (check_purpose_is_said, check_sources_are_built, check_headers_are_included,
              check_cores_are_pure, check_citations, check_links, check_contents,
              check_heavy_headers)


def check_tree(tree):
    """Every finding of the rules that need to see all files; tree maps a path to its text."""
    for rule in TREE_RULES:
        yield from rule(tree)
