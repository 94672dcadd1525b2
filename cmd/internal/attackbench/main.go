// Command attackbench measures merit attack on the corpus of rewards: which holes it finds, in how many
// evaluations and CPU seconds, and what it reports about sound rewards. It writes the table of
// docs/attack.md.
//
//	go run ./cmd/internal/attackbench -half seen -cores 2 -budget 10m -out seen.jsonl
//
// Each reward is attacked by a process with one core, whose CPU time is the one that is reported. On a
// hackable reward, the attack ends with its first finding. On a sound one, it uses its budget, unless it
// sees nothing new for long. Results are kept as they come; the same command continues after an
// interrupt.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/merit-rl/merit/internal/attack/corpus"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

type bench struct {
	corpus, half, kind, only, out, one string
	cores                              int
	budget                             time.Duration
	quiet                              int
	seed                               uint64
	table                              bool
}

func main() {
	b := &bench{}
	flag.StringVar(&b.corpus, "corpus", filepath.Join("internal", "attack", "attackcmd", "testdata", "corpus"), "folder of the corpus")
	flag.StringVar(&b.half, "half", "all", "seen, heldout or all")
	flag.StringVar(&b.kind, "kind", "all", "hackable, sound or all")
	flag.StringVar(&b.only, "only", "", "names of rewards, separated by commas")
	flag.IntVar(&b.cores, "cores", runtime.NumCPU(), "how many rewards are attacked at once")
	flag.DurationVar(&b.budget, "budget", 10*time.Minute, "CPU time for each reward")
	flag.IntVar(&b.quiet, "quiet", 12, "end after this many rounds without anything new; that of merit attack is 12")
	flag.Uint64Var(&b.seed, "seed", 0, "seed of the attacks")
	flag.StringVar(&b.out, "out", "attackbench.jsonl", "file of the results")
	flag.BoolVar(&b.table, "table", false, "only write the table of the results in -out")
	flag.StringVar(&b.one, "one", "", "attack one reward in this process (internal)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "attackbench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context) error {
	entries, err := corpus.Read(b.corpus)
	if err != nil {
		return err
	}
	if b.one != "" {
		at := slices.IndexFunc(entries, func(e corpus.Entry) bool { return e.Name == b.one })
		if at < 0 {
			return fmt.Errorf("the corpus has no reward %q", b.one)
		}
		return json.NewEncoder(os.Stdout).Encode(b.attack(ctx, entries[at]))
	}
	entries = b.chosen(entries)
	results, err := b.read()
	if err != nil {
		return err
	}
	if !b.table {
		if results, err = b.all(ctx, entries, results); err != nil {
			return err
		}
	}
	return table(os.Stdout, entries, results)
}

// chosen returns the entries that the flags choose.
func (b *bench) chosen(all []corpus.Entry) []corpus.Entry {
	names := strings.Split(b.only, ",")
	return slices.DeleteFunc(all, func(e corpus.Entry) bool {
		half := "seen"
		if e.HeldOut {
			half = "heldout"
		}
		return b.half != "all" && b.half != half || b.kind != "all" && b.kind != e.Kind || b.only != "" && !slices.Contains(names, e.Name)
	})
}

// read returns the results of earlier runs, by name. Those of another budget or seed are an error:
// they do not belong to the same measurement.
func (b *bench) read() (map[string]result, error) {
	results := map[string]result{}
	text, err := os.ReadFile(b.out)
	if errors.Is(err, fs.ErrNotExist) {
		return results, nil
	}
	for line := range bytes.Lines(text) {
		var r result
		if err := strictjson.UnmarshalKnown(line, &r); err != nil {
			continue // the last line of a run that was killed
		}
		if r.Budget != b.budget.Seconds() || r.Seed != b.seed {
			return nil, fmt.Errorf("%s has results of another budget or seed; name another file with -out", b.out)
		}
		results[r.Name] = r
	}
	return results, err
}

// all attacks the entries that have no result yet.
func (b *bench) all(ctx context.Context, entries []corpus.Entry, results map[string]result) (map[string]result, error) {
	out, err := os.OpenFile(b.out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	todo := make(chan corpus.Entry)
	done := make(chan result)
	var workers sync.WaitGroup
	for range b.cores {
		workers.Go(func() {
			for e := range todo {
				done <- b.process(ctx, e)
			}
		})
	}
	go func() {
		defer close(todo)
		for _, e := range entries {
			if r, ok := results[e.Name]; ok && r.Error == "" {
				continue
			}
			select {
			case todo <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() { workers.Wait(); close(done) }()
	for r := range done {
		if ctx.Err() != nil {
			continue
		}
		results[r.Name] = r
		line, err := json.Marshal(r)
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(os.Stderr, r)
	}
	return results, context.Cause(ctx)
}

// process attacks a reward in a process with one core.
func (b *bench) process(ctx context.Context, e corpus.Entry) result {
	self, err := os.Executable()
	if err != nil {
		return result{Name: e.Name, Error: err.Error()}
	}
	cmd := exec.CommandContext(ctx, self, "-corpus", b.corpus, "-one", e.Name, "-budget", b.budget.String(), "-quiet", fmt.Sprint(b.quiet), "-seed", fmt.Sprint(b.seed))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	text, err := cmd.Output()
	r := result{Name: e.Name}
	if err == nil {
		err = strictjson.UnmarshalKnown(bytes.TrimSpace(text), &r)
	}
	if err != nil {
		r.Error = fmt.Sprintf("%v: %s", err, lastLine(complaint.String()))
	}
	r.Budget, r.Seed = b.budget.Seconds(), b.seed
	if state := cmd.ProcessState; state != nil {
		r.Seconds = (state.UserTime() + state.SystemTime()).Seconds()
	}
	return r
}

func lastLine(text string) (last string) {
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			last = line
		}
	}
	return last
}
