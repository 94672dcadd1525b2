package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/engine/fork"
	"github.com/merit-rl/merit/sandbox/internal/language/javascript"
	"github.com/merit-rl/merit/sandbox/internal/language/python"
	"github.com/merit-rl/merit/sandbox/internal/limits"
	"github.com/merit-rl/merit/sandbox/internal/source"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// Rewards that keep what they saw: every call sees all calls before it, the clock and
// the random numbers. In Python, also the position in a file that the first call opened.
const (
	keepingPython = `
import os, random, time
seen, file = {}, None
def reward(messages, ground_truth=None):
    global file
    file = file or open(os.path.join(os.path.dirname(__file__), "letters.txt"), "rb", buffering=0)
    seen.setdefault(ground_truth, []).append((len(messages), time.time(), random.random(), file.read(2)))
    return {"score": len(seen), "reason": repr(seen)[-200:], "is_score_valid": True}
`
	keepingJavaScript = `
const seen = new Map();
export function reward(messages, groundTruth) {
  const list = seen.get(groundTruth) ?? [];
  list.push([messages.length, Date.now(), Math.random()]);
  seen.set(groundTruth, list);
  return {score: seen.size, reason: JSON.stringify([...seen]).slice(-200)};
}
`
)

// guestLanguages are the kinds of guests with which forks are tested.
var guestLanguages = []string{"assemblyscript", "c", "cpp", "go", "rust", "python", "javascript"}

var forkLanguages = source.Languages{python.New(interpreter.Folder()), javascript.New(interpreter.Folder())}

func forkBackend(t testing.TB, interpreted bool) *Backend {
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	b, err := New(Options{
		Isolation: Snapshot, Workers: 2, CacheDir: filepath.Join(filepath.Dir(interpreter.Folder()), "test"), CacheMiB: 512, InterpreterDir: interpreter.Folder(),
		Interpreter: interpreted,
		Limits: limits.Limits{
			Fuel: 100_000_000, MemoryMiB: 64, TableEntries: 10_000, ModuleMiB: 32, InputMiB: 8, OutputKiB: 1024, LogKiB: 64, Steps: 1000, CallDepth: 10_000,
			WallClock: time.Minute, StartFuel: 1 << 40, StartWallClock: time.Hour, ScriptMiB: 128,
		},
	}, forkLanguages)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// guestSource is a reward in a language.
func guestSource(t testing.TB, language string) source.Source {
	switch language {
	case "python", "javascript":
		script := &source.Script{Language: forkLanguages[0], Name: "keeping", Entry: "reward.py", Files: map[string][]byte{
			"reward.py": []byte(keepingPython), "letters.txt": []byte("abcdefghijklmnopqrstuvwxyz"),
		}}
		if language == "javascript" {
			script = &source.Script{Language: forkLanguages[1], Name: "keeping", Entry: "reward.js", Files: map[string][]byte{"reward.js": []byte(keepingJavaScript)}}
		}
		return source.Source{Name: "keeping", Digest: script.Digest(forkLanguages), Script: script}
	case "go":
		path := filepath.Join(t.TempDir(), "guest.wasm")
		build := exec.Command("go", "build", "-buildmode=c-shared", "-o", path, "./examples/gsm8k")
		build.Dir, build.Env = testneeds.Root(), append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
		text, err := build.CombinedOutput()
		require.NoError(t, err, string(text))
		wasm, err := os.ReadFile(path)
		require.NoError(t, err)
		return source.Module("go", wasm)
	}
	wasm, err := os.ReadFile(filepath.Join(testneeds.Root(), "sdk/conformance/testdata/guests", language, "answer.wasm"))
	require.NoError(t, err)
	return source.Module(language, wasm)
}

func loadGuest(t testing.TB, b *Backend, s source.Source) *Module {
	m, err := b.Load(t.Context(), s)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close(context.Background()) })
	return m
}

// inputs are what a step may be: conversations of different lengths.
func inputs() (list []*rl.Trajectory) {
	for n := range 4 {
		x := warmConversation()[n%2]
		for given := x.Messages; len(x.Messages) < 40*n; {
			x.Messages = append(x.Messages, given...)
		}
		x.GroundTruth = json.RawMessage(fmt.Sprintf(`"%d"`, n))
		x.Steps = nil
		list = append(list, x)
	}
	return list
}

// player is a worker whose state is that after a path of inputs.
type player struct {
	*worker
	path string // the indices of the inputs
}

func newPlayer(t testing.TB, m *Module) *player {
	w, err := m.newWorker(context.Background())
	require.NoError(t, err)
	t.Cleanup(w.instance.Close)
	return &player{worker: w}
}

var stepInputs = inputs()

// step plays an input and returns what a caller sees: the evaluation and the fuel.
func (p *player) step(n int) string {
	fuel, v, _ := p.run(context.Background(), stepInputs[n:n+1], nil)
	p.path += fmt.Sprint(n)
	e, err := json.Marshal(p.result(0, v))
	return fmt.Sprintf("%d %s %v", fuel, e, err)
}

// stop begins a step on little fuel, and returns whether that stopped it in its midst.
func (p *player) stop(fuel uint64) bool {
	input, err := p.session.Input(stepInputs[:1])
	if err != nil {
		return false
	}
	p.collector.Start(stepInputs[:1], false)
	p.instance.Begin(context.Background(), engine.Budget{Fuel: fuel, Depth: 100, Wall: time.Minute})
	stop := engine.Guarded(func() *engine.Stop { _, stop := p.session.Evaluate(input); return stop })
	_, _ = p.instance.End()
	return stop != nil && stop.Kind != engine.Exited
}

// state is a digest of memory and globals.
func (p *player) state(t testing.TB) [32]byte {
	point, err := p.instance.Fork()
	require.NoError(t, err)
	all, ok := p.instance.Bytes(0, p.instance.Size())
	require.True(t, ok)
	return sha256.Sum256(fmt.Appendf(nil, "%x %v %x", sha256.Sum256(all), point.Globals, point.System.Append(nil)))
}

// record is what the last step of a path showed, and the state after it.
type record struct {
	said  string
	state [32]byte
}

// references plays paths from the start, each once, in an instance that is restored
// to the origin and never forks.
type references struct {
	mu    sync.Mutex
	known map[string]record
}

func (r *references) of(t testing.TB, p *player, path string) record {
	r.mu.Lock()
	have, ok := r.known[path]
	r.mu.Unlock()
	if ok {
		return have
	}
	require.NoError(t, p.instance.Restore())
	p.path = ""
	for _, c := range path {
		have.said = p.step(int(c - '0'))
	}
	have.state = p.state(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[path] = have
	return have
}

// kept is a fork and the path that leads to it.
type kept struct {
	*fork.Fork
	path string
}

// forest is what the players of one module share.
type forest struct {
	module     *Module
	references references
	store      *fork.Store
	mu         sync.Mutex
	forks      []kept
	dropped    int
}

func (f *forest) any(r *rand.Rand) (k kept, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.forks) == 0 {
		return k, false
	}
	return f.forks[r.IntN(len(f.forks))], true
}

// resume sets p to a fork, by playing the prefix again if it was dropped.
func (f *forest) resume(t testing.TB, p *player, k kept) {
	point, err := k.Point()
	if errors.Is(err, fork.ErrDropped) {
		f.mu.Lock()
		f.dropped++
		f.mu.Unlock()
		require.NoError(t, p.instance.Restore())
		p.path = ""
		for _, c := range k.path {
			p.step(int(c - '0'))
		}
		return
	}
	require.NoError(t, err)
	require.NoError(t, p.instance.Resume(point))
	p.path = k.path
}

// again returns a fork after the way to another process.
func (f *forest) again(t testing.TB, k kept) kept {
	point, err := k.Point()
	if err != nil {
		return k
	}
	var out bytes.Buffer
	require.NoError(t, fork.Encode(&out, point.Origin, []*fork.Point{point}))
	points, err := fork.Decode(&out, point.Origin, 1<<30)
	require.NoError(t, err)
	return kept{f.store.Keep(points[0]), k.path}
}

// play runs a random program of steps, forks and returns with several instances.
func (f *forest) play(t testing.TB, seed uint64, length int) {
	r := rand.New(rand.NewPCG(seed, 1))
	reference := newPlayer(t, f.module)
	players := []*player{newPlayer(t, f.module), newPlayer(t, f.module)}
	for range length {
		p := players[r.IntN(len(players))]
		k, ok := f.any(r)
		switch op := r.IntN(10); {
		case op < 4 && len(p.path) < 8:
			said := p.step(r.IntN(len(stepInputs)))
			require.Equal(t, f.references.of(t, reference, p.path).said, said, "after %s", p.path)
		case op < 6:
			point, err := p.instance.Fork()
			require.NoError(t, err)
			f.mu.Lock()
			f.forks = append(f.forks, kept{f.store.Keep(point), p.path})
			f.mu.Unlock()
		case op < 8 && ok:
			f.resume(t, p, k)
			require.Equal(t, f.references.of(t, reference, p.path).state, p.state(t), "at %s", p.path)
		case op == 8 && ok:
			again := f.again(t, k)
			f.mu.Lock()
			f.forks = append(f.forks, again)
			f.mu.Unlock()
		case ok:
			if p.stop(r.Uint64N(3000)) {
				_, err := p.instance.Fork()
				require.ErrorIs(t, err, fork.ErrStopped)
			}
			f.resume(t, p, k)
		default:
			require.NoError(t, p.instance.Restore())
			p.path = ""
		}
	}
}

// Promise: an instance that returns to a fork, of any instance of its module, in
// memory or from a file, after whatever happened to it, goes on as if the prefix had
// been played again: the same results, the same fuel, the same memory. That holds at
// any parallelism, and when the store had to drop forks.
func TestForksAreReplays(t *testing.T) {
	for _, interpreted := range []bool{false, true} {
		b := forkBackend(t, interpreted)
		for _, language := range guestLanguages {
			if interpreted && (language == "python" || language == "javascript") {
				continue // takes minutes to start
			}
			t.Run(fmt.Sprintf("%s/interpreted=%v", language, interpreted), func(t *testing.T) {
				f := &forest{module: loadGuest(t, b, guestSource(t, language)), references: references{known: map[string]record{}}, store: fork.NewStore(100 << 10)}
				var all sync.WaitGroup
				for seed := range uint64(3) {
					all.Go(func() { f.play(t, seed, 60) })
				}
				all.Wait()
				used, forks := f.store.Used()
				t.Logf("%d paths, %d forks of which %d live in %d KiB, %d returns replayed", len(f.references.known), len(f.forks), forks, used>>10, f.dropped)
				for _, k := range f.forks {
					k.Release()
				}
				used, forks = f.store.Used()
				require.Zero(t, used)
				require.Zero(t, forks)
			})
		}
	}
}

// forksFile is the variable with the path of the file that the other process reads.
const forksFile = "MERIT_TEST_FORKS"

// Promise: forks go on in another process, with the same results, fuel and memory.
func TestForksInAnotherProcess(t *testing.T) {
	path := os.Getenv(forksFile)
	b := forkBackend(t, false)
	m := loadGuest(t, b, guestSource(t, "python"))
	p := newPlayer(t, m)
	origin, err := p.instance.Origin()
	require.NoError(t, err)
	if path != "" {
		file, err := os.Open(path)
		require.NoError(t, err)
		points, err := fork.Decode(file, origin, 1<<30)
		require.NoError(t, err)
		for _, point := range points {
			require.NoError(t, p.instance.Resume(point))
			fmt.Printf("fork %s %x\n", p.step(3), p.state(t))
		}
		return
	}
	want := ""
	var points []*fork.Point
	for n := range 5 {
		p.step(n % 3)
		point, err := p.instance.Fork()
		require.NoError(t, err)
		points = append(points, point)
	}
	for _, point := range points {
		require.NoError(t, p.instance.Resume(point))
		want += fmt.Sprintf("fork %s %x\n", p.step(3), p.state(t))
	}
	path = filepath.Join(t.TempDir(), "forks")
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, errors.Join(fork.Encode(file, origin, points), file.Close()))
	cmd := exec.Command(os.Args[0], "-test.run", "^TestForksInAnotherProcess$")
	cmd.Env = append(os.Environ(), forksFile+"="+path)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, string(said))
	got := ""
	for line := range strings.Lines(string(said)) {
		if strings.HasPrefix(line, "fork ") {
			got += line
		}
	}
	require.Equal(t, want, got)
}
