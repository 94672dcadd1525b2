package config

import (
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// join makes the file's relative paths relative to the working directory.
func (f *File) join(dir string) {
	f.eachPath(func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	})
}

// eachPath replaces every path in f. A plug-in without a slash is a name. In a
// plug-in's options, which Merit does not know, a text that begins with ./ or
// ../ is a path.
func (f *File) eachPath(replace func(string) string) {
	for i := range f.Rewards {
		if f.Rewards[i].Module != "" {
			f.Rewards[i].Module = replace(f.Rewards[i].Module)
		}
	}
	if f.Sandbox.CacheDir != "" {
		f.Sandbox.CacheDir = replace(f.Sandbox.CacheDir)
	}
	explicit := func(path string) string {
		if path = replace(path); filepath.IsAbs(path) || strings.HasPrefix(path, "../") {
			return path
		}
		return "./" + path
	}
	if strings.ContainsRune(f.Environment.Plugin, '/') {
		f.Environment.Plugin = explicit(f.Environment.Plugin)
	}
	if f.Environment.Options != nil {
		f.Environment.Options = eachText(f.Environment.Options, explicit).(map[string]any)
	}
}

// eachText returns v with every text that begins with ./ or ../ replaced.
func eachText(v any, replace func(string) string) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") {
			return replace(v)
		}
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = eachText(v[i], replace)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = eachText(v[k], replace)
		}
		return out
	}
	return v
}

// Marshal returns the resolved file: every key with its value, paths relative
// to dir, where the file will lie.
func (f *File) Marshal(dir string) ([]byte, error) {
	g := *f
	g.Rewards = append([]Reward(nil), f.Rewards...)
	g.eachPath(func(path string) string {
		from, err1 := filepath.Abs(dir)
		to, err2 := filepath.Abs(path)
		if rel, err := filepath.Rel(from, to); err == nil && err1 == nil && err2 == nil {
			return rel
		}
		return path
	})
	return yaml.MarshalWithOptions(g, yaml.Indent(2))
}
