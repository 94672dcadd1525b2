import merit_plugin.gymnasium

merit_plugin.gymnasium.serve("CartPole-v1", actions=("left", "right"))
