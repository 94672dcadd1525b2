import dataclasses

import merit_plugin.gymnasium


@dataclasses.dataclass
class Options:  # the arguments of gymnasium.make
    map_name: str = "4x4"
    is_slippery: bool = True


merit_plugin.gymnasium.serve("FrozenLake-v1", options=Options, actions=("left", "down", "right", "up"))
