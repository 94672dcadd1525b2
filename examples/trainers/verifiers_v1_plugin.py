from dataclasses import dataclass

import merit_plugin.verifiers_v1


@dataclass
class Options:
    game: str = "Wordle-v0"


merit_plugin.verifiers_v1.serve("textarena", options=Options)
