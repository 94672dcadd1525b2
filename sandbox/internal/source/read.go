package source

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// readScript reads a script. It follows no link out of the script's folder.
func readScript(l Language, at string, most int64) (*Script, error) {
	s := &Script{Language: l, Name: strings.TrimSuffix(filepath.Base(at), l.Extension()), Files: map[string][]byte{}}
	folder := at
	info, err := os.Stat(at)
	if err == nil && !info.IsDir() {
		folder, s.Entry = filepath.Split(at)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(filepath.Clean(folder))
	}
	if err != nil {
		return nil, unread(at, "check the path", err)
	}
	defer root.Close()
	if s.Entry != "" {
		return s, s.readOne(root, at, most)
	}
	s.Entry = "reward" + l.Extension()
	if err := s.readAll(root, at, most); err != nil {
		return nil, err
	}
	return s, s.native(at)
}

// Environment reads the environment in a file, alone or with all other files of its folder.
func Environment(at string, whole bool, languages Languages, most Sizes) (Source, error) {
	l := languages.Of(at)
	if l == nil {
		return ModuleFile(at, most)
	}
	folder, entry := filepath.Split(at)
	s := &Script{Language: l, Name: strings.TrimSuffix(entry, l.Extension()), Entry: entry, Files: map[string][]byte{}}
	root, err := os.OpenRoot(filepath.Clean(folder))
	if err != nil {
		return Source{}, unread(at, "check the path", err)
	}
	defer root.Close()
	read := s.readOne
	if whole {
		read = s.readFolder
	}
	if err := read(root, at, most.Script); err != nil {
		return Source{}, err
	}
	return Source{Name: s.Name, Digest: s.Digest(languages), Script: s}, nil
}

// readOne reads a script of one file.
func (s *Script) readOne(root *os.Root, at string, most int64) error {
	f, err := root.Open(s.Entry)
	if err == nil {
		s.Files[s.Entry], err = readFile(f, most)
		_ = f.Close() // it was only read
	}
	switch {
	case errors.Is(err, errTooLarge):
		return Refusal(at, "the file is larger than sandbox.script_mib allows", "raise sandbox.script_mib if you trust it", nil)
	case err != nil:
		return unread(at, "check the path", err)
	}
	return nil
}

// readFolder reads the folder of an environment, without the runs of trainings in it.
func (s *Script) readFolder(root *os.Root, at string, most int64) error {
	return s.read(root, at, most, "runs")
}

// readAll reads the folder of a script.
func (s *Script) readAll(root *os.Root, at string, most int64) error {
	return s.read(root, at, most, "")
}

// read reads a folder without one of its folders.
func (s *Script) read(root *os.Root, at string, most int64, without string) error {
	left := most
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (omitted(base) || name == without):
			return fs.SkipDir
		case d.IsDir(), testFile(base):
			return nil
		}
		data := []byte(nil)
		if err = errNotRegular; d.Type().IsRegular() {
			data, err = readRegular(root, name, left)
		}
		if err != nil {
			return refusedFile(at, name, err)
		}
		if !stale(name, data, s.Language.Interpreter().Version) {
			left -= int64(len(data))
			s.Files[name] = data
		}
		return nil
	})
	if err != nil && fault.As(err) == nil {
		err = unread(at, "check the files of the folder", err)
	}
	return err
}

// refusedFile returns why a file of a folder cannot be part of a reward.
func refusedFile(at, name string, err error) error {
	switch {
	case errors.Is(err, errNotRegular):
		return Refusal(path.Join(at, name), err.Error(), "replace it with a regular file; for a link, use a copy of its target: links are not followed", nil)
	case errors.Is(err, errChanged):
		return Refusal(path.Join(at, name), err.Error(), "retry when nothing writes to the folder", nil)
	case errors.Is(err, errTooLarge):
		return Refusal(at, "the folder is larger than sandbox.script_mib allows", "leave out what the reward does not import (tests, tools, other packages), or raise sandbox.script_mib", nil)
	}
	return err
}

func unread(at, hint string, err error) error {
	return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Missing, Where: text.Escape(at), What: "the reward cannot be read", Hint: hint, Err: err}
}
