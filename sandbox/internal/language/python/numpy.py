try:
    import numpy
    import numpy.fft, numpy.linalg, numpy.ma, numpy.polynomial, numpy.random
except ImportError:
    pass  # a solution that imports it gets the error
else:
    from merit_reward import _values

    # As their results go to a test: plain values, and arrays as lists.
    _values.MAKE[numpy.ndarray] = lambda value, other: _values.encode(value.tolist(), other)
    for _kind in {numpy.bool_, *numpy.sctypeDict.values()}:
        if issubclass(_kind, (numpy.bool_, numpy.number)) and type(_kind(0).item()) in (bool, int, float, complex):
            _values.MAKE[_kind] = lambda value, other: _values.encode(value.item(), other)
