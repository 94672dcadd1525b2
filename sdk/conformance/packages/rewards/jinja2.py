from jinja2 import Template, TemplateSyntaxError


def reward(messages, ground_truth):
    """Whether the model's template renders to the expected text."""
    try:
        return float(Template(messages[-1]["content"]).render(name="Ada", items=[1, 2, 3]) == ground_truth)
    except TemplateSyntaxError as e:
        return -float(e.lineno)
