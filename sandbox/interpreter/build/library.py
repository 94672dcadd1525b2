#!/usr/bin/env python3.13
"""library.py SECTION TREE=NAME... collects the Python files of each TREE, below NAME in the library, as bytecode in
a stored zip, and writes it as a custom section of WebAssembly, merit.lib. The same trees give the same bytes."""

import importlib.util
import io
import marshal
import pathlib
import sys
import zipfile

EPOCH = (1980, 1, 1, 0, 0, 0)
ROOT = "/usr/local/lib/python313.zip/"  # where Merit mounts it
# Folders that no reward imports: tests, programs with windows or terminals, installers, and what builds packages.
LEFT_OUT = {
    "test", "tests", "idlelib", "tkinter", "turtledemo", "curses", "ensurepip", "venv", "pydoc_data", "_pyrepl",
    "dbm", "multiprocessing", "__phello__", "f2py", "distutils", "_pyinstaller", "site-packages",
}
NEEDED = "numpy/_core/tests/_natype.py"  # numpy.testing imports it
FILES_LEFT_OUT = {"turtle.py", "conftest.py", "setup.py", "_aix_support.py", "_android_support.py", "_apple_support.py", "_ios_support.py", "_osx_support.py"}


def files(tree, name):
    if tree.is_file():
        yield name, tree
        return
    for path in sorted(tree.rglob("*.py")):
        inside = path.relative_to(tree)
        full = str(pathlib.PurePosixPath(name, inside))
        if full == NEEDED or not LEFT_OUT.intersection(inside.parts[:-1]) and path.name not in FILES_LEFT_OUT:
            yield full, path


def bytecode(name, source):
    """The content of a .pyc file that is not checked against its source."""
    code = compile(source, ROOT + name, "exec", dont_inherit=True, optimize=0)
    unchecked = (1).to_bytes(4, "little")
    return importlib.util.MAGIC_NUMBER + unchecked + importlib.util.source_hash(source) + marshal.dumps(code)


def library(trees):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, path in sorted(file for tree, name in trees for file in files(tree, name)):
            archive.writestr(zipfile.ZipInfo(name + "c", EPOCH), bytecode(name, path.read_bytes()))
        # A folder without __init__.py is found only by its own entry.
        archive.writestr(zipfile.ZipInfo(NEEDED.rpartition("/")[0] + "/", EPOCH), b"")
    return out.getvalue()


def leb128(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def section(name, data):
    data = leb128(len(name)) + name + data
    return b"\0" + leb128(len(data)) + data


def main():
    trees = [argument.split("=") for argument in sys.argv[2:]]
    zipped = library([(pathlib.Path(tree), name) for tree, name in trees])
    pathlib.Path(sys.argv[1]).write_bytes(section(b"merit.lib", zipped))


main()
