package merit

import (
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/config"
)

// join makes the file's relative paths relative to the working directory.
func (c *Config) join(dir string) {
	c.eachPath(func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	})
}

// eachPath replaces every path in c. A plug-in without a slash is a name. In a
// plug-in's options, which Merit does not know, a text that begins with ./ or
// ../ is a path.
func (c *Config) eachPath(replace func(string) string) {
	for i := range c.Rewards {
		if c.Rewards[i].Module != "" {
			c.Rewards[i].Module = replace(c.Rewards[i].Module)
		}
	}
	if c.Sandbox.CacheDir != "" {
		c.Sandbox.CacheDir = replace(c.Sandbox.CacheDir)
	}
	explicit := func(path string) string {
		if path = replace(path); filepath.IsAbs(path) || strings.HasPrefix(path, "../") {
			return path
		}
		return "./" + path
	}
	if strings.ContainsRune(c.Environment.Plugin, '/') {
		c.Environment.Plugin = explicit(c.Environment.Plugin)
	}
	if c.Environment.Options != nil {
		c.Environment.Options = eachText(c.Environment.Options, explicit).(map[string]any)
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
func (c *Config) Marshal(dir string) ([]byte, error) {
	g := *c
	g.Rewards = append([]Reward(nil), c.Rewards...)
	g.eachPath(func(path string) string {
		from, err1 := filepath.Abs(dir)
		to, err2 := filepath.Abs(path)
		if rel, err := filepath.Rel(from, to); err == nil && err1 == nil && err2 == nil {
			return rel
		}
		return path
	})
	return config.Marshal(g)
}
