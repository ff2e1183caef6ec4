"""What each command prints, against committed files in tests/golden. UPDATE_GOLDEN=1 rewrites them; the difference is
reviewed like code. What changes from machine to machine, or with every edit of sim, stands there as <word>."""
import os
import re

import program
from program import Case, run

GOLDEN = os.path.join(program.SOURCE, "tests", "golden")
STORY = "tests/golden/double-charge.replay"
CHANGING = (
    (r"\b[0-9a-f]{16}\b", "<digest>"),
    (r"\bin \d+\.\d\d s\b", "in <time>"),
    (r"about \d+ s\b", "about <time>"),
    (r"[\d,]+ runs/s", "<speed> runs/s"),
    (r'"runs_per_s":[\d.e+-]+', '"runs_per_s":<speed>'),
    (r"SQLite \d.*|^sqlite: .*", "<SQLite>"),
    (r"oncesim \d+\.\d+\.\d+|^oncesim: \d+\.\d+\.\d+", "oncesim <version>"),
    (r", as recorded|, another than recorded.*", ", <as recorded or not>"),
    (r"(?m)^  \(the scenario file has changed since this replay was written\)\n", ""),
)


class Golden(Case):
    def same(self, name, *words, code=0, text=None):
        done = run(*words)
        self.assert_code(done, code)
        got = done.out + done.err if text is None else text()
        got = got.replace(self.folder, "<folder>")
        for pattern, word in CHANGING:
            got = re.sub(pattern, word, got, flags=re.M)
        path = os.path.join(GOLDEN, name)
        if os.environ.get("UPDATE_GOLDEN"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(got)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(got, file.read(), f"{path} differs; if this is meant: UPDATE_GOLDEN=1")

    def test_help(self):
        self.same("help.txt", "--help")

    def test_findings_in_words(self):
        self.same("findings.txt", "explore", "payment-single", "--faults", 1, "--set", "payment.key=fresh", code=1)

    def test_findings_as_json(self):
        self.same("findings.json", "explore", "payment-single", "--faults", 1, "--set", "payment.key=fresh", "--json", code=1)

    def test_a_campaign_in_words(self):
        self.same("campaign.txt", "run", "payment-quiet", "--seeds", 100)

    def test_a_campaign_as_json(self):
        self.same("campaign.json", "run", "payment-quiet", "--seeds", 100, "--json")

    def test_a_replay_is_told(self):
        self.same("replay.txt", "replay", STORY, code=1)

    def test_a_replay_file(self):
        def text():
            with open(self.path("out/payment-single-at_most_one_charge.replay"), encoding="utf-8") as file:
                return file.read()

        self.same("replay-file.txt", "shrink", STORY, "--out", self.path("out"), code=1, text=text)

    def test_a_scenario_printed(self):
        self.same("scenario.txt", "check", "payment.key_age-ignored", "--print")

    def test_what_is_wrong_with_a_scenario(self):
        self.same("error.txt", "check", self.write("s.yaml", "scenario: a\nfaults:\n  bus: {losst: 1/2}\n"), code=4)

    def test_explanations(self):
        for kind, name in (
            ("axis", "payment.key"),
            ("choice", "payment.key=fresh"),
            ("invariant", "at_most_one_charge"),
            ("profile", "plain"),
            ("fault", "gap"),
        ):
            self.same(f"explain-{kind}.txt", "explain", name)

    def test_lists(self):
        for topic in ("axes", "profiles", "invariants", "faults"):
            self.same(f"list-{topic}.txt", "list", topic)


if __name__ == "__main__":
    program.main()
