package run

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Names of the files in a run directory.
const (
	ConfigFile   = "config.yaml"
	ManifestFile = "manifest.json"
	MetricsFile  = "metrics.jsonl"
	SummaryFile  = "summary.json"
	ReportFile   = "report.html"
	LockFile     = "lock"

	Trajectories      = "trajectories"
	TrainTrajectories = "train.jsonl.zst"
	Checkpoints       = "checkpoints"
	Last              = "last"
	Best              = "best"
)

// Options say how a run directory is opened for writing.
type Options struct {
	Config   []byte   // config.yaml, resolved
	Manifest Manifest // of the run as it would be now
	// Resume goes on with the run that the directory holds; where it holds
	// none, because the run was killed before it began, it starts one.
	Resume bool
	// Overwrite removes the run that the directory holds.
	Overwrite bool
}

// Dir is a run directory open for writing by this process alone. Its methods
// are for one goroutine.
type Dir struct {
	path     string
	lock     *os.File
	metrics  *growing
	episodes *growing
	manifest Manifest
}

// Start opens path for writing, as o says, and locks it.
func Start(path string, o Options) (*Dir, error) {
	for _, sub := range []string{Checkpoints, Trajectories} {
		if err := os.MkdirAll(filepath.Join(path, sub), 0o755); err != nil {
			return nil, storageError(path, "cannot be created", err)
		}
	}
	lock, err := acquire(filepath.Join(path, LockFile))
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, lock: lock}
	if err := d.begin(o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Dir) begin(o Options) (err error) {
	d.removeLeftovers()
	before, err := ReadManifest(d.path)
	holds := !errors.Is(err, fault.Of(fault.Storage, fault.Missing))
	switch {
	case holds && o.Resume:
		if err != nil {
			return err
		}
		if err := errors.Join(before.sameAs(o.Manifest, d.path)...); err != nil {
			return err
		}
		d.manifest = *before
	case holds && !o.Overwrite:
		return &fault.Error{
			Boundary: fault.Storage, Kind: fault.Refused, Where: d.path, What: "holds a run already",
			Hint: "go on with it by --resume, replace it by --overwrite, or choose another directory with --out",
		}
	default:
		if err := d.create(o); err != nil {
			return err
		}
	}
	if d.metrics, err = openGrowing(d.file(MetricsFile)); err != nil {
		return err
	}
	d.episodes, err = openGrowing(d.file(Trajectories, TrainTrajectories))
	return err
}

// create empties the directory of an earlier run's files. The manifest goes
// first and comes last: a directory with a manifest holds a run.
func (d *Dir) create(o Options) error {
	files := []string{ManifestFile, MetricsFile, SummaryFile, ReportFile, ConfigFile}
	for _, sub := range []string{Checkpoints, Trajectories} {
		inside, err := os.ReadDir(d.file(sub))
		if err != nil {
			return storageError(d.file(sub), "cannot be read", err)
		}
		for _, f := range inside {
			if sub == Checkpoints || strings.HasSuffix(f.Name(), ".jsonl.zst") {
				files = append(files, filepath.Join(sub, f.Name()))
			}
		}
	}
	for _, f := range files {
		if err := os.Remove(d.file(f)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return storageError(d.file(f), "cannot be removed", err)
		}
	}
	if err := writeFile(d.file(ConfigFile), o.Config); err != nil {
		return err
	}
	d.manifest = o.Manifest
	return d.writeJSON(ManifestFile, o.Manifest)
}

// removeLeftovers deletes the temporary files of atomic writes that a kill
// interrupted: a dot, the name of one of our files, digits.
func (d *Dir) removeLeftovers() {
	for _, pattern := range []string{".*.json[0-9]*", ".*.html[0-9]*", ".*.yaml[0-9]*", Checkpoints + "/.*[0-9]*", Trajectories + "/.*.zst[0-9]*"} {
		matches, _ := filepath.Glob(filepath.Join(escape(d.path), pattern)) // the pattern is well-formed
		for _, m := range matches {
			_ = os.Remove(m) // a leftover does no harm
		}
	}
}

// escape makes a path literal in a glob pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// Manifest returns what the run began with.
func (d *Dir) Manifest() Manifest { return d.manifest }

// Record appends an iteration to metrics.jsonl.
func (d *Dir) Record(it Iteration) error {
	line, err := json.Marshal(it)
	if err != nil {
		return &fault.Error{
			Boundary: fault.Learner, Kind: fault.Numeric, Where: d.file(MetricsFile), What: "a metric is not a finite number", Err: err,
			Hint: "lower ppo.learning_rate, or look at the last checkpoint and the log for the first odd value",
		}
	}
	return d.metrics.append(append(line, '\n'))
}

// WriteSummary writes summary.json.
func (d *Dir) WriteSummary(s *Summary) error { return d.writeJSON(SummaryFile, s) }

// WriteReport writes report.html.
func (d *Dir) WriteReport(html []byte) error { return writeFile(d.file(ReportFile), html) }

// Close releases the directory.
func (d *Dir) Close() error {
	var errs []error
	for _, g := range []*growing{d.metrics, d.episodes} {
		if g != nil {
			errs = append(errs, g.file.Close())
		}
	}
	return errors.Join(append(errs, d.lock.Close())...)
}

func (d *Dir) file(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

func (d *Dir) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return &fault.Error{Boundary: fault.Storage, Kind: fault.Internal, Where: d.file(name), What: "cannot be encoded", Err: err, Hint: "please report it"}
	}
	return writeFile(d.file(name), append(data, '\n'))
}
