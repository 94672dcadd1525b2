package trial

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/base/box"
	"github.com/merit-rl/merit/internal/harbor/task"
)

// document is Harbor's result.json of a trial.
type document struct {
	ID           string          `json:"id"`
	TaskName     string          `json:"task_name"`
	TrialName    string          `json:"trial_name"`
	TrialURI     string          `json:"trial_uri"`
	TaskID       map[string]any  `json:"task_id"`
	Source       *string         `json:"source"`
	TaskChecksum string          `json:"task_checksum"`
	Config       map[string]any  `json:"config"`
	AgentInfo    map[string]any  `json:"agent_info"`
	AgentResult  map[string]any  `json:"agent_result"`
	Verifier     *verifierResult `json:"verifier_result"`
	Exception    *exception      `json:"exception_info"`
	Steps        []Step          `json:"step_results,omitempty"`
	Started      time.Time       `json:"started_at"`
	Finished     time.Time       `json:"finished_at"`
	Execution    timing          `json:"agent_execution"`
	Verification timing          `json:"verifier"`
}

type verifierResult struct {
	Rewards map[string]float64 `json:"rewards"`
}

type exception struct {
	Type      string    `json:"exception_type"`
	Message   string    `json:"exception_message"`
	Traceback string    `json:"exception_traceback"`
	At        time.Time `json:"occurred_at"`
}

type timing struct {
	Started  time.Time `json:"started_at"`
	Finished time.Time `json:"finished_at"`
}

// Write writes the trial into a folder as Harbor does: result.json, config.json, agent/ and
// verifier/, and for a task with steps these in steps/NAME/.
func (r *Result) Write(dir string, t *task.Task) error {
	for _, s := range r.Steps {
		at := dir
		if s.Name != "" {
			at = filepath.Join(dir, "steps", s.Name)
		}
		if err := s.write(at, r.Agent); err != nil {
			return err
		}
	}
	d := r.document(dir, t)
	if err := writeJSON(filepath.Join(dir, "config.json"), d.Config); err != nil {
		return err
	}
	if d.Exception != nil {
		if err := os.WriteFile(filepath.Join(dir, "exception.txt"), []byte(d.Exception.Message+"\n"), 0o644); err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(dir, "result.json"), d)
}

func writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}

// document is result.json. The id is a function of the digest: the same trial has the same one.
func (r *Result) document(dir string, t *task.Task) document {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	id := []byte(r.Digest)
	d := document{
		ID:       fmt.Sprintf("%s-%s-5%s-8%s-%s", id[:8], id[8:12], id[13:16], id[17:20], id[20:32]),
		TaskName: t.Name, TrialName: filepath.Base(abs), TrialURI: "file://" + filepath.ToSlash(abs), TaskID: map[string]any{"path": t.Dir}, TaskChecksum: t.Digest,
		Config: map[string]any{
			"task": map[string]any{"path": t.Dir}, "trial_name": filepath.Base(abs), "trials_dir": filepath.Dir(dir), "timeout_multiplier": 1.0,
			"agent": map[string]any{"name": r.Agent}, "environment": map[string]any{"type": "merit"}, "verifier": map[string]any{"disable": false},
		},
		AgentInfo: map[string]any{"name": r.Agent, "version": "1.0.0", "model_info": nil}, AgentResult: r.agentResult(),
		Started: r.Began, Finished: r.Ended, Execution: timing{r.Began, r.Acted}, Verification: timing{r.Acted, r.Ended},
	}
	if len(r.Steps) > 1 || len(r.Steps) == 1 && r.Steps[0].Name != "" {
		d.Steps = r.Steps
	}
	if r.Failure == nil {
		d.Verifier = &verifierResult{r.Rewards}
	} else {
		d.Exception = &exception{r.Failure.Name, r.Failure.Reason, r.Failure.Error(), r.Ended}
	}
	return d
}

// agentResult is Harbor's context of an agent, with the red flags.
func (r *Result) agentResult() map[string]any {
	if len(r.Flags) == 0 {
		return map[string]any{}
	}
	return map[string]any{"metadata": map[string]any{"red_flags": r.Flags}}
}

// write writes what the agent and the verifier of a step printed and left.
func (s *Step) write(dir, agent string) error {
	for _, sub := range []string{"agent", "verifier"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	files := []box.File{{Path: "verifier/test-stdout.txt", Data: s.Verdict.Output}, {Path: "verifier/test-stderr.txt", Data: s.Verdict.Errors}}
	if agent == Oracle {
		files = append(files, box.File{Path: "agent/oracle.txt", Data: s.Agent})
	}
	for _, f := range s.Verdict.Files {
		if rest, ok := strings.CutPrefix(f.Path, verifyLogs+"/"); ok && filepath.IsLocal(rest) {
			f.Path = "verifier/" + rest
			files = append(files, f)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		if err := put(root, f); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file in a folder. Links are left out: they are the verifier's, for another
// machine.
func put(root *os.Root, f box.File) error {
	switch {
	case f.Mode&fs.ModeSymlink != 0:
		return nil
	case f.Mode.IsDir():
		return root.MkdirAll(f.Path, 0o755)
	}
	if err := root.MkdirAll(filepath.Dir(f.Path), 0o755); err != nil {
		return err
	}
	return root.WriteFile(f.Path, f.Data, 0o644)
}
