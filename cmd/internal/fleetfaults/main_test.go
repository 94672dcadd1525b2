// Package fleetfaults_test injects faults into fleets of real processes and holds their
// runs to the bytes of undisturbed ones.
package fleetfaults_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/cmd/internal/runbytes"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/fleet/queue"
	"github.com/merit-rl/merit/plugins"
)

// short are clocks with which a fault costs seconds.
var short = queue.Timings{AckWait: 3 * time.Second, Beat: 500 * time.Millisecond, Watch: 2 * time.Second, Grace: 5 * time.Second}

// A plain run injects one fault, with short clocks. make faults-fleet injects all with
// the product's: see docs/fleet-faults.md.
var (
	page  = flag.String("page", "", "inject every fault, and write the table into this page")
	only  = flag.String("only", "", "inject this fault alone, and log its row")
	quick = flag.Bool("quick", false, "short clocks: a shard without a sign of life is delivered again after 3 s instead of 30")
	many  = flag.Int("faults", 8, "how many are injected at random")
	seed  = flag.Uint64("seed", 5, "of the choice of faults")
)

func TestMain(m *testing.M) {
	plugins.Main()
	if text := os.Getenv(variable); text != "" {
		if err := play(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// Promise: a run whose workers, coordinator and server are killed, stopped and
// drained at random moments has the bytes of an undisturbed one. The whole table
// and 200 faults are for make faults-fleet and soak-fleet: they take minutes.
func TestAFewFaults(t *testing.T) {
	testneeds.Slow(t, "trains in a fleet of processes that are killed")
	folder := t.TempDir()
	want, err := undisturbed(testneeds.Root(), folder)
	require.NoError(t, err)
	require.NoError(t, soak(t.Context(), testneeds.Root(), filepath.Join(folder, "soak"), *many, *seed, want))
}

// Promise: each fault by itself leaves a run the bytes of an undisturbed one. All of
// them take minutes, and root for disks and network namespaces.
func TestFaults(t *testing.T) {
	testneeds.Slow(t, "injects every fault into a fleet")
	var clocks queue.Timings // the product's
	if *page == "" && *only == "" {
		*only, *quick = "liar", true
	}
	if *quick {
		clocks = short
	}
	folder, table := t.TempDir(), strings.Builder{}
	want, err := undisturbed(testneeds.Root(), folder)
	require.NoError(t, err)
	table.WriteString("| fault | what happens | the run ends | after | longest standstill | redelivered | sent again | results refused | bytes of the run |\n|---|---|---|--:|--:|--:|--:|--:|---|\n")
	for i, f := range all {
		if *only != "" && f.name != *only {
			continue
		}
		o, err := f.run(t.Context(), testneeds.Root(), filepath.Join(folder, fmt.Sprint("scene", i)), clocks)
		require.NoError(t, err, f.name)
		t.Log(f.row(want, o))
		assert.Equal(t, want, o.files, f.name)
		table.WriteString(f.row(want, o))
	}
	if *page != "" {
		require.NoError(t, fill(filepath.Join(testneeds.Root(), *page), table.String()))
	}
}

// undisturbed is what the training writes without a fleet.
func undisturbed(root, folder string) (map[string]string, error) {
	dir := filepath.Join(folder, "plain")
	p, err := start(role{Part: "coordinator", Root: root, Dir: dir})
	if err != nil {
		return nil, err
	}
	if <-p.done; p.err != nil {
		return nil, fmt.Errorf("%w: %s", p.err, tail(p.log.String()))
	}
	return runbytes.Of(dir)
}

// outcome is what became of a run.
type outcome struct {
	failed string // its error, if it had one before it went on
	found  string
	took   time.Duration
	still  time.Duration // the longest time without a result
	counts queue.Counts
	files  map[string]string
}

// run plays a scene to its end.
func (f fault) run(ctx context.Context, root, dir string, clocks queue.Timings) (o outcome, err error) {
	limit := 10 * time.Minute
	if clocks == short {
		limit = 3 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return o, err
	}
	s, err := newScene(root, dir, clocks)
	if err != nil {
		return o, err
	}
	defer restore(s)
	defer s.close()
	if f.prepare != nil {
		if err := f.prepare(s); err != nil {
			return o, err
		}
	}
	began := time.Now()
	if err := s.begin(); err != nil {
		return o, err
	}
	if err := f.inject(s); err != nil {
		return o, err
	}
	if err = s.ended(ctx); err != nil && !f.fails {
		err = fmt.Errorf("%w\nserver: %s", err, tail(s.server.log.String()))
	}
	if f.fails {
		if err == nil {
			return o, fmt.Errorf("the run does not fail")
		}
		o.failed = tail(s.coordinator.log.String())
		if err = s.goOn(); err == nil {
			err = s.ended(ctx)
		}
	}
	if err != nil {
		return o, err
	}
	o.took, o.still, o.counts, o.found = time.Since(began), s.standstill(), s.counts(), s.found
	o.files, err = runbytes.Of(s.run())
	return o, err
}

// begin starts a fleet, and returns when its run has an iteration behind it and
// plays the next one.
func (s *scene) begin() error {
	if err := s.startServer(); err != nil {
		return err
	}
	for i := range crewSize {
		w, err := s.worker(i, "")
		if err != nil {
			return err
		}
		s.workers = append(s.workers, w)
	}
	if err := s.startCoordinator(false); err != nil {
		return err
	}
	if err := s.begun(1); err != nil {
		return err
	}
	return s.more()
}

// goOn resumes the run with a worker that is as it should be.
func (s *scene) goOn() error {
	s.restarts.Wait()
	w, err := s.worker(crewSize, "")
	if err != nil {
		return err
	}
	s.workers = append(s.workers, w)
	return s.startCoordinator(true)
}

func (f fault) row(want map[string]string, o outcome) string {
	ends, same := "well", "the same"
	if f.fails {
		ends = "with an error that names the shard; after `--resume` with other workers: well"
	}
	if !maps.Equal(want, o.files) {
		same = "**different**"
	}
	return fmt.Sprintf("| %s | %s | %s | %.1f s | %.1f s | %d | %d | %d | %s |\n", f.name, f.what, ends+o.found, o.took.Seconds(), o.still.Seconds(), o.counts.Redelivered, o.counts.Resubmitted, o.counts.Refused, same)
}

// fill writes the table between the two marks of a page.
func fill(page, table string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	const begin, end = "<!-- faults: written by make faults-fleet -->\n", "<!-- end of faults -->"
	head, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s lacks the marks %q and %q", page, begin, end)
	}
	return os.WriteFile(page, []byte(head+begin+table+end+after), 0o644)
}
