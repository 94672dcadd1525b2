import re
from typing import List

from swift.plugin import ORM, orms


class CountdownORM(ORM):
    def __call__(self, completions, answer, **kwargs) -> List[float]:
        rewards = []
        for completion, target in zip(completions, answer):
            try:
                match = re.search(r"<answer>(.*?)<\/answer>", completion, re.DOTALL)
                if match is None:
                    rewards.append(0.0)
                    continue
                rewards.append(1.0 if target in match.group(1).strip() else 0.1)
            except Exception:
                rewards.append(0.0)
        return rewards


orms["countdown"] = CountdownORM
