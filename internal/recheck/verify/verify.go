// Package verify holds a run directory against what it was made by: the rewards
// with the digests that its manifest has, the estimator of its configuration,
// and the checksums that it keeps of itself.
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

// Options say what is verified with what.
type Options struct {
	// Rewards are files or folders that may hold a reward of the run, where the
	// one that its configuration names has another digest or is gone; of a script
	// with several, file.py:function.
	Rewards []string
	// Parallel is how many groups are computed at one time; 0 is one for each
	// processor.
	Parallel int
}

// Report is what was found.
type Report struct {
	Run     string   `json:"run"`
	Rewards []Reward `json:"rewards"`
	Files   []File   `json:"files"`
	// Findings is every place in which the run is not what was computed: of each
	// trajectory the first one.
	Findings []Finding `json:"findings"`
	// Unsealed says why the run keeps no digests of its files, if it does not:
	// then only what is computed again, and files with sums of their own, were
	// checked.
	Unsealed string `json:"unsealed,omitempty"`
	// Stopped says why not all of the run could be computed again, if a change
	// that was found is in the way.
	Stopped string `json:"stopped,omitempty"`
}

// Agrees reports whether nothing differs.
func (r *Report) Agrees() bool { return len(r.Findings) == 0 }

// Rescored reports whether every reward could be asked again.
func (r *Report) Rescored() bool {
	for _, p := range r.Rewards {
		if p.Why != "" {
			return false
		}
	}
	return true
}

// Err is nil if the run agrees, and otherwise names the first finding.
func (r *Report) Err() error {
	if r.Agrees() {
		return nil
	}
	f := r.Findings[0]
	e := &fault.Error{
		Boundary: fault.Data, Kind: fault.Differs, Where: filepath.Join(r.Run, f.File), What: f.String(),
		Hint: "the file was changed or damaged after the run, or the run was made by something else than it says; restore it from a copy",
	}
	if n := len(r.Findings); n > 1 {
		e.What += fmt.Sprintf(" (the first of %d differences)", n)
	}
	return e
}

// File is a file of the run that was looked at.
type File struct {
	Name string `json:"name"` // in the run directory, with slashes
	// Checked says by what, besides the tally: "sha256" of the whole file or of
	// each iteration's part, or empty where the run keeps none.
	Checked string `json:"checked,omitempty"`
	recompute.Tally
}

// Finding is one place that differs.
type Finding struct {
	File string `json:"file"`
	recompute.Difference
}

// String says it in one line, without the file.
func (f Finding) String() string {
	if f.Trajectory == "" {
		return fmt.Sprintf("%s: stored %s, computed %s", f.Field, f.Stored, f.Computed)
	}
	return f.Difference.String()
}

// Run verifies the run in dir. The options are those of merit.Open; scorers of a
// program are asked again where it brings them. An error says that the run could
// not be verified; what differs is in the report.
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
		v.report.Stopped = err.Error() // by what was changed
	}
	v.conclude(late)
	return v.report, nil
}

// folder refuses a file in the place of a run directory.
func folder(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil // reading the run reports what is missing
	}
	return &fault.Error{
		Boundary: fault.Data, Kind: fault.Invalid, Where: path, What: "this is a file; verify checks run directories, and files of results hold no digests",
		Hint: "to check results, score the same rows again with merit eval --out again.jsonl, and compare them: merit reward diff " + path + " again.jsonl",
	}
}

// conclude adds the files whose sums differ and of which nothing else was found,
// and lists those that agree.
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

// again computes what the run has kept again.
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

// onlyModules reports whether nothing is wrong with a configuration but that
// files of rewards are not where it says.
func onlyModules(err error) bool {
	return !slices.ContainsFunc(fault.Leaves(err), func(one error) bool {
		f := fault.As(one)
		return f == nil || !strings.Contains(f.Where, "rewards[") || !strings.HasSuffix(f.Where, "].module")
	})
}

// verification is a Run under way.
type verification struct {
	dir     string
	o       Options
	cfg     *merit.Config
	metrics []run.Iteration
	recipe  recompute.Recipe // without what differs from file to file
	report  *Report

	finished bool            // it has a summary
	checked  map[string]bool // files with the digest of the manifest
}

func (v *verification) find(file string, d recompute.Difference) {
	v.report.Findings = append(v.report.Findings, Finding{file, d})
}
