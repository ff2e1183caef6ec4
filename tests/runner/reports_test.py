"""What `run --out DIR` leaves behind: the results file and the reports made from it; and `compare`."""
import json
import os
import sqlite3
import subprocess
import xml.etree.ElementTree

import program
from program import Case, run

SCHEMA = os.path.join(program.SOURCE, "tests", "reports", "junit.xsd")


class Reports(Case):
    def campaign(self, *words, code=0):
        out = self.path("out")
        self.assert_code(run("run", *words, "--seeds", 300, "--out", out), code)
        return out

    def rows(self, out, sql):
        with sqlite3.connect(os.path.join(out, "results.sqlite")) as database:
            return database.execute(sql).fetchall()

    def test_every_table_is_filled(self):
        out = self.campaign("order-single", "payment-single", "--set", "payment.key=fresh", code=1)
        self.assertEqual([name for name, in self.rows(out, "SELECT scenario FROM campaign ORDER BY id")], ["order-single", "payment-single"])
        for table in ("build", "campaign", "invariant", "point", "ending", "move", "finding", "fault"):
            self.assertGreater(self.rows(out, f"SELECT count(*) FROM {table}")[0][0], 0, table)
        self.assertEqual(self.rows(out, "SELECT count(*) FROM invariant WHERE campaign=2")[0][0], 22)
        self.assertIn(("Pending", "PaymentCompleted"), self.rows(out, "SELECT state, event FROM move WHERE campaign=1"))
        text, = self.rows(out, "SELECT text FROM campaign WHERE id=1")[0]
        with open(os.path.join(program.SOURCE, "scenarios", "order-single.yaml"), encoding="utf-8") as file:
            self.assertEqual(text, file.read())
        self.assertEqual([name for name in os.listdir(out) if name.endswith(".part")], [])

    def test_junit_is_what_jenkins_takes(self):
        out = self.campaign("payment-single", "--set", "payment.key=fresh", code=1)
        path = os.path.join(out, "junit.xml")
        done = subprocess.run(["xmllint", "--noout", "--schema", SCHEMA, path], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        suite = xml.etree.ElementTree.parse(path).getroot().find("testsuite")
        cases = suite.findall("testcase")
        self.assertEqual(int(suite.get("tests")), len(cases))
        self.assertEqual(int(suite.get("failures")), len(suite.findall("testcase/failure")))
        self.assertEqual(int(suite.get("skipped")), len(suite.findall("testcase/skipped")))
        failure = next(case for case in cases if case.get("name") == "at_most_one_charge").find("failure")
        self.assertIn("Purchase 1 is charged twice", failure.get("message"))
        self.assertIn("remedy: Send every try", failure.text)
        self.assertIn(f"replay: oncesim replay {out}/payment-single-at_most_one_charge.replay", failure.text)
        for case in cases:
            self.assertNotRegex(case.get("name"), r"\d{2,}", "a name that changes with the seed has no history")

    def test_a_schema_that_is_not_met_is_seen(self):
        bad = self.write("bad.xml", "<testsuites><testsuite name='a' tests='1' failures='0' errors='0'><testcase/></testsuite></testsuites>")
        self.assertNotEqual(subprocess.run(["xmllint", "--noout", "--schema", SCHEMA, bad], stderr=subprocess.DEVNULL, check=False).returncode, 0)

    def test_a_report_can_be_written_again(self):
        out = self.campaign("payment-quiet")
        names = ("report.txt", "report.json", "junit.xml")
        before = []
        for name in names:
            with open(os.path.join(out, name), encoding="utf-8") as file:
                before.append(file.read())
            os.unlink(os.path.join(out, name))
        done = run("report", out)
        self.assert_code(done, 0)
        self.assertEqual(done.out, before[0])
        for name, text in zip(names, before):
            with open(os.path.join(out, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
        self.assertEqual(json.loads(run("report", out, "--json").out)["scenario"], "payment-quiet")

    def test_a_second_run_replaces_the_results(self):
        out = self.campaign("payment-quiet")
        self.assert_code(run("run", "order-quiet", "--seeds", 50, "--out", out), 0)
        self.assertEqual([name for name, in self.rows(out, "SELECT scenario FROM campaign")], ["order-quiet"])

    def test_replay_files_of_earlier_runs_stay_and_are_told(self):
        out = self.campaign("payment-single", "--set", "payment.key=fresh", code=1)
        count = len([name for name in os.listdir(out) if name.endswith(".replay")])
        self.assertGreater(count, 0)
        again = run("run", "payment-single", "--set", "payment.key=fresh", "--seeds", 300, "--out", out)
        self.assertNotIn("earlier runs", again.err)
        held = run("run", "payment-quiet", "--seeds", 300, "--out", out)
        self.assert_code(held, 0)
        self.assertIn(f"also holds {count} replay files of earlier runs", held.err)

    def test_a_folder_without_results(self):
        done = run("report", self.folder)
        self.assert_code(done, 4)
        self.assertIn("results.sqlite", done.err)

    def test_compare(self):
        done = run("compare", "recommended", "unknown.policy=park_always", "payment-single", "--seeds", 400)
        self.assert_code(done, 1)
        self.assertRegex(done.out, r"(?m)^  parks_only_if_undecidable +0 +\d+$")
        self.assertRegex(done.out, r"(?m)^  open cases per 100,000 orders +\d+\.\d\d +\d+\.\d\d")
        design = self.write("d.yaml", "unknown.policy: park_always\n")
        again = run("compare", "recommended", design, "payment-single", "--seeds", 400)
        self.assertEqual(again.out.splitlines()[3:], done.out.splitlines()[3:])
        self.assertEqual(done.out.splitlines()[1:3], ["  A  recommended", "  B  unknown.policy=park_always"])
        same = run("compare", "recommended", "recommended", "payment-single", "--seeds", 100)
        self.assert_code(same, 0)
        for words in (("recommended",), ("recommended", "payment.kye=fresh"), ("recommended", "nowhere.yaml"), ("a=b,", "recommended", "none")):
            self.assert_code(run("compare", *words), 4)


if __name__ == "__main__":
    program.main()
