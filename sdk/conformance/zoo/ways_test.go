package zoo_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/sandbox/interpreter"
)

// row is one of a hundred: each conversation with each set of columns.
type row struct {
	json   map[string]json.RawMessage
	odd    bool   // Merit has a form of its own for it, so natively it is another
	text   bool   // prompt and completion are texts
	column string // what its columns show
	csv    bool   // a CSV can carry it: all is text, and none is empty
}

func (r row) id() string { return strings.Trim(string(r.json["id"]), `"`) }

// marks are what the files of ways say about a row, and no part of it.
func marks(fields map[string]json.RawMessage) (odd, csv bool) {
	odd, csv = fields["odd"] != nil, fields["csv"] != nil
	for _, name := range []string{"shows", "odd", "csv"} {
		delete(fields, name)
	}
	return odd, csv
}

// hundred returns the rows, those with the same columns one after another.
func hundred(t *testing.T) (all []row) {
	conversations, columns := objects(t, "ways/conversations.jsonl"), objects(t, "ways/columns.jsonl")
	for k, column := range columns {
		shows := row{json: column}.value("shows").(string)
		_, csv := marks(column)
		for c, conversation := range conversations {
			fields := maps.Clone(conversation)
			odd, _ := marks(fields)
			maps.Copy(fields, column)
			fields["id"], _ = json.Marshal(fmt.Sprintf("c%d-k%d", c, k))
			all = append(all, row{fields, odd, c == 0, shows, csv && c == 0})
		}
	}
	require.Len(t, all, 100)
	return all
}

func objects(t *testing.T, path string) (list []map[string]json.RawMessage) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		var o map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(line, &o), path)
		list = append(list, o)
	}
	return list
}

// withNulls gives every row all columns of the others, as null.
func withNulls(rows []row) (all []row) {
	columns := map[string]json.RawMessage{}
	for _, r := range rows {
		for name := range r.json {
			columns[name] = json.RawMessage("null")
		}
	}
	for _, r := range rows {
		fields := maps.Clone(columns)
		maps.Copy(fields, r.json)
		r.json = fields
		all = append(all, r)
	}
	return all
}

// lines are rows as JSON Lines.
func lines(t *testing.T, rows []row) []byte {
	var b bytes.Buffer
	for _, r := range rows {
		text, err := json.Marshal(r.json)
		require.NoError(t, err)
		b.Write(append(text, '\n'))
	}
	return b.Bytes()
}

// fingerprint is a reward whose score is a digest of all that its shape shows.
type fingerprint struct {
	name, file, shape string
	calls             string
	texts             bool // its trainer has texts only, so messages are no native call
}

var fingerprints = []fingerprint{
	{name: "trl", file: "trl.py", shape: "trl", calls: "fingerprint"},
	{name: "trl_named", file: "trl_named.py", shape: "trl_named", calls: "fingerprint"},
	{name: "verl", file: "verl.py", shape: "verl", calls: "compute_score"},
	{name: "verifiers", file: "verifiers.py", shape: "verifiers", calls: "fingerprint"},
	{name: "rft", file: "rft.py", shape: "rft", calls: "grade"},
	{name: "openrlhf", file: "openrlhf.py", shape: "openrlhf", calls: "reward_func", texts: true},
	{name: "easyr1", file: "easyr1.py", shape: "easyr1", calls: "compute_score"},
	{name: "slime", file: "slime.py", shape: "slime", calls: "custom_rm"},
	{name: "swift", file: "swift.py", shape: "swift", calls: "Fingerprint"},
	{name: "kit", file: "kit.py", shape: "merit", calls: "fingerprint"},
	{name: "rollout", file: "rollout.js", shape: "js"},
}

func (f fingerprint) path() string { return filepath.Join("ways", f.file) }

// came is what became of a row: its outcome and score, as text.
type came map[string]string

func (c came) put(id string, s said) {
	score, scored := s.number()
	if !scored {
		c[id] = s.Outcome + ": " + s.Reason
		return
	}
	c[id] = fmt.Sprintf("scored %v", score)
}

// evaluated is what merit eval makes of a file.
func evaluated(t *testing.T, merit, reward, data string) came {
	out := filepath.Join(t.TempDir(), "out.jsonl")
	text, err := exec.Command(merit, "eval", "--quiet", "--reward", reward, "--data", data, "--out", out, "--timeout", "5m").CombinedOutput()
	written, missing := os.ReadFile(out)
	require.NoError(t, missing, "%v: %s", err, text)
	return results(t, written)
}

func results(t *testing.T, text []byte) came {
	c := came{}
	for line := range bytes.Lines(text) {
		var r struct {
			said
			ID string `json:"id"`
		}
		require.NoError(t, json.Unmarshal(line, &r), string(line))
		c.put(r.ID, r.said)
	}
	return c
}

// server starts merit serve rewards with the fingerprints and returns where it listens.
func server(t *testing.T, merit string) string {
	var config strings.Builder
	fmt.Fprintf(&config, "listen: 127.0.0.1:0\ndir: %s\nrewards:\n", filepath.Join(t.TempDir(), "rewards"))
	for _, f := range fingerprints {
		path, err := filepath.Abs(f.path())
		require.NoError(t, err)
		fmt.Fprintf(&config, "  - {name: %s, module: %q}\n", f.name, path)
	}
	file := filepath.Join(t.TempDir(), "serve.yaml")
	require.NoError(t, os.WriteFile(file, []byte(config.String()), 0o644))
	cmd := exec.Command(merit, "serve", "rewards", "-c", file)
	out, err := cmd.StderrPipe()
	require.NoError(t, err)
	cmd.Stdout = cmd.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	var said strings.Builder
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		said.WriteString(scanner.Text() + "\n")
		if url := regexp.MustCompile(`http://[0-9.:]+`).FindString(scanner.Text()); url != "" {
			go func() {
				for scanner.Scan() {
				}
			}()
			return url
		}
	}
	t.Fatalf("the server did not start: %s", said.String())
	return ""
}

// posted is what POST /v1/evaluate makes of rows.
func posted(t *testing.T, url, reward string, rows []byte) came {
	answer, err := http.Post(url+"/v1/evaluate?reward="+reward, "application/x-ndjson", bytes.NewReader(rows))
	require.NoError(t, err)
	defer answer.Body.Close()
	var text bytes.Buffer
	_, err = text.ReadFrom(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, text.String())
	return results(t, text.Bytes())
}

// calledByTRL is what the Python client makes of rows, by reward.
func calledByTRL(t *testing.T, url string, rows []row) map[string]came {
	paths := map[string]string{}
	for _, f := range fingerprints {
		path, err := filepath.Abs(f.path())
		require.NoError(t, err)
		paths[f.name] = path
	}
	var all []map[string]json.RawMessage
	for _, r := range rows {
		all = append(all, r.json)
	}
	in, err := json.Marshal(map[string]any{"server": url, "rewards": paths, "rows": all})
	require.NoError(t, err)
	cmd := exec.Command(testneeds.Python(t), "-B", filepath.Join("ways", "client.py"))
	cmd.Stdin, cmd.Env = bytes.NewReader(in), append(os.Environ(), "PYTHONPATH="+filepath.Join("..", "..", "python"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	scores := map[string]came{}
	for line := range bytes.Lines(text) {
		var r struct {
			Reward string `json:"reward"`
			Scores []any  `json:"scores"`
		}
		require.NoError(t, json.Unmarshal(line, &r))
		require.Len(t, r.Scores, len(rows))
		scores[r.Reward] = came{}
		for i, s := range r.Scores {
			scores[r.Reward].put(rows[i].id(), said{Score: s})
		}
	}
	return scores
}

// peer is another project's protocol, which the server speaks: the rewards whose
// shape shows no more than a request of it carries, and the rows that it carries.
type peer struct {
	path    string
	rewards []string
	carries func(row) bool
	body    func(row) map[string]any
	score   func(answer []byte) (said, error)
}

var peers = []peer{
	{
		// Texts, and the truth: a query begins with its prompt.
		path: "/get_reward", rewards: []string{"openrlhf", "easyr1", "swift", "slime"},
		carries: func(r row) bool { return r.text && r.json["ground_truth"] != nil },
		body: func(r row) map[string]any {
			prompt, completion := r.value("prompt").(string), r.value("completion").(string)
			return map[string]any{"query": []string{prompt + completion}, "prompts": []string{prompt}, "labels": []json.RawMessage{r.json["ground_truth"]}}
		},
		score: func(answer []byte) (said, error) {
			var a struct {
				Rewards []any `json:"rewards"`
			}
			err := json.Unmarshal(answer, &a)
			return said{Score: append(a.Rewards, nil)[0]}, err
		},
	},
	{
		// Messages, the truth, and every column as an argument; so is where the prompt ends.
		path: "/evaluate", rewards: []string{"kit", "rollout", "trl", "trl_named", "verl", "verifiers", "rft", "easyr1", "slime", "swift"},
		carries: func(r row) bool { return r.isList("prompt") && r.isList("completion") },
		body: func(r row) map[string]any {
			columns := r.columns()
			columns["prompt_messages"] = len(r.value("prompt").([]any))
			return map[string]any{"messages": r.messages(), "ground_truth": r.json["ground_truth"], "kwargs": columns}
		},
		score: func(answer []byte) (said, error) {
			var a said
			err := json.Unmarshal(answer, &a)
			return a, err
		},
	},
	{
		// What was asked and answered as items of the Responses API, and every column beside them.
		path: "/verify", rewards: []string{"verl", "easyr1", "swift"},
		carries: func(r row) bool { return r.text },
		body:    verify,
		score:   verified,
	},
	{
		// The prompt is a text there, and the completion is messages.
		path: "/verify", rewards: []string{"trl_named", "verifiers", "verl", "slime", "swift"},
		carries: func(r row) bool { return !r.isList("prompt") && r.isList("completion") },
		body:    verify,
		score:   verified,
	},
}

func verify(r row) map[string]any {
	said := r.value("completion")
	if list, ok := said.([]any); ok {
		said = list[0].(map[string]any)["content"]
	}
	text := []map[string]any{{"type": "output_text", "text": said, "annotations": []any{}}}
	output := map[string]any{"type": "message", "role": "assistant", "id": "m", "status": "completed", "content": text}
	body := r.columns()
	body["responses_create_params"] = map[string]any{"input": r.value("prompt")}
	body["response"] = map[string]any{"id": "r", "output": []any{output}}
	if truth, ok := r.json["ground_truth"]; ok {
		body["ground_truth"] = truth
	}
	return body
}

func verified(answer []byte) (said, error) {
	var a struct {
		Reward any `json:"reward"`
	}
	err := json.Unmarshal(answer, &a)
	return said{Score: a.Reward}, err
}

// columns are all columns of the row but the conversation and the truth.
func (r row) columns() map[string]any {
	columns := map[string]any{}
	for name, value := range r.json {
		if name != "prompt" && name != "completion" && name != "ground_truth" {
			columns[name] = value
		}
	}
	return columns
}

func (r row) isList(name string) bool { return r.json[name][0] == '[' }

// value is a field of the row.
func (r row) value(name string) (v any) {
	_ = json.Unmarshal(r.json[name], &v) // a part of a row that was read
	return v
}

// messages are the prompt and the completion, one after the other.
func (r row) messages() (all []any) {
	for name, role := range map[string]string{"prompt": "user", "completion": "assistant"} {
		list, isList := r.value(name).([]any)
		if !isList {
			list = []any{map[string]any{"role": role, "content": r.value(name)}}
		}
		if name == "prompt" {
			all = append(list, all...)
		} else {
			all = append(all, list...)
		}
	}
	return all
}

// posted is what a peer's requests give, one a row.
func (p peer) posted(t *testing.T, url string, f fingerprint, rows []row) came {
	c := came{}
	if !slices.Contains(p.rewards, f.name) {
		return c
	}
	for _, r := range rows {
		if !p.carries(r) {
			continue
		}
		body, err := json.Marshal(p.body(r))
		require.NoError(t, err)
		answer, err := http.Post(url+"/v1/rewards/"+f.name+p.path, "application/json", bytes.NewReader(body))
		require.NoError(t, err)
		var text bytes.Buffer
		_, err = text.ReadFrom(answer.Body)
		answer.Body.Close()
		require.NoError(t, err)
		s, err := p.score(text.Bytes())
		require.NoError(t, err, text.String())
		s.Reason = text.String()
		c.put(r.id(), s)
	}
	require.NotEmpty(t, c)
	return c
}

// natively is what the trainer itself would get.
func (f fingerprint) natively(t *testing.T, data string, rows []row) came {
	s := specimen{File: f.path(), Shape: strings.TrimSuffix(f.shape, "_named"), Calls: f.calls}
	c := came{}
	for i, n := range scores(s.nativelyOver(t, data)) {
		c.put(rows[i].id(), n)
	}
	return c
}

// byCommand is what python -m merit_reward makes of a file.
func (f fingerprint) byCommand(t *testing.T, data string) came {
	text, err := os.ReadFile(f.path())
	require.NoError(t, err)
	return natively(t, string(text), data)
}

// natively runs a reward by python -m merit_reward, in a separate folder.
func natively(t *testing.T, reward, data string) came {
	path := filepath.Join(t.TempDir(), "reward.py")
	require.NoError(t, os.WriteFile(path, []byte(reward), 0o644))
	cmd := exec.Command(testneeds.Python(t), "-B", "-m", "merit_reward", path, data)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join("..", "..", "python"), "PYTHONHASHSEED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	c := came{}
	for line := range bytes.Lines(text) {
		var r struct {
			said
			ID    string `json:"id"`
			Valid *bool  `json:"is_score_valid"`
		}
		require.NoError(t, json.Unmarshal(line, &r), string(line))
		if r.Valid != nil {
			r.Outcome = "invalid"
		}
		c.put(r.ID, r.said)
	}
	return c
}

// seen are rewards whose score is a digest of what they are called with.
var seen = map[string]string{
	"TRL": `def reward(prompts, completions, id=None, stop_reason=None, error=None, outcome=None, steps=None, seed=None, evaluation=None, task=None, a=None, metadata=None, **kw):
    return [digest(prompts, completions, id, stop_reason, error, outcome, steps, seed, evaluation, task, a, metadata, {k: v for k, v in kw.items() if k not in ("log_extra", "log_metric")})]
`,
	"messages": `def reward(messages, ground_truth=None, metadata=None, rollout=None, prompt_messages=None, **kw):
    return digest(messages, ground_truth, metadata, prompt_messages, kw, {k: rollout[k] for k in ("id", "group", "task", "stop_reason", "steps")})
`,
	"verl": `def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return digest(data_source, solution_str, ground_truth, extra_info)
`,
	"groups": `def reward(rollouts_messages, ground_truths=None, **kw):
    return [digest(m, len(rollouts_messages), i) for i, m in enumerate(rollouts_messages)]
`,
	"batches": `__merit__ = {"batch": 3}
def reward(prompts, completions, **kw):
    return [digest(c, len(completions), i) for i, c in enumerate(completions)]
`,
}

const digest = `import hashlib, json
def digest(*seen):
    return float(int(hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()[:8], 16))
`

// Promise: python -m merit_reward reads, groups and batches rows as merit eval
// does: names that Merit has too, rows without an id or an answer, groups apart.
func TestNativeRows(t *testing.T) {
	testneeds.Slow(t, "compares hundreds of rewards with how they run natively")
	testneeds.File(t, "run: merit python install", interpreter.Python().Path(interpreter.Folder()))
	merit := testneeds.Merit(t)
	data, err := filepath.Abs("ways/native.jsonl")
	require.NoError(t, err)
	for name, reward := range seen {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "seen.py")
			require.NoError(t, os.WriteFile(path, []byte(digest+reward), 0o644))
			here := evaluated(t, merit, path, data)
			require.Len(t, here, 9)
			equal(t, "python -m merit_reward", here, natively(t, digest+reward, data))
		})
	}
}

// equal lists the rows of want that another way has otherwise.
func equal(t *testing.T, what string, want, got came) {
	t.Helper()
	for id, w := range want {
		if got[id] != w {
			t.Errorf("%s, row %s: %s, not %s", what, id, got[id], w)
		}
	}
}

// Promise: the same hundred rows have the same scores, bit for bit, whoever
// brings them: merit eval on JSON Lines, Parquet and CSV, the Python client, the
// server, and python -m merit_reward; in every shape of reward; and they are what the trainer's own call
// gives natively. A CSV carries texts only, and a missing column is null; so
// only rows of texts are compared there, with null for the columns that they lack.
func TestWays(t *testing.T) {
	testneeds.Slow(t, "compares hundreds of rewards with how they run natively")
	for _, i := range interpreter.All() {
		testneeds.File(t, "run: merit "+i.Name+" install", i.Path(interpreter.Folder()))
	}
	merit := testneeds.Merit(t)
	rows := hundred(t)
	var plain, texts []row
	for _, r := range rows {
		if !r.odd {
			plain = append(plain, r)
		}
		if r.csv {
			texts = append(texts, r)
		}
	}
	folder := t.TempDir()
	file := func(name string, rows []row) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, lines(t, rows), 0o644))
		return path
	}
	convert := func(from, to string) string {
		to = filepath.Join(folder, to)
		text, err := exec.Command(merit, "convert", from, to).CombinedOutput()
		require.NoError(t, err, string(text))
		return to
	}
	all, native := file("rows.jsonl", rows), file("plain.jsonl", plain)
	filled := file("texts.jsonl", withNulls(texts))
	parquet, csv := convert(all, "rows.parquet"), convert(filled, "texts.csv")
	url := server(t, merit)
	client := calledByTRL(t, url, rows)
	for _, f := range fingerprints {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			here := evaluated(t, merit, f.path(), all)
			require.Len(t, here, 100)
			if filepath.Ext(f.file) == ".py" {
				equal(t, "python -m merit_reward", f.byCommand(t, native), here)
			}
			natively := f.natively(t, native, plain)
			for _, r := range plain {
				if f.texts && !r.text {
					delete(natively, r.id())
				}
			}
			equal(t, "natively", natively, here)
			equal(t, "Parquet", here, evaluated(t, merit, f.path(), parquet))
			equal(t, "POST /v1/evaluate", here, posted(t, url, f.name, lines(t, rows)))
			equal(t, "CSV", evaluated(t, merit, f.path(), csv), evaluated(t, merit, f.path(), filled))
			equal(t, "the client", client[f.name], here)
			for _, p := range peers {
				equal(t, p.path, p.posted(t, url, f, rows), here)
			}
		})
	}
}
