package console

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/cli/terminal"
)

// PrintJSON writes v as one indented JSON document to stdout.
func (h *Host) PrintJSON(v any) error {
	enc := json.NewEncoder(h.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Input opens path for reading; "-" is stdin.
func (h *Host) Input(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(h.Stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, CannotRead(err)
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: path, What: "is a folder", Hint: "name a file"}
	}
	return f, nil
}

// FileExists reports whether path is a file that can be opened.
func FileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// WriteLine writes v as one line of JSON.
func WriteLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Notes prints what a file says and Merit does not read, one line each, unless --quiet is set.
func (h *Host) Notes(lines []string) {
	if h.Global.Quiet {
		return
	}
	for _, line := range lines {
		fmt.Fprintf(h.Stderr, "not read: %s\n", terminal.Clean(line))
	}
}
