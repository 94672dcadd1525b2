package learning

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
)

// Traces is the part of *store.Store that a Set needs.
type Traces interface {
	// Trace returns one complete trace.
	Trace(ctx context.Context, id string) (*trace.Trace, error)
	// Each calls f for every trace that matches q, one at a time.
	Each(ctx context.Context, q trace.Query, f func(*trace.Trace) error) error
}

// keep is the maximum number of bytes of traces that a Set holds in memory. Beyond
// that it rereads traces from the store.
const keep = 256 << 20

// Set is the traces of a query, divided into the splits of a run. It holds an index
// of them, and the traces themselves if they are small enough. Its methods are not
// safe for concurrent use.
type Set struct {
	cfg    Config
	traces Traces
	reader reader

	index  []run.TraceLine           // by group, then id
	kept   map[string]*rl.Trajectory // by id; nil if they are too large
	groups map[string][]group        // by split, in order of their keys
	about  run.Traces
}

// group is the traces of one task: positions in the index.
type group struct{ from, to int }

// Reading configures Read.
type Reading struct {
	Config
	Now time.Time // reference for relative times in the query, and for ages
	// Chooses is true if the policy chooses among answers; otherwise it is a
	// language model, which learns tokens.
	Chooses bool
	// Scored omits traces without a recorded score; otherwise the run scores them
	// itself.
	Scored bool
	// Environment describes the environment that Start opens and that measures the run.
	// If it has features, it encodes the calls. Start is nil without one.
	Environment env.Spec
	Start       merit.OpenEnv
}

// Read reads the traces from the store. The error lists every reason why a policy
// cannot learn from them.
func Read(ctx context.Context, from Traces, o Reading) (_ *Set, err error) {
	s := &Set{cfg: o.Config, traces: from, kept: map[string]*rl.Trajectory{}, groups: map[string][]group{}}
	q, err := Query(o.Query, o.Now)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, q, o); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.reader.encoder.close()) }()
	size := 0
	var contents []string // of the lines of the index
	s.about = run.Traces{Query: o.Query, SplitBy: o.SplitBy, Now: o.Now.UTC(), Method: string(o.Method), Skipped: map[string]int{}, Played: o.Start != nil}
	err = from.Each(ctx, q, func(t *trace.Trace) error {
		out, err := s.reader.episode(ctx, t)
		if err != nil {
			return err
		}
		if out.Outcome == "" && o.Scored {
			s.about.Unscored++
			return nil
		}
		line, err := s.line(t, out)
		if err != nil {
			return err
		}
		s.index = append(s.index, line)
		contents = append(contents, s.reader.content(out))
		if size += bytesOf(out); s.kept != nil {
			s.kept[t.ID] = out
		}
		if size > keep {
			s.kept = nil
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.deal(contents)
	s.arrange()
	return s, s.check(o)
}

// prepare makes the reader of s.
func (s *Set) prepare(ctx context.Context, q trace.Query, o Reading) (err error) {
	if !o.Chooses {
		s.reader = reader{agents: o.Agents, encodes: o.Method == Clone}
		return nil
	}
	s.reader = reader{agents: o.Agents, choices: o.Choices}
	if s.reader.encoder, err = newEncoder(o.Environment, o.Start); err != nil {
		return err
	}
	if s.reader.encoder != nil {
		s.reader.choices = o.Environment.Actions
		return nil
	}
	if len(o.Choices) == 0 {
		s.reader.choices, err = s.offered(ctx, q)
	}
	if err == nil && o.Start != nil {
		err = fits(o.Environment, s.reader.choices)
	}
	return err
}

// Query parses Config.Query. It excludes traces recorded after now, unless the query
// sets a time itself.
func Query(words string, now time.Time) (trace.Query, error) {
	if words == All {
		words = ""
	}
	q, err := trace.ParseQuery(words, now)
	if q.Before.IsZero() {
		q.Before = now
	}
	return q, err
}

// offered returns every answer that a call of the traces offered, sorted.
func (s *Set) offered(ctx context.Context, q trace.Query) ([]string, error) {
	seen := map[string]bool{}
	err := s.traces.Each(ctx, q, func(t *trace.Trace) error {
		for i := range t.All {
			p := &t.All[i]
			if p.Kind != trace.KindPrompt || len(s.cfg.Agents) > 0 && !slices.Contains(s.cfg.Agents, p.Agent) {
				continue
			}
			for _, name := range Offered(p.Prompt.Settings) {
				seen[name] = true
			}
		}
		return nil
	})
	all := make([]string, 0, len(seen))
	for name := range seen {
		all = append(all, name)
	}
	slices.Sort(all)
	return all, err
}

// line returns what the run directory records about a trace.
func (s *Set) line(t *trace.Trace, out *rl.Trajectory) (run.TraceLine, error) {
	line := run.TraceLine{Trace: t.ID, Group: out.Group, Start: t.Start.UTC(), Outcome: out.Outcome, Calls: len(out.Steps)}
	if out.Evaluation != nil {
		score := out.Evaluation.Score
		line.Score = &score
	}
	for k := range out.Steps {
		switch why := skipped(&out.Steps[k]); {
		case why != "":
			s.count(why)
		default:
			line.Learnt++
			if unknown(&out.Steps[k]) {
				s.about.Unknown++
			}
		}
	}
	text, err := json.Marshal(out)
	sum := sha256.Sum256(text)
	line.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return line, err
}

// mostReasons is the maximum number of different reasons to count; those of an environment
// are its own texts.
const mostReasons = 16

// count counts a call that the policy does not learn from.
func (s *Set) count(why string) {
	if s.about.Skipped[why] == 0 && len(s.about.Skipped) >= mostReasons {
		why = skipForeign + "other reasons"
	}
	s.about.Skipped[why]++
}

// arrange sorts the index and computes its totals.
func (s *Set) arrange() {
	slices.SortFunc(s.index, run.TraceLine.Compare)
	h := sha256.New()
	a := &s.about
	for i := range s.index {
		line := &s.index[i]
		fmt.Fprintln(h, line.Trace, line.Digest)
		if i == 0 || s.index[i-1].Group != line.Group {
			s.groups[line.Split] = append(s.groups[line.Split], group{i, i})
		}
		groups := s.groups[line.Split]
		groups[len(groups)-1].to = i + 1
		a.Traces++
		a.Calls += line.Calls
		a.Learnt += line.Learnt
		if a.Oldest.IsZero() || line.Start.Before(a.Oldest) {
			a.Oldest = line.Start
		}
		if line.Start.After(a.Newest) {
			a.Newest = line.Start
		}
	}
	a.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	a.Tasks = map[string]int{splitTrain: len(s.groups[splitTrain]), splitValidation: len(s.groups[splitValidation]), splitTest: len(s.groups[splitTest])}
	if n := len(s.index); n > 0 {
		starts := make([]int64, n)
		for i := range s.index {
			starts[i] = s.index[i].Start.UnixNano()
		}
		slices.Sort(starts)
		a.AgeDays = math.Round(a.Now.Sub(time.Unix(0, starts[n/2])).Hours()/24*1000) / 1000
	}
}

// bytesOf estimates the memory of a trajectory in bytes.
func bytesOf(t *rl.Trajectory) int {
	n := 0
	for i := range t.Messages {
		n += 128 + len(t.Messages[i].Content.Text())
	}
	for i := range t.Steps {
		n += 1024 + 16*len(t.Steps[i].Tokens) + len(t.Steps[i].Info[infoSent])
		if p := t.Steps[i].Policy; p != nil {
			n += 4*len(p.Features) + len(p.Mask)
		}
	}
	return n
}

// About returns the set's part of a run's manifest.
func (s *Set) About() run.Traces { return s.about }

// Index returns the traces, by group and id.
func (s *Set) Index() []run.TraceLine { return s.index }

// Choices returns the answers that the policy chooses among; nil for a language model.
func (s *Set) Choices() []string { return s.reader.choices }

// load returns the trajectory of line i, or an error if the trace has changed since
// it was read.
func (s *Set) load(ctx context.Context, i int) (*rl.Trajectory, error) {
	line := &s.index[i]
	if t := s.kept[line.Trace]; t != nil {
		return t, nil
	}
	t, err := s.traces.Trace(ctx, line.Trace)
	if err != nil {
		return nil, err
	}
	out, err := s.reader.episode(ctx, t)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(out)
	if sum := sha256.Sum256(text); err == nil && "sha256:"+hex.EncodeToString(sum[:]) != line.Digest {
		err = changed(line.Trace)
	}
	return out, err
}
