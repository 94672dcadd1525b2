package conformance_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sdk/conformance"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the guests and the golden files anew")

const guestDir = "testdata/guests"

// manifest says how the committed guests were made.
type manifest struct {
	Language string      `json:"language"`
	Tool     string      `json:"tool"` // and its version
	Guests   []guestInfo `json:"guests"`
}

type guestInfo struct {
	File     string   `json:"file"`
	Bytes    int      `json:"bytes"`
	SHA256   string   `json:"sha256"`
	Commands []string `json:"commands"` // in the root of the repository
}

func readManifests(t testing.TB) []manifest {
	data, err := os.ReadFile(filepath.Join(guestDir, "manifest.json"))
	require.NoError(t, err)
	var list []manifest
	require.NoError(t, json.Unmarshal(data, &list))
	return list
}

func describe(c toolchain, program string, wasm []byte) guestInfo {
	info := guestInfo{File: c.language + "/" + program + ".wasm", Bytes: len(wasm), SHA256: fmt.Sprintf("%x", sha256.Sum256(wasm))}
	for _, args := range c.commands(program, ".", program+".wasm") {
		info.Commands = append(info.Commands, strings.Join(args, " "))
	}
	return info
}

func newRuntime(t testing.TB, change ...func(*sandbox.Config)) *sandbox.Runtime {
	cfg := sandbox.DefaultConfig()
	cfg.Workers = 1
	for _, f := range change {
		f(&cfg)
	}
	r, err := sandbox.New(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close(context.Background())) })
	return r
}

func load(t testing.TB, r *sandbox.Runtime, name string, wasm []byte) *sandbox.Module {
	m, err := r.Load(context.Background(), name, wasm)
	require.NoError(t, err, name)
	return m
}

// committedGuest returns a small guest that is part of the repository.
func committedGuest(t testing.TB, language, program string) []byte {
	wasm, err := os.ReadFile(filepath.Join(guestDir, language, program+".wasm"))
	require.NoError(t, err)
	return wasm
}

// conforms demands that a guest passes, through the interface it is for.
func conforms(t *testing.T, m *sandbox.Module, program string) {
	require.Equal(t, strings.HasSuffix(program, "_group"), m.Info().Group)
	for _, f := range conformance.Run(context.Background(), m) {
		t.Error(m.Info().Name, f)
	}
}

// keepsTheInput gives a guest that allocates inputs of changing size.
func keepsTheInput(t *testing.T, m *sandbox.Module) {
	for _, size := range []int{5000, 500_000, 5000, 100_000} {
		x := &rl.Trajectory{Messages: []rl.Message{{Role: rl.RoleAssistant, Content: rl.Text(strings.Repeat("a", size))}}}
		e := m.Evaluate(context.Background(), x)
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", m.Info().Name, e.Reason)
		require.Equal(t, 1.0, e.Result.Score, m.Info().Name)
	}
}

// comparesTexts demands what the minimal reward does.
func comparesTexts(t *testing.T, m *sandbox.Module) {
	for answer, score := range map[string]float64{"18 €": 1, "18 ": 0, "": 0} {
		x := &rl.Trajectory{GroundTruth: []byte(`"18 €"`), Messages: []rl.Message{{Role: rl.RoleAssistant, Content: rl.Text(answer)}}}
		e := m.Evaluate(context.Background(), x)
		require.Equal(t, reward.Scored, e.Outcome, e.Reason)
		require.Equal(t, score, e.Result.Score)
	}
}

// Promise: every small guest passes every case, on a machine with only Go,
// compiled and interpreted.
func TestCommittedGuestsConform(t *testing.T) {
	testneeds.NotShort(t)
	for _, interpreter := range []bool{false, true} {
		r := newRuntime(t, func(c *sandbox.Config) { c.Interpreter = interpreter })
		for _, c := range toolchains() {
			for _, program := range programs[3:] {
				conforms(t, load(t, r, c.language+"/"+program, committedGuest(t, c.language, program)), program)
			}
		}
	}
}

// Promise: the minimal rewards of the READMEs do what they say.
func TestMinimal(t *testing.T) {
	testneeds.NotShort(t)
	r := newRuntime(t)
	for _, language := range []string{"c", "rust", "assemblyscript"} {
		comparesTexts(t, load(t, r, language+"/minimal", committedGuest(t, language, "minimal")))
	}
}

// Promise: input and heap do not overlap where a C library hands out memory.
func TestInputBesideTheHeap(t *testing.T) {
	testneeds.NotShort(t)
	r := newRuntime(t)
	for _, language := range []string{"cpp", "rust"} {
		keepsTheInput(t, load(t, r, language+"/heap", committedGuest(t, language, "heap")))
	}
}

// Promise: the Go SDK passes every case.
func TestGoGuestsConform(t *testing.T) {
	testneeds.NotShort(t)
	r := newRuntime(t)
	for _, program := range programs[3:] {
		conforms(t, load(t, r, "go/"+program, buildGo(t, goPackages[program])), program)
	}
}

// Promise: the committed guests are what their sources give. With the compiler
// that made them the bytes are equal; with another one the results are.
func TestGuestsFromSource(t *testing.T) {
	testneeds.Slow(t, "compiles every guest")
	made := map[string]manifest{}
	for _, m := range readManifests(t) {
		made[m.Language] = m
	}
	for _, c := range toolchains() {
		t.Run(c.language, func(t *testing.T) {
			tool := c.find(t, made[c.language].Tool)
			r := newRuntime(t)
			for _, program := range c.programs {
				t.Run(program, func(t *testing.T) {
					wasm := c.build(t, tool, program)
					if tool.pinned {
						require.Equal(t, committedGuest(t, c.language, program), wasm, "run go test ./sdk/conformance -run TestUpdate -update")
						return
					}
					agrees(t, load(t, r, c.language+"/"+program, wasm), program)
				})
			}
		})
	}
}

// agrees demands that a guest from another compiler gives the results.
func agrees(t *testing.T, m *sandbox.Module, program string) {
	switch program {
	case "conformance", "conformance_group":
		conforms(t, m, program)
	case "minimal":
		comparesTexts(t, m)
	case "heap":
		keepsTheInput(t, m)
	case "refused":
		losesItsScore(t, m, "read")
	case "warm_up":
		startsAfterItsOwnWarmUp(t, m)
	default:
		exampleAgrees(t, m, program)
	}
}

// Promise: the manifest describes the committed guests.
func TestManifest(t *testing.T) {
	for i, m := range readManifests(t) {
		c := toolchains()[i]
		require.Equal(t, c.language, m.Language)
		require.Len(t, m.Guests, len(c.programs))
		for j, program := range c.programs {
			require.Equal(t, describe(c, program, committedGuest(t, c.language, program)), m.Guests[j])
		}
	}
}

// TestUpdate writes the guests and their manifest when it is asked to.
func TestUpdate(t *testing.T) {
	if !*update {
		return
	}
	var list []manifest
	for _, c := range toolchains() {
		tool := c.find(t, "")
		m := manifest{Language: c.language, Tool: tool.version}
		require.NoError(t, os.MkdirAll(filepath.Join(guestDir, c.language), 0o755))
		for _, program := range c.programs {
			wasm := c.build(t, tool, program)
			require.NoError(t, os.WriteFile(filepath.Join(guestDir, c.language, program+".wasm"), wasm, 0o644))
			m.Guests = append(m.Guests, describe(c, program, wasm))
		}
		list = append(list, m)
	}
	data, err := json.MarshalIndent(list, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(guestDir, "manifest.json"), append(data, '\n'), 0o644))
}

// startsAfterItsOwnWarmUp demands 11: the module's warm-up, which counts 10, has
// run once, and no evaluation before this one is remembered.
func startsAfterItsOwnWarmUp(t *testing.T, m *sandbox.Module) {
	require.Equal(t, sandbox.WarmUpOwn, m.Manifest().WarmUp)
	for range 3 {
		e := m.Evaluate(context.Background(), &rl.Trajectory{Messages: []rl.Message{{Role: rl.RoleAssistant}}})
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", m.Info().Name, e.Reason)
		require.Equal(t, 11.0, e.Result.Score, m.Info().Name)
	}
}

// Promise: in every language a reward brings its own warm-up, which every
// isolation runs once, in place of the built-in conversation.
func TestWarmUpsOfTheirOwn(t *testing.T) {
	testneeds.NotShort(t)
	golang := buildGo(t, goPackages["warm_up"])
	for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Fresh, sandbox.Process} {
		r := newRuntime(t, func(c *sandbox.Config) { c.Isolation = isolation })
		startsAfterItsOwnWarmUp(t, load(t, r, "go", golang))
		for _, c := range toolchains() {
			startsAfterItsOwnWarmUp(t, load(t, r, c.language, committedGuest(t, c.language, "warm_up")))
		}
	}
}

// losesItsScore demands that a reward which swallows a refusal has no score, and
// returns the reason.
func losesItsScore(t *testing.T, m *sandbox.Module, answer string) string {
	e := m.Evaluate(context.Background(), answering(answer))
	require.Equal(t, reward.GuestError, e.Outcome, "%s %s: %v", m.Info().Name, answer, e.Result.Score)
	return e.Reason
}

func answering(text string) *rl.Trajectory {
	return &rl.Trajectory{Messages: []rl.Message{{Role: rl.RoleAssistant, Content: rl.Text(text)}}}
}

// Promise: a compiled reward that is refused a file or the network, swallows the
// error and returns a score has none, and the reason names what was refused;
// what a language's own library looks for costs no reward its score; a reward
// whose manifest says that it does without a kind of thing keeps its score.
func TestSwallowedRefusals(t *testing.T) {
	testneeds.Slow(t, "starts interpreters many times")
	refused := map[string]string{
		"read": "path_open /etc/passwd", "write": "path_open /tmp/log.txt", "relative": "path_open /data/answers.json",
		"stat": "path_filestat_get /data", "mkdir": "path_create_directory /tmp/x",
	}
	guests := map[string][]byte{"go": buildGo(t, goPackages["refused"])}
	for _, language := range []string{"cpp", "rust"} {
		guests[language] = committedGuest(t, language, "refused")
	}
	for _, isolation := range []sandbox.Isolation{sandbox.Snapshot, sandbox.Fresh, sandbox.Shared, sandbox.Process} {
		r := newRuntime(t, func(c *sandbox.Config) { c.Isolation = isolation })
		for language, wasm := range guests {
			m := load(t, r, language, wasm)
			require.Empty(t, m.Info().Refused, language)
			for answer, what := range refused {
				require.Contains(t, losesItsScore(t, m, answer), "a file that is not part of it: "+what, "%s %s", language, answer)
			}
			e := m.Evaluate(context.Background(), answering("nothing"))
			require.Equal(t, reward.Scored, e.Outcome, "%s: %s", language, e.Reason)
			require.Equal(t, 1.0, e.Result.Score, language)
			if language == "go" {
				require.Contains(t, losesItsScore(t, m, "list"), "path_open /")
				require.Contains(t, losesItsScore(t, m, "dial"), "the network: path_open /etc/resolv.conf")
			}
		}
	}
	r := newRuntime(t)
	for language, wasm := range guests {
		waived, err := abi.WithManifest(wasm, abi.Manifest{Without: []string{"file"}})
		require.NoError(t, err)
		e := load(t, r, language, waived).Evaluate(context.Background(), answering("read"))
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", language, e.Reason)
	}
	waived, err := abi.WithManifest(guests["go"], abi.Manifest{Without: []string{"file"}})
	require.NoError(t, err)
	require.Contains(t, losesItsScore(t, load(t, r, "go", waived), "dial"), "the network")
	unknown, err := abi.WithManifest(guests["go"], abi.Manifest{Without: []string{"files"}})
	require.NoError(t, err)
	_, err = r.Load(context.Background(), "go", unknown)
	require.ErrorContains(t, err, `without has "files"; it is a list of network, process`)
}
