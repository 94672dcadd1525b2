// The interpreter: CPython with the modules of packages built in, as a WASI command.
// BuiltinImporter finds modules in packages by their dotted names.
#include <Python.h>

#define MODULE(init, name) extern PyObject *init(void);
#include "modules.h"
#undef MODULE

int main(int argc, char **argv) {
#define MODULE(init, name) if (PyImport_AppendInittab(name, init)) return 3;
#include "modules.h"
#undef MODULE
  return Py_BytesMain(argc, argv);
}
