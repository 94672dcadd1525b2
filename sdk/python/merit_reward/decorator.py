"""The decorators that mark a function as a reward, and as its warm-up."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, TypeVar, overload

    F = TypeVar("F", bound=Callable[..., Any])

    Ready = TypeVar("Ready", bound=Callable[[], object])

    @overload
    def reward_function(_func: F) -> F: ...
    @overload
    def reward_function(_func: None = None, *, mode: str = "pointwise", **options: Any) -> Callable[[F], F]: ...


def warm_up(func: "Ready") -> "Ready":
    """Marks the function, without parameters, that readies the reward.

    It runs once, before the snapshot that every evaluation begins from, in place
    of the built-in conversation: what it imports, compiles and caches is there
    in every evaluation.
    """
    func._merit_warm_up = True  # type: ignore[attr-defined]
    return func


def reward_function(_func=None, *, mode="pointwise", **_options):  # type: ignore[no-untyped-def]
    """Marks a function as a reward, with or without arguments.

    ``mode="pointwise"`` (default) takes ``messages`` and scores one rollout;
    ``mode="batch"`` takes ``rollouts_messages`` and returns one result for each
    member of a group. Other options of reward-kit (``id``, ``requirements``,
    ``concurrency``, ``timeout``) are accepted and have no meaning here;
    ``resources`` need a network and are refused.
    """
    if mode not in ("pointwise", "batch"):
        raise ValueError(f"mode is {mode!r}; it must be 'pointwise' or 'batch'")
    if _options.get("resources"):
        raise ValueError("resources need a network, and a reward in the sandbox has none")

    def mark(func):  # type: ignore[no-untyped-def]
        func._reward_function_mode = mode
        return func

    return mark if _func is None else mark(_func)
