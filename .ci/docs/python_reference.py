"""Write docs/reference/python from the docstrings of the Python package.

It reads the sources without importing them, so it needs no dependencies.
Usage: python_reference.py SDK_FOLDER OUTPUT_FOLDER
"""

import ast
import re
import sys
from pathlib import Path

PACKAGES = {
    "merit_rl": "rewards and advantages for trainers",
    "merit_rl.trl": "step-level credit in TRL",
    "merit_rl.verl_gigpo": "GiGPO in verl",
    "merit_rl.skyrl": "estimators in SkyRL",
    "merit_rl.trace": "record agents",
    "merit_plugin": "write environments and policies",
}
SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Attributes|Example)s?::?$")
ITEM = re.compile(r"^ {4}(\S[^:]*): (.*)")


def main(sdk, out):
    index = ["# Python\n", "The public names of the package `merit-rl`, from their docstrings. Authors of rewards find what the"]
    index += ["sandbox provides on the page [Rewards in Python](../../python.md).\n", "| module | what it is for |", "|---|---|"]
    for name, purpose in PACKAGES.items():
        tree, folder = module(sdk, name)
        page = [f"# {name}\n", prose(ast.get_docstring(tree) or "")]
        for public in names(tree):
            if node := find(tree, folder, public):
                page += describe(node)
        (out / f"{name}.md").write_text("\n".join(page) + "\n")
        index.append(f"| [{name}]({name}.md) | {purpose} |")
    (out / "README.md").write_text("\n".join(index) + "\n")


def module(sdk, name):
    path = sdk.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text()), file.parent


def names(tree):
    """The names in __all__, or else the public classes and functions."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [e.value for e in node.value.elts]
    return [n.name for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef)) and not n.name.startswith("_")]


def find(tree, folder, name):
    """The class or function of a name, here or in the module that it is imported from."""
    found = None
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            found = node  # the last one: overloads come first
        if isinstance(node, ast.ImportFrom) and node.level == 1 and name in [a.name for a in node.names]:
            return find(ast.parse((folder / f"{node.module}.py").read_text()), folder, name)
    return found


def describe(node):
    if isinstance(node, ast.FunctionDef):
        return [f"\n## {node.name}\n", signature(node, node.name) + "\n", prose(ast.get_docstring(node) or "")]
    init = next((m for m in node.body if getattr(m, "name", "") == "__init__" and ast.get_docstring(m)), None)
    lines = [f"\n## {node.name}\n"]
    if init:
        lines.append(signature(init, node.name) + "\n")
    lines.append(prose(ast.get_docstring(node) or ""))
    if init:
        lines.append("\n" + prose(ast.get_docstring(init)))
    for m in node.body:
        if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef)) and ast.get_docstring(m) and shown(m.name):
            lines += [f"\n### {node.name}.{m.name}\n", signature(m, m.name) + "\n", prose(ast.get_docstring(m))]
    return lines


def shown(name):
    return name == "__call__" or not name.startswith("_")


def signature(node, name):
    arguments = node.args
    for a in [*arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
        if a is not None:
            a.annotation = None
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    kind = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    if any(getattr(d, "id", "") in ("property", "cached_property") for d in node.decorator_list):
        return f"```text\n{name}\n```"
    return f"```text\n{kind}{name}({ast.unparse(arguments)})\n```"


def prose(text):
    """Markdown of a docstring: sections become lists, roles and double backticks become code."""
    out, items, example = [], False, False
    for line in text.splitlines():
        if found := SECTION.match(line):
            items, example = found[1] != "Example", found[1] == "Example"
            out.append(f"**{found[1]}**" + ("" if example else "\n"))
        elif items and (found := ITEM.match(line)):
            out.append(f"- `{found[1]}`: {found[2]}")
        elif items and line.startswith("    "):
            out.append("  " + line.strip())
        else:
            items = items and not line.strip()
            out.append(line)
    text = re.sub(r":(?:class|func|meth):`([^`]+)`", r"`\1`", "\n".join(out))
    return re.sub(r"::$", ":", text.replace("``", "`"), flags=re.M)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
