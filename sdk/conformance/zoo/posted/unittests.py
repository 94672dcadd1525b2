import unittest, types, io, re
def unittest_reward(completions, test_code, **kwargs):
    out = []
    for c, t in zip(completions, test_code):
        code = re.findall(r"```(?:python)?\n(.*?)```", c[0]["content"], re.S)[-1]
        mod = types.ModuleType("solution")
        try:
            exec(code, mod.__dict__)
            ns = {"unittest": unittest, "solution": mod, "__name__": "tests"}
            exec(t, ns)
            suite = unittest.TestSuite()
            for v in ns.values():
                if isinstance(v, type) and issubclass(v, unittest.TestCase):
                    suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(v))
            r = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
            out.append((r.testsRun - len(r.failures) - len(r.errors)) / max(1, r.testsRun))
        except Exception as e:
            out.append(-1.0)
    return out
