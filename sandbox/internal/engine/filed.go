package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// A program in the cache is a folder with three things: what the gate found
// and the meter added, the skeleton of the metered module, and wazero's folder
// with the native code. wazero would read, validate and digest the whole
// module again to find its code, which takes longer than all the rest: so the
// code lies there under the name of the skeleton's, which has the same
// functions, types and sizes. That wazero took it from there is checked, so a
// wazero that reads it in another way, or a processor that needs other code,
// only costs a new compilation.
const (
	metaFile     = "meta.json"
	skeletonFile = "skeleton.wasm"
	hollowDir    = "hollow"
)

// programKey names what a module becomes under these options. The options'
// function is not part of it: it is asked again.
func programKey(digest string, o fuel.Options) string {
	o.AllowImport = nil
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "program %d %+v %s", fuel.Version, o, digest)))
}

// file completes the folder of a program whose code is there.
func (p *Program) file(ctx context.Context, dir string) error {
	skeleton := p.meta.Skeleton()
	hollow := &Program{engine: p.engine}
	defer hollow.Close(ctx)
	scratch := filepath.Join(dir, hollowDir)
	if err := hollow.open(ctx, skeleton, scratch); err != nil {
		return err
	}
	code, err := codeFile(dir)
	if err != nil {
		return err
	}
	named, err := codeFile(scratch)
	if err != nil {
		return err
	}
	meta := *p.meta
	meta.Wasm = nil
	text, err := json.Marshal(meta)
	return errors.Join(err,
		os.Rename(code, filepath.Join(filepath.Dir(code), filepath.Base(named))),
		os.RemoveAll(scratch),
		os.WriteFile(filepath.Join(dir, metaFile), text, 0o600),
		os.WriteFile(filepath.Join(dir, skeletonFile), skeleton, 0o600))
}

// recall opens a program from the cache, if it is there. The error is check's.
func (p *Program) recall(ctx context.Context, o fuel.Options, check func(*fuel.Info) error) (known bool, err error) {
	dir, ok := p.engine.cache.Find(p.key)
	if !ok {
		return false, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, metaFile))
	skeleton, err2 := os.ReadFile(filepath.Join(dir, skeletonFile))
	meta := new(fuel.Instrumented)
	if errors.Join(err, err2) != nil || json.Unmarshal(text, meta) != nil || meta.Info == nil {
		return false, nil
	}
	for _, i := range meta.Info.Imports {
		if o.AllowImport != nil && !o.AllowImport(i) {
			return false, nil // the gate says it better
		}
	}
	if err := check(meta.Info); err != nil {
		return false, err
	}
	p.meta = meta
	if p.reopen(ctx, skeleton, dir) != nil {
		p.Close(ctx)
		return false, nil
	}
	p.Cached = true
	return true, nil
}

var errOtherCode = errors.New("wazero did not use the code in the cache")

// reopen makes the program of a skeleton and the code in dir.
func (p *Program) reopen(ctx context.Context, skeleton []byte, dir string) error {
	before, err := statCode(dir)
	if err != nil {
		return err
	}
	if err := p.open(ctx, skeleton, dir); err != nil {
		return err
	}
	after, err := statCode(dir)
	if err != nil {
		return err
	}
	if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		return errOtherCode
	}
	return link(ctx, p.runtime, p.engine.options.Imports, p.meta.Info)
}

// codeFile returns the only file in the only folder that wazero has made.
func codeFile(dir string) (string, error) {
	found, err := fs.Glob(os.DirFS(dir), "wazero-*/*")
	if err == nil && len(found) != 1 {
		err = errOtherCode
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, found[0]), nil
}

func statCode(dir string) (os.FileInfo, error) {
	path, err := codeFile(dir)
	if err != nil {
		return nil, err
	}
	return os.Stat(path)
}
