"""Stands in for PyTorch, of which SkyRL's JAX backend only names one class."""


class Tensor:
    """What no object is an instance of."""
