"""teacher: asks three questions, and writes a rubric of what it was told.

It reads no minds: it knows the answers of the stakeholders of training, with what each
means, from episodes that were played before. What it writes is what a language model
imitates before it learns by itself.
"""

import dataclasses
import json

import merit_plugin

QUESTIONS = ["What matters most?", "What else?", "What else?"]
SAYS = "The stakeholder says: "
WEIGHTS = {"That matters a great deal.": 3, "That matters.": 2, "That matters a little.": 1}


@dataclasses.dataclass
class Options:
    """The keys that a configuration may set under policy.options."""

    episodes: str = ""  # a file of merit rollout, played with this policy; empty = it only asks


class Teacher(merit_plugin.Policy):
    def __init__(self, options, setup):
        super().__init__(options, setup)
        self.means = means(options.episodes) if options.episodes else {}

    def act(self, request):
        if len(request.messages) <= 2:
            return merit_plugin.Decision(raw=json.dumps({"ask": QUESTIONS}))
        said = [line.removeprefix(SAYS) for line in request.text.splitlines() if line.startswith(SAYS)]
        heard = [h for h in map(self.understand, said) if h]
        heard.sort(key=lambda h: -h[1])
        return merit_plugin.Decision(raw=json.dumps({"rubric": dict(heard)}))

    def understand(self, answer):
        """The name of the criterion and its weight; None if the answer says neither."""
        for words, weight in WEIGHTS.items():
            name = self.means.get(answer.removesuffix(" " + words))
            if name and answer.endswith(" " + words):
                return name, weight
        return None


def means(path):
    """What each answer means, by the notes that the environment left for people."""
    table = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            for told in json.loads(line)["steps"][-1]["info"].get("told", []):
                table[told["answer"]] = told["name"]
    return table


if __name__ == "__main__":
    merit_plugin.serve(Teacher, name="teacher", version="0.1.0", summary="Asks, and writes what it was told.", options=Options)
