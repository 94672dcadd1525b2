"""The shapes of functions that others call rewards: a row of TABLE for each.

A function's parameters tell for whom it was written. The first row of the table
that knows the parameters has the shape; the class of the row, in a file of its
own that is loaded when a reward needs it, calls the function as its own trainer
does. What no row knows is called by name, as Merit and reward-kit do it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Row:
    """One shape: how it is recognised and which class calls it."""

    def __init__(self, name: str, marks: str, made: str, given: str = "", but: str = "", columns: bool = False, **options: "Any") -> None:
        self.name = name
        self.marks = [frozenset(m.split()) for m in marks.split(" | ")]  # any of these sets of parameters
        self.but = frozenset(but.split())  # and none of these
        self.made = made  # file.Class
        self.given = frozenset(given.split())  # what the trainer's call gives by itself
        self.columns = columns  # the call gives columns of the data too
        self.options = options
        texts = frozenset(" ".join(options.get(k, "") for k in ("answer", "prompt", "query", "tokens")).split())
        self.truths = frozenset(options.get("truth", "").split())  # get the ground truth, or a column of their name if columns are given
        self.fills = (self.given | texts) - (self.truths if columns else frozenset())  # what no column has to fill

    def knows(self, names: "frozenset[str]", required: "frozenset[str]", func: "Any", called: "Any") -> bool:
        """Whether a function with these parameters has this shape; ``called`` is the object whose method it is, if it is one."""
        if not self.but.isdisjoint(names) or not any(m <= names for m in self.marks):
            return False
        if self.options.get("alone") and not required <= self.given:
            return False
        if "marked" in self.options and not hasattr(called, self.options["marked"]):
            return False
        hint = self.options.get("annotated")
        return not hint or any(hint in str(a) for a in getattr(func, "__annotations__", {}).values())

    def strong(self, names: "frozenset[str]", takes_all: bool) -> bool:
        """Whether the parameters are those of a whole reward, and not of a helper that takes one of them."""
        return not self.options.get("weak") and (takes_all or len(names if self.columns else names & self.given) > (len(self.given) > 1 and "annotated" not in self.options))

    def shape(self, func: "Any", names: "frozenset[str]", takes_all: bool) -> "Any":
        """The function as Merit calls it."""
        file, _, kind = self.made.partition(".")
        module = __import__(f"{__name__}.{file}", fromlist=[kind])
        return getattr(module, kind)(self, func, names, takes_all)


# What trainers' own helpers call the two texts that they compare.
ANSWERS = (
    "model_output predict_str predict response response_str prediction output completion_str generation llm_response model_response action answer_str"
)
TRUTHS = "ground_truth gt label answer reference expected target solution gold golden_answer reference_answer expected_output"

VERIFIERS = "prompt completion answer state task info parser"

MERIT = Row("Merit", "messages | rollout | rollouts | rollouts_messages", "", columns=True)

# What has the parameters of two rows has the shape of the first.
TABLE = (
    Row("eval-protocol", "row | rows", "eval_protocol.EvalProtocol", "row rows", annotated="EvaluationRow"),
    Row("verifiers, of a group", "completions states", "verifiers.Group", "prompts completions answers states tasks infos",
        columns=True, truth="answers"),
    Row("AReaL", "prompt completions | completions prompt_ids", "answers.One", "prompt completions prompt_ids completion_ids", but="prompts",
        columns=True, answer="completions", prompt="prompt", truth="answer solution ground_truth", tokens="prompt_ids completion_ids", every=True),
    Row("ms-swift", "completions", "trl.Swift", "prompts completions messages finish_reason is_truncated request_id prompt_id rollout_infos "
        "ground_truth metadata", columns=True, marked="_merit_texts"),
    Row("TRL", "completions | completion_ids", "trl.TRL", "prompts completions log_metric log_extra ground_truth metadata", columns=True),
    MERIT,
    Row("verl", "solution_str", "answers.One", "data_source solution_str ground_truth extra_info", answer="solution_str", truth="ground_truth",
        extra="data_source extra_info"),
    Row("verl, of a batch", "solution_strs", "answers.All", "data_sources solution_strs ground_truths extra_infos", answer="solution_strs",
        truth="ground_truths", extra="data_sources extra_infos"),
    Row("EasyR1, of a batch", "reward_inputs", "records.Inputs", "reward_inputs"),
    Row("EasyR1", "reward_input", "records.Input", "reward_input"),
    Row("EasyR1, of a batch (lists)", "predicts ground_truths | predict_strs ground_truths", "answers.All", "predicts predict_strs ground_truths",
        answer="predicts predict_strs", truth="ground_truths"),
    Row("OpenRLHF", "queries", "answers.All", "queries prompts labels", query="queries", prompt="prompts", truth="labels"),
    Row("slime", "args sample", "records.Slime", "args sample"),
    Row("slime, of a batch", "args samples", "records.SlimeBatch", "args samples"),
    Row("OpenAI's grader", "sample item", "records.Grader", "sample item"),
    Row("trlX", "samples", "answers.All", "samples prompts outputs tokenizer", query="samples", prompt="prompts", answer="outputs",
        tokens="tokenizer", columns=True, every=True),
    Row("verl, PRIME's manager", "task completion reference", "answers.One", "task completion reference task_extra_info", answer="completion",
        truth="reference", extra="task task_extra_info"),
    Row("rLLM", "task_info", "records.RLLM", "task_info action model_response llm_response solution response"),
    Row("verl, PRIME's code", "completion test_cases", "answers.One", "completion test_cases", columns=True, answer="completion", truth="test_cases"),
    Row("verifiers", "completion | state parser | parser answer", "verifiers.Function", VERIFIERS, columns=True, truth="answer"),
    Row("open-instruct", "prediction label", "answers.One", "tokenized_prediction prediction label query", answer="prediction", truth="label",
        query="query", tokens="tokenized_prediction"),
    Row("an answer and a truth", " | ".join(f"{a} {t}" for a in ANSWERS.split() for t in TRUTHS.split()), "answers.One", "data_source extra_info",
        columns=True, weak=True, answer=ANSWERS, truth=TRUTHS, extra="data_source extra_info"),
    Row("verifiers", "state | info answer | info prompt | prompt answer | task answer | parser", "verifiers.Function", VERIFIERS,
        columns=True, truth="answer", weak=True, alone=True),
    Row("verifiers", "prompt | answer | task | info", "verifiers.Function", VERIFIERS, columns=True, truth="answer", weak=True, alone=True, helper=True),
)  # fmt: skip


def of(names: "frozenset[str]", required: "frozenset[str]", func: "Any", called: "Any") -> "Row | None":
    """The shape of a function with these parameters; None if it has none."""
    for row in TABLE:
        if row.knows(names, required, func, called):
            return row
    return None
