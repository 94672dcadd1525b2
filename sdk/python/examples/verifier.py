"""Scores answers to problems of mathematics. First: merit reward build examples/rewards/verifier"""

from merit_rl import Reward

verifier = Reward("examples/rewards/verifier/reward.wasm")

scores = verifier(
    completions=[r"So it is \boxed{\frac{1}{2}}.", r"\boxed{\sqrt{2}}", r"\boxed{x \in [2, 5)}"],
    ground_truth=["0.5", "2", r"2 \le x < 5"],
)
print(scores)
