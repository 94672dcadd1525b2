"""Tells Meson, which asks the native Python, about the Python for WASI."""

import os
import sysconfig

INCLUDE = os.environ.get("WASI_PYTHON_INCLUDE")
OWN = {"INCLUDEPY": INCLUDE, "CONFINCLUDEPY": INCLUDE, "EXT_SUFFIX": ".objects", "Py_ENABLE_SHARED": 0, "LIBPC": "/none"}

if INCLUDE:
    paths, variables = sysconfig.get_paths, sysconfig.get_config_vars

    def get_paths(*args, **named):
        return {**paths(*args, **named), "include": INCLUDE, "platinclude": INCLUDE}

    def get_config_vars(*names):
        found = {**variables(), **OWN}
        return [found.get(name) for name in names] if names else found

    sysconfig.get_paths = get_paths
    sysconfig.get_path = lambda name, *args, **named: get_paths(*args, **named)[name]
    sysconfig.get_config_vars = get_config_vars
    sysconfig.get_config_var = lambda name: get_config_vars().get(name)
