"""Appends the files of wheels to a module, as a zip in a custom section: section.py MODULE WHEELS OUTPUT."""

import io
import pathlib
import sys
import zipfile


def number(n: int) -> bytes:
    out = b""
    while True:
        n, low = n >> 7, n & 127
        out += bytes([low | 128 if n else low])
        if not n:
            return out


def files(folder: str) -> dict[str, bytes]:
    """The files that a program needs, by name."""
    found = {}
    for wheel in sorted(pathlib.Path(folder).glob("*.whl")):
        with zipfile.ZipFile(wheel) as z:
            for name in z.namelist():
                if not name.endswith(("/", "/RECORD", ".so")):
                    found[name] = z.read(name)
    return found


module, wheels, output = sys.argv[1:]
archive = io.BytesIO()
with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as z:
    for name, data in sorted(files(wheels).items()):
        z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
name = b"merit.lib"
content = number(len(name)) + name + archive.getvalue()
pathlib.Path(output).write_bytes(pathlib.Path(module).read_bytes() + b"\0" + number(len(content)) + content)
