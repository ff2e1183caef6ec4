"""One campaign, one digest: in a fresh process, with one worker or two, at other addresses, with memory that malloc has
soiled, and from every build there is: -O0, -O2, sanitizers, gcc and clang.

     determinism_test.py PROGRAM SOURCE [ANOTHER PROGRAM]...

Without further programs, those that the presets build are taken, as far as they are there."""
import os
import shutil
import subprocess

import program
from program import Case, run

SCENARIOS = ("payment", "payment-two-instances", "order", "order-two-instances", "order-restored", "registration")
SEEDS = 1000
PRESETS = ("release", "dev", "asan", "clang", "coverage")


def digest(scenario, *words, **more):
    done = run("run", scenario, "--seeds", SEEDS, "--json", *words, **more)
    assert done.code == 0, str(done)
    return done.summaries()[0]["digest"]


def others():
    return program.MORE or [os.path.join(program.SOURCE, "build", preset, "oncesim") for preset in PRESETS]


def newest_source():
    """When the program's own sources last changed: what was built before says nothing."""
    times = [0.0]
    for room in ("sim", "model", "faults", "reports", "runner"):
        for folder, _, names in os.walk(os.path.join(program.SOURCE, room)):
            times += [os.path.getmtime(os.path.join(folder, name)) for name in names]
    return max(times)


def may_fix_addresses():
    if shutil.which("setarch") is None:
        return False
    return subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class Determinism(Case):
    @classmethod
    def setUpClass(cls):
        cls.digests = {scenario: digest(scenario, "--jobs", 1) for scenario in SCENARIOS}

    def same(self, what, *words, **more):
        for scenario in SCENARIOS:
            with self.subTest(scenario=scenario, what=what):
                self.assertEqual(digest(scenario, *words, **more), self.digests[scenario])

    def test_in_a_fresh_process(self):
        self.same("again", "--jobs", 1)

    def test_with_two_workers(self):
        self.same("two workers", "--jobs", 2)
        self.same("five workers", "--jobs", 5)

    def test_with_fixed_addresses(self):
        if not may_fix_addresses():
            self.skipTest("setarch -R is not permitted here")
        self.same("without ASLR", "--jobs", 2, before=("setarch", "-R"))

    def test_with_soiled_memory(self):
        for value in ("1", "165", "255"):
            self.same(f"MALLOC_PERTURB_={value}", "--jobs", 2, environment={**os.environ, "MALLOC_PERTURB_": value})

    def test_with_another_environment(self):
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C", "TZ": "Pacific/Kiritimati", "HOME": "/nonexistent", "PADDING": "x" * 20000}
        self.same("other environment", "--jobs", 2, environment=environment)

    def test_from_another_folder(self):
        for scenario in SCENARIOS:
            path = os.path.join(program.SOURCE, "scenarios", scenario + ".yaml")
            self.assertEqual(digest(path, "--jobs", 2, cwd=self.folder), self.digests[scenario])

    def test_from_every_build(self):
        compared = 0
        for path in others():
            if not os.access(path, os.X_OK):
                print(f"\n  skipped: there is no {path}")
                continue
            if os.path.samefile(path, program.PROGRAM):
                continue
            if os.path.getmtime(path) < newest_source():
                print(f"\n  skipped: {path} is older than the sources")
                continue
            compared += 1
            print(f"\n  compared with {path}")
            self.same(path, "--jobs", 2, program=path, timeout=280)
        print(f"\n  {compared} other builds compared")

    def test_another_seed_has_another_digest(self):
        """The twin: what is compared above can differ."""
        for scenario in SCENARIOS:
            other = run("run", scenario, "--seeds", SEEDS, "--seed", 2, "--json").summaries()[0]["digest"]
            self.assertNotEqual(other, self.digests[scenario])
        self.assertEqual(len(set(self.digests.values())), len(SCENARIOS))

    def test_one_decision_more_is_another_digest(self):
        plain = digest("payment")
        changed = run("run", "payment", "--seeds", SEEDS, "--set", "payment.params=recomputed", "--json").summaries()[0]["digest"]
        self.assertNotEqual(plain, changed)


if __name__ == "__main__":
    program.main()
