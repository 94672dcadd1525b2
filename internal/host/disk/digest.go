package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/durable"
)

// Limits of a plug-in's folder, so that a wrong path fails soon.
const (
	maxFiles = 50_000
	maxBytes = 4 << 30
)

// Digest returns the hexadecimal SHA-256 that identifies the plug-in at path. For a
// file, it is the SHA-256 of the file's bytes. For a folder, it covers the manifest's
// command and every other file with its name, in the order of the names, including
// files behind links. It leaves out the rest of the manifest, what Python compiles,
// .git, and runs, the folder of training runs. It takes about 1 ms per MB. For a
// built-in plug-in, it covers the name and the build ID of the program.
func Digest(path string) (string, error) {
	path = bare(path)
	f, err := formOf(path)
	if err != nil {
		return "", err
	}
	switch f {
	case builtin:
		return builtinDigest(path)
	case folder:
	default:
		return digestFile(path)
	}
	m, err := ReadManifest(path)
	if err != nil {
		return "", err
	}
	return digestFolder(path, m.Command)
}

func digestFolder(dir string, command []string) (string, error) {
	words, err := json.Marshal(command)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", unreadable(dir, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "merit plug-in 1\n%s\n", words)
	err = eachFile(dir, func(name string, d fs.DirEntry) error {
		full := filepath.Join(dir, name)
		if d.Type() == fs.ModeSymlink {
			to, err := os.Readlink(full)
			fmt.Fprintf(h, "link %q %q\n", filepath.ToSlash(name), to)
			if err != nil || !isFile(full) {
				return err
			}
		}
		digest, err := digestFile(full)
		fmt.Fprintf(h, "%s %q\n", digest, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// isFile reports whether path is a file, or a link that leads to one.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// leftOut reports whether name, relative to a plug-in's folder, is not part of its
// code.
func leftOut(name string) bool {
	parts := strings.Split(filepath.ToSlash(name), "/")
	return parts[0] == ".git" || parts[0] == "runs" || slices.Contains(parts, "__pycache__")
}

// checkLink returns an error if path is a link to a folder whose files eachFile does
// not visit.
func checkLink(dir, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return nil // nothing can run there, or it is a file that eachFile visits
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return unreadable(path, err)
	}
	if name, err := filepath.Rel(dir, to); err == nil && filepath.IsLocal(name) && !leftOut(name) {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Refused, Where: path, What: "is a link to a folder outside the plug-in, " + to,
		Hint: "copy the folder into the plug-in, or name it in the plug-in's options: the digest does not cover files outside the plug-in",
	}
}

// eachFile visits the files and links of a plug-in's folder by their relative names,
// sorted. It leaves out the manifest and all that is not code of the plug-in.
func eachFile(dir string, visit func(name string, d fs.DirEntry) error) error {
	files, size := 0, int64(0)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return unreadable(path, err)
		}
		name, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && leftOut(name):
			return filepath.SkipDir
		case d.IsDir() || name == ManifestName:
			return nil
		case !d.Type().IsRegular() && d.Type() != fs.ModeSymlink:
			return &fault.Error{Boundary: fault.Plugin, Kind: fault.Refused, Where: path, What: "is neither a file nor a link", Hint: "remove it from the plug-in's folder"}
		}
		info, err := d.Info()
		if d.Type() == fs.ModeSymlink {
			if err := checkLink(dir, path); err != nil {
				return err
			}
			if isFile(path) {
				info, err = os.Stat(path) // count the size of the target, which is what Merit reads
			}
		}
		if err != nil {
			return unreadable(path, err)
		}
		if files, size = files+1, size+info.Size(); files > maxFiles || size > maxBytes {
			return &fault.Error{
				Boundary: fault.Plugin, Kind: fault.Exhausted, Where: dir,
				What: fmt.Sprintf("contains more than %d files or %d GiB", maxFiles, maxBytes>>30),
				Hint: "keep only what the plug-in runs in its folder; put data sets elsewhere and name them in its options",
			}
		}
		return visit(name, d)
	})
}

func digestFile(path string) (string, error) {
	sum, _, err := durable.Digest(path)
	if err != nil {
		return "", unreadable(path, err)
	}
	return sum, nil
}

func unreadable(path string, err error) error {
	return &fault.Error{Boundary: fault.Plugin, Kind: fault.Missing, Where: path, What: "cannot be read", Err: err, Hint: "check its permissions"}
}
