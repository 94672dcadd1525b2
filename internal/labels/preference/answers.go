package preference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// File is the name of the file of answers in the folder of a run.
const File = "preferences.jsonl"

// Place returns the default file of answers about the policy of a run or of a file of
// trajectories: in the run's folder, or beside the file.
func Place(after string) string {
	if isFolder(after) {
		return filepath.Join(after, File)
	}
	return filepath.Join(filepath.Dir(after), File)
}

// Choice is what a rater prefers.
type Choice string

// The choices.
const (
	Left  Choice = "left"  // the episode that was shown on the left
	Right Choice = "right" // the other one
	Equal Choice = "equal" // neither
	Skip  Choice = "skip"  // cannot say: it does not count, and the question is not repeated
)

// Choices returns all choices.
func Choices() []Choice { return []Choice{Left, Right, Equal, Skip} }

// Answer is one line of a file of answers. It names episodes by their digests, so that the
// file does not say which policy was preferred.
type Answer struct {
	Pair   string    `json:"pair"`
	Left   string    `json:"left"` // digest of the episode that was on the left
	Right  string    `json:"right"`
	Choice Choice    `json:"choice"`
	Rater  string    `json:"rater"`
	At     time.Time `json:"at"`
}

// longestName is the maximum number of bytes of a rater's name.
const longestName = 200

func (a *Answer) problem() string {
	switch {
	case !slices.Contains(Choices(), a.Choice):
		return fmt.Sprintf("%.40q is not a choice; use one of %v", a.Choice, Choices())
	case strings.TrimSpace(a.Rater) == "" || len(a.Rater) > longestName:
		return fmt.Sprintf("%.40q is not the name of a rater", a.Rater)
	case a.Pair == "" || a.Left == "" || a.Right == "" || a.Left == a.Right:
		return "does not name a pair of two episodes"
	case a.At.IsZero():
		return "does not say when"
	}
	return ""
}

// append adds an answer at the end of a file, in one write.
func (a *Answer) append(path string) error {
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return cannot(path, "cannot write the answers", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return cannot(path, "cannot write the answers", err)
	}
	return nil
}

func cannot(path, what string, err error) error {
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Invalid, Where: path, What: what, Err: err, Hint: "choose a file in an existing folder that you can write to"}
}

// ReadAnswers reads a file of answers. It reports all invalid lines at once. A last line that a
// killed process did not finish does not count.
func ReadAnswers(path string) (all []Answer, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, Where: path, What: "the file of answers does not exist", Hint: "ask people first, or correct the path"}
	}
	if err != nil {
		return nil, cannot(path, "cannot read the answers", err)
	}
	var p fault.Problems
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if unfinished(line) {
			break
		}
		var a Answer
		what := ""
		err := strictjson.UnmarshalKnown(line, &a)
		if err != nil {
			what = "is not an answer"
		} else {
			what = a.problem()
		}
		if what != "" {
			p = append(p, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: fmt.Sprintf("%s:%d", path, number), What: what, Err: err, Hint: "remove the line, or restore the file"})
		}
		all = append(all, a)
	}
	return all, errors.Join(p...)
}

// unfinished reports whether a line is what a killed process left of an answer.
func unfinished(line []byte) bool {
	const start = `{"pair":"`
	n := min(len(line), len(start))
	return !bytes.HasSuffix(line, []byte("\n")) && string(line[:n]) == start[:n]
}

// finish removes a last line that a killed process did not finish from a file of answers.
func finish(path string) error {
	data, err := os.ReadFile(path)
	at := int64(bytes.LastIndexByte(data, '\n') + 1)
	if err == nil && at < int64(len(data)) {
		err = os.Truncate(path, at)
	}
	if err != nil {
		return cannot(path, "cannot open the answers", err)
	}
	return nil
}
