"""contacts: OpenAI's grader of contacts.json, imported by merit reward import."""

from openai_graders import graded, string_check
from openai_graders.similarity import fuzzy_match

__merit__ = {"name": "contacts"}

GRADERS = {
    "name": lambda row: fuzzy_match(row.text("{{sample.output_json.name}}"), row.text("{{item.name}}")),
    "email": lambda row: string_check("eq", row.text("{{sample.output_json.email}}"), row.text("{{item.email}}")),
}


def combined(s):
    # (name + email) / 2
    return (s["name"] + s["email"]) / 2


def grade(sample, item):
    return graded(GRADERS, combined, sample, item)
