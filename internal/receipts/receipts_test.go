package receipts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// bench is a signed evaluation.
type signedRun struct {
	data, file string
	rewards    *merit.Rewards
	keys       Keys
	text       []byte
}

// rows is how many rows a signed run has, and sealed how many receipts a seal signs.
const (
	rows   = 50
	sealed = 16
)

// load opens a reward of the SDK's tests.
func load(t testing.TB, name string) *merit.Rewards {
	cfg := sandbox.DefaultConfig()
	r, err := merit.LoadRewards(t.Context(), cfg, []merit.Reward{{Module: filepath.Join(testneeds.Root(), "sdk", "conformance", "testdata", "guests", "c", name), Weight: 1}})
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func newRun(t testing.TB) *signedRun {
	dir := t.TempDir()
	s := &signedRun{data: filepath.Join(dir, "data.jsonl"), file: filepath.Join(dir, "scores.receipts"), rewards: load(t, "answer.wasm")}
	var data bytes.Buffer
	for i := range rows {
		fmt.Fprintf(&data, `{"id":"row-%d","messages":[{"role":"user","content":"%d+1?"},{"role":"assistant","content":"A: %d"}],"ground_truth":"%d"}`+"\n", i, i, i+1+i%2, i+1)
	}
	require.NoError(t, os.WriteFile(s.data, data.Bytes(), 0o600))
	signer := testSigner(t)
	s.keys = Keys{signer.public}
	s.write(t, signer, 0)
	return s
}

// write evaluates the data and signs the scores.
func (s *signedRun) write(t testing.TB, signer *Signer, parallel int) {
	list := Rewards(s.rewards.Parts)
	w, err := Create(s.file, nil, Header{Merit: "v1", Rewards: list, Limits: sandbox.DefaultConfig().Limits, Repeatable: Repeatable(list)}, signer)
	require.NoError(t, err)
	defer w.Drop()
	w.every = sealed
	_, err = s.rewards.Evaluate(t.Context(), merit.EvaluateOptions{
		Data: s.data, Digests: true, Parallel: parallel, Each: func(_ int, _ *rl.Trajectory, r *scoring.Result) { w.Add(r) },
	})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	s.text, err = os.ReadFile(s.file)
	require.NoError(t, err)
}

// check checks a text instead of the file.
func (s *signedRun) check(t testing.TB, text []byte, share float64) *Report {
	require.NoError(t, os.WriteFile(s.file, text, 0o600))
	proof, err := Prove(s.file, s.keys)
	require.NoError(t, err)
	r, err := proof.Check(t.Context(), s.file, Again{Rewards: s.rewards, Data: s.data, Share: share, Seed: 1})
	require.NoError(t, err)
	return r
}

// Promise: receipts of a run agree with it when all scores are computed again, and have the same
// bytes at any parallelism.
func TestReceiptsAgree(t *testing.T) {
	s := newRun(t)
	r := s.check(t, s.text, 1)
	require.Empty(t, r.Findings)
	require.Equal(t, []int{rows, rows, rows, (rows + sealed - 1) / sealed}, []int{r.Receipts, r.Rows, r.Recomputed, r.Seals})
	require.NoError(t, r.Err())
	first := s.text
	s.write(t, testSigner(t), 1)
	require.Equal(t, string(first), string(s.text))
}

// field returns which field of a line the byte at an offset belongs to.
func field(line []byte, at int) string {
	name := ""
	for _, f := range []string{"receipt", "id", "input", "outcome", "score", "fuel", "result"} {
		if i := bytes.Index(line, []byte(`"`+f+`":`)); i >= 0 && i+len(f)+3 <= at {
			name = f
		}
	}
	return name
}

// Promise: of 10,000 forgeries of one byte, anywhere in a file of receipts, each is named: the line,
// the receipt, and the field if the line can still be read.
func TestForgeriesAreNamed(t *testing.T) {
	testneeds.NotShort(t)
	s := newRun(t)
	random := rand.New(rand.NewPCG(7, 7))
	starts := []int{0}
	for i, c := range s.text {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	byField := map[string]int{}
	for range 10_000 {
		at := random.IntN(len(s.text))
		forged := bytes.Clone(s.text)
		forged[at] ^= 1 << random.IntN(8)
		number, _ := slices.BinarySearch(starts, at+1) // of the line, from 1
		r := s.check(t, forged, 0.001)
		named := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Line == number || f.Line == number+1 && s.text[at] == '\n' })
		require.GreaterOrEqual(t, named, 0, "byte %d of line %d: %v", at, number, r.Findings)
		require.Equal(t, 12, exitOf(r))
		line := s.text[starts[number-1] : starts[number]-1]
		var was Receipt
		if was, notReceipt := decodeReceipt(line); notReceipt == nil {
			require.True(t, slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Receipt == was.Number }), "byte %d: %v", at, r.Findings)
		}
		now := forged[starts[number-1] : starts[number]-1]
		if _, err := decodeReceipt(now); err == nil && s.text[at] != '\n' && decode(line, &was) == nil {
			name := field(line, at-starts[number-1])
			byField[name]++
			require.True(t, slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Field == name && f.Line == number }), "%s, byte %d of line %d: %v", name, at, number, r.Findings)
		}
	}
	for _, name := range []string{"receipt", "id", "input", "score", "fuel"} {
		require.NotZero(t, byField[name], name)
	}
}

// exitOf is the exit code of a kind of error: 12 is that of a difference.
func exitOf(r *Report) int {
	if f := fault.As(r.Err()); f != nil && f.Kind == fault.Differs {
		return 12
	}
	return 0
}

// Promise: lines that are missing, doubled, moved, cut off, from another file, or signed by another
// key are named as such.
func TestLinesThatMoveAreNamed(t *testing.T) {
	s := newRun(t)
	lines := strings.SplitAfter(strings.TrimSuffix(string(s.text), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	at := func(receipt int) int { return receipt + (receipt-1)/sealed } // the index of its line
	join := func(parts ...[]string) string { return strings.Join(slices.Concat(parts...), "") }
	other := newRun(t)
	other.rewards = s.rewards
	require.NoError(t, os.WriteFile(other.data, []byte(strings.ReplaceAll(string(must(os.ReadFile(other.data))), "row-", "other-")), 0o600))
	other.write(t, testSigner(t), 0)
	foreign := strings.SplitAfter(string(other.text), "\n")
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"missing":      {join(lines[:at(5)], lines[at(6):]), "receipt 5, order: is missing"},
		"doubled":      {join(lines[:at(6)], lines[at(5):]), "line 7, receipt 5 (row-4), order: is doubled"},
		"swapped":      {join(lines[:at(5)], lines[at(6):at(7)], lines[at(5):at(6)], lines[at(7):]), "line 7, receipt 5 (row-4), order: comes after receipt 6"},
		"cut off":      {join(lines[:at(40)]), "the last seal is missing"},
		"cut in line":  {join(lines)[:len(s.text)-100], "has no end"},
		"no last seal": {join(lines[:len(lines)-1]), "receipts 49 to 50, seal: have no seal"},
		"batch gone":   {join(lines[:at(17)], lines[at(33):]), "receipts 17 to 32, order: are missing, with their seal"},
		"seal gone":    {join(lines[:at(17)-1], lines[at(17):]), "receipts 1 to 16, seal: are not proven"},
		"other batch":  {join(lines[:at(17)], foreign[at(17):at(33)], lines[at(33):]), "belong to another file"},
		"appended":     {join(lines) + lines[at(3)], "order: comes after the last seal"},
		"empty":        {"", "header: the file is empty"},
		"other header": {strings.Replace(string(s.text), `"merit":"v1"`, `"merit":"v2"`, 1), "line 1, header: is not the one that was signed"},
		"spaces":       {strings.Replace(string(s.text), `"score":1,`, `"score": 1,`, 1), "line 2, receipt 1, line: cannot be read"},
	} {
		proof, err := Prove(writeTo(t, c.text), s.keys)
		require.NoError(t, err)
		require.Contains(t, fmt.Sprintln(proof.Findings), c.want, name)
	}
	seed := make([]byte, 32)
	seed[0] = 1
	stranger := newSigner(keyOf(seed))
	proof, err := Prove(writeTo(t, string(s.text)), Keys{stranger.public})
	require.NoError(t, err)
	require.Contains(t, proof.Findings[0].String(), "signature: is by another key, SHA256:")
	require.Zero(t, proof.Receipts)
}

func writeTo(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "x.receipts")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// Promise: scores that a signer made up are found when they are computed again, with any reward that
// has other results; other data and another reward are named.
func TestMadeUpScoresAreFound(t *testing.T) {
	s := newRun(t)
	signer := testSigner(t)
	liar := *s
	list := Rewards(s.rewards.Parts)
	w, err := Create(liar.file, nil, Header{Merit: "v1", Rewards: list, Limits: sandbox.DefaultConfig().Limits, Repeatable: true}, signer)
	require.NoError(t, err)
	_, err = s.rewards.Evaluate(t.Context(), merit.EvaluateOptions{Data: s.data, Digests: true, Each: func(line int, _ *rl.Trajectory, r *scoring.Result) {
		if line%10 == 0 {
			better := 1.0
			r.Score = &better
		}
		w.Add(r)
	}})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	r := s.check(t, must(os.ReadFile(s.file)), 1)
	require.Len(t, r.Findings, 5)
	require.Contains(t, r.Findings[0].String(), "score: the receipt has 1, and it is 0")

	require.NoError(t, os.WriteFile(s.data, bytes.Replace(must(os.ReadFile(s.data)), []byte("A: 4"), []byte("A: 5"), 1), 0o600))
	r = s.check(t, s.text, 0.001)
	require.Contains(t, fmt.Sprintln(r.Findings), "input: the receipt has sha256:")
	proof, err := Prove(s.file, s.keys)
	require.NoError(t, err)
	r, err = proof.Check(t.Context(), s.file, Again{Rewards: load(t, "minimal.wasm"), Data: s.data, Share: 1})
	require.NoError(t, err)
	require.Contains(t, r.Err().Error(), "rewards: answer with sha256:")
	require.Zero(t, r.Recomputed)
}

// Promise: a line that is written fast is the line that encoding/json writes.
func TestLinesAreJSON(t *testing.T) {
	digest := Digest{1, 2, 3}
	for _, score := range []float64{0, 1, -1, 0.1, math.Copysign(0, -1), 1e21, 1e-9, 123456789, 1e15, -2.5e-7} {
		for _, id := range []string{"a", `"\`, "ü<&>\u2028", "\x00\t"} {
			for _, result := range []*Digest{nil, &digest} {
				r := Receipt{Number: 7, ID: id, Input: digest, Outcome: "scored", Score: &score, Fuel: 1 << 60, Result: result}
				want, err := json.Marshal(&r)
				require.NoError(t, err)
				require.Equal(t, string(want), string(r.append(nil)))
				_, err = decodeReceipt(want)
				require.NoError(t, err)
			}
		}
	}
}

// Promise: the path of every leaf leads to the root, for any number of leaves, and another leaf,
// place, number or path does not.
func TestPaths(t *testing.T) {
	var leaves []Digest
	for n := 1; n <= 70; n++ {
		leaves = append(leaves, digestOf([]byte{byte(n)}))
		top := root(leaves)
		for i := range leaves {
			p := path(leaves, i)
			require.LessOrEqual(t, len(p), 3)
			reached, ok := climb(leaves[i], i, n, p)
			require.True(t, ok && reached == top)
			reached, ok = climb(digestOf(nil), i, n, p)
			require.False(t, ok && reached == top)
			reached, ok = climb(leaves[i], i, n, append(slices.Clone(p), []Digest{top}))
			require.False(t, ok && reached == top)
			if n > 1 {
				reached, ok = climb(leaves[i], (i+1)%n, n, p)
				require.False(t, ok && reached == top)
			}
		}
	}
}

// Promise: one receipt stands alone: it checks by itself, a change of any byte of it is found, and
// ssh-keygen verifies its signature without Merit.
func TestSingleReceipts(t *testing.T) {
	s := newRun(t)
	x, err := Extract(s.file, func(r Receipt) bool { return r.ID == "row-20" })
	require.NoError(t, err)
	text, err := json.Marshal(x)
	require.NoError(t, err)
	require.True(t, IsSingle(text))
	_, r, err := CheckSingle("x", text, s.keys)
	require.NoError(t, err)
	require.Equal(t, 21, r.Number)
	for at := range text {
		forged := bytes.Clone(text)
		forged[at] ^= 1
		_, _, err := CheckSingle("x", forged, s.keys)
		require.Error(t, err, "byte %d of %s", at, text)
		require.Equal(t, fault.Differs, fault.As(err).Kind)
	}
	_, err = Extract(s.file, func(r Receipt) bool { return r.ID == "none" })
	require.ErrorContains(t, err, "has no such receipt")

	tool := testneeds.Tool(t, "install OpenSSH's client", "ssh-keygen")
	dir := t.TempDir()
	signer := testSigner(t)
	allowed := fmt.Sprintf("merit namespaces=%q %s", namespace, sshLine(signer))
	for name, content := range map[string]string{"signers": allowed, "statement": x.Statement, "statement.sig": x.Armored()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	verify := exec.CommandContext(t.Context(), "sh", "-c", tool+" -Y verify -f signers -I merit -n merit-receipts -s statement.sig < statement")
	verify.Dir = dir
	out, err := verify.CombinedOutput()
	require.NoError(t, err, string(out))
}

// Promise: keys of ssh-keygen sign and are trusted, in a .pub file and in a file of allowed signers;
// other keys are refused with what to do.
func TestKeys(t *testing.T) {
	tool := testneeds.Tool(t, "install OpenSSH's client", "ssh-keygen")
	dir := t.TempDir()
	make := func(name string, args ...string) string {
		file := filepath.Join(dir, name)
		out, err := exec.CommandContext(t.Context(), tool, append([]string{"-q", "-C", "who", "-f", file}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
		return file
	}
	good := make("good", "-t", "ed25519", "-N", "")
	signer, err := ReadSigner(good)
	require.NoError(t, err)
	public := string(must(os.ReadFile(good + ".pub")))
	write := func(text string) string { return writeTo(t, text) }
	for _, file := range []string{good + ".pub", write("# all\n\nme@x " + public), write(`me namespaces="git,merit-receipts" ` + public)} {
		keys, err := ReadKeys(file)
		require.NoError(t, err)
		require.NoError(t, keys.verify([]byte("text"), signer.sign([]byte("text"))))
		require.Error(t, keys.verify([]byte("Text"), signer.sign([]byte("text"))))
	}
	for file, want := range map[string]string{
		good:                                   "is a private key",
		write(`me namespaces="git" ` + public): "for the namespace merit-receipts",
		write("hello"):                         "has no public ed25519 key",
		filepath.Join(dir, "none"):             "cannot be read",
	} {
		_, err := ReadKeys(file)
		require.ErrorContains(t, err, want)
	}
	for file, want := range map[string]string{
		make("locked", "-t", "ed25519", "-N", "secret"):  "the key has a passphrase",
		make("rsa", "-t", "rsa", "-b", "2048", "-N", ""): "is not a private ed25519 key",
		good + ".pub":              "is not a private ed25519 key",
		filepath.Join(dir, "none"): "cannot be read",
	} {
		_, err := ReadSigner(file)
		require.ErrorContains(t, err, want)
		require.NotEmpty(t, fault.As(err).Hint)
	}
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// Promise: no line makes the decoder fail in another way than with an error, and what it accepts is
// written again with the same bytes.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"receipt":1,"id":"a","input":"sha256:00","outcome":"scored","score":1,"fuel":1}`))
	f.Add([]byte(`{"seal":1,"to":0,"header":"sha256:` + strings.Repeat("0", 64) + `","before":"sha256:` + strings.Repeat("0", 64) + `","last":true,"lines":"","signature":""}`))
	f.Add([]byte(`{"merit_receipts":1,"merit":"v1","rewards":null,"limits":{},"repeatable":true}`))
	f.Add([]byte(`{"merit_receipt":1,"header":{},"receipt":{},"place":0,"of":1,"path":[],"statement":"","signature":""}`))
	keys := Keys{testSigner(f).public}
	f.Fuzz(func(t *testing.T, line []byte) {
		_, _ = decodeHeader(line)
		if r, err := decodeReceipt(line); err == nil {
			require.Equal(t, string(line), string(r.append(nil)))
		}
		if s, err := decodeSeal(line); err == nil {
			require.Len(t, s.leaves(), s.To-s.From+1)
		}
		_, _, err := CheckSingle("x", line, keys)
		require.Error(t, err)
		proof, err := Prove(writeTo(t, string(line)+"\n"+string(line)+"\n"), keys)
		require.NoError(t, err)
		require.NotEmpty(t, proof.Findings)
	})
}
