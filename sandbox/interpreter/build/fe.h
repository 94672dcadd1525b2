// WebAssembly has no floating-point status, and wasi-libc's fenv.h no flags. numpy's
// linalg reports a singular matrix through them: these are set by those who raise them
// (fenv.c), never by arithmetic.
#include <fenv.h>
#define FE_INVALID 1
#define FE_DIVBYZERO 4
#define FE_OVERFLOW 8
#define FE_UNDERFLOW 16
