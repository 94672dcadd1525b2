package plugincmd

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/rewards/guest"
)

//go:embed templates
var templates embed.FS

const module = "github.com/merit-rl/merit"

type newOptions struct {
	host   *console.Host
	Kind   string `flag:"kind" usage:"env or policy" words:"env,policy"`
	Lang   string `flag:"lang" usage:"go or python; for an environment also js, c, rust or assemblyscript" words:"go,python,js,c,rust,assemblyscript"`
	Source string `flag:"source" usage:"the folder of Merit's sources, for a plug-in in Go"`
}

func newNewCmd(h *console.Host) *cobra.Command {
	o := &newOptions{host: h, Lang: "python", Kind: "env"}
	return console.Verb(&cobra.Command{
		Use:   "new FOLDER",
		Short: "Create a plug-in that passes its check and can train or play at once",
		Long: `New creates a small working plug-in, named after its folder: its source, a plugin.yaml,
and a configuration. The configuration is train.yaml for an environment and rollout.yaml
for a policy.

An environment in C, Rust or AssemblyScript is a WebAssembly module, which merit plugin
build makes; one in JavaScript runs in the sandbox, too. A plug-in in Go is its own module.
It uses Merit's sources in the folder of --source, by default the folder that contains
merit or in which you start it. Without sources, it uses the released version.`,
		Example: "  merit plugin new maze --kind env --lang python\n  merit plugin new rules --kind policy --lang go",
		Args:    console.Exactly("FOLDER"),
		RunE:    o.run,
	}, o)
}

func (o *newOptions) run(cmd *cobra.Command, args []string) error {
	folder := args[0]
	if o.Kind != "env" && o.Kind != "policy" {
		return console.Usage(cmd, "use env or policy", "--kind %q is not a kind of plug-in", o.Kind)
	}
	compiled := slices.IndexFunc(guest.Environments(), func(l guest.Environment) bool { return l.Name == o.Lang })
	switch {
	case compiled >= 0 && o.Kind == "policy":
		return console.Usage(cmd, "use go or python", "a policy cannot be a module in %s", guest.Environments()[compiled].Title)
	case o.Lang == "js" && o.Kind == "policy":
		return console.Usage(cmd, "use go or python", "a policy cannot be JavaScript in the sandbox")
	case compiled < 0 && !slices.Contains([]string{"go", "python", "js"}, o.Lang):
		return console.Usage(cmd, "use go, python, js, c, rust or assemblyscript; for other languages, see docs/plugin-protocol.md", "no template exists for --lang %q", o.Lang)
	}
	name := disk.Name(folder)
	if !disk.ValidName(name) {
		return console.Usage(cmd, "use lower-case letters, digits, - and _", "%q is not a valid plug-in name", name)
	}
	files, from := map[string][]byte{}, o.Lang+"-"+o.Kind
	if compiled >= 0 {
		var err error
		if files, err = guest.Environments()[compiled].New(name); err != nil {
			return err
		}
		from = "module-env"
	}
	if err := o.fill(files, name, from); err != nil {
		return err
	}
	if o.Lang == "go" {
		if err := o.goModule(files, name); err != nil {
			return err
		}
	}
	if _, err := guest.NewFolder(folder, files); err != nil {
		return err
	}
	return o.next(folder, len(files), compiled >= 0)
}

// fill adds the files of a template. It removes .tmpl from their names and replaces
// «.Name» by the name.
func (o *newOptions) fill(files map[string][]byte, name, from string) error {
	root := path.Join("templates", from)
	return fs.WalkDir(templates, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(p)
		if err != nil {
			return err
		}
		t, err := template.New(p).Delims("«", "»").Parse(string(text))
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, struct{ Name string }{name}); err != nil {
			return err
		}
		files[strings.TrimSuffix(strings.TrimPrefix(p, root+"/"), ".tmpl")] = b.Bytes()
		return nil
	})
}

// goModule adds go.mod and the versions and sums of the modules that Merit's sources
// need, so that the plug-in builds from modules that are already downloaded.
func (o *newOptions) goModule(files map[string][]byte, name string) error {
	source, text, err := o.sources()
	if err != nil {
		return err
	}
	m := new(modfile.File)
	if err := errors.Join(m.AddModuleStmt(name), m.AddGoStmt("1.26.0"), m.AddRequire(module, "v0.1.0")); err != nil {
		return err
	}
	if source != "" {
		of, err := modfile.Parse(filepath.Join(source, "go.mod"), text, nil)
		if err != nil {
			return err
		}
		for _, r := range of.Require {
			m.AddNewRequire(r.Mod.Path, r.Mod.Version, true)
		}
		if err := m.AddReplace(module, "", source, ""); err != nil {
			return err
		}
		if files["go.sum"], err = os.ReadFile(filepath.Join(source, "go.sum")); err != nil {
			return err
		}
	}
	m.Cleanup()
	files["go.mod"], err = m.Format()
	return err
}

// sources returns the folder of Merit's sources and the text of its go.mod.
func (o *newOptions) sources() (folder string, text []byte, err error) {
	starts := []string{o.Source}
	if o.Source == "" {
		starts = []string{"."}
		if self, err := os.Executable(); err == nil {
			starts = append(starts, filepath.Dir(self))
		}
	}
	for _, start := range starts {
		at, err := filepath.Abs(start)
		for err == nil {
			text, missing := os.ReadFile(filepath.Join(at, "go.mod"))
			if missing == nil && modfile.ModulePath(text) == module {
				return at, text, nil
			}
			if at == filepath.Dir(at) || o.Source != "" {
				break
			}
			at = filepath.Dir(at)
		}
	}
	if o.Source != "" {
		return "", nil, &fault.Error{Boundary: fault.CLI, Kind: fault.Missing, Where: "--source", What: o.Source + " does not contain the module " + module, Hint: "give the folder with Merit's go.mod"}
	}
	return "", nil, nil
}

// next prints what to do with a new plug-in.
func (o *newOptions) next(folder string, files int, compiled bool) error {
	var next []string
	if compiled {
		next = append(next, "merit plugin build "+folder)
	}
	if o.Lang == "go" {
		next = append(next, fmt.Sprintf("go build -C %s -o %s .", folder, disk.Name(folder)))
	}
	at := folder
	if !strings.ContainsRune(at, '/') {
		at = "./" + at
	}
	next = append(next, "merit plugin check "+at)
	if o.Kind == "env" {
		next = append(next, "merit train -c "+filepath.Join(folder, "train.yaml")+" --out runs/"+disk.Name(folder))
	} else {
		next = append(next, "merit rollout -c "+filepath.Join(folder, "rollout.yaml")+" --out episodes.jsonl")
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(struct {
			Folder string   `json:"folder"`
			Files  int      `json:"files"`
			Next   []string `json:"next"`
		}{folder, files, next})
	}
	_, err := fmt.Fprintf(o.host.Stdout, "%d files in %s. Next:\n  %s\n", files, folder, strings.Join(next, "\n  "))
	return err
}
