package console

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sandbox"
)

// input is a file that a command may read.
type input struct {
	from string // the flag, variable or argument that names it, for the user
	info os.FileInfo
}

// inputs are all files that a command may read: those that its flags, arguments and
// configuration name, and the files of the rewards, runs and plug-ins among them. A text that
// names no file is ignored, so too many texts do no harm.
type inputs struct{ all []input }

// find returns the input that is the same file as info, under any name.
func (in *inputs) find(info os.FileInfo) *input {
	for i := range in.all {
		if os.SameFile(in.all[i].info, info) {
			return &in.all[i]
		}
	}
	return nil
}

// inputVariable annotates a flag with the environment variable that it defaults to.
const inputVariable = "merit_input_variable"

// DefaultsTo declares the environment variable that names the input of a flag that is not
// given.
func DefaultsTo(cmd *cobra.Command, flag, variable string) {
	must(cmd.Flags().SetAnnotation(flag, inputVariable, []string{variable}))
}

// inputsOf collects the inputs of a command line.
func inputsOf(h *Host, cmd *cobra.Command, args []string) *inputs {
	in := new(inputs)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, variable := range f.Annotations[inputVariable] {
			in.text("", h.Env(variable), "$"+variable)
		}
		_, file := f.Annotations[outputFlag]
		_, folder := f.Annotations[outputFolder]
		if file || folder || isWord(f) || f.Name == "help" || f.Name == "config" && goesOn(cmd) {
			return
		}
		for _, text := range flagTexts(f) {
			in.text("", text, "--"+f.Name)
		}
	})
	written := cmd.Annotations[outputArg]
	for i, arg := range args {
		if strconv.Itoa(i) != written {
			in.text("", arg, arg)
		}
	}
	if cmd.Flag("store") != nil {
		in.text("", h.Env(trace.Variable), "$"+trace.Variable)
		in.text("", trace.File, "the store of traces")
	}
	return in
}

// goesOn reports whether a command resumes the work in its folder. It may then name the
// configuration in that folder.
func goesOn(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("resume")
	return f != nil && f.Value.String() == "true"
}

func flagTexts(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}

// text adds the files that a text may name, relative to folder: unchanged, as file:function,
// as key=file, as scheme:file, and as JSON with names in it.
func (in *inputs) text(folder, text, from string) {
	if text == "" || len(text) > 1<<16 {
		return
	}
	in.path(folder, text, from)
	if before, _, ok := strings.Cut(text, ":"); ok {
		in.path(folder, before, from)
		in.path(folder, text[strings.LastIndex(text, ":")+1:], from)
		in.path(folder, text[:strings.LastIndex(text, ":")], from)
	}
	if _, after, ok := strings.Cut(text, "="); ok {
		in.text(folder, after, from)
	}
	if strings.ContainsAny(text, "{[") {
		var value any
		if strictjson.Unmarshal([]byte(text), &value) == nil || yaml.Unmarshal([]byte(text), &value) == nil {
			if _, same := value.(string); !same {
				in.value(folder, value, from)
			}
		}
	}
}

// value adds the files that the texts in a decoded document name.
func (in *inputs) value(folder string, v any, from string) {
	switch v := v.(type) {
	case string:
		in.text(folder, v, from)
		if folder != "" {
			in.text("", v, from)
		}
	case []any:
		for _, x := range v {
			in.value(folder, x, from)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			in.value(folder, v[key], from)
		}
	}
}

// path adds a file and the files that belong to it.
func (in *inputs) path(folder, path, from string) {
	if path == "" {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	info, err := os.Stat(path)
	if err != nil || in.find(info) != nil {
		return
	}
	in.all = append(in.all, input{from, info})
	switch ext := filepath.Ext(path); {
	case info.IsDir():
		in.folder(path, from)
	case ext == ".yaml" || ext == ".yml" || ext == ".json":
		in.document(path, from)
	case ext == ".py" || ext == ".js":
		in.reward(path, from)
	}
	for _, beside := range []string{"-wal", "-shm"} { // of a store
		in.file(path+beside, from)
	}
}

func (in *inputs) file(path, from string) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		in.all = append(in.all, input{from, info})
	}
}

// document adds the files that a configuration names. It ignores one that cannot be read; the
// command reports the error.
func (in *inputs) document(path, from string) {
	const most = 4 << 20
	info, err := os.Stat(path)
	if err != nil || info.Size() > most {
		return
	}
	text, err := os.ReadFile(path)
	var v any
	if err == nil && yaml.Unmarshal(text, &v) == nil {
		in.value(filepath.Dir(path), v, from+" "+path)
	}
}

// folder adds the files of a run, a plug-in or a reward that is a folder.
func (in *inputs) folder(path, from string) {
	if _, err := os.Stat(filepath.Join(path, run.ManifestFile)); err == nil {
		files, _ := run.Files(path) // a file that cannot be listed cannot be replaced either
		for _, file := range files {
			in.file(filepath.Join(path, file), from)
		}
		in.document(filepath.Join(path, run.ConfigFile), from)
	}
	if _, err := os.Stat(filepath.Join(path, disk.ManifestName)); err == nil {
		in.tree(path, from)
		return
	}
	in.reward(path, from)
}

// reward adds the files that determine a reward.
func (in *inputs) reward(path, from string) {
	b, err := sandbox.ReadBundle(sandbox.Reference{Path: path}, sandbox.DefaultConfig().Limits)
	if err != nil {
		return
	}
	folder := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		folder = filepath.Dir(path)
	}
	for name := range b.Files {
		in.file(filepath.Join(folder, filepath.FromSlash(name)), from)
	}
}

// tree adds the files of a folder, up to the depth and number of files of a plug-in.
func (in *inputs) tree(path, from string) {
	const most = 10_000
	_ = filepath.WalkDir(path, func(p string, d os.DirEntry, err error) error {
		if err != nil || len(in.all) > most {
			return filepath.SkipAll
		}
		if !d.IsDir() {
			in.file(p, from)
		}
		return nil
	})
}
