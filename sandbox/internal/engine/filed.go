package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/merit-rl/merit/sandbox/internal/engine/cache"
	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// A cached program is a folder with four files: the results of the gate and the
// meter, the skeleton of the metered module, what its memory contains before it runs,
// and the native code. To find its code,
// wazero would read, validate and hash the whole module again, which takes longer than
// everything else. The code is therefore stored under the name of the skeleton's code;
// the skeleton has the same functions, types and sizes. The engine checks that wazero
// used the stored code. A wazero that reads it differently, or a CPU that needs other
// code, only costs a new compilation.
const (
	metaFile     = "meta.json"
	skeletonFile = "skeleton.wasm"
	dataFile     = "data"
	hollowDir    = "hollow"
)

// programKey names what a module becomes with these options. The function in
// the options is not part of the key: it is called again.
func programKey(digest string, o fuel.Options) string {
	o.AllowImport = nil
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "program %d %+v %s", fuel.Version, o, digest)))
}

// file completes the folder of a program whose code exists.
func (p *Program) file(ctx context.Context, dir string) error {
	skeleton, segments := p.meta.Skeleton()
	hollow := &Program{engine: p.engine}
	defer hollow.Close(ctx)
	scratch := filepath.Join(dir, hollowDir)
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return err
	}
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
		os.WriteFile(filepath.Join(dir, skeletonFile), skeleton, 0o600),
		os.WriteFile(filepath.Join(dir, dataFile), appendSegments(nil, segments), 0o600))
}

// appendSegments encodes segments: the offset and the size of each in 32 bits, and its bytes.
func appendSegments(out []byte, segments []fuel.Segment) []byte {
	for _, s := range segments {
		out = binary.LittleEndian.AppendUint32(out, s.Offset)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(s.Bytes)))
		out = append(out, s.Bytes...)
	}
	return out
}

var errSegments = errors.New("the content of the memory is not valid")

// parseSegments decodes the output of appendSegments, whose bytes it shares.
func parseSegments(data []byte) (segments []fuel.Segment, err error) {
	for len(data) > 0 {
		if len(data) < 8 || int(binary.LittleEndian.Uint32(data[4:])) > len(data)-8 {
			return nil, errSegments
		}
		end := 8 + int(binary.LittleEndian.Uint32(data[4:]))
		segments = append(segments, fuel.Segment{Offset: binary.LittleEndian.Uint32(data), Bytes: data[8:end]})
		data = data[end:]
	}
	return segments, nil
}

// recall opens a program from the cache if it is cached. The error comes from
// check.
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
			return false, nil // the gate has a better error message
		}
	}
	if err := check(meta.Info); err != nil {
		return false, err
	}
	p.meta = meta
	if p.reopen(ctx, skeleton, dir) != nil || p.lay(filepath.Join(dir, dataFile)) != nil {
		p.Close(ctx)
		return false, nil
	}
	p.Cached = true
	return true, nil
}

// lay reads what the memory of instances contains before they run.
func (p *Program) lay(path string) (err error) {
	data, release, err := cache.View(path)
	if err != nil {
		return err
	}
	p.unlay = release
	p.segments, err = parseSegments(data)
	return err
}

var errOtherCode = errors.New("wazero did not use the code in the cache")

// reopen makes the program from a skeleton and the code in dir.
func (p *Program) reopen(ctx context.Context, skeleton []byte, dir string) error {
	if err := p.open(ctx, skeleton, dir); err != nil {
		return err
	}
	if !p.codes.used || p.codes.added {
		return errOtherCode
	}
	return link(ctx, p.runtime, p.engine.options.Imports, p.meta.Info)
}
