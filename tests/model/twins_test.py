"""No checker without a twin that must fail: each invariant is broken for certain by a known-bad scenario, or, where no
mistake of the catalogue breaks it, by a case of invariants_test.c named after it.

     twins_test.py SOURCE"""
import glob
import os
import re
import sys
import unittest

SOURCE = sys.argv[1] if len(sys.argv) > 1 else "."

# Those that no known-bad scenario must break.
BY_UNIT_TEST = {
    "quiet_run_completes": "every mistake survives the happy path, or breaks a sharper invariant on it",
    "manual_queue_is_complete": "the case is opened in the transaction that parks; no mistake parts the two",
}


def read(*words):
    with open(os.path.join(SOURCE, *words), encoding="utf-8") as file:
        return file.read()


class Twins(unittest.TestCase):
    def setUp(self):
        self.invariants = re.findall(r'\bINVARIANT\(\s*\w+,\s*"(\w+)"', read("model", "invariants", "invariants.def"))
        self.broken = {}
        for path in sorted(glob.glob(os.path.join(SOURCE, "scenarios", "known-bad", "*.yaml"))):
            for names in re.findall(r"(?m)^  violates: \[([^\]]*)\]", read(path)):
                for name in names.split(","):
                    self.broken.setdefault(name.strip(), []).append(os.path.basename(path))

    def test_the_lists_were_found(self):
        self.assertGreater(len(self.invariants), 15)
        self.assertEqual(len(self.invariants), len(set(self.invariants)))
        self.assertEqual(set(self.broken) - set(self.invariants), set())

    def test_each_invariant_is_broken_by_something(self):
        self.assertEqual(set(self.invariants) - set(self.broken), set(BY_UNIT_TEST))

    def test_what_no_scenario_breaks_has_a_case_of_its_own(self):
        cases = set(re.findall(r"cmocka_unit_test(?:_teardown)?\((\w+)_has_a_twin\b", read("tests", "model", "invariants_test.c")))
        self.assertEqual(set(BY_UNIT_TEST) - cases, set())
        self.assertEqual(cases - set(self.invariants), set())

    def test_each_invariant_states_its_danger_and_remedy(self):
        entries = re.findall(r"\bINVARIANT\(((?:[^\"()]|\"(?:[^\"\\]|\\.)*\")*)\)", read("model", "invariants", "invariants.def"))
        entries = [entry for entry in entries if '"' in entry]  # less the heading
        self.assertEqual(len(entries), len(self.invariants))
        for entry in entries:
            self.assertGreaterEqual(len(re.findall(r'"(?:[^"\\]|\\.)+"', entry)), 4, entry)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
