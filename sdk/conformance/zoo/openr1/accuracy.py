from latex2sympy2_extended import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify


def accuracy_reward(completions: list[list[dict[str, str]]], solution: list[str], **kwargs) -> list:
    """Whether the completion says the same as the ground truth."""
    contents = [completion[0]["content"] for completion in completions]
    rewards = []
    for content, sol in zip(contents, solution):
        gold_parsed = parse(sol, extraction_mode="first_match")
        if len(gold_parsed) != 0:
            config = NormalizationConfig(nits=False, malformed_operators=False, basic_latex=True, boxed="all", units=True)
            latex = LatexExtractionConfig(normalization_config=config, boxed_match_priority=0, try_extract_without_anchor=False)
            answer_parsed = parse(content, extraction_config=[latex], extraction_mode="first_match")
            try:
                reward = float(verify(gold_parsed, answer_parsed))
            except Exception as e:
                print(f"verify failed: {e}, answer: {answer_parsed}, gold: {gold_parsed}")
                reward = None
        else:
            reward = None
            print("Failed to parse gold solution: ", sol)
        rewards.append(reward)
    return rewards
