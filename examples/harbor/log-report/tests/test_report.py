import json

with open("/tests/expected.json") as f:
    expected = json.load(f)


def report():
    with open("/app/report.json") as f:
        return json.load(f)


def test_counts():
    assert report()["requests"] == expected["requests"]
    assert report()["errors"] == expected["errors"]


def test_slowest():
    assert report()["slowest"] == expected["slowest"]


def test_paths():
    assert report()["by_path"] == expected["by_path"]
