"""Problems as data sets have them: rows whose columns say how code is tested.

Each of ``FORMS`` recognizes the columns of some data sets and reads their tests. A
column that is there and cannot be read is a ValueError that names it.
"""

from __future__ import annotations

import json
import zlib
from binascii import a2b_base64
from collections import namedtuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Row = dict[str, Any]

MAX_TESTS = 64 << 20  # bytes of unpacked private tests

Problem = namedtuple("Problem", ("tests", "entry_point", "prompt", "setup", "tolerance", "preamble", "language"))
Problem.__new__.__defaults__ = (None, "", "", 0.0, False, None)  # type: ignore[attr-defined]
Problem.__doc__ = """How code is tested, as ``run`` takes it.

``prompt`` is code that goes before the code of an answer that continues it, empty if
there is none; ``language`` the one that the row names, or None.
"""

KNOWN = (
    "tests; test with entry_point (HumanEval, HumanEval+); test_list (MBPP); public_test_cases, private_test_cases (LiveCodeBench); "
    "input_output (APPS, TACO); public_tests, private_tests, generated_tests (CodeContests); official_tests (Codeforces of open-r1); "
    "verification_info (open-r1); reward_model or ground_truth with inputs and outputs (verl, PRIME); base_input, plus_input (EvalPlus)"
)


def problem(row: "Row") -> Problem:
    """The problem of a row of a data set, by its columns; ValueError if there is none or a column cannot be read."""
    row = {name: value for name, value in row.items() if value not in (None, "", [], {})}
    for name, read in FORMS.items():
        if name in row:
            found = read(row)
            if not found.tests:
                raise ValueError(f"the column {name} has no tests")
            return found
    names = ", ".join(sorted(row.keys() - {"metadata"}))
    raise ValueError(f"there are no tests: {f'the columns {names} hold none' if names else 'the row has no columns'}. Columns that hold tests are {KNOWN}")


def _json(row: "Row", name: str) -> "Any":
    """The value of a column that may be the JSON text of it."""
    value = row[name]
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError as e:
        raise ValueError(f"the column {name} is a text, but not JSON: {e}") from None


def _pairs(name: str, value: "Any", inputs: str, outputs: str) -> "list[tuple[Any, Any]]":
    """Inputs with their outputs, of an object with two lists of one length."""
    if not isinstance(value, dict) or not isinstance(value.get(inputs), list) or not isinstance(value.get(outputs), list):
        raise ValueError(f"the column {name} must be an object with the lists {inputs} and {outputs}, not {str(value)[:200]}")
    if len(value[inputs]) != len(value[outputs]):
        raise ValueError(f"the column {name} has {len(value[inputs])} {inputs}, but {len(value[outputs])} {outputs}")
    return [*zip(value[inputs], value[outputs])]


def _text(name: str, value: "Any") -> str:
    """An input or output of a program: a text, or its lines."""
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    if not isinstance(value, str):
        raise ValueError(f"the column {name} has the input or output {str(value)[:200]!r}, which is neither a text nor a list of lines")
    return value


def _exchanges(name: str, pairs: "list[tuple[Any, Any]]") -> "list[Row]":
    return [{"input": _text(name, i), "output": _text(name, o)} for i, o in pairs]


def _call(name: str, given: "Any", expected: "Any") -> "Row":
    """A call: of a text with a JSON value a line (LiveCodeBench), or of a list of arguments (APPS)."""
    try:
        if isinstance(given, str):
            return {"call": [json.loads(line) for line in given.split("\n")], "returns": json.loads(expected)}
        if not isinstance(given, list):
            raise ValueError("neither a text nor a list")
    except (ValueError, TypeError) as e:
        raise ValueError(f"the column {name} has the arguments {str(given)[:200]!r} for {str(expected)[:200]!r}, which cannot be read: {e}") from None
    test = {"call": [_int_keys(a) for a in given], "returns": _int_keys(expected)}
    if isinstance(expected, list) and len(expected) == 1:
        test["or"] = _int_keys(expected[0])  # a list of the results of one call
    return test


def _int_keys(value: "Any") -> "Any":
    """The value with integers as the keys of a dict that JSON has made texts of."""
    if isinstance(value, dict) and value and all(k.isascii() and k.removeprefix("-").isdigit() for k in value):
        return {int(k): v for k, v in value.items()}
    return value


def _tests(row: "Row") -> Problem:
    tests = _json(row, "tests") if isinstance(row["tests"], str) and row["tests"].lstrip()[:1] in ("[", "{") else row["tests"]
    if isinstance(tests, dict) and "inputs" in tests:
        return _in_out("tests", tests, row)
    if isinstance(tests, list) and tests and isinstance(tests[0], dict) and {"testtype", "type"} & tests[0].keys():
        return _cases("tests", tests, row)
    own = [tests] if isinstance(tests, (str, dict)) else tests
    if not isinstance(own, list):
        raise ValueError(f"the column tests must be a list, not {str(tests)[:200]}")
    return Problem(own, row.get("entry_point"), _prompt(row), _setup(row), row.get("tolerance", 0.0))


def _prompt(row: "Row") -> str:
    prompt = row.get("prompt", "")
    return prompt if isinstance(prompt, str) else ""


def _setup(row: "Row") -> str:
    imports = row.get("test_imports") or []
    return "\n".join(filter(None, [*([imports] if isinstance(imports, str) else imports), row.get("setup") or "", row.get("test_setup_code") or ""]))


def _human_eval(row: "Row") -> Problem:
    test = row["test"]
    if not isinstance(test, str):
        raise ValueError(f"the column test must be a text, not {str(test)[:200]}")
    if "from solution import" in test:
        raise ValueError("the column test imports the solution as a module (KodCode); give its functions as the column tests, statements that call the solution")
    return Problem([test], row.get("entry_point"), _prompt(row), _setup(row))


def _mbpp(row: "Row") -> Problem:
    tests = _json(row, "test_list")
    if not isinstance(tests, list) or not all(isinstance(t, str) for t in tests):
        raise ValueError(f"the column test_list must be a list of texts, not {str(tests)[:200]}")
    return Problem(tests, row.get("entry_point"), _prompt(row) if row.get("entry_point") else "", _setup(row))


def _live_code_bench(row: "Row") -> Problem:
    tests: "list[Any]" = []
    for name in ("public_test_cases", "private_test_cases"):
        if name in row:
            listed = _private(row[name]) if name[:3] == "pri" else _json(row, name)
            if not isinstance(listed, list):
                raise ValueError(f"the column {name} must be a list of tests, not {str(listed)[:200]}")
            tests += listed
    return _cases("public_test_cases", tests, row)


def _private(value: "Any") -> "Any":
    """Private tests: JSON, or the JSON in a pickled text, compressed, in base64, as LiveCodeBench packs it."""
    if not isinstance(value, str) or value.lstrip()[:1] == "[":
        return _json({"private_test_cases": value}, "private_test_cases")
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(a2b_base64(value), MAX_TESTS)
        if unpack.unconsumed_tail:
            raise ValueError(f"they have more than {MAX_TESTS} bytes")
        return json.loads(_pickled_text(data) if data[:1] == b"\x80" else data.decode())
    except (ValueError, zlib.error, IndexError) as e:
        raise ValueError(f"the column private_test_cases cannot be unpacked: {e}") from None


def _pickled_text(data: bytes) -> str:
    """The text in a pickle that holds a text and nothing else. Other pickles can run code, so they are refused."""
    at, text = 2, None
    while (op := data[at : at + 1]) != b".":
        at += 1
        if op in LENGTHS:
            size = LENGTHS[op]
            end = at + size + int.from_bytes(data[at : at + size], "little")
            if end > len(data):
                raise ValueError("the pickle ends early")
            text, at = data[at + size : end].decode("utf-8", "surrogatepass"), end
        elif op in SKIPPED:
            at += SKIPPED[op]
        else:
            raise ValueError(f"the pickle holds more than a text (opcode {op!r}), and reading it could run code; store the tests as JSON")
    if text is None:
        raise ValueError("the pickle holds no text")
    return text


LENGTHS = {b"X": 4, b"\x8c": 1, b"\x8d": 8}  # of texts, in bytes
SKIPPED = {b"\x95": 8, b"\x94": 0, b"q": 1, b"r": 4}  # frames, and what remembers the text


def _cases(name: str, tests: "list[Any]", row: "Row") -> Problem:
    """Tests of which each says its type."""
    kinds = {str(t.get("testtype") or t.get("type") or "stdin") if isinstance(t, dict) and {"input", "output"} <= t.keys() else str(t)[:200] for t in tests}
    if kinds <= {"stdin", "stdin_stdout"}:
        return Problem(_exchanges(name, [(t["input"], t["output"]) for t in tests]), preamble=True)
    if kinds != {"functional"}:
        raise ValueError(f"the column {name} has tests of the types {', '.join(sorted(kinds))}; all must be stdin, or all functional, with input and output")
    entry = _entry_point(name, row)
    return Problem([_call(name, t["input"], t["output"]) for t in tests], entry, preamble=True)


def _entry_point(name: str, row: "Row") -> str:
    found = row.get("func_name") or row.get("fn_name") or row.get("entry_point")
    if not found and isinstance(row.get("metadata"), (dict, str)):
        about = _json(row, "metadata")
        found = about.get("func_name") if isinstance(about, dict) else None
    if not isinstance(found, str):
        raise ValueError(f"the column {name} calls a function, but no column names it: func_name, fn_name, entry_point, or func_name in metadata")
    return found


def _input_output(row: "Row") -> Problem:
    return _in_out("input_output", _json(row, "input_output"), row)


def _in_out(name: str, value: "Any", row: "Row") -> Problem:
    """Inputs and outputs, of calls if there is a name to call. Floats may differ as for APPS, whose runner uses numpy's allclose."""
    pairs = _pairs(name, value, "inputs", "outputs")
    entry = value.get("fn_name")
    if not entry:
        return Problem(_exchanges(name, pairs), preamble=True, tolerance=ALLCLOSE)
    return Problem([_call(name, *p) for p in pairs], str(entry), preamble=True, tolerance=ALLCLOSE)


ALLCLOSE = 1e-5


def _code_contests(row: "Row") -> Problem:
    tests: "list[Row]" = []
    for name in ("public_tests", "private_tests", "generated_tests"):
        if name in row:
            tests += _exchanges(name, _pairs(name, _json(row, name), "input", "output"))
    return Problem(tests, preamble=True, tolerance=ALLCLOSE)


def _codeforces(row: "Row") -> Problem:
    if row.get("generated_checker"):
        raise ValueError("the column generated_checker holds a program that judges outputs, which is not run here; leave out problems with several right outputs")
    return _cases("official_tests", _json(row, "official_tests"), row)._replace(tolerance=ALLCLOSE)


def _verification(row: "Row") -> Problem:
    info = _json(row, "verification_info")
    if not isinstance(info, dict) or not isinstance(info.get("test_cases"), list):
        raise ValueError(f"the column verification_info must be an object with the list test_cases, not {str(info)[:200]}")
    named = next((t["fn_name"] for t in info["test_cases"] if isinstance(t, dict) and t.get("fn_name")), None)
    tests = [{**t, "type": "functional"} if isinstance(t, dict) and t.get("type") == "function_call" else t for t in info["test_cases"]]
    return _cases("verification_info", tests, {**row, "fn_name": named})._replace(language=info.get("language"))


def _reward_model(row: "Row") -> Problem:
    model = _json(row, "reward_model")
    truth = model.get("ground_truth") if isinstance(model, dict) else None
    if truth is None:
        raise ValueError(f"the column reward_model must be an object with ground_truth, not {str(model)[:200]}")
    return _truth({**row, "ground_truth": truth})


def _truth(row: "Row") -> Problem:
    truth = _json(row, "ground_truth")
    if isinstance(truth, list):
        return _tests({**row, "tests": truth})
    return _in_out("ground_truth", truth, row)


def _eval_plus(row: "Row") -> Problem:
    """What the canonical solution returns is what is expected. It is part of the data, so it runs here."""
    source, entry = row.get("canonical_solution"), row.get("entry_point")
    if not isinstance(source, str) or not isinstance(entry, str):
        raise ValueError("the columns base_input and plus_input need canonical_solution and entry_point: what they expect is what that solution returns")
    space: "Row" = {"__name__": "canonical"}
    exec(compile(source if f"def {entry}(" in source else _prompt(row) + source, "canonical_solution", "exec", dont_inherit=True), space)
    tests = []
    for args in [a for name in ("base_input", "plus_input") if name in row for a in _json(row, name)]:
        tests.append({"call": args, "returns": space[entry](*json.loads(json.dumps(args)))})
    return Problem(tests, entry, _prompt(row), tolerance=row.get("atol") or 1e-6)


FORMS: "dict[str, Callable[[Row], Problem]]" = {
    "base_input": _eval_plus,
    "public_test_cases": _live_code_bench,
    "private_test_cases": _live_code_bench,
    "input_output": _input_output,
    "verification_info": _verification,
    "official_tests": _codeforces,
    "public_tests": _code_contests,
    "private_tests": _code_contests,
    "generated_tests": _code_contests,
    "reward_model": _reward_model,
    "test": _human_eval,
    "tests": _tests,
    "test_list": _mbpp,
    "ground_truth": _truth,
}
