"""Makes objects with any members dictionaries in the generated types: a TypedDict without fields permits none."""

import ast
import pathlib

path = pathlib.Path(__file__).parent / "src/carrel/types.py"
text = path.read_text(encoding="utf-8")
lines = text.splitlines()
empty = [
    node
    for node in ast.parse(text).body
    if isinstance(node, ast.ClassDef) and not any(isinstance(member, ast.AnnAssign) for member in node.body)
]
if not empty:
    raise SystemExit("gen.py: the types have no empty TypedDict; the generator has changed")
for node in reversed(empty):
    body = [line.removeprefix("    ") for line in lines[node.lineno : node.end_lineno] if line != "    pass"]
    lines[node.lineno - 1 : node.end_lineno] = [f"{node.name}: TypeAlias = dict[str, Any]", *body]
text = "\n".join(lines) + "\n"
path.write_text(text.replace("from typing import Literal,", "from typing import Any, Literal,", 1), encoding="utf-8")
