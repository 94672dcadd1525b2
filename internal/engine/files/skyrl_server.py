"""Runs SkyRL's Tinker server: skyrl_server.py api ARGUMENTS, where ARGUMENTS are those
of skyrl.tinker.api, with the socket to listen on as file 3. SkyRL would start its second process, the engine, with `uv
run`, and leave it behind when the first one is killed. Here it is this file again,
in the same Python, and dies with the first one.
"""

import argparse
import ctypes
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "stubs"))


def api(arguments):
    """Serves HTTP until a signal ends it; what it is asked goes through the database."""
    import uvicorn
    from skyrl.tinker import api, config
    from skyrl.utils.log import get_uvicorn_log_config

    api._build_uv_run_cmd_engine = lambda _, settings: [
        sys.executable, "-I", os.path.abspath(__file__), "engine", str(os.getpid()), *config.config_to_argv(settings),
    ]
    parser = argparse.ArgumentParser()
    config.add_model(parser, config.EngineConfig)
    api.app.state.engine_config = config.EngineConfig.model_validate(vars(parser.parse_args(arguments)))
    settings = uvicorn.Config(
        api.app, log_config=get_uvicorn_log_config(),
        timeout_keep_alive=api.HTTP_KEEP_ALIVE_TIMEOUT_SECONDS, timeout_graceful_shutdown=1,
    )
    listening = socket.socket(fileno=3)
    listening.set_inheritable(False)  # or the port is taken until the engine, too, is gone
    uvicorn.Server(settings).run(sockets=[listening])


def engine(arguments):
    """Holds the model and does the work."""
    die_with(int(arguments[0]))
    sys.argv[1:] = arguments[1:]
    from skyrl.tinker import engine

    engine.main()


def die_with(parent):
    """Ends this process when the process that started it ends, however that ends."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the process that started this one has ended")


if __name__ == "__main__":
    {"api": api, "engine": engine}[sys.argv[1]](sys.argv[2:])
