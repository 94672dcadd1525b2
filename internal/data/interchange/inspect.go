package interchange

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/data/table"
)

// inspectHeader is what Merit reads of the head of a log of Inspect.
type inspectHeader struct {
	Status string `json:"status"`
	Eval   struct {
		Task  string `json:"task"`
		Model string `json:"model"`
	} `json:"eval"`
}

// inspectSample is what Merit reads of a sample.
type inspectSample struct {
	ID          json.RawMessage   `json:"id"`
	Epoch       int               `json:"epoch"`
	UUID        string            `json:"uuid"`
	Target      json.RawMessage   `json:"target"`
	Messages    []inspectMessage  `json:"messages"`
	Output      inspectOutput     `json:"output"`
	Scores      json.RawMessage   `json:"scores"`
	Attachments map[string]string `json:"attachments"`
	Error       *struct {
		Message string `json:"message"`
	} `json:"error"`
	Limit *struct {
		Type string `json:"type"`
	} `json:"limit"`
}

type inspectMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Source    string          `json:"source"`
	Model     string          `json:"model"`
	CallID    json.RawMessage `json:"tool_call_id"`
	ToolCalls []struct {
		ID        string          `json:"id"`
		Function  string          `json:"function"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"tool_calls"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type inspectOutput struct {
	Choices []struct {
		LogProbs *struct {
			Content []struct {
				LogProb float64 `json:"logprob"`
			} `json:"content"`
		} `json:"logprobs"`
	} `json:"choices"`
}

const inspectLog = "a log of Inspect"

func isInspect(f fields) bool {
	return some(f.values["eval"]) && f.values["eval"][0] == '{' && f.values["status"] != nil && f.values["version"] != nil && f.values["plan"] != nil
}

// readInspect reads a log in the form of one JSON document.
func readInspect(text []byte, in source) (all []*rl.Trajectory, err error) {
	notes := in.notes
	text = constants(text)
	head := new(inspectHeader)
	if err := strictjson.Unmarshal(text, head); err != nil {
		return nil, notOf(inspectLog, err)
	}
	head.told(notes)
	for i, raw := range list(object(text).values["samples"]) {
		t, err := head.sample(raw, notes)
		if err != nil {
			return nil, fmt.Errorf("samples[%d]: %w", i, err)
		}
		if t != nil {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil, notOf(inspectLog, errors.New("it has no samples, as a log that was read with header_only"))
	}
	return all, nil
}

func (h *inspectHeader) told(notes *Notes) {
	if h.Status != "success" && h.Status != "" {
		notes.Add("log with the status %.40s: samples may be missing", h.Status)
	}
}

// Log returns a reader of the samples of an .eval file, which is an archive; nil if the
// archive is something else. messages call it name.
func Log(name string, in io.ReaderAt, size int64) (*Rows, error) {
	z, err := zip.NewReader(in, size)
	if err != nil {
		return nil, nil // another error says what it is
	}
	z.RegisterDecompressor(zstdMethod, zstd.ZipDecompressor(zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20)))
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f // the last of a name is the one that counts
	}
	notes := new(Notes)
	head := new(inspectHeader)
	about := cmp.Or(files["header.json"], files["_journal/start.json"])
	if about == nil {
		return nil, nil
	}
	if files["header.json"] == nil {
		notes.Add("log that Inspect did not finish: samples may be missing")
	}
	text, err := unzipped(about)
	if err == nil {
		err = strictjson.Unmarshal(text, head)
	}
	if err != nil {
		return nil, table.Unfit(name, fault.Corrupt, "copy the log again", "%s: %v", about.Name, err)
	}
	head.told(notes)
	return &Rows{Notes: notes, more: head.samples(files, notes)}, nil
}

// zstdMethod is the number of zstd in zip archives.
const zstdMethod = 93

// samples returns a function that reads one sample after the other, in the order of their names.
func (h *inspectHeader) samples(files map[string]*zip.File, notes *Notes) func() ([]*rl.Trajectory, string, error) {
	var names []string
	for name := range files {
		if path.Dir(name) == "samples" && path.Ext(name) == ".json" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return func() ([]*rl.Trajectory, string, error) {
		if len(names) == 0 {
			return nil, "", io.EOF
		}
		name := names[0]
		names = names[1:]
		text, err := unzipped(files[name])
		if err != nil {
			return nil, name, notOf("a sample of "+inspectLog, err)
		}
		t, err := h.sample(text, notes)
		if t == nil || err != nil {
			return nil, name, err
		}
		return []*rl.Trajectory{t}, name, nil
	}
}

func unzipped(f *zip.File) ([]byte, error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, table.MaxRow+1))
	if err == nil && len(text) > table.MaxRow {
		err = fmt.Errorf("it is longer than %d MiB", table.MaxRow>>20)
	}
	return constants(text), err
}

// sample returns the trajectory of a sample. The epochs of a sample are a group. It is nil
// for a sample without messages, which it counts.
func (h *inspectHeader) sample(text []byte, notes *Notes) (*rl.Trajectory, error) {
	s := new(inspectSample)
	if err := strictjson.Unmarshal(text, s); err != nil {
		return nil, notOf("a sample of "+inspectLog, err)
	}
	id := plainText(s.ID)
	t := &rl.Trajectory{ID: cmp.Or(s.UUID, fmt.Sprintf("%s_epoch_%d", id, s.Epoch)), Task: id, Group: id, GroundTruth: s.Target, StopReason: rl.StopTerminated}
	if h.Eval.Task != "" {
		t.Group = h.Eval.Task + "/" + id
	}
	if len(s.Messages) == 0 {
		notes.Add("sample without messages: omitted")
		return nil, nil
	}
	if err := s.talk(t, h.Eval.Model, notes); err != nil {
		return nil, err
	}
	s.ended(t)
	s.columns(t, object(text), notes)
	if err := s.score(t, notes); err != nil {
		return nil, err
	}
	got, err := checked("a sample of "+inspectLog, t)
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

// inspectColumns are the columns of a sample that are kept, by their names in the log.
var inspectColumns = map[string]string{
	"metadata": "sample_metadata", "choices": "choices", "store": "store", "started_at": "started_at", "completed_at": "completed_at",
	"total_time": "total_time", "working_time": "working_time", "model_usage": "model_usage",
}

func (s *inspectSample) columns(t *rl.Trajectory, f fields, notes *Notes) {
	t.Metadata = map[string]json.RawMessage{"epoch": fmt.Append(nil, s.Epoch)}
	for name, column := range inspectColumns {
		if v := f.values[name]; some(v) && string(v) != "{}" {
			t.Metadata[column] = v
		}
	}
	if n := len(list(f.values["events"])); n > 0 {
		notes.Add("sample with events: its messages are read, its transcript is not")
	}
}

// ended says how the sample ended.
func (s *inspectSample) ended(t *rl.Trajectory) {
	switch {
	case s.Error != nil:
		t.StopReason, t.Error = rl.StopError, cmp.Or(s.Error.Message, "Inspect reports an error")
	case s.Limit != nil:
		t.StopReason = rl.StopTruncated
	}
}

// talk gives t the messages, and a step for each that the model generated.
func (s *inspectSample) talk(t *rl.Trajectory, model string, notes *Notes) error {
	for i := range s.Messages {
		x := &s.Messages[i]
		m, err := s.message(x)
		if err != nil {
			return notOf("a sample of "+inspectLog, fmt.Errorf("messages[%d]%w", i, err))
		}
		t.Messages = append(t.Messages, m)
		if x.Role != rl.RoleAssistant || x.Source == "input" {
			continue
		}
		step := newStep(len(t.Steps), i, &m)
		if name := cmp.Or(x.Model, model); name != "" {
			step.Info = map[string]json.RawMessage{"name": quoted(name)}
		}
		t.Steps = append(t.Steps, step.Step)
	}
	if n := len(t.Steps); n > 0 && len(s.Output.Choices) > 0 && s.Output.Choices[0].LogProbs != nil {
		for _, p := range s.Output.Choices[0].LogProbs.Content {
			t.Steps[n-1].LogProb += p.LogProb
		}
		notes.Add("logprobs of tokens without ids: only their sum is used, for the last answer")
	}
	return nil
}

func (s *inspectSample) message(x *inspectMessage) (m rl.Message, err error) {
	m = rl.Message{Role: x.Role, ToolCallID: plainText(x.CallID)}
	var reasoning string
	var ok bool
	if m.Content, reasoning, ok = s.content(x.Content); !ok {
		return m, errors.New(".content is neither a text nor a list of parts")
	}
	if reasoning != "" {
		m.More = &rl.More{Fields: []rl.Field{{Name: fieldReasoning, Value: quoted(reasoning)}}}
	}
	if x.Error != nil && m.Content.Text() == "" {
		m.Content = rl.Text("error: " + x.Error.Message)
	}
	for _, c := range x.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, rl.ToolCall{ID: c.ID, Type: "function", Function: rl.FunctionCall{Name: c.Function, Arguments: compact(c.Arguments)}})
	}
	return m, nil
}

// content returns a content with its attachments, and the reasoning in it.
func (s *inspectSample) content(raw json.RawMessage) (c rl.Content, reasoning string, ok bool) {
	if !some(raw) {
		return c, "", true
	}
	if raw[0] == '"' {
		return rl.Text(s.attached(textOf(raw))), "", true
	}
	if raw[0] != '[' {
		return c, "", false
	}
	var kept [][]byte
	var text strings.Builder
	plain := true
	for _, part := range list(raw) {
		f := object(part)
		switch kind := textOf(f.values["type"]); kind {
		case "reasoning":
			reasoning += s.attached(cmp.Or(textOf(f.values["reasoning"]), textOf(f.values["summary"])))
		case "text":
			said := s.attached(textOf(f.values["text"]))
			text.WriteString(said)
			f.set("text", quoted(said))
			kept = append(kept, f.text())
		default:
			plain = false
			kept = append(kept, part)
		}
	}
	if plain {
		return rl.Text(text.String()), reasoning, true
	}
	return content(joined(kept)), reasoning, true
}

// attached resolves a text that is stored beside the messages.
func (s *inspectSample) attached(text string) string {
	key, ok := strings.CutPrefix(text, "attachment://")
	if whole, found := s.Attachments[key]; ok && found {
		return whole
	}
	return text
}

// scorer adds what a scorer says to result: the first gives the score, the others a metric. A value
// with members is a metric for each.
func scorer(result *rl.EvaluateResult, name string, said fields, first bool, notes *Notes) {
	values := object(said.values["value"])
	for _, of := range values.names {
		if v, ok := inspectValue(values.values[of]); ok {
			result.Metrics = append(result.Metrics, rl.Metric{Name: name + "." + of, Score: v, IsScoreValid: true})
		}
	}
	v, ok := inspectValue(said.values["value"])
	switch why := textOf(said.values["explanation"]); {
	case !ok && len(values.names) == 0:
		notes.Add("value of the scorer %.60q that is not a number: no score", name)
		result.Metrics = append(result.Metrics, rl.Metric{Name: name, Reason: why})
	case !ok:
	case first:
		result.Score, result.IsScoreValid, result.Reason = v, true, why
	default:
		result.Metrics = append(result.Metrics, rl.Metric{Name: name, Score: v, IsScoreValid: true})
	}
}

// score gives t the value of the first scorer, as Inspect's own sample.score does, and the others as metrics.
func (s *inspectSample) score(t *rl.Trajectory, notes *Notes) error {
	scores := object(s.Scores)
	result := &rl.EvaluateResult{}
	for i, name := range scores.names {
		scorer(result, name, object(scores.values[name]), i == 0, notes)
	}
	switch {
	case len(scores.names) == 0:
		notes.Add("sample without a score")
		return nil
	case len(scores.names) > 1:
		notes.Add("sample with several scorers: the first gives the score, the others are metrics")
	}
	t.Outcome, t.Evaluation = "scored", result
	if !result.IsScoreValid {
		t.Outcome = "invalid"
	}
	return nil
}

// inspectValue returns a value as Inspect's value_to_float does: C is 1, P 0.5, I and N 0,
// yes and true 1, no and false 0. A value that it logs as NaN is null, and none.
func inspectValue(raw []byte) (float64, bool) {
	if v, err := strconv.ParseFloat(string(raw), 64); err == nil {
		return v, true
	}
	word := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		word = strings.ToLower(textOf(raw))
		if v, err := strconv.ParseFloat(word, 64); err == nil && v-v == 0 {
			return v, true
		}
	}
	v, known := map[string]float64{"c": 1, "p": 0.5, "i": 0, "n": 0, "yes": 1, "true": 1, "no": 0, "false": 0}[word]
	return v, known
}

// constants replaces the numbers of Python that JSON does not have by null: Inspect writes
// the value of a sample that was not scored as NaN.
func constants(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	out := make([]byte, 0, len(text))
	quoted, escaped := false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		default:
			if n := constant(text[i:]); n > 0 {
				out = append(out, "null"...)
				i += n - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func constant(text []byte) int {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return len(word)
		}
	}
	return 0
}
