package interchange

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Names of files that Harbor writes for a trial.
const (
	trajectoryFile = "trajectory.json"
	agentFolder    = "agent"
	resultFile     = "result.json"
)

// mostTrials limits the number of trajectories of a folder.
const mostTrials = 1_000_000

// Folder returns a reader of the ATIF documents called trajectory.json anywhere in a folder,
// in the order of their paths; those of Harbor's trials with their task and reward. It is nil
// if there is none.
func Folder(folder string) (*Rows, error) {
	notes := new(Notes)
	paths, err := trajectories(folder, notes)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	found := together(folder, paths)
	more := func() ([]*rl.Trajectory, string, error) {
		if len(found) == 0 {
			return nil, "", io.EOF
		}
		at := found[0]
		found = found[1:]
		t, err := at.read(folder, notes)
		if err != nil {
			return nil, at.documents[0], err
		}
		t.ID = cmp.Or(t.ID, path.Dir(at.documents[0]))
		return []*rl.Trajectory{t}, at.documents[0], nil
	}
	return &Rows{Notes: notes, more: more}, nil
}

// trajectories returns the paths of the documents in a folder. It counts trials that have none.
func trajectories(folder string, notes *Notes) (found []string, err error) {
	trials := map[string]bool{}
	err = fs.WalkDir(os.DirFS(folder), ".", func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: filepath.Join(folder, at), What: "cannot read", Err: errors.Unwrap(err), Hint: "check the owner and mode of the folder"}
		case d.IsDir():
			return nil
		case d.Name() == trajectoryFile:
			found = append(found, at)
		case d.Name() == resultFile:
			trials[path.Dir(at)] = true
		}
		if len(found) > mostTrials {
			return &fault.Error{Boundary: fault.Data, Kind: fault.Exhausted, Where: folder, What: fmt.Sprintf("has more than %d files called %s", mostTrials, trajectoryFile), Hint: "read its folders one by one"}
		}
		return nil
	})
	slices.Sort(found)
	without(folder, trials, found, notes)
	return found, err
}

// without counts the trials in folder that have none of the documents.
func without(folder string, trials map[string]bool, documents []string, notes *Notes) {
	for _, at := range documents {
		home, _ := stepOfTrial(at)
		for _, of := range []string{path.Dir(path.Dir(at)), path.Dir(at), home} {
			delete(trials, of)
		}
	}
	for at := range trials {
		if _, err := os.Stat(filepath.Join(folder, filepath.FromSlash(at), "verifier")); err == nil {
			notes.Add("trial without agent/%s, because its agent does not write ATIF: omitted", trajectoryFile)
		}
	}
}

// trial reads the document in a folder, with the result of the trial to which it belongs.
func trial(folder string, notes *Notes) (*rl.Trajectory, error) {
	open := opener(folder)
	text, err := open(trajectoryFile)
	if err != nil {
		return nil, err
	}
	t, err := ReadATIF(text, open, notes)
	if err != nil || filepath.Base(folder) != agentFolder {
		return t, err
	}
	home := filepath.Dir(folder)
	result, err := trialResult(opener(home))
	if err != nil || result == nil {
		return t, err
	}
	return t, result.settle(t, opener(home), notes)
}

// harborResult is what Merit reads of Harbor's result.json.
type harborResult struct {
	Steps []struct {
		Name  string `json:"step_name"`
		Short string `json:"name"`
	} `json:"step_results"`
	Task     string  `json:"task_name"`
	Trial    string  `json:"trial_name"`
	Checksum string  `json:"task_checksum"`
	Source   *string `json:"source"`
	Verifier *struct {
		Rewards json.RawMessage `json:"rewards"`
	} `json:"verifier_result"`
	Exception *struct {
		Type    string `json:"exception_type"`
		Message string `json:"exception_message"`
	} `json:"exception_info"`
}

func trialResult(open func(string) ([]byte, error)) (*harborResult, error) {
	text, err := open(resultFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	r := new(harborResult)
	if err := strictjson.Unmarshal(text, r); err != nil {
		return nil, badTrial(resultFile, err)
	}
	if r.Task == "" || r.Trial == "" {
		return nil, nil // of another tool
	}
	return r, nil
}

func badTrial(file string, err error) error {
	return &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, What: file + " of the trial", Err: err, Hint: "run the trial again; a reward is a finite number in reward.txt, or an object of numbers in reward.json"}
}

// settle gives t the task, the reward and the end of the trial. Trials of one task are one group.
func (r *harborResult) settle(t *rl.Trajectory, open func(string) ([]byte, error), notes *Notes) error {
	t.ID, t.Task = r.Trial, r.Task
	t.Group = r.Task
	if len(r.Checksum) >= 8 {
		t.Group += "@" + r.Checksum[:8] // another version of the task is another start
	}
	t.StopReason = rl.StopTerminated
	if e := r.Exception; e != nil {
		t.StopReason, t.Error = rl.StopError, strings.TrimSuffix(e.Type+": "+e.Message, ": ")
		if strings.Contains(e.Type, "AgentTimeout") {
			t.StopReason, t.Error = rl.StopTruncated, ""
		}
	}
	rewards, err := r.rewards(open)
	if err != nil || rewards == nil {
		if err == nil {
			notes.Add("trial without a reward: it has no score")
		}
		return err
	}
	return reward(t, rewards, notes)
}

// rewards returns the rewards of the verifier by name: from its own files, or else from the result.
func (r *harborResult) rewards(open func(string) ([]byte, error)) (json.RawMessage, error) {
	const object, number = "verifier/reward.json", "verifier/reward.txt"
	text, err := open(object)
	if err == nil {
		if err := strictjson.Check(text); err != nil {
			return nil, badTrial(object, jsonHint(text, err))
		}
		return bytes.TrimSpace(text), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		text, err = open(number)
	}
	switch {
	case err == nil:
		score, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil || score-score != 0 {
			return nil, badTrial(number, fmt.Errorf("%.40q is not a finite number", text))
		}
		return json.RawMessage(`{"reward":` + strconv.FormatFloat(score, 'g', -1, 64) + "}"), nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case r.Verifier != nil && some(r.Verifier.Rewards):
		return r.Verifier.Rewards, nil
	}
	return nil, nil
}

// reward scores t by an object of rewards: the one called reward, or the only one. The
// others are metrics.
func reward(t *rl.Trajectory, rewards json.RawMessage, notes *Notes) error {
	all := object(rewards)
	if len(rewards) == 0 || rewards[0] != '{' {
		all = fields{names: []string{"reward"}, values: map[string][]byte{"reward": rewards}}
	}
	result := &rl.EvaluateResult{IsScoreValid: true}
	scored := false
	for _, name := range all.names {
		v, err := strconv.ParseFloat(string(all.values[name]), 64)
		if err != nil {
			return badTrial("the reward "+name, fmt.Errorf("%.40s is not a finite number", all.values[name]))
		}
		if name == "reward" || len(all.names) == 1 {
			result.Score, scored = v, true
			continue
		}
		result.Metrics = append(result.Metrics, rl.Metric{Name: name, Score: v, IsScoreValid: true})
	}
	if !scored {
		notes.Add("trial with several rewards, none of them called reward: it has metrics, but no score")
		result.IsScoreValid, t.Outcome = false, "invalid"
	} else {
		t.Outcome = "scored"
	}
	t.Evaluation = result
	return nil
}

// Trials writes trajectories as ATIF documents, each in its own folder.
type Trials struct {
	folder string
	names  map[string]int
}

// CreateTrials makes a folder for trajectories, which must be empty or not exist.
func CreateTrials(folder string) (*Trials, error) {
	there, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, cannotWrite(folder, err)
	}
	if len(there) > 0 {
		return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: folder, What: "the folder is not empty", Hint: "name an empty or new folder"}
	}
	return &Trials{folder: folder, names: map[string]int{}}, cannotWrite(folder, os.MkdirAll(folder, 0o755))
}

// Put writes FOLDER/ID/trajectory.json and the documents that continue it. Each file appears
// whole or not at all.
func (w *Trials) Put(t *rl.Trajectory) error {
	docs, err := WriteATIF(t)
	if err != nil {
		return err
	}
	name := fileName(t.ID)
	if w.names[name]++; w.names[name] > 1 {
		name = fmt.Sprintf("%s~%d", name, w.names[name])
	}
	for _, d := range slices.Backward(docs) { // the first last: it makes the others findable
		at := filepath.Join(w.folder, name, filepath.FromSlash(cmp.Or(d.Path, trajectoryFile)))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return cannotWrite(at, err)
		}
		if err := renameio.WriteFile(at, append(d.Text, '\n'), 0o644); err != nil {
			return cannotWrite(at, err)
		}
	}
	return nil
}

// fileName returns a name as one element of a path on any system: other characters than
// letters, digits, dots, hyphens and underscores are spelled %XX.
func fileName(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' && i > 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.Len() > 160 {
		sum := sha256.Sum256([]byte(name))
		return b.String()[:120] + "-" + hex.EncodeToString(sum[:8])
	}
	return cmp.Or(b.String(), "unnamed")
}

func cannotWrite(where string, err error) error {
	if err == nil {
		return nil
	}
	return &fault.Error{Boundary: fault.Storage, Kind: fault.Refused, Where: where, What: "cannot write", Err: err, Hint: "check that the folder is writable and the disk is not full"}
}
