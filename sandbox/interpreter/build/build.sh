#!/usr/bin/env bash
# build.sh builds Merit's interpreter of Python for WebAssembly from source and installs it
# where merit looks for interpreters. It does nothing if the pinned build is installed.
#
#   build.sh [--pin] [FOLDER]
#
# FOLDER holds the sources and everything built, 1 GB; without it, a temporary folder does.
# The bytes depend on the pinned sources and on the versions of the Debian packages of
# apt.txt, not on folders, the machine or the day. --pin writes the digest to python.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
pin=$here/../python.json
[ "${1:-}" != --pin ] || { repin=1; shift; }

home=${MERIT_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/merit}/interpreters
digest=$(sed -n 's/.*"digest": "\(.*\)".*/\1/p' "$pin")
installed() { echo "$home/python-${1:0:16}.wasm"; }
if [ -z "${repin:-}" ] && [ -n "$digest" ] && echo "$digest  $(installed "$digest")" | sha256sum --check --status 2>/dev/null; then
  echo "the interpreter is installed: $(installed "$digest")"
  exit
fi

work=${1:-$(mktemp -d)}
mkdir -p "$work" && cd "$work" && work=$PWD
missing=$(while read -r package; do dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed$' || echo "$package"; done <"$here/apt.txt")
[ -z "$missing" ] || { echo "build.sh: packages are missing: apt-get install" $missing >&2; exit 1; }

# The newest instructions that the sandbox allows: no exceptions, threads or tail calls.
# Only relative paths get into the file.
target="--target=wasm32-wasi --sysroot=$work/sysroot -msimd128 -mbulk-memory -mnontrapping-fptoint -msign-ext -mmutable-globals"
target="$target -ffile-prefix-map=$work/= -ffile-prefix-map=$here/= -w"
emulated="-D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_PROCESS_CLOCKS -D_WASI_EMULATED_MMAN"
export SOURCE_DATE_EPOCH=1700000000 LC_ALL=C PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
jobs=$(nproc)

step() { printf '== %s (%ss)\n' "$1" "$SECONDS"; }

unpack() { # unpack NAME ARCHIVE
  rm -rf "$1" && mkdir "$1" && tar -xf sources/$2 --strip-components=1 -C "$1"
}

sources() {
  "$here/sources.sh" sources
  unpack cpython 'python3.13_*.tar.xz'
  unpack zlib 'zlib_*.tar.gz'
  unpack bzip2 'bzip2_*.tar.gz'
  unpack xz 'xz-utils_*.tar.xz'
  unpack sqlite 'sqlite3_*.orig.tar.xz'
  unpack numpy 'numpy-*.tar.gz'
  unpack regex 'regex-*.tar.gz'
  rm -rf debian
  for package in sources/*.deb; do dpkg-deb -x "$package" debian; done
  ln -sfn debian/usr sysroot
}

# The same CPython for this machine: it compiles the library and runs Cython and Meson.
native() {
  mkdir -p native && cd native
  CC=gcc ../cpython/configure -C --without-ensurepip --disable-test-modules OPT='-O1 -DNDEBUG'
  make -j"$jobs"
  cd ..
}

# What modules of CPython wrap, without threads. zlib and bzip2 have no build system worth one.
libraries() {
  (cd zlib && archive z adler32 compress crc32 deflate infback inffast inflate inftrees trees uncompr zutil)
  (cd bzip2 && archive bz2 blocksort bzlib compress crctable decompress huffman randtable)
  (cd xz && ./configure --host=wasm32-unknown-wasi --disable-{threads,shared,nls,doc,assembler,microlzma,lzip-decoder,scripts} \
    --disable-{xz,xzdec,lzmadec,lzmainfo} CC="clang-19 $target" CFLAGS="-O2 -DNDEBUG" AR=llvm-ar-19 ARFLAGS=rcD RANLIB=llvm-ranlib-19 NM=llvm-nm-19)
  make -C xz/src/liblzma -j"$jobs"
  sqlite
}

archive() { # archive LIBRARY [FLAG] FILE... in the current folder
  local library=$1 argument flags=()
  shift
  for argument; do
    case $argument in
      -*) flags+=("$argument") ;;
      *) clang-19 $target $emulated -O2 "${flags[@]}" -c "$argument.c" ;;
    esac
  done
  rm -f "lib$library.a" && llvm-ar-19 rcsD "lib$library.a" ./*.o
}

# SQLite as one file, which its build system writes. Rewards run one at a time and alone with
# their files: no locks, and no files for what does not fit into a cache.
sqlite() {
  cd sqlite
  ./configure --disable-tcl --disable-shared
  make sqlite3.c
  archive sqlite3 -DSQLITE_{THREADSAFE=0,TEMP_STORE=3,DEFAULT_MEMSTATUS=0,MAX_MMAP_SIZE=0,OMIT_LOAD_EXTENSION} \
    '-DSQLITE_DEFAULT_UNIX_VFS="unix-none"' -DSQLITE_ENABLE_{MATH_FUNCTIONS,COLUMN_METADATA,FTS5,RTREE} sqlite3
  cd ..
}

python() {
  # Merit gives sys.maxsize 64 bits, as programs expect. Where C takes a size, it is the largest one.
  sed -i '/^PyLong_AsSsize_t(/,/^}/s/^  overflow:$/&\n    if (sign > 0 \&\& PyLong_AsLongLong(vv) == PY_LLONG_MAX) return PY_SSIZE_T_MAX;/' cpython/Objects/longobject.c
  mkdir -p python && cd python
  # wasi-libc of 2022 has no pthread_t; CPython brings its own stubs.
  local flags="-DNDEBUG -fwrapv -DSIZEOF_PTHREAD_T=4"
  CONFIG_SITE=../cpython/Tools/wasm/config.site-wasm32-wasi PKG_CONFIG_LIBDIR=/none \
    ZLIB_CFLAGS="-I$work/zlib" ZLIB_LIBS="-L$work/zlib -lz" BZIP2_CFLAGS="-I$work/bzip2" BZIP2_LIBS="-L$work/bzip2 -lbz2" \
    LIBLZMA_CFLAGS="-I$work/xz/src/liblzma/api" LIBLZMA_LIBS="-L$work/xz/src/liblzma/.libs -llzma" \
    LIBSQLITE3_CFLAGS="-I$work/sqlite" LIBSQLITE3_LIBS="-L$work/sqlite -lsqlite3" \
    CC="clang-19 $target" CPP="clang-19 $target -E" AR=llvm-ar-19 RANLIB=llvm-ranlib-19 OPT="-O3 $flags" \
    ../cpython/configure -C --host=wasm32-unknown-wasi --build="$(../cpython/config.guess)" \
    --with-build-python="$work/native/python" --without-ensurepip --disable-test-modules --with-suffix=.wasm --with-pymalloc
  # -O3 makes of a table that is filled once a function larger than Merit accepts.
  make Objects/unicodeobject.o OPT="-O1 $flags"
  make -j"$jobs" python.wasm
  cd ..
  mkdir -p include && cp -r cpython/Include/. python/pyconfig.h include
}

# What numpy's build system, Meson, runs: Cython, and the native Python, which describes
# itself as the one for WebAssembly.
tools() {
  python3 -m pip install --quiet --root-user-action ignore --no-deps --python-version 3.13 --only-binary :all: \
    --require-hashes --upgrade --target cython -r "$here/tools.txt"
  mkdir -p bin
  # Cython writes the absolute path of a source into the module unless the source is below
  # the current folder, which is numpy-build when Meson calls it.
  cat >bin/cython <<END
#!/bin/sh
for argument; do
  case \$argument in
    $work/*) argument=\${argument#$work/} ;;
    ../*) argument=\${argument#../} ;;
    numpy/*) argument=numpy-build/\$argument ;;
  esac
  set -- "\$@" "\$argument"
  shift
done
cd $work && PYTHONPATH=cython exec native/python -m cython "\$@"
END
  printf '#!/bin/sh\nPYTHONPATH=%s WASI_PYTHON_INCLUDE=%s exec %s "$@"\n' "$here/native:$work/cython" "$work/include" "$work/native/python" >bin/python-for-wasi
  chmod +x bin/*
  sed "s|@HERE@|$here|; s|@WORK@|$work|" "$here/cross.ini.in" >cross.ini
}

# WebAssembly checks the type of a function when it is called through a pointer, and Python
# passes a second argument to methods and getters that do not declare one.
declare_second_argument() { # declare_second_argument FILE FUNCTION...
  local file=$1 IFS='|'
  shift
  sed -i -E "s/^(.*\\b($*)\\([A-Za-z_]+ ?\\*[a-z_ ]+)\\)/\\1, void *unused)/" "$file"
}

numpy() {
  # The library leaves f2py out, and "from numpy import *" imports each module of this list.
  sed -i 's/^        "f2py", "test", /        "test", /' numpy/numpy/__init__.py
  # The architecture is known as Emscripten only.
  sed -i 's/^#elif defined(__EMSCRIPTEN__)$/#elif defined(__wasm__)/' numpy/numpy/_core/include/numpy/npy_cpu.h
  declare_second_argument numpy/numpy/_core/src/multiarray/array_converter.c array_converter_get_scalar_input
  declare_second_argument numpy/numpy/_core/src/multiarray/array_method.c boundarraymethod__supports_unaligned
  declare_second_argument numpy/numpy/_core/src/umath/_scaled_float_dtype.c sfloat___reduce__
  # numpy.random has two modules with the same functions, compiled with different types of
  # integers. In one file, the names of one set must differ, or calls of the other trap.
  sed -nE 's/^[a-zA-Z].*\b(random_\w+)\(.*/#define \1 mtrand_\1/p' numpy/numpy/random/src/distributions/distributions.c | sort -u >legacy_names.h
  export WASM_FLAGS="$target $emulated" LEGACY_NAMES=$work/legacy_names.h PATH=$work/bin:$PATH
  # No BLAS: numpy's own loops. No dispatch: WebAssembly has one set of vector instructions.
  [ -f numpy-build/build.ninja ] || python-for-wasi numpy/vendored-meson/meson/meson.py setup numpy-build numpy \
    --cross-file cross.ini --prefix=/numpy -Ddebug=false -Doptimization=3 -Db_ndebug=true -Dpython.install_env=prefix \
    -Dallow-noblas=true -Dblas=none -Dlapack=none -Ddisable-threading=true -Ddisable-optimization=true
  cd numpy-build
  # Six modules are for numpy's own tests: 160 KB of 15 MB, so that they test the file that ships.
  ninja -t targets all | sed -n 's/^\([^:]*\.objects\): .*/\1/p' | sort >modules
  ninja -j"$jobs" $(cat modules)
  cd ..
}

# One archive for each module: linalg's two modules share objects, and the linker takes
# an object of several archives once.
link() {
  mkdir -p link && cd link && rm -f ./*.a
  local compile="clang-19 $target $emulated -O3 -DNDEBUG -fwrapv -I../include -I." list name libraries=()
  declare_second_argument ../regex/src/_regex.c match_capturesdict match_allcaptures match_allspans pattern_groupindex pattern_pickled_data
  $compile -c ../regex/src/_regex.c ../regex/src/_regex_unicode.c "$here"/{memory,throw,fenv}.c
  echo 'MODULE(PyInit__regex, "regex._regex")' >modules.h
  while read -r list; do
    name=$(echo "${list%.objects}" | tr / .)
    echo "MODULE(PyInit_${name##*.}, \"$name\")" >>modules.h
    llvm-ar-19 rcsD "$name.a" $(grep '\.o$' "../numpy-build/$list")
    libraries+=($(grep '\.a$' "../numpy-build/$list" || true))
  done <../numpy-build/modules
  $compile -c "$here/main.c"
  # The stack of C is below all data, so that an overflow is a trap. CPython raises
  # RecursionError before that: sort, which takes the most stack, at half of it.
  clang-19 $target -Wl,-z,stack-size=4194304 -Wl,--stack-first -Wl,--strip-all -o ../linked.wasm \
    ./*.o ./*.a $(printf '%s\n' "${libraries[@]}" | sort -u) \
    ../python/libpython3.13.a $(find ../python/Modules -name '*.a' | sort) ../{zlib/libz,bzip2/libbz2,xz/src/liblzma/.libs/liblzma,sqlite/libsqlite3}.a \
    -lc++ -lc++abi -lc-printscan-long-double -lwasi-emulated-signal -lwasi-emulated-getpid -lwasi-emulated-process-clocks -lm
  cd ..
}

library() {
  sed "s|$work/||g; s|$here/||g" numpy-build/numpy/__config__.py >config.py
  native/python -I "$here/library.py" library.section cpython/Lib= numpy/numpy=numpy config.py=numpy/__config__.py \
    regex/regex=regex "$here/sysconfigdata.py=_sysconfigdata__wasi_wasm32-wasi.py"
  cat linked.wasm library.section >python.wasm
}

# The shell stops at the first error of a part only if nothing waits for its status.
failed() {
  tail -20 "$work/$part.log" >&2
  echo "build.sh: $part failed; its output is in $work/$part.log" >&2
}
trap failed EXIT
for part in sources native libraries python tools numpy link library; do
  step "$part"
  $part >"$part.log" 2>&1
done
trap - EXIT
built=$(sha256sum python.wasm | cut -d' ' -f1)
step "built: $(wc -c <python.wasm) bytes, sha256 $built"
times >times.txt && tail -1 times.txt # CPU time: user, system
if [ -n "${repin:-}" ]; then
  sed -i "s/\"digest\": \".*\"/\"digest\": \"$built\"/" "$pin"
elif [ -n "$digest" ] && [ "$built" != "$digest" ]; then
  echo "build.sh: the pinned digest is $digest: another version of the packages in apt.txt? $work/python.wasm was not installed" >&2
  exit 1
fi
mkdir -p "$home" && install -m 600 python.wasm "$home/.python-$$" && mv "$home/.python-$$" "$(installed "$built")"
echo "installed: $(installed "$built")"
[ -n "${1:-}" ] || rm -rf "$work"
