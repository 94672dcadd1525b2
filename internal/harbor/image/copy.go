package image

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/dockerfile"
)

// copy carries out COPY and ADD.
func (b *builder) copy(s *stage, i dockerfile.Instruction) error {
	words := i.List
	if words == nil {
		for _, w := range dockerfile.Words(i.Text) {
			words = append(words, s.expand(w))
		}
	}
	if len(words) < 2 {
		return b.fails(i, "%s needs a source and a destination", i.Name)
	}
	last := words[len(words)-1]
	into := target{box: s.Box, path: resolve(s.Dir, last), folder: strings.HasSuffix(last, "/") || last == "." || len(words) > 2}
	if mode, err := strconv.ParseUint(i.Flags["chmod"], 8, 32); err == nil {
		into.mode = fs.FileMode(mode)
	}
	for _, source := range words[:len(words)-1] {
		if k := slices.IndexFunc(i.Here, func(h dockerfile.Here) bool {
			return strings.Contains(source, "<<") && strings.Contains(source, h.Name)
		}); k >= 0 {
			if err := into.document(s, i.Here[k]); err != nil {
				return err
			}
			continue
		}
		if err := b.copySource(s, i, source, into); err != nil {
			return err
		}
	}
	return nil
}

// target is where COPY puts files.
type target struct {
	box    box.Box
	path   string
	folder bool
	mode   fs.FileMode // of --chmod
}

func (t target) document(s *stage, h dockerfile.Here) error {
	text := h.Text
	if !h.Quoted {
		text = s.expandText(text)
	}
	return t.put(box.File{Path: h.Name, Mode: 0o644, Data: []byte(text)}, h.Name)
}

// expandText expands variables, and leaves quotes.
func (s *stage) expandText(text string) string {
	quoted := strings.NewReplacer(`"`, `\"`, `'`, `\'`).Replace(text)
	return s.expand(quoted)
}

// copySource copies what a source names in the context, or in another stage.
func (b *builder) copySource(s *stage, i dockerfile.Instruction, source string, into target) error {
	files := b.context
	pattern := strings.TrimPrefix(path.Clean("/"+source), "/")
	if from := i.Flags["from"]; from != "" {
		old := b.stage(from)
		if old == nil {
			return nil // a program of a plain image, which machines have
		}
		all, err := old.Box.Files(fixed("/" + pattern))
		if err != nil {
			return err
		}
		files = slices.Clone(all)
		for k := range files {
			files[k].Path = strings.TrimPrefix(files[k].Path, "/")
		}
	}
	found := false
	match := dockerfile.Pattern(pattern, false)
	for _, f := range files {
		if pattern != "" && !match.MatchString(f.Path) {
			continue
		}
		found = true
		if err := b.copyFound(s, i, f, files, pattern == "", into); err != nil {
			return err
		}
		if pattern == "" {
			break
		}
	}
	if !found && pattern != "" {
		return b.fails(i, "%s does not exist in %s, or .dockerignore leaves it out", source, b.from.context)
	}
	return nil
}

// fixed is the part of a pattern before the first folder with a wildcard.
func fixed(pattern string) string {
	if k := strings.IndexAny(pattern, "*?["); k >= 0 {
		return path.Dir(pattern[:k] + "x")
	}
	return pattern
}

// copyFound copies a file, or the content of a folder.
func (b *builder) copyFound(s *stage, i dockerfile.Instruction, f box.File, files []box.File, whole bool, into target) error {
	if i.Name == "ADD" && archive(f.Path) && f.Mode.IsRegular() {
		return b.unpack(s, i, f, into)
	}
	if !whole && !f.Mode.IsDir() {
		return into.put(f, path.Base(f.Path))
	}
	if err := s.folder(into.path); err != nil {
		return err
	}
	into.folder = true
	for _, in := range files {
		rest, below := strings.CutPrefix(in.Path, f.Path+"/")
		if whole {
			rest, below = in.Path, true
		}
		if below {
			if err := into.put(in, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes a file at the target, or in it with a name.
func (t target) put(f box.File, name string) error {
	at := t.path
	if !t.folder {
		if old, err := t.box.Files(at); err == nil && len(old) > 0 && old[0].Mode.IsDir() {
			t.folder = true
		}
	}
	if t.folder {
		at = path.Join(at, name)
	}
	if f.Path = at; t.mode != 0 && f.Mode.IsRegular() {
		f.Mode = t.mode
	}
	return t.box.Write(f)
}

func archive(name string) bool {
	for _, ext := range []string{".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"} {
		if strings.HasSuffix(name, ext) {
			return true
		}
	}
	return false
}

// unpack unpacks an archive, as ADD does.
func (b *builder) unpack(s *stage, i dockerfile.Instruction, f box.File, into target) error {
	const at = "/tmp/.add"
	if err := s.Box.Write(box.File{Path: into.path, Mode: fs.ModeDir | 0o755}, box.File{Path: at, Mode: 0o644, Data: f.Data}); err != nil {
		return err
	}
	r := s.Box.Run(b.ctx, box.Command{Args: []string{"tar", "-xf", at, "-C", into.path}, Env: s.environ(true), Dir: "/"})
	if s.Fuel += r.Fuel; r.Err != nil || r.Status != 0 {
		return b.fails(i, "the archive %s cannot be unpacked: %s", f.Path, lastLine(r.Errors))
	}
	return s.Box.Remove(at)
}
