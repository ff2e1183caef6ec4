"""Replay files: what a finding leaves behind can be read, edited, committed, and comes out the same."""
import glob
import os
import re

import program
from program import Case, run

SIZE_MAX = 4096
# A finding's story is a page. Up to one in eight may need two: those with several necessary faults, polls in between, or a
# whole order with its cancellation.
PAGE = 40
# Left out of the look at all findings: runs that never rest cost a millisecond, and shrinking one takes thousands.
SLOW_TO_SHRINK = {"journal.durability-relaxed", "journal.durability-delete_full", "order.activation-double-unguarded"}


class Replay(Case):
    def finding(self, scenario="payment.on_unknown-fail", invariant="at_most_one_charge"):
        """The replay file of a mistake's finding, and its text."""
        out = self.path("out")
        run("run", scenario, "--seeds", 2000, "--out", out)
        path = os.path.join(out, f"{scenario}-{invariant}.replay")
        with open(path, encoding="utf-8") as file:
            return path, file.read()

    def edited(self, text, old, new, count=1):
        self.assertIn(old, text)
        return self.write("edited.replay", text.replace(old, new, count))

    def test_a_finding_is_told(self):
        path, text = self.finding("payment.on_unknown-recharge")
        done = run("replay", path)
        self.assert_code(done, 1)
        lines = done.out.splitlines()
        self.assertLess(len(lines), 40, done.out)
        self.assertEqual(lines[0], "payment.on_unknown-recharge, 1 fault")
        words = re.search(r"^fault: (.*)$", text, re.M).group(1)
        self.assertEqual(lines[1], f"  1. {words}")
        self.assertRegex(done.out, r'(?m)^  00:00:\d\d\.\d\d\d  payments/1  commits "intent"; calls Charge order:1:payment at gateway$')
        self.assertIn("steps after the failure are left out; --full tells them\n", done.out)
        full = run("replay", path, "--full")
        self.assertGreater(len(full.out.splitlines()), len(lines))
        self.assertNotIn("left out", full.out)
        self.assertRegex(done.out, r"(?m)^  00:00:\d\d\.\d\d\d  gateway     LEDGER: payment 1 charges 49\.99 EUR for purchase 1 ")
        self.assertRegex(done.out, r"(?m)^  00:00:\d\d\.\d\d\d  =>          Purchase 1 is charged twice: payment 1 \(49\.99 EUR ")
        self.assertIn("  the gateway's ledger says: payment 1, 49.99 EUR for purchase 1; payment 2, 49.99 EUR for purchase 1\n", done.out)
        self.assertIn("  broken: at_most_one_charge. A purchase is charged at most once.\n", done.out)
        self.assertRegex(done.out, r"(?m)^  remedy: Send every try of one purchase under one stable operation id")
        digest = re.search(r"^digest: ([0-9a-f]{16})$", text, re.M).group(1)
        self.assertEqual(lines[-1], f"fails the same way; digest {digest}, as recorded")

    def test_the_invariant_told_is_the_recorded_one(self):
        path, _ = self.finding(invariant="honest_reply")
        done = run("replay", path)
        self.assert_code(done, 1)
        self.assertIn("  broken: honest_reply. ", done.out)
        path, _ = self.finding("payment.on_unknown-recharge", "unknown_is_not_failed")
        done = run("replay", path)
        self.assert_code(done, 1)
        self.assertIn("  broken: unknown_is_not_failed. ", done.out)

    def test_the_same_file_is_told_the_same(self):
        path, _ = self.finding()
        self.assertEqual(run("replay", path).out, run("replay", path).out)

    def test_every_finding_fits_a_page_and_fails_again(self):
        out = self.path("all")
        known_bad = sorted(glob.glob(os.path.join(program.SOURCE, "scenarios", "known-bad", "*.yaml")))
        tried = [path for path in known_bad if os.path.basename(path).removesuffix(".yaml") not in SLOW_TO_SHRINK]
        self.assert_code(run("run", *tried, "--out", out, "--json", "--jobs", 2, timeout=600), 0)
        files = sorted(glob.glob(os.path.join(out, "*.replay")))
        self.assertGreater(len(files), 60)
        longer = []
        for path in files:
            with self.subTest(file=os.path.basename(path)):
                self.assertLess(os.path.getsize(path), SIZE_MAX)
                done = run("replay", path)
                self.assert_code(done, 1)
                self.assertIn(", as recorded", done.out.splitlines()[-1])
                self.assertNotIn("not reached", done.out)
                lines = len(done.out.splitlines())
                self.assertLess(lines, 2 * PAGE)
                if lines >= PAGE:
                    longer.append(os.path.basename(path))
        self.assertLessEqual(8 * len(longer), len(files), longer)

    def test_findings_of_explore_have_files_too(self):
        out = self.path("out")
        done = run("explore", "payment-single", "--faults", 1, "--set", "payment.key=fresh", "--set", "payment.persist=effect_first",
                   "--out", out, "--json")
        self.assert_code(done, 1)
        for line in done.objects()[:-1]:
            with open(line["replay"], encoding="utf-8") as file:
                text = file.read()
            self.assertIn("set: payment.persist=effect_first\n", text)
            self.assertIn("set: payment.key=fresh\n", text)
            self.assert_code(run("replay", line["replay"]), 1)
        self.assertGreater(len(done.objects()), 1)

    def test_a_design_file_and_a_gateway_are_written_into_it(self):
        design = self.write("d.yaml", "payment.no_key_gateway: retry_anyway\n")
        out = self.path("out")
        done = run("run", "payment-single", "--seeds", 2000, "--design", design, "--gateway", "mute", "--out", out, "--json")
        self.assert_code(done, 1)
        path = done.objects()[0]["replay"]
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("set: payment.no_key_gateway=retry_anyway\n", text)
        self.assertIn("gateway: mute\n", text)
        os.unlink(design)
        self.assert_code(run("replay", path), 1)

    def test_seeds_are_told_as_well(self):
        found = next(line for line in run("run", "payment.on_unknown-fail", "--json").objects() if line["type"] == "run")
        done = run("replay", "payment.on_unknown-fail", "--seed", found["seed"])
        self.assert_code(done, 1)
        self.assertIn(f"digest {found['digest']}", done.out.splitlines()[-1])
        done = run("replay", "payment-quiet", "--seed", 5)
        self.assert_code(done, 0)
        self.assertTrue(done.out.splitlines()[-1].startswith("holds; digest "))

    def test_the_line_that_replays_a_finding_does(self):
        for words in (
            ("payment.on_unknown-fail",),
            ("payment-single", "--set", "payment.on_unknown=fail", "--set", "payment.key=fresh"),
            ("payment-single", "--gateway", "mute", "--set", "payment.no_key_gateway=retry_anyway"),
        ):
            done = run("run", *words, "--seeds", 2000)
            line = re.search(r"^  replay +oncesim (replay .*?)(?:   \(.*)?$", done.out, re.M).group(1)
            self.assert_code(run(*line.split()), 1)

    # ---- edited files ----

    def test_a_wrong_word_is_told_with_its_line(self):
        _, text = self.finding()
        lines = text.splitlines()
        number = next(i for i, line in enumerate(lines, 1) if line.startswith("fault: "))
        violates = next(i for i, line in enumerate(lines, 1) if line.startswith("violates: "))
        point = lines[number - 1].split(": ")[2].split(",")[0]
        answer = lines[number - 1].split(": ")[1]
        for old, new, line, message in (
            (f": {point},", ": busss,", number, 'unknown fault point "busss"; did you mean "bus"?'),
            (f"fault: {answer}:", "fault: explodes:", number, "this fault point has no such answer"),
            (lines[number - 1], "fault: lost", number, "a fault reads"),
            (lines[number - 1], "fault: lost: bus, x", number, "a fault needs four fields"),
            (lines[number - 1], "fault", number, '"key: value" is expected'),
            ("violates: at_most", "violates: at_moost", violates, 'unknown invariant "at_moost_one_charge"; did you mean "at_most_one_charge"?'),
            ("digest: ", "digest: xyz", violates + 1, "16 hexadecimal digits"),
            ("scenario-hash: ", "scenario-hash: 0", 4, "16 hexadecimal digits"),
            ("scenario: ", "scenery: ", 2, 'unknown key "scenery"'),
            ("oncesim replay 1", "oncesim replay 2", 1, "version 1 is"),
            ("oncesim replay 1", "hello", 1, "the first line"),
        ):
            path = self.edited(text, old, new)
            for words in (("replay", path), ("shrink", path), ("run", path)):
                with self.subTest(words=words, new=new):
                    done = run(*words)
                    self.assert_code(done, 4)
                    self.assertTrue(done.err.startswith(f"oncesim: {path}:{line}:1: "), done.err)
                    self.assertIn(message, done.err)

    def test_a_wrong_choice_or_scenario_is_told(self):
        _, text = self.finding()
        for line, message in (
            ("set: payment.kye=fresh", 'unknown axis "payment.kye"; did you mean "payment.key"?'),
            ("gateway: plan", 'unknown gateway profile "plan"; did you mean "plain"?'),
        ):
            done = run("replay", self.edited(text, "violates: ", f"{line}\nviolates: "))
            self.assert_code(done, 4)
            self.assertIn(message, done.err)
        gone = re.sub(r"(?m)^(scenario|file): .*$", r"\1: no-such-scenario", text)
        done = run("replay", self.write("edited.replay", gone))
        self.assert_code(done, 4)
        self.assertIn("no-such-scenario", done.err)

    def test_files_that_are_no_replay(self):
        for data, message in (
            (b"", "the file is empty"),
            (b"# words\n", "the file is empty"),
            (b"oncesim replay 1\n", 'the line "scenario: '),
            (b"oncesim replay 1\nscenario: payment\n", 'the line "violates: '),
            (b"oncesim replay 1\nscenario: \xff\n", "not a text in UTF-8"),
            (b"oncesim replay 1\n\0\n", "not a text in UTF-8"),
        ):
            done = run("replay", self.write("bad.replay", data))
            self.assert_code(done, 4)
            self.assertIn(message, done.err)
        self.assert_code(run("replay", self.write("big.replay", b"oncesim replay 1\n" + b"#" * 300000)), 4)
        os.mkdir(self.path("folder.replay"))
        self.assert_code(run("replay", self.path("folder.replay")), 4)

    def test_notes_and_line_ends_may_be_changed(self):
        path, text = self.finding()
        told = run("replay", path).out
        for changed in (text.replace("\n", "\r\n"), text.replace("violates:", "# because of this and that\n\nviolates:"), text.rstrip("\n")):
            self.assertEqual(run("replay", self.write("edited.replay", changed)).out, told)

    def test_a_fault_that_is_not_reached_is_named(self):
        _, text = self.finding()
        words = re.search(r"^fault: (.*)$", text, re.M).group(1)
        for missed in (words.replace("try 1", "try 77"), words + ", time 9"):
            path = self.edited(text, words, missed)
            done = run("replay", path)
            self.assert_code(done, 2)
            self.assertIn(f"  not reached: {missed}\n", done.out)
            self.assertIn("fails differently, or its faults are not reached", done.out)
            self.assert_code(run("replay", path, "--bisect"), 125)

    def test_one_more_fault_than_needed_still_fails(self):
        _, text = self.finding()
        done = run("replay", self.write("edited.replay", text + "fault: lost: bus, nobody, Nothing x:1, on its way\n"))
        self.assert_code(done, 1)
        self.assertIn("  not reached: lost: bus, nobody, Nothing x:1, on its way\n", done.out)

    def test_a_repaired_design_no_longer_fails(self):
        _, text = self.finding()
        path = self.edited(text, "violates: ", "set: payment.on_unknown=resolve\nviolates: ")
        done = run("replay", path)
        self.assert_code(done, 0)
        self.assertIn("no longer fails", done.out)
        self.assertIn("another than recorded", done.out)
        self.assert_code(run("replay", path, "--bisect"), 0)

    def test_another_failure_is_not_the_same(self):
        _, text = self.finding()
        path = self.edited(text, "violates: at_most_one_charge", "violates: amount_matches")
        self.assert_code(run("replay", path), 2)
        self.assert_code(run("replay", path, "--bisect"), 125)
        self.assert_code(run("replay", self.edited(text, "violates: at_most_one_charge", "violates: stuck"), "--bisect"), 125)

    def test_bisect_keeps_same_and_gone(self):
        path, text = self.finding()
        self.assert_code(run("replay", path, "--bisect"), 1)
        self.assert_code(run("replay", self.write("edited.replay", text.replace("fault: ", "fault: x")), "--bisect"), 125)
        self.assert_code(run("replay", self.path("none.replay"), "--bisect"), 125)

    def test_a_changed_scenario_is_told(self):
        scenario = self.write("mine.yaml", "scenario: mine\nseeds: 2000\ndesign: {payment.on_unknown: fail}\n")
        out = self.path("out")
        run("run", scenario, "--out", out)
        path = os.path.join(out, "mine-at_most_one_charge.replay")
        self.assertNotIn("has changed", run("replay", path).out)
        self.write("mine.yaml", "scenario: mine\nseeds: 3000\ndesign: {payment.on_unknown: fail}\n")
        done = run("replay", path)
        self.assert_code(done, 1)
        self.assertIn("(the scenario file has changed since this replay was written)", done.out)

    def test_shrinking_a_shrunk_finding_keeps_it(self):
        path, text = self.finding()
        out = self.path("again")
        done = run("shrink", path, "--out", out)
        self.assert_code(done, 1)
        with open(os.path.join(out, os.path.basename(path)), encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_shrinking_what_does_not_fail_is_no_error(self):
        done = run("shrink", "payment-quiet", "--seed", 1)
        self.assert_code(done, 0)
        self.assertIn("there is nothing to shrink", done.out)

    def test_committed_files_hold(self):
        files = sorted(glob.glob(os.path.join(program.SOURCE, "scenarios", "**", "*.replay"), recursive=True))
        self.assertTrue(files)
        for path in files:
            with self.subTest(file=path):
                self.assertLess(os.path.getsize(path), SIZE_MAX)
                self.assertIn(run("replay", path).code, (0, 2))
                self.assert_code(run("run", path), 0)
                with open(path, encoding="utf-8") as file:
                    self.assertRegex(file.read(), r"(?m)^# ", "a committed file says in words what it showed")

    def test_a_committed_file_that_fails_again_is_red(self):
        folder = self.path("mine")
        os.mkdir(folder)
        path, text = self.finding()
        self.write("mine/a.yaml", "scenario: a\nseeds: 20\nfaults: quiet\nmust_exercise: []\n")
        self.assert_code(run("run", folder), 0)
        self.write("mine/bug.replay", text)
        done = run("run", folder)
        self.assert_code(done, 1)
        self.assertIn(f"see it with: oncesim replay {folder}/bug.replay", done.out)
        self.assertTrue(os.path.exists(path))


if __name__ == "__main__":
    program.main()
