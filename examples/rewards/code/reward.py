"""Runs the code of an answer against tests, in a program apart from the reward."""

from merit_reward import EvaluateResult, code, reward_function

__merit__ = {"name": "code"}
VERDICTS = ("passed", "failed", "error", "out_of_fuel", "out_of_memory", "crashed")


@reward_function
def solves(
    messages,
    prompt="",
    test="",
    tests=(),
    entry_point=None,
    setup="",
    *,
    language="python",
    fuel=200_000_000,
    all_or_nothing=True,
    stopped="unscored",
):
    """1 if the last answer passes all tests, else 0, or the share that it passes.

    The columns are HumanEval's (prompt, test, entry_point) or tests, a list, with setup. What was stopped has no
    score, or with stopped="zero" counts as failed.
    """
    if stopped not in ("unscored", "zero"):
        raise ValueError(f"stopped is {stopped!r}; it must be 'unscored' or 'zero'")
    cases = [test] if test else tests
    if not cases:
        return EvaluateResult(is_score_valid=False, reason="there are no tests: the columns test and tests are empty")
    answer = messages[-1].text if messages[-1].role == "assistant" else ""
    if not answer.strip():
        return EvaluateResult(score=0.0, reason="there is no answer")
    report = code.run(
        source_of(code.extract(answer, language), prompt, entry_point),
        cases,
        language=language,
        entry_point=entry_point,
        fuel=fuel,
        setup=setup,
        stop_at_first=all_or_nothing,
    )
    metrics = {"tests": report.total, **{v: sum(t.verdict == v for t in report.tests) for v in VERDICTS}}
    if report.stopped and stopped == "unscored":
        t = report.stopped
        return EvaluateResult(is_score_valid=False, reason=f"{t.verdict}: {t.name}: {t.message}", metrics=metrics)
    score = float(report.all_passed) if all_or_nothing else report.passed / report.total
    return EvaluateResult(score=score, reason=str(report), metrics=metrics)


def source_of(text, prompt, entry_point):
    """The answer behind the prompt if that is code: the rest of its last function, or all of it again."""
    if not entry_point or not defines(prompt, entry_point):
        return text
    return f"{prompt}\n{text}" if defines(text, entry_point) else prompt + text


def defines(text, name):
    """Whether a line of the text begins the function or the class."""
    return any(f"\n{word} {name}{end}" in f"\n{text}" for word in ("def", "async def", "class") for end in "(:")
