import os
import runpy
import tempfile


def by_file(completions, entry_point, **kwargs):
    """Writes the code to a temporary file and runs it from there."""
    out = []
    for c, name in zip(completions, entry_point):
        code = c[0]["content"].split("```python\n")[-1].split("```")[0]
        try:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "solution.py")
                with open(path, "w") as f:
                    f.write(code)
                out.append(float(callable(runpy.run_path(path).get(name))))
        except SyntaxError:
            out.append(0.0)
    return out
