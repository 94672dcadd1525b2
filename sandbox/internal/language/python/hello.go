package python

import (
	"errors"
	"slices"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/merit-rl/merit/sandbox/internal/text"
)

// hello is the program's report before it exits. Objects are identified by
// their addresses.
type hello struct {
	failed    string // the traceback if the reward cannot be loaded
	empty     uint32 // the empty tuple
	buffer    uint32 // a bytearray that takes requests
	answer    uint32 // a list whose only item is the bytes of the answer
	pending   uint32 // a dict of what an evaluation left behind
	settle    uint32 // the function that settles it
	read      uint32 // the function that reads a request
	ready     uint32 // the function whose arguments are on the shelf, if there is one
	completed uint32 // the function that takes some of them from a request
	group     bool   // the reward compares the members of a group
	whole     bool   // it is called with whole rollouts
	open      bool   // it has **kwargs
	accepts   map[string]bool
	asked     []string        // columns that the function may need besides those in the metadata, in order
	taken     map[string]bool // parameters that were set for the reward
	about     map[string]string
	shelf     marshal.Value
	entry     reward.Entry
	truth     reward.Use       // whether the function reads the ground truth
	refused   []reward.Refusal // what it was refused while it was loaded
}

var errHello = errors.New("the interpreter did not start as it should")

func readHello(data []byte) (h hello, ok bool) {
	v, err := marshal.Decode(data)
	if err != nil || !shaped(&v, marshal.Text, marshal.List, marshal.Bool, marshal.Bool, marshal.Bool, marshal.List, marshal.Dict, marshal.Dict, marshal.Dict, marshal.List) {
		return h, false
	}
	if h.failed = string(v.Items[0].Text); h.failed != "" {
		return h, true
	}
	addresses := v.Items[1].Items
	to := []*uint32{&h.empty, &h.buffer, &h.answer, &h.pending, &h.settle, &h.read, &h.ready, &h.completed}
	if len(addresses) != len(to) && len(addresses) != len(to)-2 {
		return h, false
	}
	for i, a := range addresses {
		*to[i] = uint32(a.Int)
	}
	h.group, h.whole, h.open = v.Items[2].Bool, v.Items[3].Bool, v.Items[4].Bool
	h.accepts, h.about = map[string]bool{}, map[string]string{}
	for _, name := range v.Items[5].Items {
		h.accepts[string(name.Text)] = true
		if name := string(name.Text); !reserved[name] {
			h.asked = append(h.asked, name)
		}
	}
	if h.open && h.accepts[flatColumns] {
		h.asked = append(h.asked, rowNames...)
	}
	slices.Sort(h.asked)
	h.asked = slices.Compact(h.asked)
	for about := v.Items[6].Items; len(about) > 1; about = about[2:] {
		h.about[string(about[0].Text)] = string(about[1].Text)
	}
	h.shelf = v.Items[7]
	h.entry, h.truth = readEntry(&v.Items[8]), reward.Use(min(max(v.Items[8].Get("truth").Int, 0), int64(reward.UseIgnored)))
	h.refused = refusals(v.Items[9].Items)
	return h, true
}

// The bits of merit_reward.functions: its TRUTH and its EMPTY.
const (
	orTruth = 4
	empty   = 8
)

// readEntry reads the description of the function that scores. It comes from
// the guest; profile.Believed limits it.
func readEntry(v *marshal.Value) reward.Entry {
	e := reward.Entry{Function: string(v.Get("function").Text), Shape: string(v.Get("shape").Text), Batch: int(v.Get("batch").Int), Lists: v.Get("lists").Bool}
	for asks := v.Get("asks").Items; len(asks) > 1; asks = asks[2:] {
		e.Asks = append(e.Asks, readParameter(string(asks[0].Text), asks[1].Int))
	}
	for _, n := range v.Get("counts").Items {
		e.Counts = append(e.Counts, string(n.Text))
	}
	return e
}

func readParameter(name string, said int64) reward.Parameter {
	return reward.Parameter{Name: name, Need: reward.Need(said &^ (orTruth | empty)), OrTruth: said&orTruth != 0, Empty: said&empty != 0}
}

// refusals reads the guest's list of refusals.
func refusals(said []marshal.Value) (list []reward.Refusal) {
	for i := range said {
		r := &said[i]
		if shaped(r, marshal.Text, marshal.Text, marshal.Text, marshal.Int) {
			list = append(list, reward.Refusal{
				Kind: string(r.Items[0].Text), What: string(r.Items[1].Text), Where: string(r.Items[2].Text), Count: int(r.Items[3].Int),
			})
		}
	}
	return reward.Told(list, text.Escape)
}
