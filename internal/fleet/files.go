package fleet

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/asking"
	"github.com/merit-rl/merit/internal/base/built"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/judge/judging"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// maxFiles is the largest number of files in a package.
const maxFiles = 100_000

// reward packs the files of r and replaces the paths in r by names in the package.
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
		judge.Cache = "" // each worker uses its own
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
	if c := asking.Of(*r); c != nil {
		ask := *c
		if _, err := os.Stat(ask.Cache); err != nil {
			ask.Cache = ""
		}
		rest.Ask = &ask // answers that are known travel with the job
	}
	rest.EachPath(func(path string) string {
		name, err := p.add(path)
		errs = append(errs, err, p.linkless(path, name, "the reward's folder"))
		return name
	})
	if script != "" {
		rubrics.Of(rest).Judge.Script = script
	}
	r.Module, r.Judge, r.Rubric, r.Ask = module(r.Module), rest.Judge, rest.Rubric, rest.Ask
	if r.Otherwise != nil {
		next := *r.Otherwise
		errs = append(errs, p.reward(&next))
		r.Otherwise = &next
	}
	return errors.Join(errs...)
}

// linkless returns an error if what was packed of a path under a name contains a link: a worker
// reads no file that is not the job's.
func (p *packing) linkless(at, name, whose string) error {
	for file, m := range p.files {
		if m.link != "" && strings.HasPrefix(file, name+"/") {
			return &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: at, What: whose + " contains a symbolic link", Hint: "copy the target of the link into the folder"}
		}
	}
	return nil
}

// tasks packs a folder of Harbor tasks.
func (p *packing) tasks(at string) (string, error) {
	name, err := p.folder(at, ".git")
	return name, errors.Join(err, p.linkless(at, name, "the folder of tasks"))
}

// module packs the files that the digest of a reward covers, and returns the reward's name in
// the package.
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

// plugin packs the plug-in at a path, with its manifest. An empty path returns an empty name. A
// built-in plug-in is part of the worker's program, and the worker compares its digest.
func (p *packing) plugin(at string) (string, error) {
	if at == "" || strings.HasPrefix(at, disk.BuiltIn) {
		return at, nil
	}
	at, sandboxed := strings.CutPrefix(at, disk.Sandbox)
	name, err := p.add(at)
	if err != nil {
		return "", err
	}
	manifest := strings.TrimSuffix(at, ".py") + "." + disk.ManifestName
	if _, err := os.Stat(manifest); err == nil {
		p.files[strings.TrimSuffix(name, ".py")+"."+disk.ManifestName] = member{path: manifest}
	}
	if sandboxed {
		return disk.Sandbox + "./" + name, nil
	}
	return "./" + name, nil
}

// add packs a file, or a folder with everything that a plug-in's digest covers: all but
// Python's compiled files, .git and runs.
func (p *packing) add(at string) (string, error) { return p.folder(at, ".git", "runs") }

// folder packs a file, or a folder without Python's compiled files and some of the folders in it.
func (p *packing) folder(at string, without ...string) (string, error) {
	abs, err := filepath.Abs(at)
	if err != nil {
		return "", err
	}
	root := p.named(filepath.Base(abs))
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", &fault.Error{Boundary: fault.Fleet, Kind: fault.Missing, Where: at, What: "the path cannot be sent to workers", Err: err, Hint: "correct the path in the configuration"}
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
		case d.IsDir() && (slices.Contains(without, first) || base == "__pycache__"):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		if len(p.files) >= maxFiles {
			return tooMuch(at, "too many files for a bundle")
		}
		m, size, err := memberAt(file, d)
		p.files[path.Join(root, filepath.ToSlash(name))] = m
		if p.size += size; p.size > maxUnpacked {
			return tooMuch(at, "too many bytes for a bundle")
		}
		return err
	})
	return root, err
}

func tooMuch(at, what string) error {
	return &fault.Error{Boundary: fault.Fleet, Kind: fault.Exhausted, Where: at, What: what, Hint: "store data sets where workers can read them, and refer to them by that path"}
}

// memberAt returns a file or link on disk, and its size in bytes.
func memberAt(file string, d fs.DirEntry) (member, int64, error) {
	if d.Type() == fs.ModeSymlink {
		to, err := os.Readlink(file)
		return member{link: to}, 0, err
	}
	info, err := d.Info()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New(file + " is neither a file nor a link")
	}
	if err != nil {
		return member{}, 0, err
	}
	return member{path: file, executable: info.Mode()&0o100 != 0}, info.Size(), nil
}
