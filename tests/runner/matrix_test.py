"""The matrix: rows as stated give 0, what nobody stated gives nothing to run; one row a known-bad scenario."""
import json

import program
from program import Case, run


class Matrix(Case):
    def test_some_mistakes_are_as_stated(self):
        done = run("matrix", "payment.key", "saga.polling", "email.dedup=none", "--json", "--jobs", 2)
        self.assert_code(done, 0)
        rows = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual(rows[-1], {"type": "summary", "rows": len(rows) - 1, "not_as_stated": 0})
        names = [row["what"] for row in rows[:-1]]
        self.assertIn("payment.key=fresh", names)
        self.assertIn("saga.polling=no_back_off", names)
        for row in rows[:-1]:
            with self.subTest(what=row["what"]):
                self.assertEqual(row["type"], "mistake")
                self.assertTrue(row["as_stated"])
                self.assertGreater(row["failing"], 0)
                self.assertTrue(set(row["stated"].split(", ")) <= set(row["found"].split(", ")))

    def test_the_recommended_design_has_its_stated_row(self):
        done = run("matrix", "recommended, gateway plain", "recommended, gateway stripe", "resume.scope", "--json", "--jobs", 2)
        self.assert_code(done, 0)
        rows = [json.loads(line) for line in done.out.splitlines()][:-1]
        self.assertEqual({row["type"] for row in rows}, {"must_hold"})
        plain = [row for row in rows if row["what"] == "recommended, gateway plain"]
        self.assertEqual([row["scenario"] for row in plain], ["payment", "order", "registration"])
        for row in plain:
            self.assertEqual(row["stated"], "holds by parking")
            self.assertGreater(row["parked"], 0)

    def test_in_words(self):
        done = run("matrix", "payment.result")
        self.assert_code(done, 0)
        self.assertRegex(done.out, r"(?m)^ ok  payment.result=status_only, in payment.result-status_only: [0-9]+ of [0-9]+ seeds fail$")
        self.assertTrue(done.out.endswith("1 rows, all as stated\n"))

    def test_nothing_of_that_name(self):
        self.assert_code(run("matrix", "no.such"), 5)


if __name__ == "__main__":
    program.main()
