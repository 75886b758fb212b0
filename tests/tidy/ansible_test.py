#!/usr/bin/python3
"""What clients/ansible gives to Ansible: that a task which handles a secret shows it to nobody
(`no_log`, `diff: false`), that the policy of RabbitMQ is the one that the documents give (which
nova_queues_test tries), and that no key of a task is misspelled. Ansible itself reads the playbooks
in `./test.sh --packages`."""
import pathlib
import re
import shlex
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "clients/ansible"
# Of a secret, in whatever a task names. The variable is the whole configuration, with its logins.
SECRET = re.compile(r"reclaim_config|reclaim\.conf|passw|passphrase|secret|token|credential"
                    r"|redis://|transport_url|(order|private|signing)[-_ ]key|\.key\b", re.I)
KEYWORDS = {"name", "when", "notify", "register", "changed_when", "failed_when", "check_mode",
            "no_log", "diff", "delegate_to", "run_once", "retries", "delay", "until"}
LISTS = ("tasks", "pre_tasks", "post_tasks", "handlers")


def texts_in(value):
    """Every name and every text in a value of YAML."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield str(name)
            yield from texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts_in(each)
    else:
        yield str(value)


def tasks_in(loaded):
    """The tasks of a file of tasks or handlers, or of the plays of a playbook."""
    for each in loaded if isinstance(loaded, list) else []:
        if "hosts" in each:
            for name in LISTS:
                yield from each.get(name, [])
        else:
            yield each


def handles_a_secret(task, template):
    """`template` gives the text of a template by its name."""
    texts = list(texts_in({name: value for name, value in task.items() if name != "name"}))
    if "ansible.builtin.template" in task:
        texts.append(template(task["ansible.builtin.template"]["src"]))
    return any(map(SECRET.search, texts))


def wrong_with(task, template):
    """Sentences; none if all is well."""
    name = task.get("name", "a task without a name")
    modules = [key for key in task if key.startswith("ansible.builtin.")]
    if len(modules) != 1:
        yield "%s: it has %d modules" % (name, len(modules))
    for key in sorted(set(task) - set(modules) - KEYWORDS):
        yield "%s: nobody knows the key %s" % (name, key)
    if handles_a_secret(task, template):
        for key, value in (("no_log", True), ("diff", False)):
            if task.get(key) is not value:
                yield "%s: it handles a secret without `%s: %s`" % (name, key, str(value).lower())


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def template_of_the_role(name):
    return read(CLIENTS / "reclaim/templates" / name)


def all_tasks():
    return [task for path in sorted(CLIENTS.rglob("*.yml"))
            for task in tasks_in(yaml.safe_load(read(path)))]


class Ansible(unittest.TestCase):
    def test_no_task_shows_a_secret(self):
        tasks = all_tasks()
        self.assertEqual([wrong for task in tasks
                          for wrong in wrong_with(task, template_of_the_role)], [])
        self.assertEqual([task["name"] for task in tasks
                          if handles_a_secret(task, template_of_the_role)], ["Configure Reclaim"])

    def test_the_policy_of_rabbitmq_is_the_documented_one(self):
        defaults = yaml.safe_load(read(CLIENTS / "reclaim/defaults/main.yml"))
        policy, = (task for task in all_tasks() if "rabbitmqctl" in texts_in(task))
        typed = [word.replace("{{ reclaim_rabbitmq_vhost }}", defaults["reclaim_rabbitmq_vhost"])
                 for word in policy["ansible.builtin.command"]["argv"]]
        self.assertEqual(policy["when"], 'reclaim_rabbitmq_host != ""')
        self.assertEqual(policy["delegate_to"], "{{ reclaim_rabbitmq_host }}")
        for page in ("README.md", "docs/install.md"):
            documented = re.findall(r"^rabbitmqctl set_policy .*", read(page), re.MULTILINE)
            self.assertEqual([typed], [shlex.split(line) for line in documented], page)

    def test_the_examples_are_yaml(self):
        for page in sorted(CLIENTS.rglob("*.md")):
            for example in re.findall(r"```yaml\n(.*?)```", read(page), re.DOTALL):
                for play in yaml.safe_load(example):
                    self.assertIn("hosts", play)


class Checker(unittest.TestCase):
    """Each way in which a task can be wrong, once."""

    GOOD = {"name": "n", "ansible.builtin.template": {"src": "a.j2", "dest": "/etc/a"},
            "no_log": True, "diff": False}

    def wrong(self, template="{{ reclaim_config }}", **changes):
        task = {name: value for name, value in {**self.GOOD, **changes}.items()
                if value is not None}
        return list(wrong_with(task, lambda name: template))

    def test_a_good_task_passes(self):
        self.assertEqual(self.wrong(), [])
        self.assertEqual(self.wrong("nothing", no_log=None, diff=None), [])

    def test_what_is_wrong_is_said(self):
        for changes in ({"no_log": None}, {"no_log": False}, {"diff": None}, {"diff": True},
                        {"no_logs": True}, {"ansible.builtin.copy": {}},
                        {"ansible.builtin.template": None, "no_log": None, "diff": None}):
            self.assertEqual(len(self.wrong(**changes)), 1, changes)
        for names in ({"content": "{{ redis_password }}"}, {"src": "order.key"},
                      {"argv": ["reclaim", "security", "order-key"]}):
            wrong = self.wrong("nothing", no_log=None, **{"ansible.builtin.template": None,
                                                          "ansible.builtin.copy": names})
            self.assertEqual(len(wrong), 1, names)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
