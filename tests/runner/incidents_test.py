"""Public incidents: the design that failed is found broken, the recommended one holds in the same world."""
import glob
import os

import program
from program import Case, run

FOLDER = os.path.join(program.SOURCE, "scenarios", "incidents")


class Incidents(Case):
    def test_each_is_a_pair_and_is_told_in_the_docs(self):
        names = sorted(os.path.basename(path)[: -len(".yaml")] for path in glob.glob(os.path.join(FOLDER, "*.yaml")))
        broken = [name[: -len("-broken")] for name in names if name.endswith("-broken")]
        self.assertGreaterEqual(len(broken), 12)
        self.assertEqual(names, sorted(f"{name}-{kind}" for name in broken for kind in ("broken", "mended")))
        with open(os.path.join(program.SOURCE, "docs", "incidents.md"), encoding="utf-8") as file:
            text = file.read()
        for name in broken:
            self.assertIn(f"| `{name}` |", text)

    def test_what_failed_is_found_and_what_is_mended_holds(self):
        done = run("run", FOLDER, "--json", "--jobs", 2)
        self.assert_code(done, 0)
        for line in done.summaries():
            with self.subTest(scenario=line["scenario"]):
                self.assertEqual(line["verdict"], "held")
                self.assertEqual(line["violations"] != {}, line["scenario"].endswith("-broken"))


if __name__ == "__main__":
    program.main()
