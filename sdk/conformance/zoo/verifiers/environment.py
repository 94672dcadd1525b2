import verifiers as vf


def exact(completion, answer, **kwargs) -> float:
    return float(answer in completion[-1]["content"])


def load_environment(**kwargs):
    return vf.SingleTurnEnv(rubric=vf.Rubric(funcs=[exact], weights=[1.0]))
