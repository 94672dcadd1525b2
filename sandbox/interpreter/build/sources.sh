#!/usr/bin/env bash
# sources.sh FOLDER downloads what the interpreter is built from into FOLDER: the sources of
# CPython, zlib, bzip2, xz and SQLite and the libraries of C and C++ from Debian, the sources of
# numpy and regex from PyPI. Both clients use the machine's own settings; sources.sha256 pins every file.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/apt/lists/partial" && cd "$1"
sha256sum --quiet --check "$here/sources.sha256" 2>/dev/null && exit

# The machine may run another release of Debian, so apt gets a list of sources of its
# own with the machine's mirror, for this call only, and does not see what is installed.
mirror=${MERIT_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' | sed -n 's/^Debian //p' | head -1)}
[ -n "$mirror" ] || { echo "sources.sh: this machine has no mirror of Debian: set MERIT_DEBIAN_MIRROR to the address of one" >&2; exit 1; }
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >apt/trixie.list
own() { apt-get -qq -o Dir::Etc::SourceList="$PWD/apt/trixie.list" -o Dir::Etc::SourceParts=/dev/null \
  -o Dir::State::Lists="$PWD/apt/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$PWD/apt" -o APT::Sandbox::User= "$@"; }
own update
# Only upstream's own archives: Debian's patches may change while trixie is supported.
own source --download-only --tar-only python3.13 zlib bzip2 xz-utils sqlite3
rm sqlite3_*-www.tar.xz # its website

# Not installed: Debian allows one version of the C++ library for WebAssembly at a time, and
# rewards in C++ use another.
apt-get -qq download wasi-libc libc++-19-dev-wasm32 libc++abi-19-dev-wasm32

# pip wants the metadata of a package from its build system before it downloads the
# package's source. The modules in sdist answer from PKG-INFO, and nothing is built.
PYTHONPATH="$here/sdist" python3 -m pip download --quiet --no-deps --no-build-isolation --no-binary :all: \
  --require-hashes --dest . -r "$here/packages.txt"
sha256sum --quiet --check "$here/sources.sha256"
