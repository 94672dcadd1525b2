package monitorbench

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Recording is what is kept of a run: what the monitors see, and the true metric.
type Recording struct {
	Format int    `json:"format"`
	Family string `json:"family"`
	Seed   uint64 `json:"seed"`
	// Truth is the true metric of every validation, from 0 to 1; the first one is before training.
	Truth []float64       `json:"truth"`
	Lines []run.Iteration `json:"lines"` // from iteration 0, without times
}

// format is the version of the recordings. It changes with the families and the measurements.
const format = 4

// record keeps what is needed of a run.
func record(f *Family, seed uint64, lines []run.Iteration, truth []float64) *Recording {
	r := &Recording{Format: format, Family: f.Name, Seed: seed}
	for _, x := range truth {
		r.Truth = append(r.Truth, rounded(x))
	}
	for _, it := range lines {
		it.Time, it.Saved = run.Time{}, nil
		it.Cost = run.Cost{}
		if it.Rollout != nil {
			it.Rollout.Stops = nil
		}
		r.Lines = append(r.Lines, it)
	}
	return r
}

// rounded keeps six digits after the point.
func rounded(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// maxRecording bounds a recording, unpacked.
const maxRecording = 16 << 20

// path is where the recording of a run is in a folder.
func path(dir, family string, seed uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%03d.json.gz", strings.ReplaceAll(family, " ", "-"), seed))
}

// Write writes the recording into a folder, in one step.
func (r *Recording) Write(dir string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return renameio.WriteFile(path(dir, r.Family, r.Seed), b.Bytes(), 0o644)
}

// Read reads the recording of a run; it is nil if there is none of this version.
func Read(dir, family string, seed uint64) (*Recording, error) {
	name := path(dir, family, seed)
	file, err := os.Open(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := new(Recording)
	z, err := gzip.NewReader(file)
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(z, maxRecording)); err == nil {
			err = strictjson.Unmarshal(text, r)
		}
	}
	if err != nil {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: name, What: "is not a recording", Err: err, Hint: "remove it; the run is played again"}
	}
	if r.Format != format || r.Family != family || r.Seed != seed || len(r.Truth) != iterations/evaluateEvery+1 || len(r.Lines) != iterations+1 {
		return nil, nil
	}
	return r, nil
}
