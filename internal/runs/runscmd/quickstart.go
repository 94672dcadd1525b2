package runscmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/prefix"
	"github.com/merit-rl/merit/internal/cli/console"
)

// quickstartFiles are the files of the quickstart.
var quickstartFiles = []string{"train.yaml", "reward.wasm", "episodes.jsonl", "rows.jsonl"}

type quickstartOptions struct {
	host      *console.Host
	FilesOnly bool `flag:"files-only" usage:"copy the files and do not train"`
}

// NewQuickstartCmd returns the quickstart command.
func NewQuickstartCmd(h *console.Host) *cobra.Command {
	o := &quickstartOptions{host: h}
	cmd := console.Verb(&cobra.Command{
		Use:   "quickstart [FOLDER]",
		Short: "Train the Sokoban example that Merit includes",
		Long: `Quickstart copies the Sokoban example into FOLDER (default: quickstart) and trains a small
network there. Training takes about half a minute on two cores.

The folder contains the configuration, the reward as a WebAssembly module, 24 recorded
episodes, and rows for merit advantages. The run is in FOLDER/run. Quickstart changes no
existing file.`,
		Example: "  merit quickstart\n  merit quickstart my-first-run --files-only",
		Args:    console.AtMost("FOLDER"),
		RunE:    o.run,
	}, o)
	cmd.Flags().Int("iterations", 0, "the same as --set train.iterations= of merit train")
	return cmd
}

func (o *quickstartOptions) run(cmd *cobra.Command, args []string) error {
	folder := "quickstart"
	if len(args) > 0 {
		folder = args[0]
	}
	if err := copyQuickstart(folder); err != nil {
		return err
	}
	config, out := filepath.Join(folder, "train.yaml"), filepath.Join(folder, "run")
	if o.FilesOnly {
		return o.next(o.host.Stdout, fmt.Sprintf("%d files in %s. Next:", len(quickstartFiles), folder), "merit train -c "+console.Quote(config)+" --out "+console.Quote(out))
	}
	train := &trainOptions{host: o.host, source: source{path: config}, Out: out}
	if err := train.run(cmd, nil); err != nil || o.host.Global.JSON {
		return err
	}
	reward, episodes := filepath.Join(folder, "reward.wasm"), filepath.Join(folder, "episodes.jsonl")
	return o.next(o.host.Stdout, "\nNext:",
		"merit explain "+console.Quote(out),
		"merit eval --reward "+console.Quote(reward)+" --data "+console.Quote(episodes),
		"merit ui --runs "+console.Quote(folder))
}

// next prints a line and the commands to try after it.
func (o *quickstartOptions) next(w io.Writer, line string, commands ...string) error {
	if o.host.Global.Quiet {
		return nil
	}
	for _, command := range commands {
		line += "\n  " + command
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// copyQuickstart copies the files of the quickstart into a folder. If one of them exists
// there, it returns an error and writes nothing.
func copyQuickstart(folder string) error {
	from, err := quickstartSource()
	if err != nil {
		return err
	}
	for _, name := range quickstartFiles {
		if path := filepath.Join(folder, name); console.FileExists(path) {
			return &fault.Error{
				Boundary: fault.CLI, Kind: fault.Invalid, Where: path, What: "the file already exists",
				Hint: "name another folder: merit quickstart FOLDER; or train again: merit train -c " + console.Quote(filepath.Join(folder, "train.yaml")) + " --out " + console.Quote(filepath.Join(folder, "run")) + " --force",
			}
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return console.CannotWrite(err)
	}
	for _, name := range quickstartFiles {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return console.CannotRead(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			return console.CannotWrite(err)
		}
	}
	return nil
}

// quickstartSource returns the folder of the example: as installed, or in the checkout that
// the program was built from.
func quickstartSource() (string, error) {
	folders := []string{prefix.Share("examples", "sokoban"), filepath.Join(prefix.Root(), "examples", "sokoban")}
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, "reward.wasm")); err == nil {
			return folder, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", console.CannotRead(err)
		}
	}
	return "", &fault.Error{
		Boundary: fault.CLI, Kind: fault.Missing, Where: folders[0], What: "the example was not installed with this program",
		Hint: "install Merit from a wheel or an archive, which include it; in a checkout, run: make build",
	}
}
