"""What CPython lacks in the sandbox, as modules that can be imported.

Pure-Python packages import ctypes, ssl or threads for paths that a reward never
takes. So these imports succeed, and whoever uses what they give is told what is
missing and why.
"""

from __future__ import annotations

import sys

from . import refusals

NETWORK = "a reward has no network"
THREADS = "threads and processes of a reward run in place, one after the other"
PROCESSES = "a reward has no other processes: call the function itself"
NATIVE = "a reward has no native code: C libraries cannot be loaded"
MAPPINGS = "a reward has no files to map: read the file"
KINDS = {NETWORK: "network", PROCESSES: "process", NATIVE: "native", MAPPINGS: "file"}


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


def unavailable(name: str, why: str) -> UnavailableError:
    """The error of whoever uses name, which is counted."""
    refusals.note(KINDS[why], name)
    return UnavailableError(f"{why} ({name})")


def refuse(name: str, why: str):  # type: ignore[no-untyped-def]
    """A function called name that only says why it is not there."""

    def refused(*_arguments, **_named):  # type: ignore[no-untyped-def]
        raise unavailable(name, why)

    refused.__name__ = refused.__qualname__ = name.rpartition(".")[2]
    return refused


class _StandIn(type):
    """The class of what can be named, subclassed and annotated with, but not used."""

    def __call__(cls, *_arguments, **_named):  # type: ignore[no-untyped-def]
        raise unavailable(cls.path, cls.why)

    def __getattr__(cls, name: str):  # type: ignore[no-untyped-def]
        if name.startswith("_") or name == "dtype":  # numpy asks each dtype for its own, and so on
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
        raise unavailable("ctypes.sizeof", NATIVE)
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


def _resource(name: str):  # type: ignore[no-untyped-def]
    """Limits can be set, and those of the sandbox hold."""
    if name.startswith(("RLIMIT_", "RUSAGE_")):
        return sum(name.encode())  # a number that tells it from others
    unlimited = (-1, -1)
    return {"setrlimit": lambda _which, _limits: None, "getrlimit": lambda _which: unlimited, "RLIM_INFINITY": -1, "error": OSError}.get(name)


# module: why it is not there, and what of it is there all the same
ABSENT = {
    "ctypes": (NATIVE, _ctypes),
    "ctypes.util": (NATIVE, _ctypes_util),
    "ctypes.wintypes": (NATIVE, None),
    "_pyrepl": (NATIVE, None),
    "_pyrepl.pager": (NATIVE, None),
    "mmap": (MAPPINGS, None),
    "resource": (NATIVE, _resource),
    "ssl": (NETWORK, _ssl),
}


# Packages that cannot be there, with the reason for those who import them, and what does the same.
NATIVE_CODE = "needs native code that the sandbox does not have"
INSTEAD = {
    "numpy": "Merit's own CPython includes it: see merit doctor",
    "regex": "Merit's own CPython includes it: see merit doctor",
    "pandas": "use csv, json or numpy",
    "torch": "use numpy",
    "scipy": "use numpy",
    "jax": "use numpy",
    "orjson": "use json",
    "lxml": "use xml.etree or html.parser",
    "pydantic_core": "use pydantic 1 or dataclasses",
    "tiktoken": "have the data bring the counts of tokens",
    "tokenizers": "have the data bring the counts of tokens",
    "transformers": "have the data bring the counts of tokens",
}
FOREIGN = {
    **dict.fromkeys("sklearn tensorflow pyarrow datasets rpds matplotlib PIL cv2 sentencepiece vllm".split(), NATIVE_CODE),
    **{name: f"{NATIVE_CODE}; {instead}" for name, instead in INSTEAD.items()},
    **dict.fromkeys(
        "openai anthropic litellm aiohttp requests httpx websockets grpc e2b e2b_code_interpreter fireworks huggingface_hub langfuse mcp boto3 "
        "google wandb".split(),
        "is for a network, and a reward has none",
    ),
}


# What Python 2 had, or Python before 3.12: nobody has it any more.
GONE = frozenset(
    "cPickle cStringIO StringIO Queue ConfigParser HTMLParser httplib urllib2 urlparse cookielib commands __builtin__ copy_reg sets "
    "distutils imp asyncore asynchat smtpd".split()
)


class _Absent:
    """Loads the modules of ABSENT, and after all other finders notes what nobody has found."""

    @staticmethod
    def find_spec(name, path=None, _target=None):  # type: ignore[no-untyped-def]
        if "." not in name and name not in GONE or _native(name.rpartition(".")[2], path):
            refusals.note("package", name)
        return None

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


def _native(name: str, folders) -> bool:  # type: ignore[no-untyped-def]
    """Whether a module lies in a folder as native code."""
    import posix

    for folder in folders or ():
        try:
            if any(f.startswith(name + ".") and f.endswith((".so", ".pyd")) for f in posix.listdir(folder)):
                return True
        except OSError:
            pass
    return False


class _Replaced:
    """Finds the modules that are not as the sandbox needs them, or not there, before all others."""

    @staticmethod
    def find_spec(name, path=None, _target=None):  # type: ignore[no-untyped-def]
        if name in ("threading", "queue"):  # they are there; what they stand on is made ready
            from . import threads

            threads.install()
        if name in PATCHED and (spec := _path_finder().find_spec(name, path)):
            spec.loader = _Patched(spec.loader)
            return spec
        if name in ABSENT:  # also where the half of it lies that is Python
            return _spec(name, _Absent)
        return _spec(name, _Replaced, name in PACKAGES) if name in REPLACED else None

    @staticmethod
    def create_module(spec):  # type: ignore[no-untyped-def]
        return REPLACED[spec.name](spec)

    @staticmethod
    def exec_module(_module) -> None:  # type: ignore[no-untyped-def]
        pass


class _Patched:
    """Loads a module as it is and changes something in it."""

    def __init__(self, loader) -> None:  # type: ignore[no-untyped-def]
        self._loader = loader

    def __getattr__(self, name: str):  # type: ignore[no-untyped-def]
        return getattr(self._loader, name)

    def create_module(self, spec):  # type: ignore[no-untyped-def]
        return self._loader.create_module(spec)

    def exec_module(self, module) -> None:  # type: ignore[no-untyped-def]
        self._loader.exec_module(module)
        PATCHED[module.__name__](module)


def _path_finder():  # type: ignore[no-untyped-def]
    from importlib.machinery import PathFinder

    return PathFinder


def _spec(name: str, loader, package: bool = False):  # type: ignore[no-untyped-def]
    return type(sys.__spec__)(name, loader, is_package=package)


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


def _futures(spec):  # type: ignore[no-untyped-def]
    from . import executors

    return executors


def _processes(spec):  # type: ignore[no-untyped-def]
    from . import processes

    return processes.module(spec.name)


def _subprocess(module) -> None:  # type: ignore[no-untyped-def]
    module.Popen.__init__ = refuse("subprocess.Popen", PROCESSES)


def _futures_base(module) -> None:  # type: ignore[no-untyped-def]
    from . import threads

    threads.in_order(module)


def _sqlite(module) -> None:  # type: ignore[no-untyped-def]
    module.connect = _watched(module.connect, "sqlite3.connect", module.OperationalError)


def _metadata(module) -> None:  # type: ignore[no-untyped-def]
    real = module.Distribution.from_name.__func__

    def from_name(cls, name: str):  # type: ignore[no-untyped-def]
        try:
            return real(cls, name)
        except module.PackageNotFoundError:
            refusals.note("package", name)
            raise

    module.Distribution.from_name = classmethod(from_name)


PATCHED = {
    "concurrent.futures._base": _futures_base,
    "importlib.metadata": _metadata,
    "sqlite3": _sqlite,
    "subprocess": _subprocess,
}
PROCESS_MODULES = ("connection", "context", "dummy", "managers", "pool", "process", "queues", "shared_memory", "sharedctypes", "synchronize", "util")
PACKAGES = ("multiprocessing", "multiprocessing.dummy")
REPLACED = {
    "_socket": _socket,
    "asyncio.unix_events": _event_loop,
    "concurrent.futures.process": _futures,
    "concurrent.futures.thread": _futures,
    "multiprocessing": _processes,
    **{f"multiprocessing.{name}": _processes for name in PROCESS_MODULES},
    "multiprocessing.dummy.connection": _processes,
}

# Functions of os that other systems have.
PROCESS_FUNCTIONS = frozenset(
    "system fork forkpty execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp "
    "spawnvpe posix_spawn posix_spawnp kill killpg wait waitpid wait3 wait4 startfile pipe pipe2 mkfifo openpty setsid setpgid getpgid nice "
    "getlogin getuid geteuid getgid getegid getgroups getppid getloadavg statvfs sysconf".split()
)


def _os(name: str):  # type: ignore[no-untyped-def]
    """A function of os that is not there: the author's code is told why, libraries go by what is there."""
    if name in PROCESS_FUNCTIONS and refusals.authors(sys._getframe(1)):
        return refuse("os." + name, PROCESSES)
    raise AttributeError(f"module 'os' has no attribute {name!r}")


def _watched(real, name: str, failure=OSError, direct: bool = False):  # type: ignore[no-untyped-def]
    """A function that opens something, counted where that is not there; if ``direct``, where the author's own code calls it."""

    def watched(*arguments, **named):  # type: ignore[no-untyped-def]
        try:
            return real(*arguments, **named)
        except failure as e:
            caller = sys._getframe(1)
            tracing = caller.f_code.co_filename.startswith(refusals.OURS)  # the interpreter looks for the lines of a traceback
            if caller.f_globals.get("__name__") == "pdb":
                raise  # it looks for .pdbrc whenever doctest runs
            if not tracing and not isinstance(e, (FileExistsError, IsADirectoryError)) and (not direct or refusals.authors(caller)):
                file = next(iter((*arguments, *named.values())), ".")
                refusals.note("file", f"{name}({str(file)[:200]!r})")
            raise

    watched.__name__ = watched.__qualname__ = name.rpartition(".")[2]
    return watched


def watch() -> None:
    """Counts what the reward opens and is not there, and variables of an environment that nobody has set."""
    import builtins
    import io
    import os

    builtins.open = io.open = _watched(io.open, "open")
    for name in ("open", "mkdir", "stat"):
        setattr(os, name, _watched(getattr(os, name), "os." + name, direct=name == "stat"))
    for name in ("listdir", "scandir"):
        setattr(os, name, _watched(getattr(os, name), "os." + name))

    class Environment(type(os.environ)):  # type: ignore[misc]
        def __getitem__(self, key):  # type: ignore[no-untyped-def]
            try:
                return super().__getitem__(key)
            except KeyError:
                if refusals.authors(sys._getframe(1)):
                    refusals.note("environment", f"os.environ[{str(key)[:200]!r}]")
                raise

    os.environ.__class__ = Environment
    os.__getattr__ = _os  # type: ignore[attr-defined]


def install() -> None:
    """Puts the stand-ins in place. What they replace must not have been imported yet."""
    import _signal
    import _thread

    def start(*arguments):  # type: ignore[no-untyped-def]
        from . import threads

        threads.install()
        return threads.start_new_thread(*arguments)

    def setitimer(*arguments):  # type: ignore[no-untyped-def]
        from . import threads

        threads.install()
        return threads.setitimer(*arguments)

    sys.meta_path.insert(0, _Replaced)  # type: ignore[arg-type]
    sys.meta_path.append(_Absent)  # type: ignore[arg-type]
    _thread.start_new_thread = _thread.start_new = start
    # The clock moves only when somebody sleeps, and so alarms go off only then: fuel ends what takes too long.
    _signal.alarm = lambda seconds: int(setitimer(0, seconds)[0])  # type: ignore[attr-defined]
    _signal.setitimer = setitimer  # type: ignore[attr-defined]
    _signal.getitimer = lambda which: (0.0, 0.0)  # type: ignore[attr-defined]
    _signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF = 0, 1, 2  # type: ignore[attr-defined]


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
