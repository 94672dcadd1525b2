try:
    import regex as re
except ImportError:
    import re
PAT = re.compile(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}")
def boxed_reward(completions, answer, **kwargs):
    return [float(bool((m := PAT.findall(c[0]["content"])) and m[-1].replace(" ", "") == a.replace(" ", ""))) for c, a in zip(completions, answer)]
