import merit_plugin.verifiers

merit_plugin.verifiers.serve("wordle")
