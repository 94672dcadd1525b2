package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/fuel"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/marshal"
	sdk "github.com/merit-rl/merit/sdk/python"
)

// python is the profile of rewards in Python. CPython is a WASI command, and a
// command that waits for input cannot be restored: its stack is live. So the
// program never waits: it loads the reward, says where its function serve lies
// in memory and calls _exit, which ends the host's call but not the
// interpreter, whose memory is as if _exit were still running. From there serve
// is called through CPython's own type slot, as a C function would call it, and
// the state between calls can be snapshotted like that of any reactor.
type python struct{ script *script }

const (
	pythonRoot   = "merit" // where merit_reward lies, below "/"
	pythonReward = "reward"
	pythonBoot   = "import sys; sys.path.insert(0, '/" + pythonRoot + "')\nfrom merit_reward import _sandbox; _sandbox.boot(%q)"
)

// pythonSDK is the module that the sandbox provides.
func pythonSDK() map[string][]byte {
	files := map[string][]byte{}
	_ = fs.WalkDir(sdk.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path.Join(pythonRoot, name)], _ = sdk.Files.ReadFile(name) // embedded
		}
		return nil
	})
	return files
}

func pythonBrings() map[string][]byte {
	files := pythonSDK()
	files["boot"] = []byte(pythonBoot)
	return files
}

// pythonSource lays out the files: the module that the sandbox provides, and
// the reward with its packages.
func pythonSource(s *script) source {
	files := pythonSDK()
	for name, data := range s.files {
		files[path.Join(pythonReward, name)] = data
	}
	boot := fmt.Sprintf(pythonBoot, "/"+path.Join(pythonReward, s.entry))
	return source{
		name: s.name, trusted: true,
		profile: func(*fuel.Info) (profile, []string) { return python{s}, nil },
		process: engine.Process{
			Args:  []string{"python", "-S", "-P", "-B", "-c", boot},
			Env:   []string{"PYTHONHASHSEED=0"},
			Files: engine.NewFiles(files),
		},
	}
}

func (python) name() string { return "python" }
func (python) group() bool  { return false } // until the reward has said so

func (p python) open(i *engine.Instance, c *collector, limits Limits) session {
	return &pythonSession{instance: i, collector: c, limit: limits.InputMiB << 20}
}

type pythonSession struct {
	instance  *engine.Instance
	collector *collector
	limit     int
	encoder   marshal.Encoder
	said      []byte // hello as it came
	hello     pythonHello
	call      *engine.Func
}

// pythonHello is what the program says before it leaves. Objects are named by
// their addresses.
type pythonHello struct {
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

// Offsets in the objects of CPython 3.12 on a 32-bit machine.
const (
	objectType  = 4
	objectSize  = 8
	bytesData   = 16
	arrayData   = 20
	listItems   = 12
	typeCall    = 64
	callParams  = "iii"
	callResults = "i"
)

var errHello = errors.New("the interpreter did not start as it should")

func (s *pythonSession) start() *engine.Stop {
	s.collector.capture = true
	_, stop := s.instance.Call(s.instance.Func("_start"))
	switch {
	case stop == nil:
		return &engine.Stop{Kind: engine.Refused, Err: errHello}
	case stop.Kind != engine.Exited || stop.Code != 0:
		return stop
	}
	if err := s.resume(bytes.Clone(s.collector.stdout)); err != nil {
		return &engine.Stop{Kind: engine.Refused, Err: err}
	}
	return nil
}

func (s *pythonSession) memo() []byte { return s.said }

func (s *pythonSession) resume(said []byte) error {
	hello, ok := readHello(said)
	switch {
	case !ok:
		return errHello
	case hello.failed != "":
		return &verdict{reward.GuestError, escape(hello.failed)}
	}
	s.said, s.hello = said, hello
	if s.call = s.instance.TableFunc(s.word(s.word(hello.serve+objectType)+typeCall), callParams, callResults); s.call == nil {
		return errHello
	}
	return nil
}

// word reads a number from memory; 0, which no object has for an address, if
// there is none.
func (s *pythonSession) word(at uint32) uint32 {
	b, ok := s.instance.Bytes(at, 4)
	if !ok {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

func readHello(data []byte) (h pythonHello, ok bool) {
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

// describe implements describer.
func (s *pythonSession) describe() (map[string]string, bool) { return s.hello.about, s.hello.group }

func (s *pythonSession) lasting() bool { return true }

func (s *pythonSession) input(members []*rl.Trajectory) ([]byte, error) {
	s.encoder.Reset()
	if err := s.hello.encode(&s.encoder, members); err != nil {
		return nil, infrastructure(err)
	}
	if s.encoder.Len() > s.limit {
		return nil, &verdict{reward.Infrastructure, "the input of the reward is larger than limits.input_mib allows"}
	}
	return s.encoder.Bytes(), nil
}

func (s *pythonSession) evaluate(input []byte) (*verdict, *engine.Stop) {
	s.send(input)
	result, stop := s.instance.Call(s.call, uint64(s.hello.serve), uint64(s.hello.empty), 0)
	switch {
	case stop != nil:
		return nil, stop
	case uint32(result) == 0 && s.instance.MemoryDenied():
		return s.noMemory("the interpreter had no room for the answer"), nil
	case uint32(result) == 0:
		return &verdict{reward.GuestError, "the reward broke the interpreter"}, nil
	}
	return s.answer(), nil
}

// send writes a request into the buffer. One that is too large is read from
// standard input, and the buffer holds its size.
func (s *pythonSession) send(input []byte) {
	room, _ := s.instance.Bytes(s.word(s.hello.buffer+arrayData), s.word(s.hello.buffer+objectSize))
	if len(input) > len(room) {
		s.collector.stdin = input
		size := marshal.Encoder{}
		size.Reset()
		size.Int(int64(len(input)))
		input = size.Bytes()
	}
	copy(room, input)
	s.instance.Charge(uint64(len(input)))
}

func (s *pythonSession) noMemory(text string) *verdict {
	return &verdict{reward.OutOfMemory, "the reward was refused more memory (limits.memory_mib): " + text}
}
