package preference

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/data/jsonl"
)

// Line is one contribution to an episode as raters see it: a message without the name of
// its author, or a call of a tool.
type Line struct {
	Who  string `json:"who"` // a role
	Text string `json:"text"`
}

// Episode is one episode as raters see it.
type Episode struct {
	Digest string // of the lines
	Lines  []Line
	start  string // digest of what the policy saw first
}

// Pair holds episodes of two policies from the same start, whose contents differ.
type Pair struct {
	ID            string // does not depend on which policy is Before
	Start         string
	Before, After Episode
}

// Pairs holds all pairs of two policies.
type Pairs struct {
	All []Pair
	// Same is the number of pairs in which both did the same, which nobody is asked.
	Same int
	// Alone is the number of episodes without a counterpart from the same start.
	Alone int
	// NotRead is what files of other tools say that was not read, with counts.
	NotRead []string
}

// Read returns the pairs of two policies. Each path is a finished run, whose trained policy
// counts, or a file of trajectories. If before is empty or the same run, the policy before
// the run's training counts. It is an error if no episodes have the same start.
func Read(before, after string) (*Pairs, error) {
	if before == "" {
		before = after
	}
	own := filepath.Clean(before) == filepath.Clean(after)
	if own && !isFolder(after) {
		return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: after, What: "is one file of episodes, and a preference needs two policies", Hint: "name the other policy with --against"}
	}
	b, notes, err1 := episodes(before, own)
	a, more, err2 := episodes(after, false)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	p := match(b, a)
	p.NotRead = append(notes, more...)
	if len(p.All)+p.Same == 0 {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: after, What: "no episode has the same start as one of " + before,
			Hint: "let both policies play the same environment, split and seed, or answer the same prompts",
		}
	}
	return p, nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// episodes reads the episodes of a run, from before or after its training, or of a file, and
// returns what was not read of it.
func episodes(path string, baseline bool) (all []Episode, notes []string, err error) {
	if isFolder(path) && !jsonl.IsForeign(path) {
		if _, err := run.ReadSummary(path); err != nil { // the run is not finished
			return nil, nil, err
		}
		name := "test-trained"
		if baseline {
			name = "test-baseline"
		}
		path = filepath.Join(path, run.Trajectories, name+".jsonl.zst")
	}
	if _, err := run.ReadEvaluation(path); err == nil {
		return nil, nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Invalid, Where: path, What: "is a measurement, which has results but no episodes",
			Hint: "name the run, or a file of the policy's episodes",
		}
	}
	r, err := jsonl.Open(path, nil)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	for {
		t, err := r.NextTrajectory()
		if errors.Is(err, io.EOF) {
			return all, r.Notes(), nil
		}
		if err != nil {
			return nil, nil, err
		}
		if t.StopReason != rl.StopError { // a fault says nothing about the policy
			all = append(all, episode(t))
		}
	}
}

// episode returns a trajectory as raters see it. Its start is the state and the messages
// that the policy saw first.
func episode(t *rl.Trajectory) Episode {
	e := Episode{Lines: []Line{}}
	first, state := prompt(t), ""
	if len(t.Steps) > 0 {
		state = t.Steps[0].Anchor
	}
	starts := []string{state}
	for i, m := range t.Messages {
		e.add(m.Role, m.Content.Text())
		for _, call := range m.ToolCalls {
			e.add(m.Role, "calls "+call.Function.Name+"("+call.Function.Arguments+")")
		}
		if i == first-1 {
			starts = append(starts, e.words()...)
		}
	}
	if first == 0 {
		starts = append(starts, t.Task)
	}
	e.start, e.Digest = digest(starts...), digest(e.words()...)
	return e
}

// prompt returns how many messages belong to the prompt: if the trajectory does not say, those
// before the first answer.
func prompt(t *rl.Trajectory) int {
	n, said := t.Boundary()
	for !said && n < len(t.Messages) && t.Messages[n].Role != rl.RoleAssistant {
		n++
	}
	return n
}

func (e *Episode) add(who, text string) {
	if text != "" {
		e.Lines = append(e.Lines, Line{who, text})
	}
}

func (e *Episode) words() (out []string) {
	for _, l := range e.Lines {
		out = append(out, l.Who, l.Text)
	}
	return out
}

// match pairs the first episodes of each start, then the second ones, and so on. Pairs with
// equal contents count once.
func match(before, after []Episode) *Pairs {
	waiting, known := map[string][]Episode{}, map[string]bool{}
	for _, b := range before {
		waiting[b.start] = append(waiting[b.start], b)
	}
	p := &Pairs{Alone: len(before)}
	for _, a := range after {
		queue := waiting[a.start]
		if len(queue) == 0 {
			p.Alone++
			continue
		}
		b := queue[0]
		waiting[a.start] = queue[1:]
		p.Alone--
		id := digest(a.start, min(a.Digest, b.Digest), max(a.Digest, b.Digest))
		switch {
		case a.Digest == b.Digest:
			p.Same++
		case !known[id]:
			known[id] = true
			p.All = append(p.All, Pair{id, a.start, b, a})
		}
	}
	return p
}

// Common returns how many lines both episodes of a pair have in common at the beginning. At
// least one line of each is left.
func (p *Pair) Common() int {
	b, a := p.Before.Lines, p.After.Lines
	n := 0
	for n < min(len(a), len(b))-1 && a[n] == b[n] {
		n++
	}
	return n
}

// digest returns a short digest of words.
func digest(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:12])
}
