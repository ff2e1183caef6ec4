"""Style is a test: what the compiler does not say, this says, with file, line and what to write instead.

Run at the root of the source tree. First every rule is tried on snippets that it must catch and on some that it must let
pass; then the tree is read. Exit 0: nothing found. 1: something found. 2: a rule does not work.
"""
import os
import re
import sys

ROOMS = ("sim", "model", "faults", "reports", "runner", "tests", "examples", "bench")
SUFFIXES = (".c", ".h", ".def", ".py")
LINE_MAX = 200

# Which rooms a room may include; rooms that are not named here may include any.
ARROWS = {"sim": ("sim",), "model": ("model", "sim"), "faults": ("faults", "sim"), "reports": ("reports", "sim"), "examples": ("sim", "faults")}
PURE = ("sim", "model", "faults")  # rooms whose code runs inside a run
PREFIX_OF_ROOM = {"sim": "sim", "model": "model", "fault": "faults", "report": "reports", "runner": "runner"}

DOMAIN_WORDS = {"payment", "charge", "refund", "mail", "picklist", "warehouse", "saga", "cart", "customer"}
DOMAIN_ADVICE = "sim knows no word of the shop; say it of any workflow (operation, message, effect, outsider, user) or move it to model/"

BANNED_CALLS = {
    "time": "virtual time: sim_world_now(world)",
    "clock_gettime": "virtual time: sim_world_now(world)",
    "rand": "a decision: sim_decide() on a point of the catalogue",
    "random": "a decision: sim_decide() on a point of the catalogue",
    "getrandom": "a decision: sim_decide() on a point of the catalogue",
    "sleep": "virtual time: sim_sleep(node, delay_ns)",
    "usleep": "virtual time: sim_sleep(node, delay_ns)",
    "getenv": "a key of the scenario or an option of runner/",
    "fork": "worker processes, which are runner/'s (runner/jobs.c)",
}
ACTING_CALLS = ("sim_decide", "sim_send", "sim_call", "sim_notify", "sim_sql_commit", "model_commit")


def blank(text, keep=""):
    """Spaces in place of everything but newlines (and the characters of `keep`)."""
    return "".join(c if c == "\n" or c in keep else " " for c in text)


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def split_c(text):
    """The text with comments and strings blanked out, and the same with all but the strings blanked out."""

    def code(match):
        token = match.group(0)
        return token[0] + blank(token[1:-1]) + token[-1] if token[0] in "\"'" else blank(token)

    strings, at = [], 0
    for match in TOKEN.finditer(text):
        strings.append(blank(text[at : match.start()]))
        strings.append(match.group(0) if match.group(0)[0] == '"' else blank(match.group(0)))
        at = match.end()
    strings.append(blank(text[at:]))
    return TOKEN.sub(code, text), "".join(strings)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def room_of(path):
    return path.split("/")[0]


# ---- rules: each yields (line, message) ----


def check_whitespace(path, text, code, strings):
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line:
            yield number, "a tab: write spaces, two for each level"
        if line != line.rstrip():
            yield number, "blanks at the end of the line: take them away"
        if len(line) > LINE_MAX:
            yield number, f"{len(line)} characters in a line: break it, the most is {LINE_MAX}"


def words_in(identifier):
    """The words an identifier is made of: payment_id, PaymentSucceeded and PAYMENTS all hold "payment"."""
    for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier):
        yield part.lower()


def check_domain_words(path, text, code, strings):
    if room_of(path) != "sim":
        return
    for match in re.finditer(r"[A-Za-z_]+", text):
        for word in words_in(match.group(0)):
            stems = {word, word[:-1] if word.endswith("s") else word, word[:-1] if word.endswith("d") else word, word[:-2] if word.endswith("ed") else word}
            if stems & DOMAIN_WORDS:
                yield line_of(text, match.start()), f'"{match.group(0)}": {DOMAIN_ADVICE}'
                break


def check_banned_calls(path, text, code, strings):
    if room_of(path) not in PURE:
        return
    for match in re.finditer(r"(?<![\w.>])(" + "|".join(BANNED_CALLS) + r")\s*\(", code):
        yield line_of(code, match.start()), f"{match.group(1)}() must not reach a run: use {BANNED_CALLS[match.group(1)]}"
    for match in re.finditer(r"\bpthread_\w*", code):
        yield line_of(code, match.start()), f"{match.group(0)}: a run has no threads: use fibers (sim/fiber.h), or processes in runner/"
    for match in re.finditer(r"(?<!%)(?:%%)*%[-+ #0-9.*]*p", strings):
        yield line_of(strings, match.start()), "%p prints an address, which differs from run to run: print a name, an id or an index"


def check_floats(path, text, code, strings):
    if room_of(path) not in PURE:
        return
    for match in re.finditer(r"\b(float|double)\b", code):
        start = code.rfind("\n", 0, match.start()) + 1
        line = code[start : code.find("\n", match.start())]
        if "vfs_current_time" in line:  # SQLite's interface wants it
            continue
        yield line_of(code, match.start()), f"{match.group(1)}: odds are ratios (struct sim_odds), money is minor units, time is int64_t ns"


def check_arrows(path, text, code, strings):
    room = room_of(path)
    for match in re.finditer(r'^[ ]*#[ ]*include[ ]+(?:"([^"\n]+)"|<([^>\n]+)>)', text, re.M):
        quoted, angled = match.groups()
        line = line_of(text, match.start())
        name = quoted or angled
        if os.path.basename(name).startswith("fiu") and room != "faults":
            yield line, f"{name}: only faults/ includes libfiu: use faults/binding.h"
        target = name.split("/")[0] if "/" in name else None
        if quoted and (target is None or target not in ROOMS):
            yield line, f'"{name}": name the header by its room ("{room}/{os.path.basename(name)}"), and those of the system in <>'
        if target in ROOMS and angled:
            yield line, f'<{name}>: write "{name}"'
        if target in ROOMS and target not in ARROWS.get(room, ROOMS):
            yield line, f"{room}/ must not include {target}/: it may include {', '.join(ARROWS[room])}; pass what it needs through a struct or a callback"
        if name == "sim/internal.h" and room not in ("sim", "bench"):
            yield line, "sim/internal.h is sim's own: use sim/world.h or sim/sql.h"


def check_internals(path, text, code, strings):
    room = room_of(path)
    for match in re.finditer(r"\b(sim|model|fault|report|runner)_[a-z0-9_]*?[a-z0-9]__[a-z0-9]\w*", code):
        if PREFIX_OF_ROOM[match.group(1)] != room and room != "bench":  # which times the insides
            yield line_of(code, match.start()), f"{match.group(0)} is internal to {PREFIX_OF_ROOM[match.group(1)]}/: use its public header"


def full_expressions(code):
    """(position, text) of each full expression: the parts of a control head count alone, an initialiser is one whole."""
    at, start, depth, stack = 0, 0, 0, []
    head = re.compile(r"\b(if|while|switch|for)\s*\(")
    while at < len(code):
        match = head.match(code, at) if code[at].isalpha() and (at == 0 or not (code[at - 1].isalnum() or code[at - 1] == "_")) else None
        if match:
            yield start, code[start:at]
            level, begin, at = 1, match.end(), match.end()
            while at < len(code) and level > 0:
                if code[at] == "(":
                    level += 1
                elif code[at] == ")":
                    level -= 1
                elif code[at] == ";" and level == 1:
                    yield begin, code[begin:at]
                    begin = at + 1
                at += 1
            yield begin, code[begin : at - 1]
            start = at
            continue
        c = code[at]
        if c == "{":
            before = code[start:at].rstrip()
            initialiser = before.endswith(("=", ",", "(")) or (before.endswith(")") and depth > 0) or (stack and stack[-1])
            stack.append(bool(initialiser))
            depth += 1
            if not initialiser:
                yield start, code[start:at]
                start = at + 1
        elif c == "}":
            depth -= 1
            if stack and not stack.pop():
                yield start, code[start:at]
                start = at + 1
        elif c == ";" and not (stack and stack[-1]):
            yield start, code[start:at]
            start = at + 1
        at += 1
    yield start, code[start:]


def check_one_act(path, text, code, strings):
    if not path.endswith((".c", ".h")) or room_of(path) == "tests":
        return
    calls = re.compile(r"\b(" + "|".join(ACTING_CALLS) + r")\s*\(")
    plain = re.sub(r"^[ ]*#[^\n]*(\\\n[^\n]*)*", lambda m: blank(m.group(0)), code, flags=re.M)
    for position, expression in full_expressions(plain):
        found = list(calls.finditer(expression))
        if len(found) > 1:
            names = " and ".join(m.group(1) for m in found)
            yield line_of(plain, position + found[1].start()), f"{names} in one expression: compilers differ in their order; give each a statement of its own"


def check_limits(path, text, code, strings):
    if os.path.basename(path) != "limits.h":
        return
    for match in re.finditer(r"\benum\b[^;{]*\{(.*?)\}", code, re.S):
        for item in re.finditer(r"\b([A-Z][A-Z0-9_]*)\b\s*(?:=[^,}]*)?(?:,|$)", match.group(1)):
            line = line_of(code, match.start(1) + item.start())
            last = line_of(code, match.start(1) + item.end())
            above = text.split("\n")[line - 2].strip() if line > 1 else ""
            if "/*" not in "".join(text.split("\n")[line - 1 : last]) and not (above.startswith("/*") and above.endswith("*/")):
                yield line, f"{item.group(1)} has no reason: add /* what reaches it, and why so many are enough */"


RULES = (check_whitespace, check_domain_words, check_banned_calls, check_floats, check_arrows, check_internals, check_one_act, check_limits)


def check(path, text):
    """All findings of one file as (line, message), in order."""
    is_c = path.endswith((".c", ".h", ".def"))
    code, strings = split_c(text) if is_c else (text, "")
    findings = set()
    for rule in RULES if is_c else (check_whitespace,):
        findings.update(rule(path, text, code, strings))
    return sorted(findings)


# ---- the rules themselves, tried ----

BAD = [  # path, text, line, words of the message
    ("sim/a.c", "int a;\n\tint b;\n", 2, "a tab"),
    ("sim/a.c", "int a; \n", 1, "blanks at the end"),
    ("model/a.c", "/* " + "x" * 200 + " */\n", 1, "206 characters"),
    ("tests/a.py", "x = 1 \n", 1, "blanks at the end"),
    ("sim/a.h", "int payment_count;\n", 1, '"payment_count"'),
    ("sim/a.h", "int x;\n/* ChargePayment */\n", 2, '"ChargePayment"'),
    ("sim/a.c", 'const char *x = "CUSTOMERS";\n', 1, '"CUSTOMERS"'),
    ("sim/a.c", "int emailed, mail_box;\n", 1, '"mail_box"'),
    ("sim/a.c", "/* the card was charged */\n", 1, '"charged"'),
    ("sim/a.c", "enum { SagaStep };\n", 1, '"SagaStep"'),
    ("sim/a.c", "/* carts */\n/* warehouses */\n", 2, '"warehouses"'),
    ("sim/a.c", "int cart_count;\n", 1, '"cart_count"'),
    ("sim/a.c", "int picklist;\n", 1, '"picklist"'),
    ("sim/a.c", "int refundable;\nint refund;\n", 2, '"refund"'),
    ("model/a.c", "long a = time(NULL);\n", 1, "sim_world_now"),
    ("sim/a.c", "clock_gettime(CLOCK_REALTIME, &t);\n", 1, "sim_world_now"),
    ("faults/a.c", "int a = rand();\n", 1, "sim_decide"),
    ("sim/a.c", "int a = random ();\n", 1, "sim_decide"),
    ("sim/a.c", "getrandom(b, 8, 0);\n", 1, "sim_decide"),
    ("model/a.c", "sleep(1);\n", 1, "sim_sleep"),
    ("model/a.c", "usleep(1);\n", 1, "sim_sleep"),
    ("model/a.c", 'if (getenv("X")) return;\n', 1, "scenario"),
    ("sim/a.c", "pthread_mutex_t lock;\n", 1, "fibers"),
    ("sim/a.c", "if (fork() == 0) return;\n", 1, "runner/jobs.c"),
    ("model/a.c", 'printf("at %p\\n", x);\n', 1, "print a name"),
    ("model/a.c", 'printf("at %%%-16p\\n", x);\n', 1, "print a name"),
    ("model/a.c", "int a;\nfloat b;\n", 2, "ratios"),
    ("faults/a.c", "double b = 0.5;\n", 1, "ratios"),
    ("sim/a.c", '#include "model/shop.h"\n', 1, "sim/ must not include model/"),
    ("sim/a.c", '#include "faults/catalogue.h"\n', 1, "sim/ must not include faults/"),
    ("model/a.c", '#include "faults/binding.h"\n', 1, "model/ must not include faults/"),
    ("faults/a.c", '#include "model/shop.h"\n', 1, "faults/ must not include model/"),
    ("reports/a.c", '#include "runner/one.h"\n', 1, "reports/ must not include runner/"),
    ("reports/a.c", '#include "model/shop.h"\n', 1, "reports/ must not include model/"),
    ("model/a.c", "#include <fiu.h>\n", 1, "faults/binding.h"),
    ("tests/sim/a.c", "#include <fiu-control.h>\n", 1, "faults/binding.h"),
    ("model/a.c", '#include "shop.h"\n', 1, "model/shop.h"),
    ("model/a.c", "#include <sim/world.h>\n", 1, 'write "sim/world.h"'),
    ("model/a.c", '#include "sim/internal.h"\n', 1, "sim's own"),
    ("model/a.c", "void f(void) { sim_node__gap(n, s); }\n", 1, "internal to sim/"),
    ("model/a.c", "void f(void) {\n  g(sim_decide(a), sim_decide(b));\n}\n", 2, "sim_decide and sim_decide"),
    ("model/a.c", "void f(void) { int x = sim_decide(a) + model_commit(b); }\n", 1, "sim_decide and model_commit"),
    ("model/a.c", "void f(void) {\n  struct s x = {.a = sim_decide(a),\n                .b = sim_decide(b)};\n}\n", 3, "statement of its own"),
    ("model/a.c", "void f(void) { g((struct s){sim_decide(a), sim_decide(b)}); }\n", 1, "statement of its own"),
    ("model/a.c", "void f(void) { g(&(struct s){sim_decide(a)}, sim_decide(b)); }\n", 1, "statement of its own"),
    ("model/a.c", "void f(void) { if (sim_call(a) == sim_sql_commit(b)) return; }\n", 1, "sim_call and sim_sql_commit"),
    ("model/a.c", "void f(void) { for (int i = sim_decide(a) + sim_decide(b); i; i--) {} }\n", 1, "sim_decide and sim_decide"),
    ("examples/a.c", "void f(void) { return sim_send(a), sim_notify(b); }\n", 1, "sim_send and sim_notify"),
    ("sim/limits.h", "enum {\n  SIM_A_MAX = 1, /* reason */\n  SIM_B_MAX = 2,\n};\n", 3, "SIM_B_MAX has no reason"),
    ("model/limits.h", "enum {\n  MODEL_A_MAX = 2 * 3\n};\n", 2, "MODEL_A_MAX has no reason"),
]
GOOD = [
    ("sim/a.c", "struct sim_mailbox mailbox; /* chargeable cartoons, emails, discharged */\n"),
    ("model/a.c", "int payment_count; /* the customer's cart */\n"),
    ("sim/vfs.c", "static int vfs_sleep(sqlite3_vfs *vfs, int n) { return n; }\nstatic int vfs_current_time(sqlite3_vfs *vfs, double *out) {\n"),
    ("model/a.c", "void f(void) { sim_sleep(node, 5); sqlite3_randomness(0, NULL); node->sleep(3); }\n"),
    ("runner/a.c", "long a = time(NULL); double b = 0.5; if (fork() == 0) return;\n"),
    ("model/a.c", '/* time(NULL), a double click */ const char *x = "double, rand(), 5%% paid";\n'),
    ("sim/a.c", '#include "sim/disk.h"\n#include <sqlite3.h>\n#include <sys/mman.h>\n'),
    ("model/a.c", '#include "model/shop.h"\n#include "sim/world.h"\n'),
    ("runner/a.c", '#include "model/shop.h"\n#include "faults/binding.h"\n#include "reports/text.h"\n'),
    ("faults/a.c", '#include <fiu.h>\n#include "sim/decision.h"\n'),
    ("sim/a.c", "void f(void) { sim_node__gap(n, s); }\n"),
    ("model/a.c", "void f(void) {\n  int a = sim_decide(x);\n  int b = sim_decide(y);\n  if (sim_sql_commit(n, s) != 0) sim_send(n, 1);\n}\n"),
    ("model/a.c", "void f(void) {\n  for (int i = sim_decide(a); i; i = sim_decide(b)) sim_send(n);\n  while (sim_call(n)) { sim_send(n); }\n}\n"),
    ("model/a.c", "#define BOTH sim_decide(a) + sim_decide(b)\nint sim_decide(int a);\nint sim_call(int a);\n"),
    ("model/a.c", "void f(void) {\n  struct s x = {.a = sim_decide(a)};\n  sim_send(n, &(struct m){.b = 1});\n}\nvoid g(void) { sim_send(n); }\n"),
    ("sim/limits.h", "/* why */\nenum {\n  SIM_A_MAX = 4 * 1024, /* reason, with a comma */\n  /* reason above */\n  SIM_B_MAX,\n  SIM_C_MAX =\n      9, /* reason */\n};\n"),
]


def try_rules():
    """Problems of the rules themselves, as text."""
    caught = set()
    for path, text, line, words in BAD:
        found = check(path, text)
        if not any(at == line and words in message for at, message in found):
            yield f"not caught in {path}: {text!r}: wanted line {line}, {words!r}, got {found}"
        for rule in RULES:
            code, strings = split_c(text)
            if path.endswith((".c", ".h")) and any(at == line and words in message for at, message in rule(path, text, code, strings)):
                caught.add(rule)
    for path, text in GOOD:
        for line, message in check(path, text):
            yield f"caught for nothing in {path}: {text!r}: line {line}: {message}"
    for rule in RULES:
        if rule not in caught:
            yield f"{rule.__name__} has no bad snippet"


def files_of(root):
    for room in ROOMS:
        for folder, folders, names in os.walk(os.path.join(root, room)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def main():
    broken = list(try_rules())
    for problem in broken:
        print(f"tests/style_test.py: {problem}")
    if broken:
        return 2
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    files = findings = 0
    for path in files_of(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        files += 1
        for line, message in check(path, text):
            findings += 1
            print(f"{path}:{line}: {message}")
    print(f"{files} files, {findings} findings; {len(BAD)} bad and {len(GOOD)} good snippets tried")
    if files == 0:
        print("tests/style_test.py: no files: run it at the root of the source tree")
        return 2
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
