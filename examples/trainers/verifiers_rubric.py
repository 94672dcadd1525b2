import verifiers as vf
from merit_rl.verifiers import rubric_reward

rubric = vf.Rubric(funcs=[rubric_reward("reward.py")], weights=[1.0])
