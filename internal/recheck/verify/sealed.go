package verify

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/recheck/recompute"
)

// sealed compares every file of the run with its digest in the manifest. It returns the
// changed files. Differences in trajectories and checkpoints come last, because other checks
// describe these more specifically.
func (v *verification) sealed() (late []Finding, err error) {
	stored, computed, err := run.CheckManifest(v.dir)
	if err != nil {
		return nil, v.noManifest(err)
	}
	manifest, err := run.ReadManifest(v.dir)
	if stored == "" || manifest == nil || len(manifest.Files) == 0 {
		v.report.Unsealed = v.unsealed(stored)
	}
	lines, _ := run.ReadLineDigests(v.dir) // without it, changed lines are not located
	v.checked[run.ManifestFile] = stored != "" && stored == computed
	if stored != computed {
		v.changed(lines, run.ManifestFile, stored, computed)
	} else if stored == "" && lines != nil {
		v.find(run.ManifestFile, recompute.Difference{Field: "digest", Stored: "nothing", Computed: "one: the run has " + run.DigestsFile})
	}
	if manifest == nil {
		if len(v.report.Findings) == 0 {
			v.find(run.ManifestFile, recompute.Difference{Field: "file", Stored: err.Error(), Computed: "a manifest"})
		}
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(manifest.Files)) {
		late = append(late, v.sum(lines, name, manifest.Files[name])...)
	}
	return late, v.strangers(manifest)
}

// noManifest reports that a run has lost its manifest; a folder without any file of a run is
// an error.
func (v *verification) noManifest(err error) error {
	files, listed := run.Files(v.dir)
	if listed != nil || len(files) == 0 || !errors.Is(err, fault.Of(fault.Storage, fault.Missing)) {
		return err
	}
	v.find(run.ManifestFile, recompute.Difference{Field: "file", Stored: "nothing", Computed: "a manifest, which every run has"})
	return nil
}

// unsealed says why a run has no digests of its files.
func (v *verification) unsealed(stored string) string {
	if stored == "" {
		return "the version of Merit that created the run wrote none"
	}
	return "they are written when the run is finished"
}

// sum compares a file with its digest. It returns a difference in a file that is also checked
// in another way.
func (v *verification) sum(lines run.LineDigests, name string, want run.Sum) []Finding {
	found, err := run.SumOf(v.dir, name)
	f := Finding{File: name}
	switch {
	case found == want:
		v.checked[name] = true
		return nil
	case errors.Is(err, fault.Of(fault.Storage, fault.Missing)):
		f.Difference = recompute.Difference{Field: "file", Stored: "nothing: it is missing", Computed: want.Digest + " by " + run.ManifestFile}
	case err != nil:
		f.Difference = recompute.Difference{Field: "file", Stored: err.Error(), Computed: want.Digest + " by " + run.ManifestFile}
	case strings.HasPrefix(name, run.Trajectories+"/"), strings.HasPrefix(name, run.Checkpoints+"/"):
		f.Difference = whole(found, want)
	default:
		v.changed(lines, name, said(found), said(want)+" by "+run.ManifestFile)
		return nil
	}
	if strings.Contains(name, "/") {
		return []Finding{f}
	}
	v.find(f.File, f.Difference)
	return nil
}

func said(s run.Sum) string { return fmt.Sprintf("%s (%d bytes)", s.Digest, s.Bytes) }

func whole(found, want run.Sum) recompute.Difference {
	return recompute.Difference{Field: "file", Stored: said(found), Computed: said(want) + " by " + run.ManifestFile}
}

// changed names the line of a text that was changed, if the line digests show it.
func (v *verification) changed(lines run.LineDigests, name, stored, computed string) {
	d := recompute.Difference{Field: "file", Stored: stored, Computed: computed}
	if line := lines.Changed(v.dir, name); line != nil {
		d = recompute.Difference{Field: fmt.Sprintf("line %d", line.Number), Stored: shown(line.Text), Computed: "another line by " + run.DigestsFile}
		switch {
		case line.Gone:
			d.Stored, d.Computed = "nothing", "a line by "+run.DigestsFile
		case line.Added:
			d.Computed = "the end of the file by " + run.DigestsFile
		}
	}
	v.find(name, d)
}

// shown returns a line as quoted in a message.
func shown(line string) string {
	const most = 120
	line = strings.TrimSpace(strings.ToValidUTF8(line, "\ufffd"))
	if r := []rune(line); len(r) > most {
		return string(r[:most]) + "…"
	}
	return line
}

// strangers finds files that are named like files of a run but that the run did not write.
func (v *verification) strangers(m *run.Manifest) error {
	if len(m.Files) == 0 {
		return nil
	}
	files, err := run.Files(v.dir)
	for _, name := range files {
		if _, ok := m.Files[name]; !ok && name != run.ManifestFile {
			v.find(name, recompute.Difference{Field: "file", Stored: "a file", Computed: "nothing: the run did not write it, by " + run.ManifestFile})
		}
	}
	return err
}
