"""The conformance guest as a group reward: a folder with conformance.py beside it."""

from conformance import result
from merit_reward import reward_function


@reward_function(mode="batch")
def conformance_group(rollouts, **kwargs):
    return [result(r, {"members": len(rollouts)}) for r in rollouts]
