"""The contract of the command line: exit codes, one clear message for each mistake, JSON lines, and what happens when the
world outside fails: full disks, closed pipes, interrupts, files that are none."""
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import program
from program import Case, Run, run

RUN_FIELDS = {"type", "scenario", "seed", "digest", "verdict", "violated", "faults", "faults_before", "sentence", "replay"}
SUMMARY_FIELDS = {"type", "scenario", "runs", "digest", "violations", "exercised", "faults", "transactions_per_run", "runs_per_s", "verdict"}
CAMPAIGN_FIELDS = SUMMARY_FIELDS | {"endings"}
EXPLORE_FIELDS = SUMMARY_FIELDS | {"complete", "pruned", "faults_max", "answers"}
VERDICTS = {"held", "violated", "stuck", "inconclusive", "nondeterministic", "harness error"}


def names(topic):
    return [line.split()[0] for line in run("list", topic).out.splitlines()]


class CommandLine(Case):
    """Wrong words: exit 4, one line on stderr, nothing on stdout."""

    def refused(self, words, message):
        done = run(*words)
        with self.subTest(words=" ".join(map(str, words))):
            self.assert_code(done, 4)
            self.assertEqual(done.result(), "")
            self.assertEqual(len(done.err.splitlines()), 1, done.err)
            self.assertTrue(done.err.startswith("oncesim: "), done.err)
            self.assertIn(message, done.err)

    def test_unknown_words_are_refused_with_a_guess(self):
        self.refused(["rum"], 'unknown command "rum"; did you mean "run"?')
        self.refused(["xyzzyplugh"], 'unknown command "xyzzyplugh"')
        self.refused(["run", "--sedes", 3], 'unknown option "--sedes"; did you mean "')
        self.refused(["run", "--sedes=3"], "seeds")
        self.refused(["run", "-x"], 'unknown option "-x"')
        self.refused(["run", "payment", "--set", "payment.kye=fresh"], 'unknown axis "payment.kye"; did you mean "payment.key"?')
        self.refused(["run", "payment", "--set", "payment.key=frsh"], 'axis payment.key has no choice "frsh"; did you mean "fresh"?')
        self.refused(["run", "payment", "--set", "payment.key"], "AXIS=CHOICE is expected")
        self.refused(["run", "payment", "--gateway", "plan"], 'unknown gateway profile "plan"; did you mean "plain"?')
        self.refused(["explore", "payment", "--faults", 1, "--sites", "bus,gab"], 'unknown fault point "gab"; did you mean "gap"?')
        self.refused(["explain", "at_most_one_chrge"], 'did you mean "at_most_one_charge"?')
        self.refused(["list", "axis"], 'did you mean "axes"?')

    def test_no_words_at_all(self):
        self.refused([], "a command is expected")
        self.refused(["list"], "scenarios, axes, profiles, invariants or faults")
        self.refused(["check"], "needs a scenario")
        self.refused(["explore", "--faults", 1], "takes exactly one argument")
        self.refused(["explain"], "takes exactly one argument")

    def test_values_out_of_range(self):
        for value in (-1, 9007199254740992, 18446744073709551616, "1x", "", "0x10", "1.0"):
            self.refused(["run", "payment", "--seed", value], "--seed")
        for value in (0, -5, 9007199254740993, "ten"):
            self.refused(["run", "payment", "--seeds", value], "a whole number from 1 to")
        self.refused(["run", "payment", "--seed", 9007199254740990, "--seeds", 3], "seeds go up to 9007199254740991")
        for value in (0, 65, "all"):
            self.refused(["run", "payment", "--jobs", value], "a whole number from 1 to 64")
        for value in (-1, 7):
            self.refused(["explore", "payment", "--faults", value], "a whole number from 0 to 6")
        self.refused(["run", "payment", "--time", "3"], "a duration needs a unit")
        self.refused(["run", "payment", "--time", "3 weeks"], "unit")
        self.refused(["run", "payment", "--time", "0s"], "at least 1ms")
        self.refused(["run", "payment", "--time", "99999999999999d"], "too long")
        self.refused(["run", "payment", "--seeds"], "--seeds needs a value")

    def test_the_last_seed_of_all_runs(self):
        done = run("run", "payment-single", "--seed", 9007199254740991, "--json")
        self.assert_code(done, 0)
        self.assertEqual(done.summaries()[0]["runs"], 1)

    def test_a_misspelt_scenario_is_told_before_anything_runs(self):
        done = run("run", "payment-singel", "--seeds", 10)
        self.assert_code(done, 4)
        self.assertEqual(done.out, "")
        self.assertIn('did you mean "payment-single"?', done.err)
        done = run("run", "payment-singel", "payment-quiet", "--seeds", 100)
        self.assert_code(done, 4)
        self.assertIn("payment-quiet", done.out)

    def test_answers_of_fault_points_are_explained(self):
        self.assertIn("late, an answer of the fault point request", run("explain", "late").out)
        self.assertIn("late, an answer of the fault point request", run("explain", "request.late").out)
        self.assert_code(run("explain", "request.latte"), 4)
        self.assertIn("first choice of every axis", run("explain", "recommended").out)

    def test_options_that_contradict(self):
        self.refused(["run", "payment", "--seeds", 3, "--time", "1s"], "--seeds and --time contradict each other")
        replay = self.write("a.replay", "oncesim replay 1\nscenario: payment\nviolates: stuck\n")
        self.refused(["replay", replay, "--seed", 3], "goes with no --seed")
        self.refused(["replay", replay, "--set", "payment.key=fresh"], "goes with no --seed, --set")
        self.refused(["shrink", replay, "--gateway", "plain"], "goes with no --seed, --set, --design, --gateway, --mail, --broker or --accounts")
        self.refused(["replay", "payment"], "needs --seed S")
        self.refused(["shrink", "payment"], "needs --seed S")
        self.refused(["explore", "payment"], "explore needs --faults K")
        self.refused(["replay", "payment", "payment-single", "--seed", 1], "takes exactly one argument")

    def test_options_of_another_command(self):
        for option, words in (
            ("--faults", ["run", "payment", "--faults", 1]),
            ("--bisect", ["run", "payment", "--bisect"]),
            ("--seeds", ["explore", "payment", "--faults", 1, "--seeds", 3]),
            ("--time", ["explore", "payment", "--faults", 1, "--time", "1s"]),
            ("--json", ["replay", "payment", "--seed", 1, "--json"]),
            ("--jobs", ["replay", "payment", "--seed", 1, "--jobs", 2]),
            ("--sites", ["shrink", "payment", "--seed", 1, "--sites", "bus"]),
            ("--json", ["list", "axes", "--json"]),
            ("--print", ["explain", "gap", "--print"]),
            ("--seed", ["check", "payment", "--seed", 1]),
        ):
            self.refused(words, f'"oncesim {words[0]}" takes no {option}')

    def test_scenarios_that_are_none(self):
        self.refused(["run", "paymnt"], "there is no scenario \"paymnt\" here")
        self.refused(["run", "/nowhere/x.yaml"], "/nowhere/x.yaml: No such file or directory")
        self.refused(["replay", "/nowhere/x.replay"], "/nowhere/x.replay: No such file or directory")
        self.refused(["run", "payment", "--design", "/nowhere/d.yaml"], "/nowhere/d.yaml: No such file or directory")

    def test_help_and_version(self):
        done = run("--help")
        self.assert_code(done, 0)
        for word in ("run", "replay", "explore", "shrink", "explain", "check", "list"):
            self.assertRegex(done.out, rf"oncesim {word}\b")
        self.assertEqual(run("run", "--help").out, done.out)
        self.assertRegex(run("--version").out, r"^oncesim \d+\.\d+\.\d+, SQLite 3\.")

    def test_all_that_is_listed_is_explained(self):
        for topic in ("axes", "profiles", "invariants", "faults"):
            listed = names(topic)
            self.assertGreater(len(listed), 2)
            for name in listed:
                done = run("explain", name)
                self.assert_code(done, 0)
                self.assertIn(name, done.out)
        self.assertIn("Remedy", run("explain", "payment.key=fresh").out)

    def test_all_that_is_listed_can_be_opened(self):
        listed = names("scenarios")
        self.assertGreater(len(listed), 40)
        done = run("check", *listed)
        self.assert_code(done, 0)
        self.assertEqual(len(done.out.splitlines()), len(listed))


class ScenarioFiles(Case):
    """Wrong files: exit 4, and file, line, column, the line itself."""

    def refused(self, text, line, column, message, name="s.yaml"):
        path = self.write(name, text)
        done = run("check", path)
        with self.subTest(text=text):
            self.assert_code(done, 4)
            self.assertEqual(done.out, "")
            lines = done.err.splitlines()
            self.assertEqual(len(lines), 2, done.err)
            self.assertTrue(lines[0].startswith(f"oncesim: {path}:{line}:{column}: "), done.err)
            self.assertIn(message, lines[0])
            shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
            self.assertEqual(lines[1], "    " + shown.splitlines()[line - 1])

    def test_unknown_names_come_with_a_guess(self):
        self.refused("scenario: a\nsedes: 3\n", 2, 1, 'unknown key "sedes"; did you mean "seeds"?')
        self.refused("scenario: a\ngateway: {profile: ideal, keys: true}\n", 2, 27, 'unknown key "keys" in gateway')
        self.refused("scenario: a\nlimits:\n  poll: 3\n", 3, 3, 'unknown key "poll" in limits; did you mean "polls"?')
        self.refused("scenario: a\nfaults:\n  bsu: {lost: 1/2}\n", 3, 3, 'unknown fault point "bsu"; did you mean "bus"?')
        self.refused("scenario: a\nfaults:\n  bus: {losst: 1/2}\n", 3, 9, 'fault point bus has no answer "losst"; did you mean "lost"?')
        self.refused("scenario: a\nexpect: {violates: [at_most_one_chrge]}\n", 2, 21,
                     'unknown invariant "at_most_one_chrge"; did you mean "at_most_one_charge"?')
        self.refused("scenario: a\nmust_exercise:\n  - honest_reply\n  - honest_repli\n", 4, 5,
                     'unknown invariant "honest_repli"; did you mean "honest_reply"?')
        self.refused("scenario: a\ndesign: {payment.kye: fresh}\n", 2, 10, 'unknown axis "payment.kye"; did you mean "payment.key"?')
        self.refused("scenario: a\ndesign:\n  payment.key: frsh\n", 3, 16, 'axis payment.key has no choice "frsh"; did you mean "fresh"?')
        self.refused("scenario: a\ngateway: plan\n", 2, 10, 'unknown gateway profile "plan"; did you mean "plain"?')
        self.refused("scenario: a\ngateway: {profile: plan}\n", 2, 20, 'unknown gateway profile "plan"; did you mean "plain"?')

    def test_units_and_ranges(self):
        self.refused("scenario: a\nlease: 3\n", 2, 8, "a duration needs a unit")
        self.refused("scenario: a\nlease: 3weeks\n", 2, 8, "unknown unit")
        self.refused("scenario: a\nlease: -3s\n", 2, 8, "a duration is a whole number with a unit")
        self.refused("scenario: a\nlease: 2d\n", 2, 8, "2d is out of range: 1s to 1d")
        self.refused("scenario: a\nseeds: 0\n", 2, 8, "0 is out of range: 1 to 1000000000")
        self.refused("scenario: a\nseeds: many\n", 2, 8, '"many" is not a whole number')
        self.refused("scenario: a\nseeds: 99999999999999999999\n", 2, 8, "is not a whole number")
        self.refused("scenario: a\norders: 17\n", 2, 9, "17 is out of range: 1 to 16")
        self.refused("scenario: a\ninstances: {orders: 5}\n", 2, 21, "5 is out of range: 1 to 4")
        self.refused("scenario: a\namount: 49.99 EUR\n", 2, 9, "whole minor units and a currency")
        self.refused("scenario: a\namount: 4999\n", 2, 9, "whole minor units and a currency")
        self.refused("scenario: a\nreopen_at_crash: maybe\n", 2, 18, "true or false")
        for odds, message in (
            ("3/2", "odds are at most 1"),
            ("1/0", "from 1 to 4294967295"),
            ("1/4294967296", "from 1 to 4294967295"),
            ("1e-3", "odds are a decimal"),
            ("-1/2", "odds are a decimal"),
            ("0.1234567890", "at most nine decimals"),
            ("1/", "a ratio is two whole numbers"),
        ):
            self.refused(f"scenario: a\nfaults: {{bus: {{lost: {odds}}}}}\n", 2, 22, message)

    def test_values_of_the_wrong_shape(self):
        self.refused("[a, b]\n", 1, 2, "is a mapping")
        self.refused("seeds: 3\n", 1, 1, 'the key "scenario" (its name) is missing')
        self.refused("scenario: A B\n", 1, 11, "a scenario's name is made of")
        self.refused("scenario: a\nscenario: b\n", 2, 1, "duplicate key")
        self.refused("scenario: a\nseeds: 3\nseeds: 4\n", 3, 1, "duplicate key")
        self.refused("scenario: a\nfaults: {bus: on}\n", 2, 15, '"off", or answers with odds')
        self.refused("scenario: a\nmust_exercise: honest_reply\n", 2, 16, "a list of invariants")
        self.refused("scenario: a\n? [a]\n: b\n", 2, 4, "a key is expected here")

    def test_a_list_where_a_mapping_belongs(self):
        self.refused("scenario: a\nfaults: [bus]\n", 2, 10, "")
        self.refused("scenario: a\nfaults: {bus: [lost]}\n", 2, 16, "")

    def test_a_missing_value_is_told_at_its_key(self):
        path = self.write("s.yaml", "scenario: a\nabout:\nseeds: 3\n")
        done = run("check", path)
        self.assert_code(done, 4)
        self.assertIn(f"{path}:2:", done.err)

    def test_a_second_document_is_not_passed_over(self):
        self.assert_code(run("check", self.write("s.yaml", "scenario: a\n---\nsedes: b\n")), 4)

    def test_request_lifetime_must_stay_below_key_retention(self):
        for text in ("scenario: a\nrequest_lifetime: 30d\n", "scenario: a\ngateway: {profile: ideal, key_retention: 10m}\n"):
            done = run("check", self.write("s.yaml", text))
            self.assert_code(done, 4)
            self.assertIn("request_lifetime reaches the gateway's key retention", done.err)
        self.assert_code(run("check", self.write("s.yaml", "scenario: a\ngateway: {profile: ideal, key_retention: 11m}\n")), 0)
        self.assert_code(run("check", self.write("s.yaml", "scenario: a\ngateway: plain\nrequest_lifetime: 30d\n")), 0)

    def test_bytes_that_are_no_text(self):
        for data, line, column in (
            (b'scenario: a\nabout: "\xff"\n', 2, 9),
            (b"scenario: \xc0\x80\n", 1, 11),
            (b"a: 1\nb: \xed\xa0\x80\n", 2, 4),
            (b"x: \xf5\x80\x80\x80", 1, 4),
            (b"x: \xe2\x82", 1, 4),
        ):
            path = self.write("s.yaml", data)
            done = run("check", path, timeout=10)
            self.assert_code(done, 4)
            self.assertEqual(done.err, f"oncesim: {path}:{line}:{column}: not UTF-8\n")
        done = run("check", self.write("s.yaml", b"scenario: a\n\0\n"), timeout=10)
        self.assert_code(done, 4)
        self.assertIn("NUL", done.err)

    def test_a_nul_inside_a_value_is_refused(self):
        for text in ('scenario: "a\\0b"\n', 'scenario: a\ndesign: {"payment.key\\0x": fresh}\n', "scenario: a\nabout: |\n"):
            with self.subTest(text=text):
                self.assert_code(run("check", self.write("s.yaml", text)), 4)

    def test_an_empty_file_says_so(self):
        for text in ("", "\n\n", "# nothing but words\n", "---\n", "null\n"):
            with self.subTest(text=text):
                done = run("check", self.write("s.yaml", text))
                self.assert_code(done, 4)
                self.assertTrue(done.err.startswith("oncesim: "), done.err)
                self.assertIn("s.yaml:1:1: ", done.err)

    def test_files_that_are_none(self):
        big = self.write("big.yaml", b"#" * (2 * 1024 * 1024))
        folder = self.path("folder")
        pipe = self.path("pipe")
        os.mkdir(folder)
        os.mkfifo(pipe)
        for path, message in (
            (big, "is too large (more than 1 MiB)"),
            (folder, "is a directory"),
            (pipe, "is not a regular file"),
            ("/dev/zero", "is not a regular file"),
        ):
            done = run("check", path, timeout=10)
            self.assert_code(done, 4)
            self.assertEqual(done.err, f"oncesim: {path}: {message}\n")
        self.assert_code(run("run", pipe, timeout=10), 4)
        self.assert_code(run("run", "payment", "--design", pipe, timeout=10), 4)

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_a_file_that_may_not_be_read(self):
        path = self.write("s.yaml", "scenario: a\n")
        os.chmod(path, 0)
        done = run("check", path)
        self.assert_code(done, 4)
        self.assertEqual(done.err, f"oncesim: {path}: Permission denied\n")

    def test_a_design_file_is_read_as_strictly(self):
        design = self.write("d.yaml", "payment.key: fresh\npayment.kye: stable\n")
        done = run("run", "payment", "--design", design, "--seeds", 1)
        self.assert_code(done, 4)
        self.assertIn(f"{design}:2:1: unknown axis", done.err)
        design = self.write("d.yaml", "payment.key: fresh\n")
        self.assert_code(run("run", "payment-single", "--design", design, "--seeds", 300), 1)

    def test_one_wrong_file_does_not_stop_the_others(self):
        bad = self.write("bad.yaml", "scenario: a\nsedes: 3\n")
        done = run("run", bad, "payment-single", "--seeds", 20, "--json")
        self.assert_code(done, 4)
        self.assertEqual([line["scenario"] for line in done.summaries()], ["payment-single"])


class Verdicts(Case):
    def test_held_is_0_and_violated_is_1(self):
        self.assert_code(run("run", "payment-single", "--seeds", 300), 0)
        self.assert_code(run("run", "payment-single", "--seeds", 300, "--set", "payment.key=fresh"), 1)
        self.assert_code(run("explore", "payment-single", "--faults", 1), 0)
        self.assert_code(run("explore", "payment-single", "--faults", 1, "--set", "payment.key=fresh"), 1)

    def test_expectations_are_for_whole_campaigns(self):
        """A known-bad scenario is green as a campaign; with another design, or one seed, its failures are failures."""
        self.assert_code(run("run", "payment.on_unknown-fail"), 0)
        self.assert_code(run("run", "payment.on_unknown-fail", "--set", "payment.key=fresh"), 1)
        done = run("run", "payment.on_unknown-fail", "--json", "--jobs", 1)
        seed = next(line["seed"] for line in done.objects() if line["type"] == "run")
        self.assert_code(run("run", "payment.on_unknown-fail", "--seed", seed), 1)

    def test_what_was_never_in_danger_is_inconclusive(self):
        path = self.write("s.yaml", "scenario: a\nseeds: 30\nfaults: quiet\nmust_exercise: [polling_is_bounded]\n")
        done = run("run", path)
        self.assert_code(done, 2)
        self.assertIn("INCONCLUSIVE, never in danger: polling_is_bounded", done.out)
        self.assert_code(run("run", path, "--seeds", 29), 0)

    def test_the_worse_code_wins(self):
        inconclusive = self.write("a.yaml", "scenario: a\nseeds: 30\nfaults: quiet\nmust_exercise: [polling_is_bounded]\n")
        violated = self.write("b.yaml", "scenario: b\nseeds: 300\ndesign: {payment.persist: effect_first}\n")
        wrong = self.write("c.yaml", "scenario: c\nsedes: 1\n")
        blocked = os.path.join(self.write("file", "x"), "out")
        self.assert_code(run("run", inconclusive, violated), 1)
        self.assert_code(run("run", violated, inconclusive), 1)
        self.assert_code(run("run", wrong, violated, inconclusive), 4)
        self.assert_code(run("run", wrong, violated, "--out", blocked), 6)

    def test_nothing_to_run_is_5(self):
        empty = self.path("empty")
        os.mkdir(empty)
        for words in ((), ("--json",)):
            done = run("run", empty, *words)
            self.assert_code(done, 5)
            self.assertEqual(done.result(), "")
            self.assertIn("nothing ran", done.err)


class Json(Case):
    def check_lines(self, done, summary_fields=frozenset(CAMPAIGN_FIELDS)):
        objects = done.objects()
        self.assertTrue(objects, str(done))
        self.assertEqual(objects[-1]["type"], "summary")
        invariants, faults = set(names("invariants")), set(names("faults"))
        for line in objects:
            self.assertIn(line["type"], ("run", "summary"))
            self.assertEqual(set(line), RUN_FIELDS if line["type"] == "run" else set(summary_fields))
            self.assertRegex(line["digest"], r"^[0-9a-f]{16}$")
            self.assertIn(line["verdict"], VERDICTS)
            if line["type"] == "run":
                self.assertTrue(line["seed"] is None or 0 <= line["seed"] < 2**53)
                self.assertTrue(set(line["violated"]) <= invariants)
                self.assertTrue(line["violated"] or line["verdict"] == "stuck")
                self.assertTrue(all(isinstance(fault, str) for fault in line["faults"]))
                self.assertGreaterEqual(line["faults_before"], len(line["faults"]))
                self.assertTrue(line["sentence"])
            else:
                self.assertIn(set(line["exercised"]), (invariants, set(names("invariants")[:22])))  # of the order, of the payment alone
                self.assertTrue(set(line["violations"]) <= invariants)
                self.assertTrue(all(count > 0 for count in line["violations"].values()))
                self.assertGreater(line["runs"], 0)
                for point, count in line["faults"].items():
                    self.assertIn(point, faults)
                    self.assertEqual(set(count), {"asked", "fired"})
                    self.assertLessEqual(count["fired"], count["asked"])
        return objects

    def test_a_campaign_that_holds(self):
        done = run("run", "payment-single", "--seeds", 300, "--json")
        self.assert_code(done, 0)
        objects = self.check_lines(done)
        self.assertEqual(len(objects), 1)
        self.assertEqual(objects[0]["runs"], 300)
        self.assertEqual(objects[0]["violations"], {})
        self.assertEqual(set(objects[0]["faults"]), set(names("faults")))
        self.assertGreater(objects[0]["transactions_per_run"], 5)
        self.assertEqual(done.err, "")

    def test_a_campaign_that_fails(self):
        done = run("run", "payment-single", "--seeds", 600, "--set", "payment.key=fresh", "--json", "--out", self.path("out"))
        self.assert_code(done, 1)
        objects = self.check_lines(done)
        found = [line for line in objects if line["type"] == "run"]
        self.assertGreaterEqual(len(found), 2)
        self.assertEqual(objects[-1]["verdict"], "violated")
        for line in found:
            self.assertTrue(os.path.exists(line["replay"]))
            self.assertIn(line["seed"], range(1, 601))
            again = run("run", "payment-single", "--seed", line["seed"], "--set", "payment.key=fresh", "--json")
            self.assertEqual({tuple(other["violated"]) for other in again.objects() if other["type"] == "run"}, {tuple(line["violated"])})
            self.assertEqual({other["digest"] for other in again.objects() if other["type"] == "run"}, {line["digest"]})

    def test_several_scenarios_have_a_summary_each(self):
        done = run("run", "payment-single", "payment-plain", "payment-quiet", "--seeds", 100, "--json")
        self.check_lines(done)
        self.assertEqual([line["scenario"] for line in done.summaries()], ["payment-single", "payment-plain", "payment-quiet"])

    def test_explore(self):
        done = run("explore", "payment-single", "--faults", 2, "--json")
        self.assert_code(done, 0)
        objects = self.check_lines(done, EXPLORE_FIELDS)
        self.assertEqual(len(objects), 1)
        self.assertIs(objects[0]["complete"], True)
        self.assertEqual((objects[0]["pruned"], objects[0]["faults_max"]), (0, 2))
        self.assertGreater(objects[0]["runs"], 1000)
        done = run("explore", "payment-single", "--faults", 2, "--set", "payment.key=fresh", "--json")
        self.assert_code(done, 1)
        objects = self.check_lines(done, EXPLORE_FIELDS)
        self.assertEqual(objects[-1]["verdict"], "violated")
        self.assertEqual(objects[-1]["faults_max"], 1, "explore stops behind the first level that fails")
        self.assertTrue(all(line["seed"] is None and len(line["faults"]) == 1 for line in objects[:-1]))
        done = run("explore", "payment-single", "--faults", 2, "--set", "payment.key=fresh", "--json", "--keep-going")
        self.assertEqual(done.summaries()[0]["faults_max"], 2)

    def test_explore_only_some_sites(self):
        whole = run("explore", "payment-single", "--faults", 1, "--json").summaries()[0]["runs"]
        parts = []
        for site in names("faults"):
            done = run("explore", "payment-single", "--faults", 1, "--sites", site, "--json")
            parts.append(done.summaries()[0]["runs"] - 1)
        self.assertEqual(sum(parts), whole - 1)
        self.assertGreater(sum(part > 0 for part in parts), 4)

    def test_shrink(self):
        found = next(line for line in run("run", "payment.key-fresh", "--json", "--seeds", 600).objects() if line["type"] == "run")
        done = run("shrink", "payment.key-fresh", "--seed", found["seed"], "--json")
        self.assert_code(done, 1)
        line = done.objects()[0]
        self.assertEqual(set(line), RUN_FIELDS)
        self.assertLessEqual(len(line["faults"]), 2)
        self.assertGreater(line["faults_before"], len(line["faults"]))

    def test_a_replay_file_has_a_line_too(self):
        out = self.path("out")
        run("run", "payment.key-fresh", "--seeds", 600, "--out", out)
        replay = os.path.join(out, sorted(name for name in os.listdir(out) if name.endswith(".replay"))[0])
        done = run("run", replay, "--json")
        self.assert_code(done, 1)
        self.assertTrue(done.objects() and done.objects()[-1]["type"] == "summary", str(done))

    def test_results_and_words_for_people_do_not_mix(self):
        for words in (("run", "payment.key-fresh", "--seeds", 600), ("explore", "payment.key-fresh", "--faults", 1)):
            done = run(*words, "--json")
            self.assertTrue(done.objects())
            done = run(*words)
            self.assertNotIn("{", done.out.splitlines()[0])
            self.assertNotIn("\x1b", done.out + done.err)


class WorldOutside(Case):
    def start(self, *words, **more):
        return subprocess.Popen([program.PROGRAM, *map(str, words)], cwd=program.SOURCE, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def interrupted(self, words, number, to_all=False):
        process = self.start(*words, start_new_session=True)
        time.sleep(1.0)
        self.assertIsNone(process.poll(), "it ended before it could be interrupted")
        started = time.monotonic()
        if to_all:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        out, err = process.communicate(timeout=20)
        self.assertLess(time.monotonic() - started, 5)
        return Run(process.returncode, out.decode(), err.decode())

    def test_an_interrupt_keeps_what_was_done(self):
        for number, to_all in ((signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGTERM, False)):
            done = self.interrupted(["run", "payment", "--seeds", 500000000, "--jobs", 2, "--json"], number, to_all)
            self.assert_code(done, 128 + number)
            summary = done.objects()[-1]
            self.assertEqual(summary["type"], "summary")
            self.assertTrue(100 < summary["runs"] < 500000000)

    def test_an_interrupted_exploration_says_that_it_is_not_complete(self):
        done = self.interrupted(["explore", "payment", "--faults", 5, "--jobs", 2, "--json"], signal.SIGINT, True)
        self.assert_code(done, 130)
        self.assertIs(done.objects()[-1]["complete"], False)
        self.assertGreater(done.objects()[-1]["runs"], 1000)

    def test_an_interrupt_stops_the_scenarios_behind_it(self):
        done = self.interrupted(["run", "payment", "payment-plain", "--seeds", 500000000, "--json"], signal.SIGINT)
        self.assert_code(done, 130)
        self.assertEqual([line["scenario"] for line in done.summaries()], ["payment"])

    def test_time_is_kept(self):
        started = time.monotonic()
        done = run("run", "payment", "--time", "700ms", "--json")
        self.assert_code(done, 0)
        self.assertTrue(0.6 < time.monotonic() - started < 5)
        self.assertGreater(done.summaries()[0]["runs"], 100)

    def test_a_full_standard_output_is_6(self):
        for words in (
            ["run", "payment-single", "--seeds", 20],
            ["run", "payment-single", "--seeds", 20, "--json"],
            ["list", "axes"],
            ["explain", "gap"],
            ["check", "payment", "--print"],
            ["explore", "payment-single", "--faults", 1],
            ["replay", "payment", "--seed", 1],
            ["--help"],
        ):
            command = [program.PROGRAM, *map(str, words)]
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                done = subprocess.run(command, cwd=program.SOURCE, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
                self.assertEqual(done.returncode, 6)
                self.assertEqual(done.stderr.decode(), "oncesim: standard output could not be written: No space left on device\n")

    def test_a_closed_pipe_is_6_and_no_signal(self):
        process = self.start("list", "scenarios")
        process.stdout.close()
        self.assertIn("standard output could not be written", process.stderr.read().decode())
        process.stderr.close()
        self.assertEqual(process.wait(20), 6)

    def test_replay_files_that_cannot_be_written_are_6(self):
        file = self.write("file", "x")
        for out in (file, os.path.join(file, "out"), self.path("no/such/folder")):
            with self.subTest(out=out):
                done = run("run", "payment.key-fresh", "--seeds", 600, "--json", "--out", out)
                self.assert_code(done, 6)
                self.assertIn("oncesim: --out", done.err)
                self.assertTrue(all(line["replay"] is None for line in done.objects() if line["type"] == "run"))
                self.assertEqual(done.objects()[-1]["type"], "summary", "what was found is told all the same")

    def test_replay_files_are_written_whole_or_not_at_all(self):
        out = self.path("out")
        self.assert_code(run("run", "payment.key-fresh", "--seeds", 600, "--out", out), 0)
        self.assertTrue(os.listdir(out))
        others = {name for name in os.listdir(out) if not name.endswith(".replay")}
        self.assertEqual(others, {"results.sqlite", "report.txt", "report.json", "junit.xml"})

    def test_from_another_folder_the_shipped_scenarios_are_found_beside_the_program(self):
        copy = self.path("build")
        os.mkdir(copy)
        os.mkdir(self.path("scenarios"))
        shutil.copy(program.PROGRAM, os.path.join(copy, "oncesim"))
        self.write("scenarios/tiny.yaml", "scenario: tiny\norders: 1\n")
        done = run("run", "tiny", "--seeds", 5, "--json", program=os.path.join(copy, "oncesim"), cwd="/")
        self.assert_code(done, 0)
        self.assertEqual(done.summaries()[0]["scenario"], "tiny")

    def test_progress_is_quiet_without_a_terminal(self):
        done = run("run", "payment-single", "payment-plain", "payment-quiet", "--seeds", 50)
        self.assertLessEqual(len(done.err.splitlines()), 1)
        self.assertFalse(re.search(r"[\r\x1b]", done.out + done.err))


if __name__ == "__main__":
    program.main()
