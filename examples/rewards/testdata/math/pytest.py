"""As much of pytest as math-verify's tests are written with."""

from contextlib import contextmanager


class mark:  # noqa: N801
    @staticmethod
    def parametrize(names, values, **_options):
        def keep(func):
            func.cases = [dict(zip([n.strip() for n in names.split(",")], v)) for v in values]
            return func

        return keep


@contextmanager
def raises(kind, match=""):
    try:
        yield
    except kind as e:
        assert match in str(e)
    else:
        raise AssertionError(f"no {kind.__name__} was raised")
