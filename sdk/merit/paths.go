package merit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/internal/base/prefix"
	"github.com/merit-rl/merit/internal/engine"
	"github.com/merit-rl/merit/internal/host/disk"
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

// eachPath replaces every path in c. A plug-in without a slash is a name, not a
// path. Merit does not know the options of a plug-in, so a text in them that
// begins with ./ or ../ is a path.
func (c *Config) eachPath(replace func(string) string) {
	for i := range c.Rewards {
		c.Rewards[i].EachPath(replace)
	}
	if c.Sandbox.CacheDir != "" {
		c.Sandbox.CacheDir = replace(c.Sandbox.CacheDir)
	}
	if c.Train.From != "" {
		c.Train.From = replace(c.Train.From)
	}
	c.Traces, c.Fleet = moved(c.Traces, replace), moved(c.Fleet, replace)
	EachPluginPath(&c.Environment.Plugin, &c.Environment.Options, replace)
	movedModule(&c.Environment.Module, replace)
	EachPluginPath(new(string), &c.Environment.MCP, replace)
	movedModule(&c.Environment.Harbor, replace)
	c.Environment.Mixture = slices.Clone(c.Environment.Mixture)
	for i := range c.Environment.Mixture {
		part := &c.Environment.Mixture[i]
		EachPluginPath(&part.Plugin, &part.Options, replace)
		movedModule(&part.Module, replace)
	}
	EachPluginPath(&c.Policy.Plugin, &c.Policy.Options, replace)
}

// EachPluginPath replaces the path of a plug-in, unless it is a name, and every
// path in its options.
func EachPluginPath(plugin *string, options *map[string]any, replace func(string) string) {
	explicit := func(path string) string {
		if path = replace(path); filepath.IsAbs(path) || strings.HasPrefix(path, "../") {
			return path
		}
		return "./" + path
	}
	if name, in := strings.CutPrefix(*plugin, disk.Sandbox); in && strings.ContainsRune(name, '/') {
		*plugin = disk.Sandbox + explicit(name)
	} else if strings.ContainsRune(*plugin, '/') {
		*plugin = explicit(*plugin)
	}
	if *options != nil {
		*options = eachText(*options, explicit).(map[string]any)
	}
}

// movedModule replaces the path of a module, if there is one.
func movedModule(module *string, replace func(string) string) {
	if *module != "" {
		*module = replace(*module)
	}
}

// EachPath replaces every path in r.
func (r *Reward) EachPath(replace func(string) string) {
	if r.Module != "" {
		r.Module = replace(r.Module)
	}
	r.Judge, r.Rubric, r.Ask = moved(r.Judge, replace), moved(r.Rubric, replace), moved(r.Ask, replace)
	if r.Otherwise != nil {
		own := *r.Otherwise
		own.EachPath(replace)
		r.Otherwise = &own
	}
}

// eachText returns v after it replaced every text that begins with ./ or ../.
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

// Marshal returns the resolved file: every key with its value. Paths are
// relative to dir, the folder that the file will be in.
func (c *Config) Marshal(dir string) ([]byte, error) {
	g := *c
	g.Rewards = append([]Reward(nil), c.Rewards...)
	g.eachPath(config.From(dir))
	return config.Marshal(g)
}

// PluginsVariable is the environment variable with the folders to search for plug-ins
// before all others.
const PluginsVariable = "MERIT_PLUGINS"

// PluginFolders returns the folders to search for plug-ins, in this order: the
// folders of $MERIT_PLUGINS; the plug-ins built into the program (as
// disk.BuiltIn); the folder plugins next to the running binary;
// share/merit/plugins of its installation; bin/plugins in the working
// directory; the folder of installed plug-ins; the plug-ins of an installed
// engine.
func PluginFolders(getenv func(string) string) []string {
	var folders []string
	seen := map[string]bool{}
	add := func(folder string) {
		key, err := filepath.Abs(folder)
		if folder == "" || err != nil || seen[key] {
			return
		}
		seen[key] = true
		folders = append(folders, folder)
	}
	for _, folder := range filepath.SplitList(getenv(PluginsVariable)) {
		add(folder)
	}
	if disk.HasBuiltins() {
		add(disk.BuiltIn)
	}
	if self, err := os.Executable(); err == nil {
		add(filepath.Join(filepath.Dir(self), "plugins"))
	}
	add(prefix.Share("plugins"))
	add(filepath.Join("bin", "plugins"))
	add(disk.Home(getenv))
	if engines := engine.Folder(getenv); engines != "" {
		add(engine.SkyRL().Plugins(engines))
	}
	return folders
}

// CacheFolder returns the folder that keeps compiled modules between runs of a
// program: $MERIT_CACHE, or merit in the user's cache folder. It returns "" if
// there is no such folder or $MERIT_CACHE is off.
func CacheFolder(getenv func(string) string) string { return prefix.Cache(getenv) }
