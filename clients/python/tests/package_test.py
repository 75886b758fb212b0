"""The package's own description: what it says is there is there."""
import configparser
import importlib.util
import os
import unittest

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def entry_points():
    """[(group, command, module, name)] of setup.cfg."""
    config = configparser.ConfigParser(delimiters=("=",))
    config.read(os.path.join(PACKAGE, "setup.cfg"), encoding="utf-8")
    found = []
    if config.has_section("options.entry_points"):
        for group, lines in config.items("options.entry_points"):
            for line in lines.strip().splitlines():
                command, _, target = (word.strip() for word in line.partition("="))
                module, _, name = target.partition(":")
                found.append((group, command, module, name))
    return found


class Package(unittest.TestCase):
    def test_every_entry_point_is_defined_where_it_says(self):
        for group, command, module, name in entry_points():
            path = os.path.join(PACKAGE, module.replace(".", "/") + ".py")
            with open(path, encoding="utf-8") as file:
                self.assertIn("\nclass %s" % name, file.read(), (group, command))

    def test_the_package_needs_nothing_until_a_part_of_it_is_used(self):
        spec = importlib.util.find_spec("reclaim_openstack")
        with open(spec.origin, encoding="utf-8") as file:
            self.assertNotIn("import ", file.read())


if __name__ == "__main__":
    unittest.main(verbosity=2)
