"""Tests of the plug-in of pytest; MERIT_BINARY names the program."""

import json
import os

import pytest
from merit_reward.testing import Both, Difference
from merit_reward.testing._both import native

PLUGIN = ("-p", "merit_reward.testing.plugin", "-p", "no:cacheprovider")
MESSAGES = [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]


def run(pytester, *args):
    return pytester.runpytest_subprocess(*PLUGIN, *args)


def test_reward_that_is_the_same_in_both(pytester):
    pytester.makepyfile(
        reward="""
        def exact(messages, ground_truth, level, *, scale=1):
            print("to the log")
            return {"score": scale * float(messages[-1]["content"] == ground_truth), "metrics": {"level": level},
                    "step_outputs": [{"step_index": 0, "base_reward": 0.5}]}
        """,
        test_it=f"""
        def test_it(merit_reward):
            r = merit_reward("reward.py:exact", {{"scale": 2}})({MESSAGES!r}, ground_truth="4", level=3)
            assert (r.score, r.metrics["level"]["score"], r.step_outputs[0]["base_reward"]) == (2.0, 3, 0.5)
            assert r.fuel > 0
        """,
    )
    run(pytester).assert_outcomes(passed=1)


def test_difference_is_shown_line_by_line(pytester):
    pytester.makepyfile(
        reward="""
        import sys
        def reward(messages):
            small = sys.platform == 'wasi'  # true in the sandbox
            return {"score": 1 + small, "metrics": {"m": small, **({"only": 1} if small else {})}}
        """,
        test_it=f"def test_it(merit_reward): merit_reward('reward.py')({MESSAGES!r})",
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*reward.py differs:",
            "  the conversation",
            "    score *natively 1.0   sandbox 2.0",
            "    metric m *natively 0.0   sandbox 1.0",
            "    metric only *natively none   sandbox 1.0",
        ]
    )
    result.stdout.no_fnmatch_line("*_both.py*")


@pytest.mark.parametrize(
    "body, says",
    [
        ("import os\n    os.environ.pop('X', 0); os.system('true')\n    return 1", "*sandbox says: *a reward has no other processes*"),
        ("while len(messages) and __import__('sys').platform == 'wasi': pass\n    return 1", "*outcome *natively scored   sandbox out_of_fuel"),
    ],
)
def test_outcomes_that_differ(pytester, body, says):
    pytester.makepyfile(
        reward=f"def reward(messages):\n    {body}\n",
        test_it=f"def test_it(merit_reward): merit_reward('reward.py', fuel=100_000_000)({MESSAGES!r})",
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([says])


def test_the_same_failure_is_no_difference(pytester):
    pytester.makepyfile(
        reward="def reward(messages):\n    return 1 / 0\n",
        test_it=f"def test_it(merit_reward): assert merit_reward('reward.py')({MESSAGES!r}).outcome == 'guest_error'",
    )
    run(pytester).assert_outcomes(passed=1)


def test_marker_runs_each_line_of_a_file(pytester):
    rows = [{"id": f"case-{i}", "messages": MESSAGES, "ground_truth": truth} for i, truth in enumerate(["4", "5"])]
    pytester.makefile(".jsonl", cases="\n".join(map(json.dumps, rows)))
    pytester.makepyfile(
        reward="def reward(messages, ground_truth):\n    return messages[-1].text == ground_truth\n",
        test_it="""
        import pytest
        @pytest.mark.merit_data("reward.py", "cases.jsonl")
        def test_it(merit_result):
            assert merit_result.score == 1.0
        """,
    )
    result = run(pytester, "-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_it?case-0? PASSED*", "*test_it?case-1? FAILED*"])


def test_marker_is_missing(pytester):
    pytester.makepyfile(test_it="def test_it(merit_result): pass")
    run(pytester).stdout.fnmatch_lines(["*merit_result needs a mark*"])


@pytest.mark.parametrize("text, says", [("def reward(messages)\n", "natively"), ("import resource\nimport numpy.nothing\n", "natively")])
def test_reward_that_cannot_be_loaded(tmp_path, text, says):
    (tmp_path / "reward.py").write_text(text)
    with pytest.raises(Difference, match=f"cannot be run {says}"):
        Both(tmp_path / "reward.py")(MESSAGES)


def test_reward_that_only_the_sandbox_refuses(tmp_path):
    (tmp_path / "reward.py").write_text("import curses\ndef reward(messages): return 1\n")
    with pytest.raises(Difference, match="cannot be run in the sandbox:(.|\n)*curses"):
        Both(tmp_path / "reward.py")(MESSAGES)


def test_no_reward_and_no_program(tmp_path, monkeypatch):
    with pytest.raises(Difference, match="there is no reward"):
        Both(tmp_path / "nothing.py")
    (tmp_path / "reward.py").write_text("")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("MERIT_BINARY")
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    with pytest.raises(Difference, match="the program merit is not installed"):
        Both(os.path.join(tmp_path, "reward.py"))


@pytest.mark.parametrize(
    "said, outcome, score",
    [
        ({"score": 1}, "scored", 1.0),
        ({"score": True}, "scored", 1.0),
        ({"score": float("nan")}, "abi_violation", None),
        ({"score": None}, "abi_violation", None),
        ({"score": 0.0, "is_score_valid": False}, "invalid", None),
        ({"error": "no"}, "guest_error", None),
    ],
)
def test_native_results_have_the_outcomes_of_the_sandbox(said, outcome, score):
    r = native({"id": "a", **said})
    assert (r.outcome, r.score) == (outcome, score)
