"""What the script tests share: the program under test, given on the command line, and how it is run."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
SOURCE = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
MORE = sys.argv[3:]


class Run:
    """One finished run of the program: code, out, err, and out's lines as objects."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err

    def result(self):
        """What it printed, less the line about committed replay files that goes before any campaign."""
        return re.sub(r"\A\d+ replay files? played, none fails any more\n", "", self.out)

    def objects(self):
        return [json.loads(line) for line in self.out.splitlines()]

    def summaries(self):
        return [line for line in self.objects() if line["type"] == "summary"]

    def __str__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def run(*words, program=None, cwd=None, timeout=300, before=(), environment=None):
    """Run the program with these words, at the root of the source tree unless told otherwise."""
    command = list(before) + [program or PROGRAM] + [str(word) for word in words]
    done = subprocess.run(command, cwd=cwd or SOURCE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=timeout, env=environment, check=False)
    return Run(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8", "replace"))


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="oncesim-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        """Write a file into the folder; returns its path."""
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        return self.path(name)

    def assert_code(self, done, code):
        self.assertEqual(done.code, code, str(done))


def main():
    """Run the tests of the calling script; the program's own arguments are not unittest's."""
    unittest.main(module="__main__", argv=sys.argv[:1], verbosity=2)
