package fleet

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/built"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/judge/judging"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// maxFiles is how many files a bundle may have.
const maxFiles = 100_000

// reward packs the files of r, and lets it name them as the bundle does.
func (p *packing) reward(r *merit.Reward) error {
	var errs []error
	module := func(path string) string {
		if path == "" {
			return ""
		}
		name, err := p.module(&merit.Reward{Module: path})
		errs = append(errs, err)
		return name
	}
	rest, script := merit.Reward{}, ""
	if c := judging.Of(*r); c != nil {
		judge := *c
		judge.Cache = "" // a worker's own
		rest.Judge = &judge
	}
	if c := rubrics.Of(*r); c != nil {
		rubric := *c
		if rubric.Judge != nil {
			judge := *rubric.Judge
			script, judge.Cache, judge.Script = module(judge.Script), "", ""
			rubric.Judge = &judge
		}
		rest.Rubric = &rubric
	}
	rest.EachPath(func(path string) string {
		name, err := p.add(path)
		for file, m := range p.files {
			if m.link != "" && strings.HasPrefix(file, name+"/") {
				err = &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: path, What: "a reward's folder holds a link", Hint: "copy what it points to into the folder"}
			}
		}
		errs = append(errs, err)
		return name
	})
	if script != "" {
		rubrics.Of(rest).Judge.Script = script
	}
	r.Module, r.Judge, r.Rubric = module(r.Module), rest.Judge, rest.Rubric
	return errors.Join(errs...)
}

// module packs what the digest of a reward covers, and returns how the bundle
// names it.
func (p *packing) module(r *merit.Reward) (string, error) {
	ref, err := r.Reference()
	if err != nil {
		return "", err
	}
	if err := built.Check(ref.Path); err != nil {
		return "", err
	}
	b, err := sandbox.ReadBundle(ref, p.limits)
	if err != nil {
		return "", err
	}
	root := p.named("")
	info, err := os.Stat(ref.Path)
	if err != nil {
		return "", err
	}
	base := filepath.Base(ref.Path)
	switch {
	case !b.Script():
		p.files[path.Join(root, base)] = member{data: b.Files[b.Entry]}
		return path.Join(root, base), nil
	case info.IsDir():
		root = path.Join(root, base)
		base = ""
	}
	for name, data := range b.Files {
		p.files[path.Join(root, name)] = member{data: data}
	}
	ref.Path = path.Join(root, base)
	return ref.String(), nil
}

// plugin packs the plug-in at a path with its manifest; none is no name. A
// built-in one is part of the worker's own program, and its digest is compared.
func (p *packing) plugin(at string) (string, error) {
	if at == "" || strings.HasPrefix(at, disk.BuiltIn) {
		return at, nil
	}
	name, err := p.add(at)
	if err != nil {
		return "", err
	}
	manifest := strings.TrimSuffix(at, ".py") + "." + disk.ManifestName
	if _, err := os.Stat(manifest); err == nil {
		p.files[strings.TrimSuffix(name, ".py")+"."+disk.ManifestName] = member{path: manifest}
	}
	return "./" + name, nil
}

// add packs a file, or a folder with all that a plug-in's digest covers: not what
// Python compiles, nor .git and runs.
func (p *packing) add(at string) (string, error) {
	abs, err := filepath.Abs(at)
	if err != nil {
		return "", err
	}
	root := p.named(filepath.Base(abs))
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: at, What: "cannot be sent to workers", Err: err, Hint: "correct the path in the configuration"}
	}
	err = filepath.WalkDir(abs, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(abs, file)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		switch base := filepath.Base(name); {
		case d.IsDir() && (first == ".git" || first == "runs" || base == "__pycache__"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		if len(p.files) >= maxFiles {
			return tooMuch(at, "more files than a bundle may have")
		}
		m, size, err := memberAt(file, d)
		p.files[path.Join(root, filepath.ToSlash(name))] = m
		if p.size += size; p.size > maxUnpacked {
			return tooMuch(at, "more bytes than a bundle may have")
		}
		return err
	})
	return root, err
}

func tooMuch(at, what string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Exhausted, Where: at, What: what, Hint: "keep data sets where workers find them, and name them by another path"}
}

// memberAt returns a file or link of the disk, and how many bytes it has.
func memberAt(file string, d fs.DirEntry) (member, int64, error) {
	if d.Type() == fs.ModeSymlink {
		to, err := os.Readlink(file)
		return member{link: to}, 0, err
	}
	info, err := d.Info()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(file + ": it is neither a file nor a link")
	}
	if err != nil {
		return member{}, 0, err
	}
	return member{path: file, executable: info.Mode()&0o100 != 0}, info.Size(), nil
}
