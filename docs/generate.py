#!/usr/bin/env python3
"""Writes docs/ops.md and docs/passes.md from the tables and sources; with --check, fails if they are not up to date.

The order of ops is that of compiler/ir/ops.def, their properties are those of their OpInfo in compiler/op/*.c, their
meanings those of docs/ir.md. The text of a pass is the comment at the head of compiler/pass/NAME.c."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPS = ROOT / "compiler" / "op"
PASSES = ROOT / "compiler" / "pass"

OPS_HEAD = """# Ops

Made by `docs/generate.py`; do not edit. `docs/ir.md` has the syntax, `docs/adding-an-op.md` says how to add one.

*Pending*: which operands may hold a pending sum that the op carries to its result: all of them over the same axes, any one
of them, or none. *Own*: what the op does not take from its rule. `eval` interprets it, `localize` fits its attributes to one
device's shapes, `apply` gives the result's placement and `exchange` interprets a collective on all devices.
"""

PASSES_HEAD = """# Passes

Made by `docs/generate.py`; do not edit. `docs/adding-a-pass.md` says how to add one, `docs/sharding.md` how `propagate` and
`reshard` decide. A build runs `fold,dce`, then `propagate,reshard`, then `partition,dce`; `shardc opt -p LIST` runs any list
on text. The verifier runs before the first pass and after each.
"""


def meanings():
    """op -> meaning, from the table of docs/ir.md."""
    found = {}
    rows = (ROOT / "docs" / "ir.md").read_text().split("\n## Ops\n")[1]
    for line in rows.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 3 and cells[0] != "op" and not cells[0].startswith("-"):
            for op in cells[0].split():
                found[op] = cells[2]
    return found


def groups():
    """(title, ops) in the order of ops.def."""
    found = []
    for line in (ROOT / "compiler" / "ir" / "ops.def").read_text().splitlines():
        op = re.match(r"OP\((\w+)\)", line)
        if op:
            found[-1][1].append(op[1])
        elif line.startswith("// ") and "OP(name)" not in line and "The order is" not in line:
            found.append((line[3:], []))
    return found


def infos():
    """op -> the text of its OpInfo and the file that has it; macros for families are expanded."""
    found = {}
    for path in sorted(OPS.glob("*.c")):
        text = path.read_text()
        for name, body in re.findall(r"^const OpInfo op_(\w+) = \{\n(.*?)^\};", text, re.M | re.S):
            found[name] = (body, path.name)
        for family, parameters, macro in re.findall(r"^#define (\w+)\((.*?)\)[ \\]*\n((?:.*\\\n)*.*\n)", text, re.M):
            if "const OpInfo op_##" not in macro:
                continue
            for name, values in re.findall(rf"^{family}\((\w+), (.*)\)$", text, re.M):
                given = dict(zip([p.strip() for p in parameters.split(",")][1:], values.split(", ", parameters.count(",") - 1)))
                body = re.sub(r"\b\w+\b", lambda m, given=given: given.get(m[0], m[0]), macro)
                found[name] = (body, path.name)
    return found


def formula(body, otherwise):
    """The scalar function, if it is a plain formula of the operands."""
    m = re.search(r"return (.*?);", body)
    text = m[1] if m else ""
    if not re.search(r"x\[0\]", text) or "op," in text:
        return otherwise
    return "`" + text.replace("|", "\\|") + "`"


def field(body, name, otherwise=""):
    m = re.search(rf"\.{name} = (.*?),\s*\\?$", body, re.M)
    return m[1].strip() if m else otherwise


def op_row(op, info, meaning):
    body, path = info
    count = field(body, "noperand", "0")
    attrs = re.findall(r"A_(\w+)", field(body, "attrs"))
    pending = {"LINEAR_ALL": "all", "LINEAR_ANY": "any"}.get(field(body, "linear"), "")
    own = [f for f in ("eval", "localize", "apply", "exchange") if field(body, f)]
    cells = [f"`{op}`", "any" if count == "-1" else count, " ".join(a for a in attrs if a != "END"), pending,
             " ".join(own), path, formula(body, meaning)]
    return "| " + " | ".join(cells) + " |"


def ops_text():
    says, info = meanings(), infos()
    out = [OPS_HEAD]
    for title, ops in groups():
        out.append(f"## {title[0].upper()}{title[1:]}\n")
        out.append("| op | operands | attributes | pending | own | in op/ | meaning |")
        out.append("|---|---|---|---|---|---|---|")
        for op in ops:
            if op not in says:
                sys.exit(f"docs/ir.md does not say what {op} means")
            out.append(op_row(op, info[op], says[op]))
        out.append("")
    return "\n".join(out)


def head_comment(path):
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[3:])
    return "\n".join(lines)


def passes_text():
    out = [PASSES_HEAD]
    for name, summary in re.findall(r'^PASS\((\w+),\s*"(.*)"\)', (PASSES / "passes.def").read_text(), re.M):
        out.append(f"## {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n{head_comment(PASSES / (name + '.c'))}\n")
    return "\n".join(out)


def main(args):
    stale = []
    for path, text in [("ops.md", ops_text()), ("passes.md", passes_text())]:
        file = ROOT / "docs" / path
        if args == ["--check"]:
            if not file.exists() or file.read_text() != text:
                stale.append(path)
        else:
            file.write_text(text)
    if stale:
        sys.exit(f"docs: {', '.join(stale)} not up to date: run docs/generate.py")


main(sys.argv[1:])
