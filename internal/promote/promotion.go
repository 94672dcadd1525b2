// Package promote manages which trained policy plays for others: a folder of versions,
// each with its evidence, and one file that records which of them plays, in what share
// of the episodes. The fallback, the policy from before any training, plays the other
// episodes, and all of them after a rollback to it.
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
	versionsDir = "versions" // versions/N has the layout of a run: config.yaml, checkpoints/best
	fallbackDir = "fallback" // config.yaml of the policy that plays if no version does
	lockFile    = "lock"
	format      = 1
)

// State is promoted.json.
type State struct {
	Format   int       `json:"format"`
	Current  int       `json:"current"` // the version that plays; 0 means none
	Share    float64   `json:"share"`   // of the starts that it plays; the fallback plays the rest
	Fallback string    `json:"fallback"`
	Versions []Version `json:"versions"`

	dir string
}

// Version is a promoted policy.
type Version struct {
	Number     int    `json:"number"`
	From       string `json:"from"`       // the run
	Checkpoint string `json:"checkpoint"` // sha256:…
	// Replaced is what played before it and what a rollback returns to: a version, or 0
	// for none. Nil, in folders of older programs, means the previous version.
	Replaced *int `json:"replaced,omitempty"`
	// Evidence compares it with what it replaced.
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
			Boundary: fault.Storage, Kind: fault.Corrupt, Where: path, What: fmt.Sprintf("is not a state of format %d", format), Err: err,
			Hint: "restore the file from a backup; the versions next to it are intact",
		}
	}
	return s, nil
}

// write replaces the state atomically.
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

// Change reads the state of dir, applies change to it and writes it. If two changes run
// at the same time, the second fails.
func Change(dir string, change func(*State) error) (*State, error) {
	if !Is(dir) {
		return Read(dir) // returns the error, and creates no folder
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

// SetShare changes the share of the starts that the current version plays.
func (s *State) SetShare(share float64) error {
	s.Share = share
	return checkShare(share)
}

func checkShare(share float64) error {
	if share >= 0 && share <= 1 {
		return nil
	}
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "share", What: fmt.Sprintf("%v is not a share", share), Hint: "use 0 to 1, or a percentage such as 10%"}
}

// FallBack rolls back to what the current version replaced, with the same share. It
// removes nothing.
func (s *State) FallBack() error {
	if s.Current == 0 {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: s.dir, What: "no version plays, so there is nothing to roll back", Hint: "promote a run, or select a version by its number"}
	}
	if before := s.Versions[s.Current-1].Replaced; before != nil && *before < s.Current {
		s.Current = max(*before, 0)
	} else {
		s.Current--
	}
	return nil
}

// Select makes a version play, or none for 0.
func (s *State) Select(version int) error {
	if version < 0 || version > len(s.Versions) {
		return &fault.Error{
			Boundary: fault.Config, Kind: fault.Invalid, Where: s.dir, What: fmt.Sprintf("there is no version %d", version),
			Hint: fmt.Sprintf("use 1 to %d, or 0 for the fallback", len(s.Versions)),
		}
	}
	s.Current = version
	return nil
}

// plays describes what plays now, for evaluations. If a version plays only a share of
// the starts, the description names both policies.
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

// checkpoint returns the digest of the current version's checkpoint, empty without one.
func (s *State) checkpoint() string {
	if s.Current == 0 {
		return ""
	}
	return s.Versions[s.Current-1].Checkpoint
}

// Playing describes in words what plays.
func (s *State) Playing() string {
	switch {
	case s.Current == 0 || s.Share == 0:
		return s.Fallback
	case s.Share == 1:
		return fmt.Sprintf("version %d", s.Current)
	}
	return fmt.Sprintf("version %d in %.4g %% of the starts, else %s", s.Current, 100*s.Share, s.Fallback)
}

// ConfigDir returns the folder whose config.yaml belongs to what plays.
func (s *State) ConfigDir() string {
	if s.Current == 0 {
		return filepath.Join(s.dir, fallbackDir)
	}
	return s.versionDir(s.Current)
}

// holds returns an error if a checkpoint is not the one that was promoted as the current
// version.
func (s *State) holds(c *run.Checkpoint) error {
	promoted := s.Versions[s.Current-1].Checkpoint
	if c.Digest == promoted {
		return nil
	}
	return &fault.Error{
		Boundary: fault.Storage, Kind: fault.Corrupt, Where: s.versionDir(s.Current),
		What: fmt.Sprintf("contains checkpoint %s, but %s was promoted", c.Digest, promoted),
		Hint: "roll back to the previous version, or promote the run again: the evidence does not apply to this checkpoint",
	}
}

func (s *State) versionDir(n int) string {
	return filepath.Join(s.dir, versionsDir, strconv.Itoa(n))
}
