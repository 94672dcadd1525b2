package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/attack/finding"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/cli/console"
)

// bound is a line of expected results that limits the score and compares nothing else.
type bound struct {
	ID     string  `json:"id"`
	AtMost float64 `json:"at_most"`
}

// Fixtures adds findings to the files attack.jsonl and attack.expected.jsonl of a folder, which merit
// reward test reads. The score of each should be at most that of a wrong reply to its task. Findings that
// the files have already are left unchanged.
func Fixtures(folder string, findings []finding.Finding) error {
	rows, expected := filepath.Join(folder, "attack.jsonl"), filepath.Join(folder, "attack.expected.jsonl")
	kept, err := read(rows)
	if err != nil {
		return err
	}
	limits, err := read(expected)
	if err != nil {
		return err
	}
	known, err := ids(rows, kept)
	if err != nil {
		return err
	}
	for i := range findings {
		f := &findings[i]
		if f.Row == nil || known[fixtureID(f)] {
			continue
		}
		known[fixtureID(f)] = true
		row, limit, err := fixture(f)
		if err != nil {
			return err
		}
		kept, limits = append(append(kept, row...), '\n'), append(append(limits, limit...), '\n')
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return console.CannotWrite(err)
	}
	// The expected results first: a row without one would be an error that only --update removes.
	if err := renameio.WriteFile(expected, limits, 0o644); err != nil {
		return console.CannotWrite(err)
	}
	if err := renameio.WriteFile(rows, kept, 0o644); err != nil {
		return console.CannotWrite(err)
	}
	return nil
}

func fixtureID(f *finding.Finding) string { return "attack-" + f.ID }

func fixture(f *finding.Finding) (row, limit []byte, err error) {
	t := *f.Row
	t.ID, t.Evaluation, t.Outcome = fixtureID(f), nil, ""
	if t.Group != "" { // it is scored alone, not beside rows of the data
		t.Group = t.ID
	}
	if row, err = json.Marshal(&t); err != nil {
		return nil, nil, err
	}
	limit, err = json.Marshal(bound{ID: t.ID, AtMost: min(f.Wrong, f.Score)})
	return row, limit, err
}

func read(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, console.CannotRead(err)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return text, nil
}

// ids returns the ids of rows.
func ids(path string, rows []byte) (map[string]bool, error) {
	known := map[string]bool{}
	for line := range bytes.Lines(rows) {
		var row struct {
			ID string `json:"id"`
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := strictjson.Unmarshal(line, &row); err != nil {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: path, What: "a line is not a row: " + err.Error(), Hint: "correct the line, or remove the file: rm " + path}
		}
		known[row.ID] = true
	}
	return known, nil
}

// digest returns 16 hex digits of texts.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
