package judge

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// group is what the judge sees of the members of a group: the distinct ones, in the order of
// the question.
type group struct {
	context string   // the messages that all members begin with, as JSON; empty if there are none
	shown   []string // the messages after those, as JSON, by place
	place   []int    // the index of each member in shown
}

// id returns the id of the trajectory at a place: 1, 2, 3 …
func id(place int) string { return strconv.Itoa(place + 1) }

// newGroup orders the members by a function of their content and of seed, independent of the
// order of the argument.
func newGroup(members []*rl.Trajectory, seed rl.Seed, reversed bool) (*group, error) {
	type distinct struct {
		digest   [sha256.Size]byte
		messages []string
	}
	all := map[[sha256.Size]byte][]string{}
	digests := make([][sha256.Size]byte, len(members))
	for i, t := range members {
		messages, err := texts(t)
		if err != nil {
			return nil, err
		}
		digests[i] = sha256.Sum256([]byte(strings.Join(messages, ",")))
		all[digests[i]] = messages
	}
	order := make([]distinct, 0, len(all))
	for digest, messages := range all {
		order = append(order, distinct{digest, messages})
	}
	slices.SortFunc(order, func(a, b distinct) int { return strings.Compare(string(a.digest[:]), string(b.digest[:])) })
	for i, d := range order {
		seed = seed.Child(binary.LittleEndian.Uint64(d.digest[:])).Child(uint64(i))
	}
	for i := len(order) - 1; i > 0; i-- { // Fisher–Yates shuffle
		k := int(seed.Child(uint64(i)).Uniform() * float64(i+1))
		order[i], order[k] = order[k], order[i]
	}
	if reversed {
		slices.Reverse(order)
	}
	places := map[[sha256.Size]byte]int{}
	lists := make([][]string, len(order))
	for place, d := range order {
		places[d.digest], lists[place] = place, d.messages
	}
	g := &group{}
	for _, digest := range digests {
		g.place = append(g.place, places[digest])
	}
	common := commonPrefix(lists)
	if len(lists) == 1 {
		common = slices.IndexFunc(members[0].Messages, func(m rl.Message) bool { return m.Role == rl.RoleAssistant })
		common = max(0, common)
	}
	if common > 0 {
		g.context = array(lists[0][:common])
	}
	for _, messages := range lists {
		g.shown = append(g.shown, array(messages[common:]))
	}
	return g, nil
}

// texts returns the messages of t as JSON in which < and > are escaped, so that no message can
// close the element that contains it.
func texts(t *rl.Trajectory) ([]string, error) {
	out := make([]string, len(t.Messages))
	for i, m := range t.Messages {
		text, err := json.Marshal(m)
		if err != nil {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Invalid, Where: fmt.Sprintf("trajectory %s, message %d", t.ID, i),
				What: "the message cannot be written as JSON", Err: err, Hint: "correct the message",
			}
		}
		out[i] = string(text)
	}
	return out, nil
}

// commonPrefix returns how many leading messages all lists share.
func commonPrefix(lists [][]string) int {
	n := len(lists[0])
	for _, list := range lists[1:] {
		n = min(n, len(list))
		for i := range n {
			if list[i] != lists[0][i] {
				n = i
				break
			}
		}
	}
	return n
}

func array(messages []string) string { return "[" + strings.Join(messages, ",\n") + "]" }
