#!/usr/bin/env python3
"""Write the generated parts of the documents in this folder, or check that they are up to date.

usage: docs/tables.py [--check]

Between `<!-- table: NAME -->` and `<!-- end -->` stands what is made from the .def files of the source tree. With --check
nothing is written; what is out of date is named and the exit is 1. Also checked, either way: that every C block of
writing-a-model.md is found in examples/coupon.c, and that scenario-format.md describes every key the reader takes.
"""
import pathlib
import json
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent

# When each invariant is judged; the rest of its entry comes from model/invariants/invariants.def.
JUDGED = {
    "at_most_one_charge": ("at each entry in the gateway's ledger", "at_most_one_charge.c"),
    "charge_has_intent": ("when a charge request leaves; and for each charge in the ledger whenever a restarted process has read its database", "charge_has_intent.c"),
    "completed_implies_charged": ("when PaymentCompleted becomes durable at the order, and when the operation row becomes completed at the payment service", "completed_implies_charged.c"),
    "amount_matches": ("at each entry in the gateway's ledger", "amount_matches.c"),
    "declined_not_retried": ("when a charge request leaves", "declined_not_retried.c"),
    "unknown_is_not_failed": ("when a charge request leaves; when PaymentFailed, or a failed operation row, becomes durable", "unknown_is_not_failed.c"),
    "operation_id_stable": ("when a charge request leaves", "operation_id_stable.c"),
    "legal_transition": ("when an event of an order becomes durable", "legal_transition.c"),
    "honest_reply": ("when words about a payment leave for a customer (OrderPaid, PaymentAlreadyCompleted, PaymentRefused, PaymentPending), or about a cancellation (OrderCancelled, CancelRefused)", "honest_reply.c"),
    "ack_implies_durable": ("when Ack or OrderAccepted leaves the order, or PicklistAccepted the warehouse; and whenever a restarted process has read its database", "ack_implies_durable.c"),
    "replay_is_pure": ("when anything leaves the order service", "replay.c"),
    "replay_equals_live": ("at each event that is replayed", "replay.c"),
    "polling_is_bounded": ("when a look-up leaves", "bounds.c"),
    "redelivery_is_bounded": ("when a final payment result, OrderShipped or SendPicklist reaches its receiver", "bounds.c"),
    "every_intent_resolves": ("at the end of the run", "every_intent_resolves.c"),
    "exactly_one_ending": ("at the end of the run", "endings.c"),
    "parks_only_if_undecidable": ("at the end of the run", "parking.c"),
    "quiet_run_completes": ("at the end of the run, if no fault of the world fell in it", "quiet_run_completes.c"),
    "no_lost_command": ("at the end of the run", "quiet_run_completes.c"),
    "charged_implies_fulfilled_or_refunded": ("at the end of the run", "endings.c"),
    "ledgers_reconcile": ("at the end of the run", "ledgers_reconcile.c"),
    "manual_queue_is_complete": ("at the end of the run", "parking.c"),
    "snapshot_equals_replay": ("when an order is recovered from a snapshot: as it was read, and when the events behind it are applied", "replay.c"),
    "terminal_is_sticky": ("when an operation row changes", "notices.c"),
    "email_at_most_once": ("at each entry in the mail provider's ledger", "mails.c"),
    "email_tells_truth": ("when a mail leaves the mail service", "mails.c"),
    "picklist_at_most_once": ("at each entry in the carrier's ledger", "picklists.c"),
    "picklist_matches_order": ("at each entry in the carrier's ledger", "picklists.c"),
    "shipped_implies_paid": ("at each entry in the carrier's ledger", "picklists.c"),
    "refund_at_most_once": ("at each refund in the gateway's ledger", "refunds.c"),
    "refund_within_charge": ("at each refund in the gateway's ledger", "refunds.c"),
    "refund_follows_charge": ("when a refund request leaves", "refunds.c"),
    "refund_matches_cancellation": ("when RefundRequested is durable", "refunds.c"),
    "outbox_is_prompt": ("when a message of the outbox leaves for the first time", "outbox.c"),
    "account_at_most_once": ("at each entry in the account provider's ledger", "../registration/facts.c"),
    "one_saga_per_registration": ("when a saga's row becomes durable", "../registration/facts.c"),
    "compensate_only_landed": ("when a request to undo a step leaves", "../registration/facts.c"),
    "account_implies_registered_or_disabled": ("at the end of the run", "../registration/facts.c"),
    "overdue_is_alerted": ("at the end of the run", "overdue.c"),
    "outbox_drains": ("at the end of the run", "outbox.c"),
    "email_at_least_once": ("at the end of the run", "mails.c"),
    "picklist_at_least_once": ("at the end of the run", "picklists.c"),
}

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|[A-Za-z_]\w*|\d+|[(),]|\S', re.S)


def entries(path):
    """Yield (macro, arguments) of a .def file; a string argument is unquoted, adjacent strings are joined."""
    tokens = [t for t in TOKEN.findall((ROOT / path).read_text()) if not t.startswith("/*")]
    at = 0
    while at < len(tokens):
        macro, arguments, current, depth = tokens[at], [], [], 0
        at += 1
        while True:
            token = tokens[at]
            at += 1
            if token == "(":
                depth += 1
                if depth == 1:
                    continue
            if token == ")":
                depth -= 1
                if depth == 0:
                    break
            if token == "," and depth == 1:
                arguments.append(current)
                current = []
            else:
                current.append(token)
        arguments.append(current)
        yield macro, ["".join(t[1:-1].replace('\\"', '"') if t.startswith('"') else t for t in a) for a in arguments]


def row(*cells):
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def cap(text):
    return text[:1].upper() + text[1:]


def faults(of_class):
    lines, taken = ["| point | answer | default odds | explored | meaning |", "|---|---|---|---|---|"], False
    point = ""
    for macro, a in entries("faults/catalogue.def"):
        if macro == "POINT":
            taken = a[1] == of_class
            point = f"`{a[0]}`"
            if taken:
                lines.append(row(f"**{point}**", "", "", "", cap(a[2])))
            first = True
        elif taken:
            odds = "dull" if first else "never" if a[1] == "0" else f"{a[1]}/{a[2]}"
            lines.append(row("", f"`{a[0]}`", odds, "yes" if a[3] == "true" else "", cap(a[4])))
            first = False
    return lines


MARKS = {"STAR": "★", "VARIANT": "☆", "MISTAKE": "mistake", "GUARD": "guard"}


def axes():
    lines = []
    for macro, a in entries("model/axes.def"):
        if macro == "AXIS":
            lines += [f"### {a[1]}", "", f"{cap(a[2])}. Source: {a[4] if a[4] != '-' else 'none'}.", "",
                      "| choice | mark | what it does | breaks |", "|---|---|---|---|"]
            remedy = a[3]
        elif macro == "CHOICE":
            lines.append(row(f"`{a[2]}`", MARKS[a[3]], cap(a[4]), a[5]))
        else:
            lines += ["", f"Remedy: {remedy}", ""]
    return lines[:-1]


def invariants(kind):
    lines = []
    for _, a in entries("model/invariants/invariants.def"):
        if a[2] != kind:
            continue
        judged, file = JUDGED[a[1]]
        if not (ROOT / "model/invariants" / file).is_file():
            sys.exit(f"docs/tables.py: there is no model/invariants/{file}")
        lines += [f"### {a[1]}", "", a[3], "", f"- Judged {judged}.", f"- Danger: {a[4]}.", f"- Remedy: {a[5]}", f"- File: `{('model/invariants/' + file).replace('invariants/../', '')}`.", ""]
    return lines[:-1]


def words_of_time(text):
    return re.sub(r"^(\d+)\*SIM_(\w)\w*$", lambda m: m[1] + m[2].lower(), text.replace("SIM_", "1*SIM_") if text.startswith("SIM_") else text)


def fields(arguments):
    """The fields that a profile names, as a dictionary; absent ones are "false" or "0" to whoever asks."""
    return dict(a[1:].split("=", 1) for a in arguments if a.startswith("."))


ROWS = {"MODEL_HOLDS": "holds", "MODEL_HOLDS_BY_PARKING": "holds by parking", "MODEL_CANNOT_HOLD": "cannot hold"}


def gateway_profiles():
    return [(a[0], a[1], fields(a[2:])) for kind, a in entries("model/gateways/profiles.def") if kind == "PROFILE"]


def names_of(path):
    names = {}
    for kind, a in entries(path):
        if kind == "ALIAS":
            names.setdefault(a[1], []).append(f"`{a[0]}`")
    return names


def beside(f):
    """What else is to be known of a gateway, in words."""
    words = []
    if f.get("other_parameters"):
        words.append("other parameters under a known key are ignored")
    if f.get("repeat"):
        words.append({"RECEIPT": "a repeat gets the receipt", "NAMES_FIRST": "a repeat gets a conflict that names the first", "REFUSED": "a repeat gets \"duplicate\""}[f["repeat"].replace("MODEL_REPEAT_", "")])
    if f.get("key_store"):
        words.append("memory of keys may be down: " + ("charges again" if f["key_store"].endswith("OPEN") else "5xx"))
    for field, text in (("stores_errors", "5xx is kept under the key"), ("error_frees_key", "a 5xx frees its key"), ("knows_finished_only", "knows finished payments only"),
                        ("reverses", "takes reversals"), ("statements", "statements"), ("notifies", "notices")):
        if f.get(field) == "true":
            words.append(text)
    for field, text in (("lookalike_ns", "refuses look-alikes for"), ("failed_final_after_ns", "\"failed\" is final after"), ("decides_after_ns", "decides after")):
        if field in f:
            words.append(f"{text} {words_of_time(f[field])}")
    if f.get("limits_refunds") != "true":
        words.append("refunds as often as asked")
    return "; ".join(words)


def profiles():
    lines = ["| profile | takes keys, kept for | look-up, lag | beside | in words |", "|---|---|---|---|---|"]
    for name, about, f in gateway_profiles():
        keys = words_of_time(f["key_retention_ns"]) if f.get("takes_keys") == "true" else "no"
        look_up = (words_of_time(f["look_up_lag_ns"]) if "look_up_lag_ns" in f else "at once") if f.get("looks_up") == "true" else "no"
        lines.append(row(f"`{name}`", keys, look_up, beside(f), cap(about)))
    return lines


def stated_rows():
    names = names_of("model/gateways/profiles.def")
    lines = ["| profile | people call it | orders | saga | documented by |", "|---|---|---|---|---|"]
    for name, _, f in gateway_profiles():
        lines.append(row(f"`{name}`", ", ".join(names.get(name, [])), *(ROWS[f.get(w, "MODEL_HOLDS")] for w in ("orders", "saga")), f["source"]))
    return lines


def of_capabilities(text):
    """{takes keys, keys may fail, for how long, look-up, its lag, a repeat is refused} -> two cells."""
    takes, _, kept, looks_up, lag, refused = text.strip("{}").split(",")
    known = words_of_time(kept) + (", then refused as a duplicate" if refused == "true" else "") if takes == "true" else "no"
    return known, ("at once" if lag == "0" else words_of_time(lag)) if looks_up == "true" else "no"


def grouped(path):
    """Entries of a .def file whose {…} is one argument."""
    for kind, a in entries(path):
        joined, depth = [], 0
        for cell in a:
            joined[-1:] = [joined[-1] + "," + cell] if depth else joined[-1:] + [cell]
            depth += cell.count("{") - cell.count("}")
        yield kind, joined


def mail_profiles():
    names = names_of("model/gateways/mail_profiles.def")
    lines = ["| profile | people call it | recognises a repeat, for | status query, lag | orders | in words |", "|---|---|---|---|---|---|"]
    for kind, a in grouped("model/gateways/mail_profiles.def"):
        if kind == "PROFILE":
            lines.append(row(f"`{a[0]}`", ", ".join(names.get(a[0], [])), *of_capabilities(a[2]), ROWS[a[3]], cap(a[1])))
    return lines


def account_profiles():
    lines = ["| profile | recognises a repeat, for | status query, lag | disables | saga | in words |", "|---|---|---|---|---|---|"]
    for kind, a in grouped("model/gateways/account_profiles.def"):
        if kind == "PROFILE":
            lines.append(row(f"`{a[0]}`", *of_capabilities(a[2]), "yes" if a[3] == "true" else "no", ROWS[a[4]], cap(a[1])))
    return lines


def brokers():
    names = names_of("model/brokers.def")
    lines = ["| profile | people call it | saga | in words |", "|---|---|---|---|"]
    for kind, a in entries("model/brokers.def"):
        if kind == "BROKER":
            lines.append(row(f"`{a[0]}`", ", ".join(names.get(a[0], [])), ROWS[a[2]] + (f" {a[3]}: what can never be handled is delivered for ever" if a[3] else ""), cap(a[1])))
    return lines


def sim_points():
    """The points that sim itself asks, as sim/points.def lists them, with their answers in order."""
    names = re.findall(r'SIM_POINT\(\w+, "([\w.]+)"', (ROOT / "sim/points.def").read_text())
    assert names, "sim/points.def names no point"
    found, name = {}, ""
    for macro, a in entries("faults/catalogue.def"):
        if macro == "POINT":
            name = a[0]
            found[name] = (a[1].lower(), a[2], [])
        else:
            found[name][2].append(f"`{a[0]}`")
    return ["| point | class | about | answers, in order |", "|---|---|---|---|"] + [row(f"`{n}`", found[n][0], cap(found[n][1]), ", ".join(found[n][2])) for n in names]


TABLES = {
    "sim-points": sim_points,
    "profiles": profiles,
    "stated-rows": stated_rows,
    "mail-profiles": mail_profiles,
    "account-profiles": account_profiles,
    "brokers": brokers,
    "faults": lambda: faults("FAULT"),
    "workload": lambda: faults("WORKLOAD"),
    "axes": axes,
    "invariants-always": lambda: invariants("ALWAYS"),
    "invariants-eventually": lambda: invariants("EVENTUALLY"),
}


def schema(text):
    """The closed lists of scenarios/scenario.schema.json: axes, invariants, profiles, fault points with their answers."""
    whole = json.loads(text)
    design, points = {}, {}
    for macro, a in entries("model/axes.def"):
        if macro == "AXIS":
            design[a[1]] = {"enum": []}
            choices = design[a[1]]["enum"]
        elif macro == "CHOICE":
            choices.append(a[2])
    for macro, a in entries("faults/catalogue.def"):
        if macro == "POINT":
            answers = points[a[0]] = []
        else:
            answers.append(a[0])
    whole["properties"]["design"]["properties"] = design
    whole["$defs"]["invariants"]["items"]["enum"] = [a[1] for _, a in entries("model/invariants/invariants.def")]
    whole["$defs"]["profile"]["enum"] = [a[0] for kind, a in entries("model/gateways/profiles.def") if kind == "PROFILE"]
    whole["properties"]["mail"]["enum"] = [a[0] for kind, a in entries("model/gateways/mail_profiles.def") if kind == "PROFILE"]
    whole["properties"]["broker"]["enum"] = [a[0] for kind, a in entries("model/brokers.def") if kind == "BROKER"]
    section = whole["properties"]["faults"]["oneOf"][1]["properties"]
    for name in [name for name in section if name not in ("base", "swarm")]:
        del section[name]
    odds = {"$ref": "#/$defs/odds"}
    for name, answers in points.items():
        section[name] = {"oneOf": [{"const": "off"}, {"type": "object", "additionalProperties": False, "properties": {answer: odds for answer in answers[1:]}}]}
    whole["$defs"]["explore"]["properties"] = {name: {"type": "array", "items": {"enum": answers[1:]}} for name, answers in points.items()}
    return json.dumps(whole, indent=2) + "\n"


def main():
    check, wrong = "--check" in sys.argv[1:], []
    for path in sorted(DOCS.glob("*.md")):
        old = path.read_text()
        new = re.sub(r"<!-- table: (\S+) -->\n.*?<!-- end -->",
                     lambda m: f"<!-- table: {m[1]} -->\n\n" + "\n".join(TABLES[m[1]]()) + "\n\n<!-- end -->", old, flags=re.S)
        if new != old and check:
            wrong.append(f"docs/{path.name}: a table is out of date; run docs/tables.py")
        elif new != old:
            path.write_text(new)
    path = ROOT / "scenarios/scenario.schema.json"
    old = path.read_text()
    new = schema(old)
    if new != old and check:
        wrong.append("scenarios/scenario.schema.json: a list is out of date; run docs/tables.py")
    elif new != old:
        path.write_text(new)
    source = (ROOT / "examples/coupon.c").read_text()
    for block in re.findall(r"```c\n(.*?)```", (DOCS / "writing-a-model.md").read_text(), re.S):
        if block not in source:
            wrong.append("docs/writing-a-model.md: not in examples/coupon.c: " + block.split("\n")[0])
    keys = (ROOT / "runner/scenario.c").read_text().split("static const struct key keys[] = {")[1].split("};")[0]
    described = (DOCS / "scenario-format.md").read_text()
    for section, name in re.findall(r'\{"(\w*)", "(\w+)", \w+\}', keys):
        key = f"{section}.{name}" if section else name
        if f"`{key}`" not in described:
            wrong.append(f"docs/scenario-format.md: the key {key} is not described")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
