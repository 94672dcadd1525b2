#!/bin/sh
# Builds the userland: build.sh OUTPUT. Go's library for WASI lacks pipes and permissions,
# because WASI does; machines have both. The overlay adds them to this build.
set -eu
out=$(realpath -m "$1")
here=$(cd "$(dirname "$0")" && pwd)
root=$(go env GOROOT)/src
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT

# drop FILE PATTERN removes the function that begins with PATTERN from a file.
drop() {
	grep -q "^$2" "$1" || { echo "userland: $1 lacks $2: adapt build.sh to this version of Go" >&2; exit 1; }
	awk -v start="$2" 'index($0, start) == 1 { skip = 1 } !skip { print } skip && /^}/ { skip = 0 }' "$1" > "$1.new"
	mv "$1.new" "$1"
}

cp "$root/syscall/fs_wasip1.go" "$scratch/syscall.go"
for function in "func Pipe(" "func Chmod(" "func Fchmod(" "func setDefaultMode("; do
	drop "$scratch/syscall.go" "$function"
done
cat "$here/overlay/syscall.go.txt" >> "$scratch/syscall.go"

cp "$here/overlay/pipe.go.txt" "$scratch/pipe.go"

# os.FileInfo takes the permissions from there.
sed -e '/if fs.sys.Filetype == syscall.FILETYPE_DIRECTORY {/,/^	}$/d' \
	-e 's/^	\/\/ WASI does not support unix-like.*/	fs.mode |= machineMode(fs.sys.Mode)\n	if fs.sys.Filetype == syscall.FILETYPE_UNKNOWN {\n		fs.mode |= ModeNamedPipe\n	}/' "$root/os/stat_wasip1.go" > "$scratch/stat.go"
grep -q machineMode "$scratch/stat.go" || { echo "userland: adapt build.sh to os/stat_wasip1.go of this version of Go" >&2; exit 1; }
cat >> "$scratch/stat.go" <<'GO'

func machineMode(m int) (mode FileMode) {
	mode = FileMode(m) & ModePerm
	for bit, special := range map[int]FileMode{0o4000: ModeSetuid, 0o2000: ModeSetgid, 0o1000: ModeSticky} {
		if m&bit != 0 {
			mode |= special
		}
	}
	return mode
}
GO

cat > "$scratch/overlay.json" <<JSON
{"Replace": {
	"$root/syscall/fs_wasip1.go": "$scratch/syscall.go",
	"$root/os/pipe_wasm.go": "$scratch/pipe.go",
	"$root/os/stat_wasip1.go": "$scratch/stat.go"
}}
JSON
cd "$here"
go mod download
cp -r "$(go list -m -f '{{.Dir}}' mvdan.cc/sh/v3)" "$scratch/sh"
chmod -R u+w "$scratch/sh"
patch -s -d "$scratch/sh" -p1 < patches/sh.patch
cp go.mod "$scratch/go.mod"
cp go.sum "$scratch/go.sum"
echo "replace mvdan.cc/sh/v3 => $scratch/sh" >> "$scratch/go.mod"
GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 GOFLAGS= go build -modfile "$scratch/go.mod" -trimpath -overlay "$scratch/overlay.json" -buildmode=c-shared -ldflags "-s -w" -o "$out" .
