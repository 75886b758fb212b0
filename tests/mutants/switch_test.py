#!/usr/bin/python3
"""What switch.py makes of single faults: the sound text and the faulty one, no more of the source
than has to be chosen, and an error for what cannot be."""

import re
import sys
import unittest

from switch import switched


def listing(*faults):
    return "".join(f"%% fault {name}\n{old}\n%% by\n{new}\n%% end\n" for name, old, new in faults)


def body(text, *faults):
    """The switched text behind its switches, with single spaces."""
    out = switched("a.cpp", text, listing(*faults))
    return re.sub(r"\s+", " ", out[out.index("\n}\n") + 3:]).strip()


class Statements(unittest.TestCase):
    def test_one_statement_is_chosen(self):
        self.assertEqual(
            body("int f() {\n  return 1;\n}\n", ("m/one", "return 1;", "return 2;")),
            "int f() { { if (fault_m_one) { return 2; } else { return 1; } } }")

    def test_one_that_goes(self):
        self.assertEqual(body("void f() {\n  a();\n  b();\n}\n", ("m/one", "  a();\n", "")),
                         "void f() { { if (fault_m_one) { } else { a(); } } b(); }")

    def test_one_that_comes(self):
        self.assertEqual(
            body("void f() {\n  b();\n}\n",
                 ("m/one", "void f() {\n", "void f() {\n  return a();\n")),
            "void f() { { if (fault_m_one) { return a(); } else { } } b(); }")

    def test_a_condition_put_before_one(self):
        self.assertEqual(
            body("void f() {\n  b(c);\n}\n", ("m/one", "b(c", "if (false) b(c")),
            "void f() { { if (fault_m_one) { if (false) b(c); } else { b(c); } } }")

    def test_behind_a_declaration_the_block_is_chosen(self):
        self.assertEqual(
            body("void f() {\n  a();\n  const int n = 1;\n  b(n);\n}\n",
                 ("m/one", "n = 1", "n = 2")),
            "void f() { a(); { if (fault_m_one) { const int n = 2; b(n); } "
            "else { const int n = 1; b(n); } } }")

    def test_only_the_statement_below_an_if(self):
        self.assertEqual(
            body("void f() {\n  if (a) b();\n  else c();\n}\n", ("m/one", "b()", "d()")),
            "void f() { if (a) { if (fault_m_one) { d(); } else { b(); } } else c(); }")

    def test_a_condition_with_all_that_hangs_on_it(self):
        self.assertEqual(
            body("void f() {\n  if (a) {\n    b();\n  }\n  c();\n}\n",
                 ("m/one", "if (a)", "if (true)")),
            "void f() { { if (fault_m_one) { if (true) { b(); } } "
            "else { if (a) { b(); } } } c(); }")

    def test_the_body_of_a_lambda(self):
        self.assertEqual(
            body("void f() {\n  const auto g = [x](int) -> R<int> {\n    return x;\n  };\n}\n",
                 ("m/one", "return x", "return 0")),
            "void f() { const auto g = [x](int) -> R<int> { "
            "{ if (fault_m_one) { return 0; } else { return x; } } }; }")

    def test_a_label_is_chosen_with_its_switch(self):
        text = "void f() {\n  switch (a) {\n    case 1:\n      return b();\n  }\n}\n"
        self.assertIn("{ if (fault_m_one) { switch (a) { case 2: return b(); } } else {",
                      body(text, ("m/one", "case 1", "case 2")))
        self.assertIn("case 1: { if (fault_m_one) { return c(); } else { return b(); } }",
                      body(text, ("m/one", "b()", "c()")))

    def test_brackets_in_literals_and_comments_count_not(self):
        self.assertEqual(
            body('void f() {\n  a("}{");  // }\n  b(\'{\');\n}\n', ("m/one", "b('{')", "c()")),
            'void f() { a("}{"); // } { if (fault_m_one) { c(); } else { b(\'{\'); } } }')


class Together(unittest.TestCase):
    def test_faults_of_one_statement_share_a_chain(self):
        self.assertEqual(
            body("int f() {\n  return a + b;\n}\n",
                 ("m/one", "a +", "1 +"), ("m/two", "b;", "2;")),
            "int f() { { if (fault_m_one) { return 1 + b; } "
            "else if (fault_m_two) { return a + 2; } else { return a + b; } } }")

    def test_one_within_another(self):
        self.assertEqual(
            body("void f() {\n  if (a) {\n    b();\n  }\n}\n",
                 ("m/one", "b();", "c();"), ("m/two", "if (a)", "if (d)")),
            "void f() { { if (fault_m_two) { if (d) { b(); } } else if (fault_m_one) "
            "{ if (a) { c(); } } else { if (a) { b(); } } } }")


class Tables(unittest.TestCase):
    TABLE = ("constexpr std::array kRows{\n    Row{1, 2},\n    Row{3, 4},\n};\n"
             "static_assert(ok());\n")

    def test_an_element_is_chosen_and_nothing_is_proven_of_it(self):
        self.assertEqual(body(self.TABLE, ("m/one", "Row{3, 4}", "Row{5, 6}")),
                         "const std::array kRows{ Row{1, 2},(fault_m_one ? ( Row{5, 6} ) : "
                         "( Row{3, 4} )), };")

    def test_a_constant(self):
        self.assertEqual(body("constexpr int kA = 7;\n", ("m/one", "kA = 7", "kA = 3")),
                         "const int kA =(fault_m_one ? ( 3 ) : ( 7 ));")


class Errors(unittest.TestCase):
    def check(self, said, text, old, new):
        with self.assertRaises(SystemExit) as stopped:
            body(text, ("m/one", old, new))
        self.assertRegex(str(stopped.exception), "mutant m/one.*" + said)

    def test_the_text_is_there_once(self):
        self.check("a.cpp does not hold", "void f() {}\n", "b();", "")
        self.check("a.cpp holds .* more than once", "void f() { b(); b(); }\n", "b();", "")

    def test_what_has_no_statements(self):
        self.check("a bracket that nothing closes", "void f() {\n  b();\n}\n", "b();", "if (a) {")
        self.check("neither statements nor", "void f(int) {\n}\n", "void", "bool")


if __name__ == "__main__":
    sys.exit(unittest.main())
