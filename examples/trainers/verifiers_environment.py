from merit_rl.environments import EnvironmentServer
from merit_rl.verifiers_env import environment


def load_environment(name="sokoban", tasks=100, **options):
    return environment(EnvironmentServer(name, options=options), tasks=tasks)
