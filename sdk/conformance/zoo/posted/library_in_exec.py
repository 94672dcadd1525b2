def exec_reward(completions, expr, expected, **kwargs):
    out = []
    for c, x, e in zip(completions, expr, expected):
        ns = {}
        try:
            exec(c[0]["content"], ns)
            out.append(float(repr(eval(x, ns)) == e))
        except Exception as err:
            print(repr(err)); out.append(0.0)
    return out
