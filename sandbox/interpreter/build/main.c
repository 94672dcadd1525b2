// The interpreter: CPython with the modules of packages built in, as a WASI command.
// BuiltinImporter finds modules in packages by their dotted names.
#include <Python.h>

// A module of a package learns its full name from the importer of shared libraries, and
// built-in ones do not. Its functions and types, and so their pickles, are named by it.
const char *_PyImport_SwapPackageContext(const char *name);

#define MODULE(init, name)                                       \
  extern PyObject *init(void);                                   \
  static PyObject *in_package_##init(void) {                     \
    const char *outer = _PyImport_SwapPackageContext(name);      \
    PyObject *module = init();                                   \
    _PyImport_SwapPackageContext(outer);                         \
    return module;                                               \
  }
#include "modules.h"
#undef MODULE

int main(int argc, char **argv) {
#define MODULE(init, name) if (PyImport_AppendInittab(name, in_package_##init)) return 3;
#include "modules.h"
#undef MODULE
  return Py_BytesMain(argc, argv);
}
