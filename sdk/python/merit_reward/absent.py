"""What CPython lacks in the sandbox, as modules that can be imported.

Pure-Python packages import ctypes, ssl or threads for paths that a reward never
takes. So these imports succeed, and whoever uses what they give is told what is
missing and why.
"""

from __future__ import annotations

import sys

NETWORK = "a reward has no network"
THREADS = "a reward has no threads: call the function itself"
PROCESSES = "a reward has no other processes: call the function itself"
NATIVE = "a reward has no native code: C libraries cannot be loaded"
LIMITS = "a reward has the limits of the sandbox: it cannot ask for others"
MAPPINGS = "a reward has no files to map: read the file"


class UnavailableError(OSError, RuntimeError):
    """The reward used something that the sandbox does not have."""

    __module__ = "merit_reward"
    last: "UnavailableError | None" = None  # that was raised, for those who must not pass over it

    def __init__(self, *said: object) -> None:
        super().__init__(*said)
        UnavailableError.last = self


class NotHereError(ModuleNotFoundError):
    """What was imported cannot be in the sandbox; it looks like any module that is missing."""

    __module__ = "builtins"


NotHereError.__name__ = NotHereError.__qualname__ = "ModuleNotFoundError"


def refuse(name: str, why: str):  # type: ignore[no-untyped-def]
    """A function called name that only says why it is not there."""

    def refused(*_arguments, **_named):  # type: ignore[no-untyped-def]
        raise UnavailableError(f"{why} ({name})")

    refused.__name__ = refused.__qualname__ = name.rpartition(".")[2]
    return refused


class _StandIn(type):
    """The class of what can be named, subclassed and annotated with, but not used."""

    def __call__(cls, *_arguments, **_named):  # type: ignore[no-untyped-def]
        raise UnavailableError(f"{cls.why} ({cls.path})")

    def __getattr__(cls, name: str):  # type: ignore[no-untyped-def]
        if name.startswith("_"):
            raise AttributeError(f"{cls.path} has no attribute {name!r}")
        return _stand_in(cls.path, name, cls.why)

    def __mul__(cls, length: int):  # type: ignore[no-untyped-def]
        return _stand_in(cls.__module__, f"{cls.__name__}_Array_{length}", cls.why)

    def __getitem__(cls, _parameters):  # type: ignore[no-untyped-def]
        return cls


def _stand_in(of: str, name: str, why: str):  # type: ignore[no-untyped-def]
    if name.startswith("__"):
        raise AttributeError(f"{of} has no attribute {name!r}")
    if name.endswith(("Error", "Exception")) or name.startswith("Broken"):
        return type(name, (OSError,), {"__module__": of})
    return _StandIn(name, (), {"path": f"{of}.{name}", "why": why, "__module__": of})


# What the compiler of this interpreter says of the types of C.
_SIZES = {
    **dict.fromkeys(("c_bool", "c_byte", "c_char", "c_ubyte", "c_int8", "c_uint8"), 1),
    **dict.fromkeys(("c_short", "c_ushort", "c_int16", "c_uint16"), 2),
    **dict.fromkeys(("c_int", "c_uint", "c_long", "c_ulong", "c_int32", "c_uint32", "c_float", "c_wchar"), 4),
    **dict.fromkeys(("c_size_t", "c_ssize_t", "c_void_p", "c_char_p", "c_wchar_p", "py_object"), 4),
    **dict.fromkeys(("c_longlong", "c_ulonglong", "c_int64", "c_uint64", "c_double"), 8),
}


def _sizeof(kind) -> int:  # type: ignore[no-untyped-def]
    name = getattr(kind, "__name__", "")
    if name not in _SIZES:
        raise UnavailableError(f"{NATIVE} (ctypes.sizeof)")
    return _SIZES[name]


def _ctypes(name: str):  # type: ignore[no-untyped-def]
    return _sizeof if name == "sizeof" else None


def _ctypes_util(name: str):  # type: ignore[no-untyped-def]
    return (lambda _library: None) if name == "find_library" else None


class _Context:
    """What urllib makes ahead of every request, of files too."""

    post_handshake_auth = None

    def set_alpn_protocols(self, _protocols) -> None:  # type: ignore[no-untyped-def]
        pass


def _ssl(name: str):  # type: ignore[no-untyped-def]
    if name.startswith("HAS_"):
        return False
    if name == "_create_default_https_context":
        return _Context
    return {"OPENSSL_VERSION": "OpenSSL 3 (absent)", "OPENSSL_VERSION_INFO": (3, 0, 0, 0, 0), "OPENSSL_VERSION_NUMBER": 0x30000000}.get(name)


def _multiprocessing(name: str):  # type: ignore[no-untyped-def]
    return {"cpu_count": lambda: 1, "active_children": list, "parent_process": lambda: None, "freeze_support": lambda: None}.get(name)


# module: why it is not there, and what of it is there all the same
ABSENT = {
    "concurrent.futures.process": (PROCESSES, None),
    "concurrent.futures.thread": (THREADS, None),
    "ctypes": (NATIVE, _ctypes),
    "ctypes.util": (NATIVE, _ctypes_util),
    "ctypes.wintypes": (NATIVE, None),
    "mmap": (MAPPINGS, None),
    "resource": (LIMITS, None),
    "multiprocessing": (PROCESSES, _multiprocessing),
    "ssl": (NETWORK, _ssl),
    **{
        f"multiprocessing.{name}": (PROCESSES, None)
        for name in ("connection", "context", "dummy", "managers", "pool", "process", "queues", "shared_memory", "synchronize", "util")
    },
}


# Packages that cannot be there, with the reason for those who import them.
FOREIGN = {
    **dict.fromkeys(
        "numpy pandas scipy sklearn torch jax tensorflow pyarrow transformers tokenizers tiktoken datasets pydantic_core lxml regex rpds "
        "orjson matplotlib PIL cv2 nltk rouge_score sentencepiece vllm".split(),
        "needs native code, and a reward has none",
    ),
    **dict.fromkeys(
        "openai anthropic litellm aiohttp requests httpx websockets grpc e2b e2b_code_interpreter fireworks huggingface_hub langfuse mcp boto3 "
        "google wandb".split(),
        "is for a network, and a reward has none",
    ),
}


class _Absent:
    """Finds the modules of ABSENT after all others, and loads them."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):  # type: ignore[no-untyped-def]
        return _spec(name, _Absent) if name in ABSENT else None

    @staticmethod
    def create_module(_spec):  # type: ignore[no-untyped-def]
        return None

    @staticmethod
    def exec_module(module) -> None:  # type: ignore[no-untyped-def]
        name = module.__name__
        why, here = ABSENT[name]

        def attribute(key: str):  # type: ignore[no-untyped-def]
            value = here(key) if here else None
            if value is None:
                value = _stand_in(name, key, why)
            module.__dict__[key] = value
            return value

        module.__getattr__ = attribute
        module.__path__ = []


class _Replaced:
    """Finds the modules that exist, but not as the sandbox needs them, before all others."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):  # type: ignore[no-untyped-def]
        return _spec(name, _Replaced) if name in REPLACED else None

    @staticmethod
    def create_module(spec):  # type: ignore[no-untyped-def]
        return REPLACED[spec.name](spec)

    @staticmethod
    def exec_module(_module) -> None:  # type: ignore[no-untyped-def]
        pass


def _spec(name: str, loader):  # type: ignore[no-untyped-def]
    return type(sys.__spec__)(name, loader)


def _socket(spec):  # type: ignore[no-untyped-def]
    """The module under socket: its constants, and no network."""
    from _frozen_importlib import BuiltinImporter

    module = BuiltinImporter.create_module(spec)
    BuiltinImporter.exec_module(module)
    for name in ("getaddrinfo", "getnameinfo", "gethostbyaddr", "gethostbyname", "gethostbyname_ex", "getservbyname", "socketpair"):
        setattr(module, name, refuse("socket." + name, NETWORK))
    module.gethostname = lambda: "localhost"
    module.socket = module.SocketType = type("socket", (), {"__slots__": (), "__init__": refuse("socket.socket", NETWORK)})
    return module


def _event_loop(_spec):  # type: ignore[no-untyped-def]
    from . import eventloop

    return eventloop


REPLACED = {"_socket": _socket, "asyncio.unix_events": _event_loop}


def install() -> None:
    """Puts the stand-ins in place. What they replace must not have been imported yet."""
    import _signal
    import _thread

    sys.meta_path.insert(0, _Replaced)  # type: ignore[arg-type]
    sys.meta_path.append(_Absent)  # type: ignore[arg-type]
    _thread.start_new_thread = _thread.start_new = refuse("threading", THREADS)
    # The clock hardly moves, so an alarm never goes off: fuel ends what takes too long.
    _signal.alarm = lambda _seconds: 0  # type: ignore[attr-defined]
    _signal.setitimer = lambda _which, _seconds, _interval=0.0: (0.0, 0.0)  # type: ignore[attr-defined]
    _signal.ITIMER_REAL = 0  # type: ignore[attr-defined]


def quicken_imports() -> None:
    """Makes it cheap to import names that a package has already.

    Functions do so, and sympy's parser takes all 900 names of sympy for each text
    that it reads. The import system asks for them one at a time, in Python.
    """
    import _frozen_importlib as importlib

    one_by_one = importlib._handle_fromlist

    def handle(module, names, import_, *, recursive=False):  # type: ignore[no-untyped-def]
        there = module.__dict__
        try:
            wanted = there["__all__"] if "*" in names else names
            if there.keys() >= {*wanted}:
                return module
        except (KeyError, TypeError):  # what is no list of names is the import system's to refuse
            pass
        return one_by_one(module, names, import_, recursive=recursive)

    importlib._handle_fromlist = handle
