package merit

import (
	"os"
	"path/filepath"
)

// Environment variables that say where things are.
const (
	PluginsVariable = "MERIT_PLUGINS" // folders that are searched for plug-ins before all others
	CacheVariable   = "MERIT_CACHE"   // the folder of compiled modules; "off" keeps none
)

// PluginFolders returns where plug-ins are searched, in this order: the folders
// of $MERIT_PLUGINS, the folder plugins beside the running binary, bin/plugins
// in the working directory.
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
	if self, err := os.Executable(); err == nil {
		add(filepath.Join(filepath.Dir(self), "plugins"))
	}
	add(filepath.Join("bin", "plugins"))
	return folders
}

// CacheFolder returns where compiled modules are kept between runs of a
// program: $MERIT_CACHE, or merit in the user's cache folder. It is empty if
// there is no such place, or none is wanted.
func CacheFolder(getenv func(string) string) string {
	if folder := getenv(CacheVariable); folder == "off" {
		return ""
	} else if folder != "" {
		return folder
	}
	for _, base := range []string{getenv("XDG_CACHE_HOME"), filepath.Join(getenv("HOME"), ".cache")} {
		if filepath.IsAbs(base) {
			return filepath.Join(base, "merit")
		}
	}
	return ""
}
