"""Runs the code of an answer against tests, in a program apart from the reward."""

from merit_reward import EvaluateResult, code, reward_function

try:
    import numpy  # noqa: F401: the tests of HumanEval+ and MBPP+ import it, so that it had better be in the snapshot
except ImportError:
    pass  # a test that needs it says so

__merit__ = {"name": "code"}
VERDICTS = ("passed", "failed", "error", "out_of_fuel", "out_of_memory", "crashed")


@reward_function
def solves(
    messages,
    *,
    language="python",
    fuel=200_000_000,
    total_fuel=None,
    tolerance=None,
    all_or_nothing=True,
    stop_at_first=False,
    stopped="unscored",
    **columns,
):
    """1 if the last answer passes all tests, else 0, or the share that it passes.

    The columns are those of HumanEval, MBPP, LiveCodeBench, APPS, TACO, CodeContests, open-r1, verl and EvalPlus, or
    tests, a list. What was stopped has no score, or with stopped="zero" counts as failed.
    """
    if stopped not in ("unscored", "zero"):
        raise ValueError(f"stopped is {stopped!r}; it must be 'unscored' or 'zero'")
    try:
        problem = code.problem(columns)
    except ValueError as e:
        return EvaluateResult(is_score_valid=False, reason=str(e))
    if problem.language not in (None, language):
        return EvaluateResult(is_score_valid=False, reason=f"the row asks for code in {problem.language}, and the parameter language is {language}")
    answer = messages[-1].text if messages[-1].role == "assistant" else ""
    if not answer.strip():
        return EvaluateResult(score=0.0, reason="there is no answer")
    report = code.run(
        source_of(code.extract(answer, language), problem, messages),
        problem.tests,
        language=language,
        entry_point=problem.entry_point,
        fuel=fuel,
        total_fuel=10 * fuel if total_fuel is None else total_fuel,
        setup=problem.setup,
        stop_at_first=stop_at_first,
        tolerance=problem.tolerance if tolerance is None else tolerance,
        preamble=problem.preamble,
    )
    metrics = {"tests": report.total, **{v: sum(t.verdict == v for t in report.tests) for v in VERDICTS}}
    decided = all_or_nothing and metrics["failed"] + metrics["error"] > 0  # whatever the tests that were stopped would say
    if report.stopped and stopped == "unscored" and not decided:
        t = report.stopped
        reason = f"{t.verdict}: {t.name}: {t.message}" + (f"\n{report}" if report.total > 1 else "")
        return EvaluateResult(is_score_valid=False, reason=reason, metrics=metrics)
    score = float(report.all_passed) if all_or_nothing else report.passed / report.total
    return EvaluateResult(score=score, reason=str(report), metrics=metrics)


def source_of(text, problem, messages):
    """The answer behind the prompt if that is code: the rest of its last function, or all of it again."""
    name, prompt = problem.entry_point, problem.prompt
    if not name or defines(text, name) and not defines(prompt, name):
        return text
    if not prompt and messages[0].role == "user" and not defines(text, "Solution"):
        prompt = messages[0].text  # where the row has a prompt and a completion of it
    if not defines(prompt, name):
        return text
    if defines(text, name):
        return f"{prompt}\n{text}"
    return prompt + ("    " if text[:1].strip() else "") + text  # the first line of a body, whose indent was stripped


def defines(text, name):
    """Whether a line of the text begins the function or the class."""
    return any(f"\n{word} {name}{end}" in f"\n{text}" for word in ("def", "async def", "class") for end in "(:")
