package packages

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// most is the maximum size of a package's files, in bytes: twice what a reward may have.
const most = 256 << 20

// nativeEndings end the names of files with native code.
var nativeEndings = []string{".so", ".pyd", ".dylib", ".dll", ".a"}

// unpackOnly unpacks the only wheel in a folder and returns its digest. Native parts are left
// out if the package does without them, and otherwise an error.
func unpackOnly(folder, into string, withoutNative bool) (digest string, err error) {
	found, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("pip left %d wheels in %s: %w", len(found), filepath.Base(folder), err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		return "", err
	}
	z, err := zip.OpenReader(found[0])
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(found[0]), err)
	}
	defer z.Close()
	left := int64(most)
	for _, f := range z.File {
		name, ok := placeOf(f.Name)
		isNative := slices.ContainsFunc(nativeEndings, func(e string) bool { return strings.HasSuffix(name, e) })
		switch {
		case isNative && !withoutNative:
			return "", native(filepath.Base(folder), instead[filepath.Base(folder)])
		case !ok || isNative:
			continue
		}
		n, err := unpack(f, filepath.Join(into, filepath.FromSlash(name)), left)
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", filepath.Base(found[0]), f.Name, err)
		}
		left -= n
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}

// placeOf returns where a file of a wheel belongs, and whether the sandbox can use it:
// programs, headers and lists of installed files are left out.
func placeOf(name string) (string, bool) {
	if strings.HasSuffix(name, "/") || !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", false
	}
	first, rest, _ := strings.Cut(name, "/")
	switch {
	case strings.HasSuffix(first, ".data"):
		scheme, inside, _ := strings.Cut(rest, "/")
		return inside, (scheme == "purelib" || scheme == "platlib") && inside != ""
	case strings.HasSuffix(first, ".dist-info"):
		return name, path.Base(name) == "METADATA" || path.Base(name) == "entry_points.txt" || strings.Contains(strings.ToLower(rest), "licen")
	}
	return name, true
}

// unpack writes one file of at most left bytes, and returns its size. Of two packages with
// the same file, the later one has it, as with pip.
func unpack(f *zip.File, to string, left int64) (int64, error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, err
	}
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, left+1))
	if err == nil && n > left {
		err = &fault.Error{Boundary: fault.Data, Kind: fault.Refused, Where: filepath.Base(to), What: "the files of the package are too large", Hint: "a reward may have 128 MiB of files"}
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	return n, err
}
