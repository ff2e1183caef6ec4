"""The JSON Schema of scenarios says what the reader does: the same keys, names, choices, answers and bounds. And what
`check --print` writes is a scenario again, and the same one.

Method. Names are compared with the reader's own tables (print_keys). Bounds and shapes are compared by behaviour: a JSON
document is YAML, so documents at the edge of what the schema allows are given to `oncesim check`."""
import glob
import json
import os
import re
import subprocess

import program
from program import Case, run

with open(os.path.join(program.SOURCE, "scenarios", "scenario.schema.json"), encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}
SCENARIOS = sorted(glob.glob(os.path.join(program.SOURCE, "scenarios", "**", "*.yaml"), recursive=True))


def resolve(schema):
    if "$ref" in schema:
        target = SCHEMA
        for word in schema["$ref"].removeprefix("#/").split("/"):
            target = target[word]
        return {**target, **schema}
    return schema


def properties(schema):
    """The properties of an object, or of the object that is one of several forms."""
    schema = resolve(schema)
    for form in schema.get("oneOf", [schema]):
        if "properties" in resolve(form):
            return resolve(form)["properties"]
    return {}


def nanoseconds(text):
    number, unit = re.fullmatch(r"([0-9]+)([a-z]+)", text).groups()
    return int(number) * UNITS[unit]


TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}


def valid(value, schema):
    """Does the value keep the schema? Only the keywords that ours uses; another one is an error."""
    schema = resolve(schema)
    known = {
        "$schema", "title", "description", "examples", "$defs", "$ref", "type", "enum", "const", "oneOf", "pattern", "minLength", "maxLength",
        "minimum", "maximum", "x-least", "x-most", "items", "required", "properties", "additionalProperties", "minProperties",
    }
    assert set(schema) <= known, set(schema) - known
    if "oneOf" in schema and sum(valid(value, form) for form in schema["oneOf"]) != 1:
        return False
    if "enum" in schema and value not in schema["enum"] or "const" in schema and value != schema["const"]:
        return False
    if "type" in schema and (not isinstance(value, TYPES[schema["type"]]) or isinstance(value, bool) and schema["type"] != "boolean"):
        return False
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return False
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            return False
        if "x-least" in schema and not nanoseconds(schema["x-least"]) <= nanoseconds(value) <= nanoseconds(schema["x-most"]):
            return False
    if isinstance(value, (int, float)) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    if isinstance(value, list):
        return all(valid(item, schema.get("items", {})) for item in value)
    if isinstance(value, dict) and "properties" in schema:
        if any(key not in value for key in schema.get("required", [])) or len(value) < schema.get("minProperties", 0):
            return False
        return all(key in schema.get("properties", {}) and valid(item, schema["properties"][key]) for key, item in value.items())
    return True


class Schema(Case):
    @classmethod
    def setUpClass(cls):
        cls.known = {}
        done = subprocess.run([program.MORE[0]], stdout=subprocess.PIPE, check=True)
        for line in done.stdout.decode().splitlines():
            kind, name = line.split(" ", 1)
            cls.known.setdefault(kind, []).append(name)

    def accepted(self, documents):
        """Which of the documents does the reader take?"""
        paths = [self.write(f"{number}.yaml", json.dumps(document)) for number, document in enumerate(documents)]
        done = run("check", *paths)
        fine = {line.removesuffix(": fine") for line in done.out.splitlines()}
        refused = {line.removeprefix("oncesim: ").split(":")[0] for line in done.err.splitlines() if line.startswith("oncesim: ")}
        self.assertEqual(fine | refused, set(paths))
        self.assertFalse(fine & refused)
        return [path in fine for path in paths]

    def test_the_keys_are_the_readers(self):
        keys = []
        for name, schema in SCHEMA["properties"].items():
            keys.append(name)
            if name not in ("design", "faults", "explore"):
                keys += [f"{name}.{inner}" for inner in properties(schema)]
        self.assertEqual(sorted(keys), sorted(self.known["key"]))
        self.assertGreater(len(keys), 30)

    def test_axes_and_choices_are_the_models(self):
        design = SCHEMA["properties"]["design"]["properties"]
        self.assertEqual([f"{axis}={choice}" for axis, choices in design.items() for choice in choices["enum"]], self.known["choice"])
        listed = {line.split()[0]: line.split(None, 1)[1].split(", ") for line in run("list", "axes").out.splitlines()}
        self.assertEqual({axis: choices["enum"] for axis, choices in design.items()}, listed)

    def test_points_and_answers_are_the_catalogues(self):
        points = {name: schema for name, schema in properties(SCHEMA["properties"]["faults"]).items() if name not in ("base", "swarm")}
        self.assertEqual([f"{point}={answer}" for point, schema in points.items() for answer in properties(schema)], self.known["answer"])
        listed = {line.split()[0]: line.split(None, 1)[1].split(", ") for line in run("list", "faults").out.splitlines()}
        self.assertEqual({point: list(properties(schema)) for point, schema in points.items()}, listed)

    def test_invariants_and_profiles_are_those_listed(self):
        self.assertEqual(SCHEMA["$defs"]["invariants"]["items"]["enum"], self.known["invariant"])
        self.assertEqual([line.split()[0] for line in run("list", "invariants").out.splitlines()], self.known["invariant"])
        self.assertEqual(SCHEMA["$defs"]["profile"]["enum"], self.known["profile"])
        listed = [line.split()[:2] for line in run("list", "profiles").out.splitlines()]
        self.assertEqual([name for name, kind in listed if kind == "gateway"], self.known["profile"])

    def test_every_object_is_closed(self):
        def walk(schema):
            if isinstance(schema, dict):
                if schema.get("type") == "object":
                    self.assertIs(schema["additionalProperties"], False)
                for value in schema.values():
                    walk(value)
            if isinstance(schema, list):
                for value in schema:
                    walk(value)

        walk(SCHEMA)

    def leaves(self):
        """Each key with bounds, as (what makes a document of a value, schema)."""
        for name, schema in SCHEMA["properties"].items():
            inner = properties(schema) if name not in ("design", "faults", "explore") else {}
            for key, value in inner.items():
                yield (lambda v, name=name, key=key: {"scenario": "a", name: {key: v}}), f"{name}.{key}", resolve(value)
            if not inner:
                yield (lambda v, name=name: {"scenario": "a", name: v}), name, resolve(schema)

    def test_bounds_are_the_readers(self):
        documents, expected, words = [], [], []
        seen = 0
        for document, name, schema in self.leaves():
            if "x-least" in schema:
                least, most = nanoseconds(schema["x-least"]), nanoseconds(schema["x-most"])
                tried = [(f"{least}ns", True), (f"{most}ns", True), (f"{most + 1}ns", False)] + ([(f"{least - 1}ns", False)] if least > 0 else [])
                if name == "request_lifetime":  # its upper end meets the keys' retention of the default gateway
                    tried[1] = (f"{most - 1}ns", True)
                if name == "gateway.key_retention":  # and this one's lower end the request lifetime
                    tried[0] = ("601s", True)
            elif "minimum" in schema:
                least, most = schema["minimum"], schema["maximum"]
                tried = [(least, True), (most, True), (least - 1, False), (most + 1, False)]
                if name == "restocking_fee":  # its upper end meets the default amount
                    tried[1] = (4998, True)
                if name == "limits.polls":  # its lower end meets the usual resolve_attempts
                    tried[0] = (12, True)
            elif "maxLength" in schema:
                tried = [("x" * schema["maxLength"], True), ("x" * (schema["maxLength"] + 1), False), ("", False)]
            else:
                continue
            seen += 1
            for value, fine in tried:
                documents.append(document(value))
                expected.append(fine)
                words.append(f"{name}: {value}"[:80])
        self.assertGreater(seen, 15)
        self.assertEqual(dict(zip(words, self.accepted(documents))), dict(zip(words, expected)))

    def test_key_retention_reaches_down_to_its_bound(self):
        for value, fine in (("1m", True), ("59999999999ns", False), ("365d", True), ("8761h", False)):
            document = {"scenario": "a", "request_lifetime": "30s", "gateway": {"key_retention": value}}
            self.assertEqual(self.accepted([document]), [fine], value)

    def test_what_the_schema_allows_the_reader_takes(self):
        values = [
            0, 1, 2, 3, 17, 0.5, 1.5, True, False, "x", "a.b-c_d9", "A B", "10m", "0s", "1d", "10 m", "4999 EUR", "1.5 EUR", "4999 eur",
            "off", "default", "quiet", "ideal", "plain", "refused", "1/50", "0.02", "3/2", "1/0", "1/",
            [], ["honest_reply"], ["honest_reply", "nope"], {}, {"x": 1}, {"orders": 2}, {"polls": 17}, {"polls": 0},
            {"profile": "plain"}, {"profile": "plain", "looks_up": False}, {"looks_up": "no"},
            {"payment.key": "fresh"}, {"payment.key": "frsh"}, {"violates": ["honest_reply"]}, {"may": ["nope"]},
            {"base": "quiet"}, {"base": "loud"}, {"swarm": False}, {"bus": "off"}, {"bus": "on"}, {"bus": {"losst": "1/3"}},
            {"bus": {"lost": "1/3", "days": 0.25}}, {"base": "quiet", "bus": {"lost": 1}}, {"bus": {"lost": 0}},
        ]
        documents = [{"scenario": "a", key: value} for key in list(SCHEMA["properties"]) + ["nothing"] for value in values
                     if key != "faults" or not isinstance(value, list)]  # an open bug: see cli_test.py, a list where a mapping belongs
        documents += [{}, {"seeds": 3}, {"scenario": "a"}]
        wrong = []
        allowed = 0
        for document, taken in zip(documents, self.accepted(documents)):
            allowed += valid(document, SCHEMA)
            if valid(document, SCHEMA) and not taken:
                wrong.append(document)
            # The reader takes any scalar for a text or a name.
            if taken and not valid(document, SCHEMA) and not {"scenario", "about", "masked_by"} & {next(iter(reversed(document)))}:
                wrong.append(document)
        self.assertEqual(wrong, [])
        self.assertGreater(allowed, 80)

    def test_a_wrong_schema_would_be_seen(self):
        self.assertFalse(valid({"scenario": "a", "seeds": 0}, SCHEMA))
        self.assertFalse(valid({"scenario": "a", "lease": "2d"}, SCHEMA))
        self.assertFalse(valid({"scenario": "a", "faults": {"bus": {"prompt": 1}}}, SCHEMA))
        self.assertTrue(valid({"scenario": "a", "faults": {"bus": {"lost": "1/3"}}, "lease": "1d", "seeds": 1}, SCHEMA))


class Print(Case):
    def test_what_is_printed_is_the_same_scenario(self):
        self.assertGreater(len(SCENARIOS), 40)
        for path in SCENARIOS:
            with self.subTest(scenario=os.path.basename(path)):
                first = run("check", path, "--print")
                self.assert_code(first, 0)
                again = run("check", self.write("printed.yaml", first.out), "--print")
                self.assert_code(again, 0)
                self.assertEqual(again.out, first.out)

    def test_what_is_printed_runs_the_same(self):
        for name in ("payment", "payment.key_age-ignored", "journal.recovery-trust", "replay.purity-other_state"):
            printed = self.write("printed.yaml", run("check", name, "--print").out)
            with self.subTest(scenario=name):
                one, other = (run("run", scenario, "--seeds", 200, "--json").summaries()[0] for scenario in (name, printed))
                self.assertEqual(one["digest"], other["digest"])

    def test_what_is_printed_is_explored_the_same(self):
        for name in ("payment", "payment.key_age-ignored", "journal.recovery-trust", "replay.purity-other_state"):
            printed = self.write("printed.yaml", run("check", name, "--print").out)
            with self.subTest(scenario=name):
                one, other = (run("explore", scenario, "--faults", 1, "--json").summaries()[0] for scenario in (name, printed))
                self.assertEqual((one["answers"], one["digest"]), (other["answers"], other["digest"]))

    def test_changes_of_the_command_line_are_printed(self):
        done = run("check", "payment", "--print", "--set", "payment.key=fresh", "--gateway", "plain")
        self.assertIn("  payment.key: fresh\n", done.out)
        self.assertIn("  profile: plain\n", done.out)


if __name__ == "__main__":
    program.main()
