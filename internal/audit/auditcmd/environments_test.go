package auditcmd_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/envaudit"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/host"
)

// change is a row of testdata/environments.yaml.
type change struct {
	Name, Base, File, Old, New, More, Oracle string
	Remove                                   bool
	Range                                    *[2]float64
	Expect                                   []string
}

type seeded struct {
	Bases             map[string]string
	Package           map[string]string
	Defects, Packages []change
}

// score counts the defects that were found, and requires that sound environments raise no alarm.
type score struct{ all, found int }

func (s *score) note(t *testing.T, c change, results []audit.Result) {
	t.Helper()
	ids := failed(results)
	if c.Expect == nil {
		assert.Empty(t, ids, "%s: %v", c.Name, evidence(results))
		return
	}
	if s.all++; slices.ContainsFunc(c.Expect, func(id string) bool { return slices.Contains(ids, id) }) {
		s.found++
		return
	}
	t.Logf("missed %s: expected %v, failed %v", c.Name, c.Expect, evidence(results))
}

// Promise: of the environments with one defect each, at least 95 in 100 are found by a check that
// names the defect; sound ones raise no alarm; each audit takes at most 60 s.
func TestDefectiveEnvironments(t *testing.T) {
	testneeds.NotShort(t)
	var all seeded
	read(t, "environments.yaml", &all)
	var s score
	warm := map[string]bool{} // the first audit compiles the interpreter
	for _, c := range all.Defects {
		text := all.Bases[c.Base]
		require.Contains(t, text, c.Old, c.Name)
		file := filepath.Join(t.TempDir(), c.Base+".py")
		if c.Old != "" {
			text = strings.Replace(text, c.Old, c.New, 1)
		}
		require.NoError(t, os.WriteFile(file, []byte(text+c.More), 0o600))
		began := spent(t)
		s.note(t, c, played(t, file, c))
		if took := spent(t) - began; warm[c.Base] {
			require.Less(t, took, time.Minute, c.Name)
		}
		warm[c.Base] = true
	}
	t.Logf("found %d of %d", s.found, s.all)
	require.GreaterOrEqual(t, 100*s.found, 95*s.all)
}

// spent returns the CPU time of this process: the machine may have other work.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	require.NoError(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func played(t *testing.T, file string, c change) []audit.Result {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots = "sandbox:"+file, 5
	subject := envaudit.Subject{
		Open: func(ctx context.Context) (env.Env, error) { return host.Open(ctx, cfg) }, Sandboxed: true, Source: source(t, file), Range: c.Range, Manifest: envaudit.Describe(c.Name, ""),
	}
	if c.Oracle != "" {
		path := filepath.Join(t.TempDir(), "oracle.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(c.Oracle), 0o600))
		var err error
		subject.Oracle, err = envaudit.ReadSolutions(path)
		require.NoError(t, err)
	}
	_, results, err := envaudit.Run(t.Context(), subject)
	require.NoError(t, err)
	return results
}

// Promise: the files of a package of OpenEnv are checked without Docker, and a sound package raises
// no alarm.
func TestDefectivePackages(t *testing.T) {
	var all seeded
	read(t, "environments.yaml", &all)
	var s score
	for _, c := range all.Packages {
		folder := t.TempDir()
		for name, text := range all.Package {
			if name == c.File && c.Old != "" {
				require.Contains(t, text, c.Old, c.Name)
				text = strings.Replace(text, c.Old, c.New, 1)
			}
			if name != c.File || !c.Remove {
				write(t, folder, name, text)
			}
		}
		if _, known := all.Package[c.File]; !known && c.File != "" {
			write(t, folder, c.File, c.New)
		}
		_, results, err := envaudit.Run(t.Context(), envaudit.Subject{Folder: folder})
		require.NoError(t, err)
		s.note(t, c, results)
	}
	t.Logf("found %d of %d", s.found, s.all)
	require.GreaterOrEqual(t, 100*s.found, 95*s.all)
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func source(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
