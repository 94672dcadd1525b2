package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/base/built"
)

// trees returns a Sources that lists the files in the roots for which keep returns true.
func trees(keep func(name string, depth int) bool, roots ...string) func(context.Context, string) []string {
	return func(_ context.Context, folder string) []string {
		var sources []string
		for _, root := range roots {
			root = filepath.Join(folder, root)
			_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
				switch {
				case err != nil: // the compiler reports what it cannot read
				case e.IsDir() && path != root && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
					return fs.SkipDir
				case !e.IsDir() && keep(e.Name(), strings.Count(path[len(root):], string(filepath.Separator))):
					sources = append(sources, path)
				}
				return nil
			})
		}
		return sources
	}
}

// cSource keeps headers, and the compiled files of the folder itself.
func cSource(name string, depth int) bool {
	return slices.Contains([]string{".h", ".hh", ".hpp", ".inc", ".def"}, filepath.Ext(name)) || depth == 1 && built.Unit(name)
}

func tsSource(name string, _ int) bool {
	test := strings.HasSuffix(name, ".test.ts") || strings.HasSuffix(name, ".spec.ts")
	return filepath.Ext(name) == ".ts" && !test || name == "asconfig.json"
}

func anyFile(string, int) bool { return true }

// goPackage is the output of go list for a package.
type goPackage struct {
	Dir        string
	Standard   bool
	EmbedFiles []string
	Module     *struct {
		Main    bool
		Replace *struct{ Version string }
	}
}

// goSources lists the files of every package that is compiled into a reward, except those of
// the standard library and of the module cache, which do not change.
func goSources(ctx context.Context, folder string) []string {
	sources := []string{filepath.Join(folder, "go.mod"), filepath.Join(folder, "go.sum")}
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-deps", "-json=Dir,Standard,EmbedFiles,Module", ".")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "PWD="+folder)
	output, _ := cmd.Output() // the following build reports errors
	for dec := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		if dec.Decode(&p) != nil {
			return sources
		}
		if p.Dir != "" && !p.Standard && p.changes(folder) {
			sources = append(sources, p.files()...)
		}
	}
}

// changes reports whether the files of a package can be edited.
func (p goPackage) changes(folder string) bool {
	if p.Dir == folder || strings.HasPrefix(p.Dir, folder+string(filepath.Separator)) {
		return true
	}
	return p.Module != nil && (p.Module.Main || p.Module.Replace != nil && p.Module.Replace.Version == "")
}

func (p goPackage) files() []string {
	var files []string
	entries, _ := os.ReadDir(p.Dir) // go has just listed it
	for _, e := range entries {
		if filepath.Ext(e.Name()) == ".go" && built.Unit(e.Name()) {
			files = append(files, filepath.Join(p.Dir, e.Name()))
		}
	}
	for _, name := range p.EmbedFiles {
		files = append(files, filepath.Join(p.Dir, name))
	}
	return files
}
