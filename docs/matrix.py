"""Write docs/matrix.md from the matrix: build/release/oncesim matrix --json | python3 docs/matrix.py"""
import json
import pathlib
import sys

rows = [row for row in map(json.loads, sys.stdin) if row["type"] != "summary"]
mistakes = [row for row in rows if row["type"] == "mistake"]
holds = [row for row in rows if row["type"] != "mistake"]
if not mistakes or not all(row["as_stated"] for row in mistakes + holds):
    sys.exit("docs/matrix.py: the matrix is not whole, or not as stated")


def size(row):
    if row["faults"] is None:
        return "more than two faults"
    return f"{row['faults']} fault{'' if row['faults'] == 1 else 's'}, {row['runs_needed']} runs"


def stated(row):
    return f"cannot hold: {row['stated']}" if row["type"] == "cannot_hold" else row["stated"] or "holds"


lines = [
    "# The matrix",
    "",
    "Written by `build/release/oncesim matrix --json | python3 docs/matrix.py`. Each row is a known-bad scenario: a mistake with its",
    "needs. *Must break* is what was stated; *seeds* is how many of the scenario's seeds fail; *smallest* is the smallest run among",
    "those that `explore` asks, and how many runs were explored up to it; *hidden by* names the guard that the scenario takes out,",
    "without which not all of that breaks.",
    "",
    "| mistake | must break | seeds | smallest | hidden by |",
    "|---|---|---|---|---|",
]
for row in mistakes:
    world = "" if row["scenario"] == row["what"].replace("=", "-") else f" ({row['scenario']})"
    lines.append(f"| `{row['what']}`{world} | {row['stated']} | {row['failing']} of {row['seeds']} | {size(row)} | {row['masked_by'] or ''} |")
lines += ["", "What must hold, and does, or cannot:", "", "| what | world | stated | cases that nobody could tell |", "|---|---|---|---|"]
for row in holds:
    lines.append(f"| {row['what']} | {row['scenario']} | {stated(row)} | {row['parked'] if 'holds' in row['stated'] else ''} |")
pathlib.Path(__file__).with_name("matrix.md").write_text("\n".join(lines) + "\n")
