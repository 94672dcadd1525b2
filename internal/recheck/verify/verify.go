// Package verify checks a run directory against its origin: the rewards with the digests in
// its manifest, the estimator of its configuration, and the checksums that it stores.
package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/recheck/recompute"
	"github.com/merit-rl/merit/sdk/merit"
)

// Options configures the verification.
type Options struct {
	// Rewards are files or folders that may contain a reward of the run, if the one that its
	// configuration names has a different digest or is missing; for one of several in a
	// script, file.py:function.
	Rewards []string
	// Parallel is how many groups are computed concurrently; 0 is one for each CPU.
	Parallel int
}

// Report is the result of a verification.
type Report struct {
	Run     string   `json:"run"`
	Rewards []Reward `json:"rewards"`
	Files   []File   `json:"files"`
	// Findings are all places where the run differs from what was computed, but only the first
	// one of each trajectory.
	Findings []Finding `json:"findings"`
	// Unsealed says why the run has no digests of its files, if it has none. Then only
	// recomputed values and files with their own checksums were checked.
	Unsealed string `json:"unsealed,omitempty"`
	// Stopped says why some of the run could not be recomputed, if a change prevented it.
	Stopped string `json:"stopped,omitempty"`
}

// Agrees reports whether nothing differs.
func (r *Report) Agrees() bool { return len(r.Findings) == 0 }

// Rescored reports whether every reward was run again.
func (r *Report) Rescored() bool {
	for _, p := range r.Rewards {
		if p.Why != "" {
			return false
		}
	}
	return true
}

// Err returns nil if the run agrees, or else an error with the first finding.
func (r *Report) Err() error {
	if r.Agrees() {
		return nil
	}
	f := r.Findings[0]
	e := &fault.Error{
		Boundary: fault.Data, Kind: fault.Differs, Where: filepath.Join(r.Run, f.File), What: f.String(),
		Hint: "the file was changed or damaged after the run, or the recorded origin is wrong; restore the file from a copy",
	}
	if n := len(r.Findings); n > 1 {
		e.What += fmt.Sprintf(" (the first of %d differences)", n)
	}
	return e
}

// File is a file of the run that was checked.
type File struct {
	Name string `json:"name"` // in the run directory, with slashes
	// Checked is the checksum that was compared, besides the tally: "sha256" of the whole file
	// or of each iteration's part, or empty if the run stores none.
	Checked string `json:"checked,omitempty"`
	recompute.Tally
}

// Finding is one difference.
type Finding struct {
	File string `json:"file"`
	recompute.Difference
}

// String returns the finding in one line, without the file.
func (f Finding) String() string {
	if f.Trajectory == "" {
		return fmt.Sprintf("%s: stored %s, computed %s", f.Field, f.Stored, f.Computed)
	}
	return f.Difference.String()
}

// Run verifies the run in dir. The options are those of merit.Open; scorers of a program are
// run again if the options provide them. An error means that the run could not be verified;
// differences are in the report.
func Run(ctx context.Context, dir string, o Options, opts ...merit.Option) (*Report, error) {
	if err := folder(dir); err != nil {
		return nil, err
	}
	v := &verification{dir: dir, o: o, report: &Report{Run: dir, Findings: []Finding{}}, checked: map[string]bool{}}
	late, err := v.sealed()
	if err != nil {
		return nil, err
	}
	if err := v.again(ctx, opts); err != nil {
		if len(late) == 0 && v.report.Agrees() {
			return nil, err
		}
		v.report.Stopped = err.Error() // because of a change
	}
	v.conclude(late)
	return v.report, nil
}

// folder returns an error if path is a file instead of a run directory.
func folder(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil // reading the run reports what is missing
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: path, What: "this is a file; verify checks run directories, and files of results have no digests",
		Hint: "to check results, score the same rows again with merit eval --out again.jsonl, and compare them: merit reward diff " + path + " again.jsonl",
	}
}

// conclude adds the files whose checksums differ and that have no other finding, and lists
// those that agree.
func (v *verification) conclude(late []Finding) {
	for _, f := range late {
		if !slices.ContainsFunc(v.report.Findings, func(other Finding) bool { return other.File == f.File }) {
			v.report.Findings = append(v.report.Findings, f)
		}
	}
	for i := range v.report.Files {
		delete(v.checked, v.report.Files[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(v.checked)) {
		if !v.checked[name] {
			continue
		}
		v.report.Files = append(v.report.Files, File{Name: name, Checked: "sha256"})
	}
}

// again recomputes what the run saved.
func (v *verification) again(ctx context.Context, opts []merit.Option) error {
	manifest, err := run.ReadManifest(v.dir)
	if err != nil {
		return err
	}
	cfg, err := merit.LoadRun(v.dir)
	if err != nil && !(cfg != nil && len(v.o.Rewards) > 0 && onlyModules(err)) {
		return err
	}
	metrics, err := run.ReadMetrics(v.dir)
	if err != nil {
		return err
	}
	v.cfg, v.metrics = cfg, metrics
	rewards, err := v.rewards(ctx, manifest, opts)
	if err != nil {
		return err
	}
	err = errors.Join(v.files(ctx), v.headline(manifest))
	if rewards != nil {
		err = errors.Join(err, rewards.Close())
	}
	return err
}

// onlyModules reports whether a configuration's only problems are missing reward files.
func onlyModules(err error) bool {
	return !slices.ContainsFunc(fault.Leaves(err), func(one error) bool {
		f := fault.As(one)
		return f == nil || !strings.Contains(f.Where, "rewards[") || !strings.HasSuffix(f.Where, ".module")
	})
}

// verification is a Run in progress.
type verification struct {
	dir     string
	o       Options
	cfg     *merit.Config
	metrics []run.Iteration
	recipe  recompute.Recipe // without the parts that differ between files
	report  *Report

	finished bool            // the run has a summary
	won      bool            // which has a win rate
	checked  map[string]bool // files that match the manifest's digest
}

func (v *verification) find(file string, d recompute.Difference) {
	v.report.Findings = append(v.report.Findings, Finding{file, d})
}
