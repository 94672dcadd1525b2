#!/usr/bin/env bash
# build.sh builds the userland of machines, the shell and the core utilities as WebAssembly
# with Python packages beside them, and installs it where merit looks for interpreters. It does
# nothing if the pinned build is installed.
#
#   build.sh [--pin] [FOLDER]
#
# FOLDER holds everything built, 60 MB; without it, a temporary folder does. The bytes depend
# on the version of Go that go.mod names, on go.sum and on packages.txt, not on folders, the
# machine or the day. --pin writes the digest to ../interpreter/userland.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
pin=$here/../interpreter/userland.json
[ "${1:-}" != --pin ] || { repin=1; shift; }

home=${MERIT_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/merit}/interpreters
digest=$(sed -n 's/.*"digest": "\(.*\)".*/\1/p' "$pin")
installed() { echo "$home/userland-${1:0:16}.wasm"; }
if [ -z "${repin:-}" ] && echo "$digest  $(installed "$digest")" | sha256sum --check --status 2>/dev/null; then
  echo "the userland is installed: $(installed "$digest")"
  exit
fi

work=${1:-$(mktemp -d)}
mkdir -p "$work" && cd "$work" && work=$PWD
export CGO_ENABLED=0 GOOS=wasip1 GOARCH=wasm GOFLAGS= GOWORK=off
GOTOOLCHAIN=go$(sed -n 's/^toolchain go//p' "$here/go.mod")
export GOTOOLCHAIN LC_ALL=C

# The build runs in a copy, because the shell is patched there: all paths that get into the
# file are relative to it.
sources() {
  rm -rf guest && mkdir guest
  cp "$here"/*.go "$here/go.mod" "$here/go.sum" guest
  cd guest
  go mod download
  change mvdan.cc/sh/v3 sh
  change github.com/benhoyt/goawk awk
  cd ..
}

# change MODULE FOLDER lets the build use a patched copy of a module.
change() {
  cp -r "$(go list -m -f '{{.Dir}}' "$1")" "$2"
  chmod -R u+w "$2"
  patch --silent --directory "$2" --strip 1 <"$here/patches/$2.patch"
  go mod edit -replace "$1=./$2"
}

# drop FILE FUNCTION removes a function from a file.
drop() {
  grep -q "^$2" "$1" || { echo "build.sh: $1 lacks $2: another version of Go?" >&2; return 1; }
  awk -v start="$2" 'index($0, start) == 1 { skip = 1 } !skip { print } skip && /^}/ { skip = 0 }' "$1" >"$1.new"
  mv "$1.new" "$1"
}

# Go's library for WASI lacks pipes and permissions, because WASI does. Machines have both.
overlay() {
  local root
  root=$(go env GOROOT)/src
  rm -rf overlay && mkdir overlay
  cp "$root/syscall/fs_wasip1.go" overlay/syscall.go
  for function in "func Pipe(" "func Chmod(" "func Fchmod(" "func setDefaultMode("; do
    drop overlay/syscall.go "$function"
  done
  cat "$here/overlay/syscall.go.txt" >>overlay/syscall.go
  cp "$here/overlay/pipe.go.txt" overlay/pipe.go
  sed -e '/if fs.sys.Filetype == syscall.FILETYPE_DIRECTORY {/,/^	}$/d' \
    -e 's/^	\/\/ WASI does not support unix-like.*/	fs.mode |= machineMode(fs.sys)/' "$root/os/stat_wasip1.go" >overlay/stat.go
  grep -q machineMode overlay/stat.go || { echo "build.sh: another os/stat_wasip1.go: another version of Go?" >&2; return 1; }
  cat "$here/overlay/stat.go.txt" >>overlay/stat.go
  cat >overlay.json <<JSON
{"Replace": {
  "$root/syscall/fs_wasip1.go": "$work/overlay/syscall.go",
  "$root/os/pipe_wasm.go": "$work/overlay/pipe.go",
  "$root/os/stat_wasip1.go": "$work/overlay/stat.go"
}}
JSON
}

compile() {
  (cd guest && go build -mod=mod -trimpath -buildvcs=false -overlay "$work/overlay.json" -buildmode=c-shared -ldflags "-s -w -buildid=" -o ../shell.wasm .)
}

# The packages of Python, without what only their own tests and installers read, in a custom
# section, as the library of CPython is.
packages() {
  rm -rf wheels site && mkdir wheels site
  python3 -m pip download --quiet --no-deps --only-binary :all: --platform any --python-version 3.13 --implementation py \
    --require-hashes --dest wheels -r "$here/packages.txt"
  # Native code in these is optional, and left out.
  python3 -m pip download --quiet --no-deps --only-binary :all: --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 --python-version 3.13 \
    --require-hashes --dest wheels -r "$here/plain.txt"
  python3 "$here/section.py" shell.wasm wheels userland.wasm
}

failed() {
  tail -20 "$work/$part.log" >&2
  echo "build.sh: $part failed; its output is in $work/$part.log" >&2
}
trap failed EXIT
for part in sources overlay compile packages; do
  printf '== %s (%ss)\n' "$part" "$SECONDS"
  $part >"$part.log" 2>&1
done
trap - EXIT
built=$(sha256sum userland.wasm | cut -d' ' -f1)
printf '== built: %s bytes, sha256 %s (%ss)\n' "$(wc -c <userland.wasm)" "$built" "$SECONDS"
if [ -n "${repin:-}" ]; then
  sed -i "s/\"digest\": \".*\"/\"digest\": \"$built\"/" "$pin"
elif [ "$built" != "$digest" ]; then
  echo "build.sh: the pinned digest is $digest; $work/userland.wasm was not installed" >&2
  exit 1
fi
mkdir -p "$home" && install -m 600 userland.wasm "$home/.userland-$$" && mv "$home/.userland-$$" "$(installed "$built")"
echo "installed: $(installed "$built")"
[ -n "${1:-}" ] || { chmod -R u+w "$work" && rm -rf "$work"; }
