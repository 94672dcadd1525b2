package console

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/merit-rl/merit/core/fault"
)

// The annotations of a command that declare what it writes.
const (
	outputFlag   = "merit_output"        // of a flag: it names a file
	outputFolder = "merit_output_folder" // of a flag: it names a folder; the values are the files that the command replaces in it
	outputArg    = "merit_output_arg"    // of a command: the number of the argument that names a file
	force        = "force"
)

// Output declares that these flags of cmd name files that cmd writes, and gives
// it --force. CheckOutputs then protects existing files.
func Output(cmd *cobra.Command, flags ...string) {
	for _, flag := range flags {
		must(cmd.Flags().SetAnnotation(flag, outputFlag, []string{}))
	}
	withForce(cmd, "replace an existing file")
}

// OutputOver is Output for a file that cmd replaces without --force if it begins with magic,
// because an earlier call of cmd wrote it.
func OutputOver(cmd *cobra.Command, flag, magic string) {
	must(cmd.Flags().SetAnnotation(flag, outputFlag, []string{magic}))
	withForce(cmd, "replace an existing file of any kind")
}

// OutputArg declares that an argument of cmd names a file that cmd writes, as
// Output does for flags.
func OutputArg(cmd *cobra.Command, index int) {
	cmd.Annotations = map[string]string{outputArg: strconv.Itoa(index)}
	withForce(cmd, "replace an existing file")
}

// OutputFolder declares that a flag of cmd names a folder in which cmd replaces
// these files, patterns of filepath.Match. None of them may be an input; the command decides
// whether it may write to an existing folder.
func OutputFolder(cmd *cobra.Command, flag string, files ...string) {
	must(cmd.Flags().SetAnnotation(flag, outputFolder, files))
}

func withForce(cmd *cobra.Command, usage string) {
	if cmd.Flags().Lookup(force) == nil {
		cmd.Flags().Bool(force, false, usage)
	}
}

// destination is a file that a command is about to write.
type destination struct {
	path string
	flag string // with which the user chooses another one; "" for an argument
	info os.FileInfo
	ours bool // an earlier call made it, and the command replaces it
}

// CheckOutputs returns an error if cmd would write a file that it also reads, or would replace
// an existing file without --force. The root command calls it before any command runs.
func CheckOutputs(h *Host, cmd *cobra.Command, args []string) error {
	if err := standardOutput(cmd, args); err != nil {
		return err
	}
	if err := namedTwice(cmd); err != nil {
		return err
	}
	there := destinations(h, cmd, args)
	if len(there) == 0 {
		return nil // a missing file cannot be an input
	}
	read := inputsOf(h, cmd, args)
	for _, d := range there {
		if in := read.find(d.info); in != nil {
			return &fault.Error{
				Boundary: fault.CLI, Kind: fault.Invalid, Where: d.path, What: "is also an input of this command (" + in.from + "), so it cannot be the output",
				Hint: d.another() + "; nothing was written",
			}
		}
	}
	if f := cmd.Flags().Lookup(force); f != nil && f.Value.String() == "true" {
		return nil
	}
	for _, d := range there {
		if !d.ours && d.info.Mode().IsRegular() {
			return Exists(d.path, d.another())
		}
	}
	return nil
}

// standardOutput replaces an output that names standard output by one of its files with -,
// because a command prints nothing else to stdout if the output is -.
func standardOutput(cmd *cobra.Command, args []string) (err error) {
	files := []string{"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if output(f) && slices.Contains(files, f.Value.String()) {
			err = errors.Join(err, f.Value.Set("-"))
		}
	})
	if i, wrong := strconv.Atoi(cmd.Annotations[outputArg]); wrong == nil && i < len(args) && slices.Contains(files, args[i]) {
		args[i] = "-"
	}
	return err
}

// namedTwice returns an error if two flags name the same new file and one of them writes it:
// each would create the file, and the last one would win.
func namedTwice(cmd *cobra.Command) (err error) {
	named := map[string]string{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if isWord(f) {
			return
		}
		path, abs := f.Value.String(), ""
		if _, missing := os.Stat(path); path != "" && path != "-" && missing != nil {
			abs, _ = filepath.Abs(path) // without a working directory nothing can be written either
		}
		if other, ok := named[abs]; ok && abs != "" && err == nil && (output(f) || output(cmd.Flags().Lookup(other))) {
			err = Usage(cmd, "name another file with one of them", "--%s and --%s name the same file, %s", other, f.Name, path)
		}
		named[abs] = f.Name
	})
	return err
}

func output(f *pflag.Flag) bool {
	_, ok := f.Annotations[outputFlag]
	return ok
}

// Exists returns the error of an existing file that only --force replaces.
func Exists(path, another string) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: path, What: "already exists", Hint: "replace it with --force, or " + another + "; nothing was written"}
}

func (d destination) another() string {
	if d.flag == "" {
		return "name another file"
	}
	return "choose another file with --" + d.flag
}

// destinations returns the existing files that cmd would write.
func destinations(h *Host, cmd *cobra.Command, args []string) (there []destination) {
	add := func(path, flag string, ours bool) {
		if path == "" {
			return
		}
		info, err := os.Stat(path)
		if path == "-" {
			info, err = stdout(h)
			path, ours = "standard output", true
		}
		if err == nil && !info.IsDir() {
			there = append(there, destination{path, flag, info, ours})
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if magic, ok := f.Annotations[outputFlag]; ok {
			add(f.Value.String(), f.Name, beginsWith(f.Value.String(), magic))
		}
		for _, pattern := range f.Annotations[outputFolder] {
			if f.Value.String() == "" {
				continue
			}
			found, _ := filepath.Glob(filepath.Join(f.Value.String(), pattern)) // the patterns are well-formed
			for _, path := range found {
				add(path, f.Name, true)
			}
		}
	})
	if i, err := strconv.Atoi(cmd.Annotations[outputArg]); err == nil && i < len(args) {
		add(args[i], "", false)
	}
	return there
}

// beginsWith reports whether a file begins with one of these texts.
func beginsWith(path string, magic []string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return slices.ContainsFunc(magic, func(m string) bool {
		found := make([]byte, len(m))
		_, err := f.ReadAt(found, 0)
		return err == nil && string(found) == m
	})
}

// stdout returns the file that standard output writes to, if it is one.
func stdout(h *Host) (os.FileInfo, error) {
	f, ok := h.Stdout.(*os.File)
	if !ok {
		return nil, os.ErrNotExist
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return nil, os.ErrNotExist
	}
	return info, err
}
