package python

import (
	_ "embed"
	"maps"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/merit-rl/merit/sandbox/internal/cover"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	"github.com/merit-rl/merit/sandbox/internal/profile"
	"github.com/merit-rl/merit/sandbox/internal/source"
)

// coverSource is run only if coverage is on: rewards without it keep their fuel and their digest.
//
//go:embed cover.py
var coverSource string

const (
	coverFile = "merit_reward/_cover.py"
	coverCode = "import sys; sys.path.insert(0, '/" + ownFolder + "')\nfrom merit_reward import _cover, _sandbox; _cover.install(); _sandbox.ready()"
)

// Limits of what is read from a guest, which could have changed it: those of cover.py.
const (
	mostPlaces = 1 << 13
	mostTexts  = 1 << 12 // bytes
	shortText  = 64      // bytes
)

// covered is where a guest records its coverage, by addresses.
type covered struct {
	hit, texts, arm uint32
	described       cover.Map
}

// Cover implements source.Coverer.
func (l *Language) Cover(s *source.Script) (profile.Profile, engine.Process) {
	files := map[string][]byte{path.Join(ownFolder, coverFile): []byte(coverSource)}
	return l.open(s, coverCode, files)
}

// readCover reads the description of the coverage.
func readCover(v *marshal.Value) (c covered) {
	c.hit, c.texts, c.arm = uint32(v.Get("hit").Int), uint32(v.Get("texts").Int), uint32(v.Get("arm").Int)
	files := v.Get("files").Items
	for p := v.Get("places").Items; len(p) > 2 && len(c.described.Places) < mostPlaces; p = p[3:] {
		place := cover.Place{Line: int(p[1].Int), What: cover.Name(string(p[2].Text))}
		if file := p[0].Int; file >= 0 && file < int64(len(files)) {
			place.File = cover.Name(string(files[file].Text))
		}
		c.described.Places = append(c.described.Places, place)
	}
	var words cover.Words
	for _, w := range v.Get("words").Items {
		words.Add(string(w.Text))
	}
	c.described.Words = words.List()
	return c
}

// Arm implements profile.Covered.
func (s *session) Arm() *engine.Stop {
	if s.hello.cover.arm == 0 {
		return nil
	}
	v, stop := s.serve(s.hello.cover.arm, "coverage")
	if stop == nil && v != nil {
		stop = refused(v)
	}
	return stop
}

// Map implements profile.Covered.
func (s *session) Map() *cover.Map { return &s.hello.cover.described }

// Cover implements profile.Covered. A reward can write to what it returns, like to all of its
// memory, but not make it larger.
func (s *session) Cover() (places []uint64, words []string) {
	n := len(s.hello.cover.described.Places)
	places = make([]uint64, (n+63)/64)
	for i, hit := range s.array(s.hello.cover.hit, uint32(n)) {
		if hit != 0 {
			places[i/64] |= 1 << (i % 64)
		}
	}
	return places, s.texts()
}

// texts returns the texts that were kept.
func (s *session) texts() []string {
	known := map[string]struct{}{}
	for texts := s.array(s.hello.cover.texts, mostTexts); len(texts) > 0 && texts[0] > 0 && texts[0] <= shortText && int(texts[0]) < len(texts); {
		if text := texts[1 : 1+texts[0]]; utf8.Valid(text) {
			known[string(text)] = struct{}{}
		}
		texts = texts[1+texts[0]:]
	}
	return slices.Sorted(maps.Keys(known))
}

// array returns a view of a bytearray, or of the part within most bytes.
func (s *session) array(at uint32, most uint32) []byte {
	if at == 0 {
		return nil
	}
	b, _ := s.instance.Bytes(s.word(at+arrayData), min(s.word(at+objectSize), most))
	return b
}

var _ source.Coverer = (*Language)(nil)
