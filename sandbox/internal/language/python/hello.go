package python

import (
	"errors"

	"github.com/merit-rl/merit/sandbox/internal/marshal"
)

// hello is what the program says before it leaves. Objects are named by
// their addresses.
type hello struct {
	failed       string // the traceback if the reward cannot be loaded
	serve, empty uint32 // the function, and the empty tuple
	buffer       uint32 // a bytearray that takes requests
	answer       uint32 // a list whose only item is the bytes of the answer
	group        bool   // the reward compares the members of a group
	whole        bool   // it is called with whole rollouts
	open         bool   // it has **kwargs
	accepts      map[string]bool
	about        map[string]string
}

var errHello = errors.New("the interpreter did not start as it should")

func readHello(data []byte) (h hello, ok bool) {
	v, err := marshal.Decode(data)
	if err != nil || !shaped(&v, marshal.Text, marshal.List, marshal.Bool, marshal.Bool, marshal.Bool, marshal.List, marshal.Dict) {
		return h, false
	}
	if h.failed = string(v.Items[0].Text); h.failed != "" {
		return h, true
	}
	addresses := v.Items[1]
	if !shaped(&addresses, marshal.Int, marshal.Int, marshal.Int, marshal.Int) {
		return h, false
	}
	for i, to := range []*uint32{&h.serve, &h.empty, &h.buffer, &h.answer} {
		*to = uint32(addresses.Items[i].Int)
	}
	h.group, h.whole, h.open = v.Items[2].Bool, v.Items[3].Bool, v.Items[4].Bool
	h.accepts, h.about = map[string]bool{}, map[string]string{}
	for _, name := range v.Items[5].Items {
		h.accepts[string(name.Text)] = true
	}
	for about := v.Items[6].Items; len(about) > 1; about = about[2:] {
		h.about[string(about[0].Text)] = string(about[1].Text)
	}
	return h, true
}
