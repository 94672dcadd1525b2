weight = 0.5
