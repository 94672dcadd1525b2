package learning

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/run"
)

// deal decides the split of every line of the index. contents are those of the lines.
//
// A group's split depends only on its name, so that a task stays in its split when traces
// are added. By content, groups that share one are together in the split of the group that
// was recorded first, so that the test does not ask what the policy was trained on.
func (s *Set) deal(contents []string) {
	owner := map[string]string{} // a group → one that it is together with
	if s.cfg.SplitBy != splitByTask {
		owner = together(s.index, contents)
	}
	joined := map[string]bool{}
	for i := range s.index {
		line := &s.index[i]
		name := root(owner, line.Group)
		line.Split = split(name, s.cfg.HeldOut)
		if name != line.Group {
			joined[line.Group] = true
		}
	}
	s.about.Joined = len(joined)
}

// together returns, for each group that shares a content with an earlier one, that group.
func together(index []run.TraceLine, contents []string) map[string]string {
	first := map[string]run.TraceLine{} // the earliest line of each group
	for _, line := range index {
		if f, ok := first[line.Group]; !ok || earlier(line, f) < 0 {
			first[line.Group] = line
		}
	}
	owner, with := map[string]string{}, map[string]string{}
	for i, line := range index {
		other, ok := with[contents[i]]
		if !ok {
			with[contents[i]] = line.Group
			continue
		}
		a, b := root(owner, line.Group), root(owner, other)
		if earlier(first[b], first[a]) < 0 {
			a, b = b, a
		}
		if a != b {
			owner[b] = a
		}
	}
	return owner
}

func earlier(a, b run.TraceLine) int { return cmp.Or(a.Start.Compare(b.Start), a.Compare(b)) }

// root follows owner to the group that decides.
func root(owner map[string]string, group string) string {
	for owner[group] != "" {
		if next := owner[owner[group]]; next != "" {
			owner[group] = next // shorter for the next time
		}
		group = owner[group]
	}
	return group
}

// content returns a digest of what the first call of an episode was given: equal for inputs
// that differ in case, white space or the form of Unicode only. Where an environment encodes
// calls, it is the first observation instead. An episode without one has that of its group.
func (r *reader) content(t *rl.Trajectory) string {
	words := []string{"group", t.Group}
	if r.encoder != nil {
		for k := range t.Steps {
			if skipped(&t.Steps[k]) == "" {
				words = []string{"observation", t.Steps[k].Anchor}
				break
			}
		}
	} else if len(t.Steps) > 0 {
		words = nil
		for _, m := range t.Observation(0) {
			words = append(words, m.Role, strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(m.Content.Text()))), " "))
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:])
}

// split returns the split of the group with a name.
func split(group string, heldOut float64) string {
	sum := sha256.Sum256([]byte("split\n" + group))
	at := float64(binary.BigEndian.Uint64(sum[:8])>>11) * 0x1p-53
	switch {
	case at < heldOut/2:
		return splitValidation
	case at < heldOut:
		return splitTest
	}
	return splitTrain
}

// The splits, as core/train names them.
const (
	splitTrain, splitValidation, splitTest = "train", "validation", "test"
)
