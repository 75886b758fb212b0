#!/usr/bin/python3
"""The manual pages: groff warns of nothing, each names what exists, and every command and every
option that the binary's --help knows is in one of them; and --help fits the terminal.

usage: manual_test.py BINARY FOLDER_OF_PAGES
"""

import fcntl
import glob
import os
import pty
import re
import struct
import subprocess
import sys
import termios

COLUMNS = 80
COMMAND = re.compile(r"^  (\S+)(?:\s|$)")
OPTION = re.compile(r"--[a-z][a-z-]+")
PAGE = re.compile(r"\b(reclaim[\w.-]*)\((\d)\)")


def render(path):
    """The page as a terminal shows it, and what groff has to say."""
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", path], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "200",
                               "MANROFFOPT": "-c", "GROFF_NO_SGR": "1"})
    return re.sub(".\b", "", done.stdout), done.stderr.strip()


def help_of(binary, command):
    """Its subcommands and its own long options, as --help prints them."""
    text = subprocess.run([binary, *command, "--help"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    commands, options, section = [], set(), ""
    for line in text.splitlines():
        if line and not line.startswith(" "):
            section = line
        elif section == "Subcommands:" and COMMAND.match(line):
            commands.append(COMMAND.match(line).group(1))
        elif section.startswith("Options"):
            options |= set(OPTION.findall(line.split("   ")[0]))
    return commands, options


def on_terminal(*words):
    """What the command writes on a terminal of COLUMNS."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    with subprocess.Popen(words, stdout=its, stderr=its):
        os.close(its)
        text = b""
        try:
            while piece := os.read(ours, 65536):
                text += piece
        except OSError:  # the end, on Linux
            pass
    os.close(ours)
    return text.decode().replace("\r\n", "\n")


def look_at_help(binary):
    for command in ("", *(command for command, _ in walk(binary))):
        words = [binary, *command.split(), "--help"]
        text = on_terminal(*words)
        for line in text.splitlines():
            if len(line) > COLUMNS:
                yield f"`reclaim {command} --help` has a line that is too long: {line}"
        whole = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
        if "".join(text.split()) != "".join(whole.split()):
            yield f"`reclaim {command} --help` says something else on a terminal"


def look_at_an_error(binary):
    said = on_terminal(binary, "certificate", "list", "--folder", "/", "--from", "monday")
    if len(said) <= COLUMNS or any(len(line) > COLUMNS for line in said.splitlines()):
        yield f"an error is not wrapped on a terminal: {said}"


def walk(binary, command=()):
    """(command, its options) of every command that does something."""
    commands, options = help_of(binary, command)
    if not commands:
        yield " ".join(command), options
    for each in commands:
        yield from walk(binary, (*command, each))


def look_at_pages(pages):
    names = {os.path.basename(path) for path in pages}
    for path, (text, warnings) in pages.items():
        name, _, section = os.path.basename(path).rpartition(".")
        yield from (f"{path}: {line}" for line in warnings.splitlines())
        if not text.startswith(f"{name.upper()}({section})"):
            yield f"{path}: its heading is not {name.upper()}({section})"
        for other in PAGE.findall(text):
            if ".".join(other) not in names:
                yield f"{path} points to {other[0]}({other[1]}), which does not exist"


def look_at_commands(binary, pages):
    general = next(text for path, (text, _) in pages.items() if path.endswith("/reclaim.8"))
    for command, options in walk(binary):
        entry = re.compile(rf"^ +(?:.*, )?{re.escape(command)}\b(?!-)", re.MULTILINE)
        found = [text for text, _ in pages.values() if entry.search(text.partition("COMMANDS")[2])]
        if not found:
            yield f"no page has an entry for `reclaim {command}`"
            continue
        for option in sorted(options):
            if not any(re.search(re.escape(option) + r"(?![\w-])", text)
                       for text in [general, *found]):
                yield f"the page of `reclaim {command}` has nothing of its {option}"


def main():
    binary, folder = sys.argv[1:]
    paths = sorted(glob.glob(os.path.join(folder, "reclaim*.[1-8]")))
    pages = {path: render(path) for path in paths}
    complaints = [*look_at_pages(pages), *look_at_commands(binary, pages), *look_at_help(binary),
                  *look_at_an_error(binary)]
    for complaint in complaints:
        print(f"manual: {complaint}")
    print(f"manual: {len(pages)} pages, {len(list(walk(binary)))} commands")
    return 1 if complaints or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
