// Package promote keeps which trained policy plays for others: a folder of
// versions, each with the evidence for it, and one file that says which of them
// plays and in what share of the episodes. The rest, and everything after a fall
// back, is played by the policy that was there before anybody trained.
package promote

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/google/renameio/v2"

	"github.com/merit-rl/merit/core/evidence"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// The files of a promotion folder.
const (
	stateFile   = "promoted.json"
	versionsDir = "versions" // versions/N is laid out as a run: config.yaml, checkpoints/best
	fallbackDir = "fallback" // config.yaml: who plays when no version does
	lockFile    = "lock"
	format      = 1
)

// State is promoted.json.
type State struct {
	Format   int       `json:"format"`
	Current  int       `json:"current"` // the version that plays; 0 is none
	Share    float64   `json:"share"`   // of the starts that it plays; the rest is the fall-back's
	Fallback string    `json:"fallback"`
	Versions []Version `json:"versions"`

	dir string
}

// Version is a policy that was promoted.
type Version struct {
	Number     int    `json:"number"`
	From       string `json:"from"`       // the run
	Checkpoint string `json:"checkpoint"` // sha256:…
	// Replaced is what played before it, to which one falls back: a version, or 0
	// for none. Nil, in folders of earlier programs, is the version before it.
	Replaced *int `json:"replaced,omitempty"`
	// Evidence compares it with what it was to replace.
	Evidence evidence.Comparison `json:"evidence"`
	Against  string              `json:"against,omitempty"`
	Promoted time.Time           `json:"promoted"`
}

// Is reports whether dir is a promotion folder.
func Is(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, stateFile))
	return err == nil
}

// Read reads the state of the promotion folder dir.
func Read(dir string) (*State, error) {
	path := filepath.Join(dir, stateFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, storage(path, "cannot be read", err)
	}
	s := &State{dir: dir}
	if err := strictjson.Unmarshal(data, s); err != nil || s.Format != format || s.Current > len(s.Versions) || s.Current < 0 || !(s.Share >= 0 && s.Share <= 1) {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Corrupt, Where: path, What: fmt.Sprintf("says nothing of format %d", format), Err: err,
			Hint: "restore the file from a copy; the versions beside it are whole",
		}
	}
	return s, nil
}

// write replaces the state in one step.
func (s *State) write() error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return storage(s.dir, "cannot be encoded", err)
	}
	path := filepath.Join(s.dir, stateFile)
	if err := renameio.WriteFile(path, append(data, '\n'), 0o644, renameio.WithTempDir(s.dir)); err != nil {
		return storage(path, "cannot be written", err)
	}
	return nil
}

// Change reads the state of dir, applies change to it and writes it, so that of
// two changes at one time the second is refused.
func Change(dir string, change func(*State) error) (*State, error) {
	if !Is(dir) {
		return Read(dir) // says what is missing, and makes no folder
	}
	release, err := lock(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	s, err := Read(dir)
	if err == nil {
		err = change(s)
	}
	if err != nil {
		return nil, err
	}
	return s, s.write()
}

// SetShare changes which share of the starts the current version plays.
func (s *State) SetShare(share float64) error {
	s.Share = share
	return checkShare(share)
}

func checkShare(share float64) error {
	if share >= 0 && share <= 1 {
		return nil
	}
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "share", What: fmt.Sprintf("%v is no share", share), Hint: "use 0 to 1, or a percentage such as 10%"}
}

// FallBack makes what the current version replaced play again, with the same
// share. Nothing is removed.
func (s *State) FallBack() error {
	if s.Current == 0 {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: s.dir, What: "no version plays, so there is nothing to fall back from", Hint: "promote a run, or choose a version by its number"}
	}
	if before := s.Versions[s.Current-1].Replaced; before != nil && *before < s.Current {
		s.Current = max(*before, 0)
	} else {
		s.Current--
	}
	return nil
}

// Select makes a version play, or none with 0.
func (s *State) Select(version int) error {
	if version < 0 || version > len(s.Versions) {
		return &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: s.dir, What: fmt.Sprintf("there is no version %d", version),
			Hint: fmt.Sprintf("use 1 to %d, or 0 for the fall-back", len(s.Versions)),
		}
	}
	s.Current = version
	return nil
}

// plays says who plays now, as evaluations do. Of a share of the starts no
// checkpoint alone can be named.
func (s *State) plays() run.Player {
	p := run.Player{From: filepath.ToSlash(s.dir)}
	if s.Current > 0 && s.Share > 0 {
		p.Checkpoint = s.checkpoint()
		p.From += fmt.Sprintf(" version %d", s.Current)
		if s.Share < 1 {
			p.From += fmt.Sprintf(" in %.4g %% of the starts", 100*s.Share)
			p.Checkpoint += " and " + s.Fallback
		}
	}
	return p
}

// checkpoint is that of the current version, empty without one.
func (s *State) checkpoint() string {
	if s.Current == 0 {
		return ""
	}
	return s.Versions[s.Current-1].Checkpoint
}

// Playing says in words who plays.
func (s *State) Playing() string {
	switch {
	case s.Current == 0 || s.Share == 0:
		return s.Fallback
	case s.Share == 1:
		return fmt.Sprintf("version %d", s.Current)
	}
	return fmt.Sprintf("version %d in %.4g %% of the starts, else %s", s.Current, 100*s.Share, s.Fallback)
}

// ConfigDir is the folder whose config.yaml is that of who plays.
func (s *State) ConfigDir() string {
	if s.Current == 0 {
		return filepath.Join(s.dir, fallbackDir)
	}
	return s.versionDir(s.Current)
}

// holds reports whether a checkpoint is the one that was promoted as the current
// version.
func (s *State) holds(c *run.Checkpoint) error {
	promoted := s.Versions[s.Current-1].Checkpoint
	if c.Digest == promoted {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Corrupt, Where: s.versionDir(s.Current),
		What: fmt.Sprintf("holds the checkpoint %s, and %s was promoted", c.Digest, promoted),
		Hint: "fall back to the version before, or promote the run again: the evidence is not of this one",
	}
}

func (s *State) versionDir(n int) string {
	return filepath.Join(s.dir, versionsDir, strconv.Itoa(n))
}
