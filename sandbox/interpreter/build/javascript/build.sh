#!/usr/bin/env bash
# build.sh builds Merit's interpreter of JavaScript for WebAssembly from source and installs
# it where merit looks for interpreters. It does nothing if the pinned build is installed.
#
#   build.sh [--pin] [FOLDER]
#
# FOLDER holds the sources and everything built, 20 MB; without it, a temporary folder does.
# The bytes depend on the pinned sources and on the versions of the Debian packages of
# apt.txt, not on folders, the machine or the day. --pin writes the digest to js.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
pin=$here/../../js.json
[ "${1:-}" != --pin ] || { repin=1; shift; }

home=${MERIT_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/merit}/interpreters
digest=$(sed -n 's/.*"digest": "\(.*\)".*/\1/p' "$pin")
installed() { echo "$home/js-${1:0:16}.wasm"; }
if [ -z "${repin:-}" ] && echo "$digest  $(installed "$digest")" | sha256sum --check --status 2>/dev/null; then
  echo "the interpreter is installed: $(installed "$digest")"
  exit
fi

work=${1:-$(mktemp -d)}
mkdir -p "$work" && cd "$work" && work=$PWD
missing=$(while read -r package; do dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -q '^installed$' || echo "$package"; done <"$here/apt.txt")
[ -z "$missing" ] || { echo "build.sh: packages are missing: apt-get install" $missing >&2; exit 1; }

# The library of C from Debian, and QuickJS-NG from PyPI. Both clients use the machine's own
# settings; sources.sha256 pins both files.
sources() {
  mkdir -p sources && cd sources
  if ! sha256sum --quiet --check "$here/sources.sha256" 2>/dev/null; then
    apt-get -qq -o APT::Sandbox::User= download wasi-libc
    PYTHONPATH="$here/../sdist" python3 -m pip download --quiet --no-deps --no-build-isolation --no-binary :all: \
      --require-hashes --dest . -r "$here/packages.txt"
    sha256sum --quiet --check "$here/sources.sha256"
  fi
  cd ..
  rm -rf debian quickjs
  dpkg-deb -x sources/wasi-libc_*.deb debian
  mkdir quickjs && tar -xf sources/quickjs_ng-*.tar.gz -C quickjs --strip-components=2 --wildcards '*/upstream-quickjs/*'
  # What json.c and search.c do instead.
  instead 'obj = JS_ParseJSON_internal(ctx, str, len, "<input>", NULL);' 'obj = parse_json(ctx, str, len);'
  instead 'static int string_indexof_char(JSString \*p, int c, int from)' '__attribute__((unused)) static int slow_indexof_char(JSString *p, int c, int from)'
}

# instead replaces the only line of QuickJS with a pattern.
instead() {
  [ "$(grep -c "$1" quickjs/quickjs.c)" = 1 ] || { echo "build.sh: another QuickJS: not one line has $1" >&2; return 1; }
  sed -i "s/$1/$2/" quickjs/quickjs.c
}

# The newest instructions that the sandbox allows: no exceptions, threads or tail calls.
# Only relative paths get into the file.
link() {
  local target="--target=wasm32-wasi --sysroot=debian/usr -msimd128 -mbulk-memory -mnontrapping-fptoint -msign-ext -mmutable-globals"
  local compile="clang-19 $target -O3 -DNDEBUG -w -ffile-prefix-map=$here/="
  rm -f ./*.o
  for file in libregexp libunicode dtoa; do
    $compile -flto -Iquickjs -c quickjs/$file.c -o $file.o
  done
  $compile -flto -Iquickjs -D_GNU_SOURCE -D_WASI_EMULATED_PROCESS_CLOCKS -c "$here/main.c" -o main.o
  # Without -flto: the compiler itself adds calls of these functions.
  $compile -c "$here/../memory.c" -o memory.o
  # The stack of C is below all data, so that an overflow is a trap. QuickJS throws a
  # RangeError before that: Merit allows scripts half of it.
  clang-19 $target -O3 -flto -mexec-model=reactor -Wl,-z,stack-size=2097152 -Wl,--stack-first -Wl,--strip-all \
    -Wl,--initial-memory=4194304 -o js.wasm main.o libregexp.o libunicode.o dtoa.o memory.o -lwasi-emulated-process-clocks -lm
}

# The shell stops at the first error of a part only if nothing waits for its status.
failed() {
  tail -20 "$work/$part.log" >&2
  echo "build.sh: $part failed; its output is in $work/$part.log" >&2
}
trap failed EXIT
for part in sources link; do
  printf '== %s (%ss)\n' "$part" "$SECONDS"
  $part >"$part.log" 2>&1
done
trap - EXIT
built=$(sha256sum js.wasm | cut -d' ' -f1)
printf '== built: %s bytes, sha256 %s (%ss)\n' "$(wc -c <js.wasm)" "$built" "$SECONDS"
times >times.txt && tail -1 times.txt # CPU time: user, system
if [ -n "${repin:-}" ]; then
  sed -i "s/\"digest\": \".*\"/\"digest\": \"$built\"/" "$pin"
elif [ "$built" != "$digest" ]; then
  echo "build.sh: the pinned digest is $digest: another version of the packages in apt.txt? $work/js.wasm was not installed" >&2
  exit 1
fi
mkdir -p "$home" && install -m 600 js.wasm "$home/.js-$$" && mv "$home/.js-$$" "$(installed "$built")"
echo "installed: $(installed "$built")"
[ -n "${1:-}" ] || rm -rf "$work"
