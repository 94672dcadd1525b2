package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sandbox/fuel"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/wire"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// script is a reward in source form with everything that it may read.
type script struct {
	language *language
	name     string
	entry    string            // a key of files
	files    map[string][]byte // by slash-separated path
}

// language is how the scripts of one language are run.
type language struct {
	extension   string // of the file; a folder has reward with this extension
	interpreter interpreter.Interpreter
	// source gives what runs s, but for the module of the interpreter.
	source func(s *script) source
	// brings gives what of Merit's own runs with every script.
	brings func() map[string][]byte
}

func languages() []*language {
	return []*language{
		{extension: ".py", interpreter: interpreter.Python(), source: pythonSource, brings: pythonBrings},
		{extension: ".js", interpreter: interpreter.JavaScript(), source: javascriptSource, brings: javascriptBrings},
	}
}

// scriptLanguage returns the language that path is written in, or nil if it is
// no script.
func scriptLanguage(path string) *language {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	for _, l := range languages() {
		if !info.IsDir() {
			if filepath.Ext(path) == l.extension {
				return l
			}
			continue
		}
		if entry, err := os.Stat(filepath.Join(path, "reward"+l.extension)); err == nil && entry.Mode().IsRegular() {
			return l
		}
	}
	return nil
}

// IsScript reports whether LoadFile takes path for a script, which needs no
// build: a file, or a folder with a script called reward.
func IsScript(path string) bool { return scriptLanguage(path) != nil }

// loadScript loads a script: a file, or a folder with a file called reward and
// the packages that it imports.
func (r *Runtime) loadScript(ctx context.Context, l *language, path string) (*Module, error) {
	s, err := readScript(l, path, int64(r.config.ModuleMiB)<<20)
	if err != nil {
		return nil, err
	}
	folder := interpreters(r.config)
	if r.fleet != nil {
		if _, err := l.interpreter.Load(folder); err != nil {
			return nil, err
		}
		return r.loadRemote(ctx, s.remote(), s.digest(l.interpreter))
	}
	src := l.source(s)
	src.module, src.digest = interpreterModule(l.interpreter, folder), s.digest(l.interpreter)
	return r.load(ctx, src)
}

// remote is the script on its way to a worker process.
func (s *script) remote() wire.Module {
	m := wire.Module{Name: s.name, Language: s.language.extension, Entry: s.entry}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		m.Files = append(m.Files, wire.File{Name: name, Data: s.files[name]})
	}
	return m
}

// leftOut reports whether a folder is no part of a reward: what it is tested
// with, and what tools leave behind.
func leftOut(folder string) bool {
	return strings.HasPrefix(folder, ".") || folder == "fixtures" || folder == "node_modules"
}

// stale reports whether a file is bytecode that Python would not look at here,
// because it is checked against the time of its source. What "python -m
// compileall --invalidation-mode unchecked-hash" writes is not.
func stale(name string, data []byte) bool {
	const flags, unchecked = 4, 1
	return path.Ext(name) == ".pyc" && path.Base(path.Dir(name)) == "__pycache__" && (len(data) <= flags || data[flags] != unchecked)
}

// testFile reports whether a file tests a reward and is no part of it.
func testFile(name string) bool {
	for _, pattern := range []string{"test_*.py", "*.test.js", "*.test.mjs"} {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// readScript reads a script without following a link out of its folder.
func readScript(l *language, at string, most int64) (*script, error) {
	fail := func(kind fault.Kind, where, what, hint string, err error) error {
		return &fault.Error{Boundary: fault.Sandbox, Kind: kind, Where: escape(where), What: what, Hint: hint, Err: err}
	}
	info, err := os.Stat(at)
	folder, only := at, ""
	if err == nil && !info.IsDir() {
		folder, only = filepath.Split(at)
	}
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(filepath.Clean(folder))
	}
	if err != nil {
		return nil, fail(fault.Missing, at, "the reward cannot be read", "check the path", err)
	}
	defer root.Close()
	s := &script{language: l, name: strings.TrimSuffix(filepath.Base(at), l.extension), entry: "reward" + l.extension, files: map[string][]byte{}}
	if only != "" {
		s.entry = only
		f, err := root.Open(only)
		if err == nil {
			s.files[only], err = readFile(f, most)
			_ = f.Close() // it was only read
		}
		switch {
		case errors.Is(err, errTooLarge):
			return nil, fail(fault.Refused, at, "the file is larger than module_mib", "raise module_mib if you trust it", nil)
		case err != nil:
			return nil, fail(fault.Missing, at, "the reward cannot be read", "check the path", err)
		}
		return s, nil
	}
	var total int64
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && leftOut(base):
			return fs.SkipDir
		case d.IsDir(), testFile(base):
			return nil
		}
		data := []byte(nil)
		if err = errNotRegular; d.Type().IsRegular() {
			data, err = readRegular(root, name, most-total)
		}
		switch {
		case errors.Is(err, errNotRegular):
			return fail(fault.Refused, path.Join(at, name), err.Error(), "copy what it stands for into the folder: links are not followed", nil)
		case errors.Is(err, errChanged):
			return fail(fault.Refused, path.Join(at, name), err.Error(), "try again when nothing writes to the folder", nil)
		case errors.Is(err, errTooLarge):
			return fail(fault.Refused, at, "the folder is larger than module_mib", "leave out what the reward does not import, or raise module_mib", nil)
		case err != nil || stale(name, data):
			return err
		}
		total += int64(len(data))
		s.files[name] = data
		return nil
	})
	if err != nil {
		if fault.As(err) == nil {
			err = fail(fault.Missing, at, "the reward cannot be read", "check the files of the folder", err)
		}
		return nil, err
	}
	return s, nil
}

// digest covers every file, those that Merit runs with the script, and the
// interpreter.
func (s *script) digest(i interpreter.Interpreter) string {
	h := sha256.New()
	fmt.Fprintln(h, "merit script 2", i.Digest, s.entry)
	for _, files := range []map[string][]byte{s.language.brings(), s.files} {
		fmt.Fprintln(h, len(files))
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(files[name]))
		}
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// interpreters is the folder of the interpreters.
func interpreters(cfg Config) string {
	if cfg.InterpreterDir != "" {
		return cfg.InterpreterDir
	}
	return interpreter.Folder()
}

// interpreterModule is an interpreter in a folder; its digest is known without
// reading it.
func interpreterModule(i interpreter.Interpreter, folder string) engine.Module {
	return engine.Module{Digest: i.Digest, Read: func() ([]byte, error) { return i.Load(folder) }}
}

// preload compiles an interpreter for all scripts to come.
func (r *Runtime) preload(ctx context.Context, i interpreter.Interpreter) error {
	return r.engine.Preload(ctx, interpreterModule(i, r.config.InterpreterDir), fuel.Options{Limits: r.gate(true)})
}

// Precompile compiles an interpreter into the cache, as the first script would.
func (r *Runtime) Precompile(ctx context.Context, i interpreter.Interpreter, folder string) error {
	anything := func(*fuel.Info) error { return nil }
	program, err := r.engine.Compile(ctx, interpreterModule(i, folder), fuel.Options{Limits: r.gate(true)}, anything)
	switch {
	case fault.As(err) != nil:
		return err
	case err != nil:
		return refusal(i.Title, "the interpreter cannot be compiled", "report it", err)
	}
	program.Close(ctx)
	return nil
}
