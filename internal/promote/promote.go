package promote

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/runs/measure"
	"github.com/merit-rl/merit/sdk/merit"
)

// Candidate is what is to be promoted, and why.
type Candidate struct {
	// Checkpoint is a run directory, of which the best is meant, or a file in
	// the checkpoints folder of one.
	Checkpoint string
	// Evidence is an evaluation of that checkpoint, Against one of what plays
	// now, on the same starts.
	Evidence, Against Measured
	// Thresholds are assignments evidence.key=value over the section evidence of
	// the configuration that Evidence was measured with.
	Thresholds []string
	// Unproven promotes although the evidence does not show that it is better.
	Unproven bool
	// Share of the starts that it will play.
	Share float64
}

// Measured is an evaluation, and where the paths of its configuration begin.
type Measured struct {
	*run.Evaluation
	Source, Folder string // for messages; of paths
}

// ReadMeasured reads a file of merit policy measure.
func ReadMeasured(path string) (Measured, error) {
	e, folder, err := measure.Read(path)
	return Measured{e, path, folder}, err
}

// Promote copies the candidate into dir as the next version and makes it
// current. Who was measured in Against is the fall-back of a new folder. Nothing
// changes for those who play until all of it lies there. Of two promotions at one
// time the second is refused.
func Promote(dir string, c Candidate) (*State, error) {
	if _, err := os.Stat(filepath.Join(dir, run.ManifestFile)); err == nil {
		return nil, &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: dir, What: "is a run, and promotions have a folder of their own",
			Hint: "name another folder: one that does not exist yet is made",
		}
	}
	if err := checkShare(c.Share); err != nil {
		return nil, err
	}
	runDir, name, err := merit.SplitCheckpoint(c.Checkpoint)
	if err != nil {
		return nil, err
	}
	checkpoint, err := run.ReadCheckpoint(runDir, name)
	if err != nil {
		return nil, err
	}
	comparison, err := c.judge(checkpoint)
	if err != nil {
		return nil, err
	}
	if !Is(dir) { // nothing is made for what cannot be promoted
		if err := errors.Join(c.begins(), vacant(dir)); err != nil {
			return nil, err
		}
	}
	release, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	s, err := c.open(dir)
	if err != nil {
		return nil, err
	}
	replaced := s.Current
	v := Version{
		Number: len(s.Versions) + 1, From: filepath.ToSlash(c.Checkpoint), Checkpoint: checkpoint.Digest, Replaced: &replaced,
		Evidence: comparison, Against: c.Against.Player.String(), Promoted: time.Now().UTC().Truncate(time.Second),
	}
	if err := s.copy(v.Number, runDir, name, c); err != nil {
		return nil, err
	}
	s.Versions, s.Current, s.Share = append(s.Versions, v), v.Number, c.Share
	return s, s.write()
}

// judge holds the candidate to its evidence.
func (c Candidate) judge(checkpoint *run.Checkpoint) (evidence.Comparison, error) {
	var none evidence.Comparison
	if c.Evidence.Player.Checkpoint != checkpoint.Digest {
		return none, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: c.Evidence.Source, What: "is not an evaluation of " + c.Checkpoint,
			Hint: "measure that checkpoint: its weights are not those of the file",
		}
	}
	thresholds, err := measure.Thresholds(c.Evidence.Source, []byte(c.Evidence.Config), c.Thresholds...)
	if err != nil {
		return none, err
	}
	if err := evidence.Unpaired(c.Against.Evaluation, c.Evidence.Evaluation); err != nil {
		return none, err
	}
	comparison, err := evidence.Compare(c.Against.Evaluation, c.Evidence.Evaluation, thresholds)
	if err != nil || comparison.Verdict.Decision == evidence.Promote || c.Unproven {
		return comparison, err
	}
	return comparison, &fault.Error{
		Boundary: fault.Data, Kind: fault.Refused, Where: c.Checkpoint,
		What: fmt.Sprintf("is not shown to be better than %s: %s", c.Against.Player, comparison.Verdict.Sentence),
		Hint: "train longer, measure more episodes, or promote it as unproven",
	}
}

// begins says why a new folder cannot fall back to who played against.
func (c Candidate) begins() error {
	if c.Against.Player.Checkpoint == "" {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: c.Against.Source, What: "was played by a checkpoint, and a new folder falls back to a policy without one",
		Hint: "compare with the configuration's policy: a plug-in, or the network without training",
	}
}

// open reads the folder, or begins one whose fall-back is who played against.
// In a folder that has a version, the evidence must be against what plays now.
func (c Candidate) open(dir string) (*State, error) {
	if Is(dir) {
		s, err := Read(dir)
		if err == nil && c.Against.Player.Checkpoint != s.checkpoint() {
			err = &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: c.Against.Source, What: fmt.Sprintf("is not an evaluation of what plays now, %s", s.Playing()),
				Hint: "measure that with merit policy measure --policy " + dir + " --out FILE, or promote without --evidence and --against: both are measured then",
			}
		}
		return s, err
	}
	cfg, err := merit.ParseConfig(c.Against.Source, []byte(c.Against.Config), c.Against.Folder)
	if err != nil {
		return nil, err
	}
	s := &State{Format: format, Fallback: c.Against.Player.String(), dir: dir}
	return s, s.writeConfig(filepath.Join(dir, fallbackDir), cfg)
}

// copy lays out version n as a run is.
func (s *State) copy(n int, runDir, name string, c Candidate) error {
	to := s.versionDir(n)
	if err := os.RemoveAll(to); err != nil { // of a promotion that was stopped: no state names it
		return storage(to, "cannot be replaced", err)
	}
	cfg, err := merit.LoadRun(runDir)
	if err != nil {
		return err
	}
	if err := s.writeConfig(to, cfg); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(runDir, run.Checkpoints, name), filepath.Join(to, run.Checkpoints, run.Best)); err != nil {
		return err
	}
	if err := copyFile(filepath.Join(runDir, run.ManifestFile), filepath.Join(to, run.ManifestFile)); err != nil {
		return err
	}
	return errors.Join(c.Evidence.write(to, "evidence.json"), c.Against.write(to, "against.json"))
}

// write copies an evaluation, with its paths from the new folder.
func (m Measured) write(folder, name string) error {
	e := *m.Evaluation
	if cfg, err := merit.ParseConfig(m.Source, []byte(e.Config), m.Folder); err == nil { // else what it names is gone
		text, err := cfg.Marshal(folder)
		if err != nil {
			return err
		}
		e.Config = string(text)
	}
	return run.WriteEvaluation(filepath.Join(folder, name), &e)
}

func (s *State) writeConfig(dir string, cfg *merit.Config) error {
	text, err := cfg.Marshal(dir)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, run.ConfigFile), text)
}
