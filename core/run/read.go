package run

import (
	"bytes"
	"fmt"
	"path/filepath"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The size limits of files that are read as a whole.
const (
	maxJSON    = 16 << 20
	maxMetrics = 1 << 30
)

// ReadManifest reads the manifest of the run in dir.
func ReadManifest(dir string) (*Manifest, error) {
	m := new(Manifest)
	path := filepath.Join(dir, ManifestFile)
	if err := readJSON(path, m); err != nil {
		return nil, err
	}
	if m.Format != Format {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Refused, Where: path,
			What: fmt.Sprintf("the run has format %d; this program reads %d", m.Format, Format),
			Hint: "use the version of merit that wrote it: " + m.Merit,
		}
	}
	return m, nil
}

// ReadSummary reads the summary of the finished run in dir.
func ReadSummary(dir string) (*Summary, error) {
	s := new(Summary)
	if err := readJSON(filepath.Join(dir, SummaryFile), s); err != nil {
		return nil, err
	}
	return s, nil
}

// ReadConfig reads the resolved configuration of the run in dir.
func ReadConfig(dir string) ([]byte, error) { return readFile(filepath.Join(dir, ConfigFile), maxJSON) }

// ReadMetrics reads the iterations of the run in dir. It omits a last line that is
// incomplete because the process was killed.
func ReadMetrics(dir string) ([]Iteration, error) {
	path := filepath.Join(dir, MetricsFile)
	data, err := readFile(path, maxMetrics)
	if err != nil {
		return nil, err
	}
	var all []Iteration
	for line := range bytes.Lines(data) {
		if line[len(line)-1] != '\n' {
			break
		}
		var it Iteration
		if err := strictjson.Unmarshal(line, &it); err != nil {
			return nil, corrupt(fmt.Sprintf("%s:%d", path, len(all)+1), "is not an iteration", "restore the file, or start a new run", err)
		}
		all = append(all, it)
	}
	return all, nil
}

func readJSON(path string, v any) error {
	data, err := readFile(path, maxJSON)
	if err != nil {
		return err
	}
	if err := strictjson.Unmarshal(data, v); err != nil {
		return corrupt(path, "is not valid JSON for this file", "restore the file, or start a new run", err)
	}
	return nil
}
