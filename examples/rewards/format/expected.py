"""Writes suite.jsonl and gorilla.jsonl, and counts how much of the JSON Schema Test Suite the validator agrees with.

    pip install jsonschema==4.17.3
    python expected.py JSON-Schema-Test-Suite/tests gorilla/gorilla/eval/eval-data/responses

suite.jsonl: every ninth case of draft 2020-12 that needs no server; ``expected`` is what the suite says.
gorilla.jsonl: what Gorilla answered about TensorFlow Hub when documents were put before it; it should mark five parts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from jsonschema.validators import validator_for

DRAFTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema", "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#", "draft6": "http://json-schema.org/draft-06/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
}
SERVER = "localhost:1234"
EVERY, ANSWERS, LONGEST = 9, 100, 1200


def main(tests: str, gorilla: str) -> None:
    for draft, uri in DRAFTS.items():
        every = list(cases(Path(tests, draft), uri))
        print(draft, sum(agrees(schema, test, uri) for _, schema, test in every), "of", len(every))
        if draft == "draft2020-12":
            with open("suite.jsonl", "w", encoding="utf-8") as out:
                for name, schema, test in every[::EVERY]:
                    said = [{"role": "assistant", "content": json.dumps(test["data"])}]
                    out.write(json.dumps({"id": name, "messages": said, "schema": schema, "expected": float(test["valid"])}) + "\n")
    path = Path(gorilla, "tensorflowhub", "response_tensorflowhub_Gorilla_FT_bm25.jsonl")
    with open(path, encoding="utf-8") as f, open("gorilla.jsonl", "w", encoding="utf-8") as out:
        for answer in list(map(json.loads, f))[: 6 * ANSWERS : 6]:
            said = [{"role": "assistant", "content": answer["text"][:LONGEST]}]
            out.write(json.dumps({"id": f"gorilla-{answer['question_id']}", "messages": said}, ensure_ascii=False) + "\n")


def cases(folder: Path, uri: str):
    for path in sorted(folder.glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")):
            schema = case["schema"]
            if SERVER in json.dumps(schema):
                continue
            if isinstance(schema, dict):
                schema.setdefault("$schema", uri)
            for n, test in enumerate(case["tests"], 1):
                yield f"{path.stem}: {case['description']}: {n}", schema, test


def agrees(schema, test: dict, uri: str) -> bool:
    try:
        return validator_for(schema, default=validator_for({"$schema": uri}))(schema).is_valid(test["data"]) == test["valid"]
    except Exception:  # a reference that it does not find, a pattern that Python does not have
        return False


if __name__ == "__main__":
    main(*sys.argv[1:])
