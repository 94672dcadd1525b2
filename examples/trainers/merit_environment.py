from merit_rl.verifiers_v1 import MeritEnv, MeritTaskset

__all__ = ["MeritEnv", "MeritTaskset"]
