package disk

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
)

// versions is the folder of installed copies; the names next to it are links into it.
const versions = ".installed"

// Home returns where plug-ins are installed: plugins in $MERIT_HOME, or else in the
// merit folder of the user's cache. It returns "" if neither exists.
func Home(getenv func(string) string) string {
	if home := getenv("MERIT_HOME"); home != "" {
		return filepath.Join(home, "plugins")
	}
	for _, base := range []string{getenv("XDG_CACHE_HOME"), filepath.Join(getenv("HOME"), ".cache")} {
		if filepath.IsAbs(base) {
			return filepath.Join(base, "merit", "plugins")
		}
	}
	return ""
}

// Install copies the plug-in at path into home as m.Name, a folder with m as its
// manifest, and returns the path of the copy and its manifest with command and digest.
// It first calls try with the copy. If try succeeds, the copy atomically replaces a
// plug-in of the same name; on an error, the old one stays.
func Install(path, home string, m Manifest, try func(path string) error) (string, *Manifest, error) {
	path = bare(path)
	f, err := formOf(path)
	if err != nil {
		return "", nil, err
	}
	if f == builtin {
		return "", nil, alreadyBuiltIn(path, "use it by its name in any configuration; to install another one, give the path of a file or folder")
	}
	m.Command, m.Digest = nil, ""
	if f == folder {
		of, err := ReadManifest(path)
		if err != nil {
			return "", nil, err
		}
		if m.Command = of.Command; of.Options != nil {
			m.Options = of.Options // keep the author's own descriptions
		}
	}
	if problems := m.Validate(); len(problems) > 0 {
		return "", nil, joined(problems)
	}
	if err := os.MkdirAll(filepath.Join(home, versions), 0o700); err != nil {
		return "", nil, unwritable(home, err)
	}
	stage, err := os.MkdirTemp(filepath.Join(home, versions), ".copy-")
	if err != nil {
		return "", nil, unwritable(home, err)
	}
	defer os.RemoveAll(stage)
	if f == folder {
		err = copyFolder(path, stage)
	} else {
		file := m.Name
		switch f {
		case script:
			file += pythonSuffix
		case wasm:
			file += filepath.Ext(path)
		}
		m.Command = []string{file}
		err = copyFile(path, filepath.Join(stage, file))
	}
	if err != nil {
		return "", nil, err
	}
	return publish(stage, home, &m, try)
}

// publish gives a copy its digest and manifest, then its name.
func publish(stage, home string, m *Manifest, try func(path string) error) (string, *Manifest, error) {
	digest, err := digestFolder(stage, m.Command)
	if err != nil {
		return "", nil, err
	}
	m.Digest = "sha256:" + digest
	if err := os.WriteFile(filepath.Join(stage, ManifestName), nil, 0o600); err != nil {
		return "", nil, unwritable(stage, err)
	}
	if _, err := WriteManifest(stage, m); err != nil {
		return "", nil, err
	}
	if err := try(stage); err != nil {
		return "", nil, err
	}
	version := filepath.Join(versions, m.Name+"-"+digest[:12])
	link, target := filepath.Join(home, m.Name), filepath.Join(home, version)
	before, _ := os.Readlink(link)
	if there, err := Digest(target); err != nil || there != digest {
		if err := os.RemoveAll(target); err != nil {
			return "", nil, unwritable(target, err)
		}
		if err := os.Rename(stage, target); err != nil {
			return "", nil, unwritable(target, err)
		}
	} else if _, err := WriteManifest(target, m); err != nil {
		return "", nil, err
	}
	if err := renameio.Symlink(version, link); err != nil {
		return "", nil, unwritable(link, err)
	}
	if filepath.Dir(before) == versions && before != version {
		_ = os.RemoveAll(filepath.Join(home, before)) // a leftover does not match any plug-in's name
	}
	return link, m, nil
}

func copyFolder(from, to string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return unreadable(from, err)
	}
	return eachFile(from, func(name string, d fs.DirEntry) error {
		source, target := filepath.Join(from, name), filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return unwritable(target, err)
		}
		if d.Type() != fs.ModeSymlink {
			return copyFile(source, target)
		}
		points, err := os.Readlink(source)
		if err != nil {
			return unreadable(source, err)
		}
		if filepath.IsAbs(points) || !filepath.IsLocal(filepath.Join(filepath.Dir(name), points)) {
			return &fault.Error{
				Boundary: fault.Plugin, Kind: fault.Refused, Where: source, What: fmt.Sprintf("is a link out of the plug-in's folder, to %s", points),
				Hint: "copy its target into the folder; create a Python virtual environment where it is used",
			}
		}
		if err := os.Symlink(points, target); err != nil {
			return unwritable(target, err)
		}
		return nil
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return unreadable(from, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return unreadable(from, err)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode().Perm()&0o100)
	if err == nil {
		_, err = io.Copy(out, in)
		if end := out.Close(); err == nil {
			err = end
		}
	}
	if err != nil {
		return unwritable(to, err)
	}
	return nil
}
