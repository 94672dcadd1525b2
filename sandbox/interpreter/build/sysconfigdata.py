"""What sysconfig says of this interpreter: what programs ask for at run time. Nothing is ever built for it."""

build_time_vars = {
    "ABIFLAGS": "",
    "EXE": ".wasm",
    "EXT_SUFFIX": ".wasm32-wasi.so",
    "HOST_GNU_TYPE": "wasm32-unknown-wasi",
    "MACHDEP": "wasi",
    "MULTIARCH": "wasm32-wasi",
    "Py_DEBUG": 0,
    "Py_ENABLE_SHARED": 0,
    "Py_GIL_DISABLED": 0,
    "SIZEOF_VOID_P": 4,
    "SOABI": "wasm32-wasi",
    "VERSION": "3.13",
    "prefix": "/usr/local",
    "exec_prefix": "/usr/local",
}
