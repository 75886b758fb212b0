"""What the binary takes, as its --help tells: whether a line that a document names is a command."""
import functools
import re
import subprocess

SUBCOMMAND = re.compile(r"  (\S+)(?:\s|$)")
OPTION = re.compile(r"  (?:(-\w),)?(--[a-z][\w-]*)( [A-Z]{2,})?")


class Usage:
    def __init__(self, help_text):
        self.commands, self.options, self.takes_words = set(), {}, False
        section = ""
        for line in help_text.splitlines():
            if line and not line.startswith(" "):
                section = line
                self.takes_words |= section == "Positionals:"
            elif section == "Subcommands:" and SUBCOMMAND.match(line):
                self.commands.add(SUBCOMMAND.match(line).group(1))
            elif section.startswith("Options") and OPTION.match(line):
                short, name, value = OPTION.match(line).groups()
                self.options.update({each: bool(value) for each in (short, name) if each})


@functools.cache
def usage_of(binary, command):
    return Usage(subprocess.run([binary, *command, "--help"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout)


def why_not(words, usage):
    """What is wrong with them behind `reclaim`, or nothing. `usage`: of a tuple of words."""
    words, command = list(words), ()
    options = dict(usage(()).options)  # which every command takes too
    while words and words[0] in usage(command).commands:
        command += (words.pop(0),)
        options.update(usage(command).options)
    while words:
        word, _, value = words.pop(0).partition("=")
        if not word.startswith("-"):
            if not usage(command).takes_words:
                return "`%s` takes no '%s'" % (" ".join(("reclaim", *command)), word)
        elif word not in options:
            return "`%s` has no option %s" % (" ".join(("reclaim", *command)), word)
        elif options[word] and not value:
            if not words or words[0].startswith("-"):
                return "%s takes a value" % word
            words.pop(0)
    return None
