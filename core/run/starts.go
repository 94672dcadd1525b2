package run

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// EpisodeStarts is one line of starts.jsonl, which has as many as
// metrics.jsonl: where the episodes of an iteration began. Those of every
// validation are the ones of iteration 0.
type EpisodeStarts struct {
	Iteration int    `json:"iteration"`
	Split     string `json:"split"`
	// Starts are the first 8 bytes of the SHA-256 of the anchors of the
	// resets, in hexadecimal, each once.
	Starts []string `json:"starts"`
}

// RecordStarts appends a line to starts.jsonl.
func (d *Dir) RecordStarts(s EpisodeStarts) error {
	line, err := json.Marshal(s)
	if err := errors.Join(err, d.begin()); err != nil {
		return err
	}
	return d.starts.append(append(line, '\n'))
}

// ReadStarts reads starts.jsonl of the run in dir, line by line. A run of an
// earlier version has none.
func ReadStarts(dir string) iter.Seq2[EpisodeStarts, error] {
	path := filepath.Join(dir, StartsFile)
	return func(yield func(EpisodeStarts, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(EpisodeStarts{}, storageError(path, "cannot be read", err))
			return
		}
		defer f.Close()
		r := bufio.NewReader(f)
		for number := 1; ; number++ {
			line, err := r.ReadBytes('\n')
			if err == io.EOF {
				return // an incomplete line of a killed process does not count
			}
			var s EpisodeStarts
			if err != nil {
				err = storageError(path, "cannot be read", err)
			} else if err = strictjson.Unmarshal(line, &s); err != nil {
				err = corrupt(fmt.Sprintf("%s:%d", path, number), "does not describe the starts of episodes", "restore the file, or start a new run", err)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// Starts is how many starts of the test episodes are new.
type Starts struct {
	Episodes int `json:"episodes"` // episodes of the test that each policy played
	Distinct int `json:"distinct"` // different starts of these episodes
	// Clusters is the number of tasks, if intervals and test cluster episodes by
	// task; 0 means that they cluster by start.
	Clusters int `json:"clusters,omitempty"`
	// Nil means that these were not recorded.

	InTraining   *int `json:"in_training,omitempty"`   // different starts in which episodes of training began too
	InValidation *int `json:"in_validation,omitempty"` // different starts in which episodes of validation began too
}

// Seen reports whether training or validation used a start of the test.
func (s Starts) Seen() bool {
	return s.InTraining != nil && *s.InTraining > 0 || s.InValidation != nil && *s.InValidation > 0
}

func (s Starts) distinct() string {
	if s.Distinct == 1 {
		return "1 distinct start"
	}
	return fmt.Sprintf("%d distinct starts", s.Distinct)
}

// String describes s in one or two sentences, for people.
func (s Starts) String() string {
	var b strings.Builder
	switch {
	case s.Clusters > 0:
		fmt.Fprintf(&b, "%s of %d tasks in %d test episodes; intervals and test are clustered by task", s.distinct(), s.Clusters, s.Episodes)
	case s.Distinct == s.Episodes:
		fmt.Fprintf(&b, "The %d test episodes have distinct starts", s.Episodes)
	default:
		fmt.Fprintf(&b, "%s in %d test episodes; intervals and test are clustered by start", s.distinct(), s.Episodes)
	}
	switch {
	case s.InTraining == nil || s.InValidation == nil:
		b.WriteString("; the run did not record whether training used them.")
	case !s.Seen():
		b.WriteString("; neither training nor validation used any of them.")
	default:
		fmt.Fprintf(&b, "; training used %d of them and validation %d: the environment's splits overlap.", *s.InTraining, *s.InValidation)
	}
	return b.String()
}
