package internal_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/data/columns"
	"github.com/merit-rl/merit/internal/data/jsonl"
	normal "github.com/merit-rl/merit/internal/data/row"
	"github.com/merit-rl/merit/internal/data/rowio"
	"github.com/merit-rl/merit/internal/fleet/shardcodec"
	"github.com/merit-rl/merit/internal/mcp"
	"github.com/merit-rl/merit/internal/mcp/cassette"
	openenv "github.com/merit-rl/merit/internal/openenv/shape"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/internal/serve/credit"
	"github.com/merit-rl/merit/internal/serve/shape"
	"github.com/merit-rl/merit/internal/serve/tenant"
	"github.com/merit-rl/merit/internal/traces/archive"
	"github.com/merit-rl/merit/internal/traces/collect"
	"github.com/merit-rl/merit/internal/traces/redact"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/sdk/merit"
	_ "github.com/merit-rl/merit/sdk/merit/standard"
)

// depths are far beyond what any decoder needs, and enough for one that recurses
// without a bound to end the process: a Go stack has a gigabyte.
var depths = []int{100_000, 5_000_000}

// deepJSON is values that nest: in a field of each name, or on their own.
func deepJSON(depth int) map[string][]byte {
	lists := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	objects := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
	open := strings.Repeat(`[{"a":`, depth/2) // and never closed
	all := map[string][]byte{"lists": []byte(lists), "objects": []byte(objects), "open": []byte(open)}
	for name, text := range map[string]string{"lists": lists, "objects": objects} {
		all[name+" in fields"] = []byte(`{"messages":[{"role":"assistant","content":` + text + `,"x":` + text + `}],"ground_truth":` + text + `,"metadata":` + text + `}`)
		all[name+" in text"] = []byte(`{"messages":[{"role":"assistant","content":` + quoted(text) + `,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":` + quoted(text) + `}}]}],"ground_truth":` + quoted(text) + `}`)
		all[name+" in rows"] = []byte(`{"rows":` + text + `,"query":` + text + `,"verify_responses":[` + text + `],"resourceSpans":` + text + `,"spans":` + text + `}`)
	}
	return all
}

func quoted(text string) string {
	out, _ := json.Marshal(text)
	return string(out)
}

// Promise: no JSON that comes from outside, however deep, ends the process or is
// taken for something else: each decoder returns, with an error that says why
// where it cannot read it.
func TestDeepJSON(t *testing.T) {
	testneeds.NotShort(t)
	r, err := redact.New(redact.Config{})
	require.NoError(t, err)
	decoders := map[string]func(text []byte) error{
		"a line of rows":  func(text []byte) error { _, err := normal.Decode(text, 1); return err },
		"estimator rows":  func(text []byte) error { _, err := rowio.Read("rows", bytes.NewReader(text)); return err },
		"advantages":      func(text []byte) error { _, err := credit.Answer(text, 50); return err },
		"aggregates":      func(text []byte) error { _, err := shape.Aggregate(text); return err },
		"OTLP":            func(text []byte) error { return collect.UnmarshalOTLP(text, new(service.ExportTraceServiceRequest)) },
		"plain spans":     func(text []byte) error { _, _, err := collect.Decode(text); return err },
		"a span":          func(text []byte) error { _, err := trace.DecodeSpan(text); return err },
		"a trace":         func(text []byte) error { _, err := trace.Decode(text); return err },
		"a rubric":        func(text []byte) error { _, _, err := rubric.Parse(text); return err },
		"OpenEnv":         func(text []byte) error { _, err := openenv.Decode(text); return err },
		"MCP":             func(text []byte) error { _, err := mcp.Decode(text); return err },
		"a recording":     func(text []byte) error { _, err := cassette.Decode(bytes.NewReader(text)); return err },
		"scores":          func(text []byte) error { _, err := shardcodec.DecodeScores(shardcodec.Scoring{}, text); return err },
		"strict JSON":     func(text []byte) error { var v any; return strictjson.Unmarshal(text, &v) },
		"a check":         strictjson.Check,
		"imported traces": func(text []byte) error { return imported(t, text) },
		"other tools":     func(text []byte) error { return converted(t, text) },
		"what is blanked": func(text []byte) error { r.Text(string(text)); return nil },
	}
	for _, p := range shape.Peers {
		decoders[string(p)] = func(text []byte) error {
			_, err := shape.Decode(p, text, shape.Options{Trajectories: 10, Bytes: 1 << 30})
			return err
		}
	}
	for _, depth := range []int{100_000, 1_000_000} {
		for kind, text := range deepJSON(depth) {
			for name, decode := range decoders {
				err := decode(text)
				require.True(t, err == nil || fault.As(err) != nil || errors.As(err, new(*openenv.Failure)) || errors.As(err, new(*mcp.Error)) || errors.As(err, new(*strictjson.Error)), "%s, %s: %v", name, kind, err)
				if kind == "open" && name != "what is blanked" {
					require.Error(t, err, name)
				}
			}
		}
	}
}

// imported reads text as merit traces import does.
func imported(t *testing.T, text []byte) error {
	path := filepath.Join(t.TempDir(), "traces.jsonl")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	var bad archive.Bad
	err := archive.Read(path, &bad, func([]trace.Span, []trace.About) error { return nil })
	return errors.Join(err, bad.Err(path))
}

// converted reads text, as fields of each format of another tool, as merit convert does.
func converted(t *testing.T, text []byte) (err error) {
	for _, form := range []string{
		`{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":%s}`, `{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":%s}],"extra":%[1]s}`,
		`{"responses_create_params":{"input":%s},"response":{"output":%[1]s},"reward":1}`, `{"task":{"data":%s},"env":{},"traces":[{"task":{},"agent":{},"nodes":%[1]s}]}`,
		`{"example_id":1,"prompt":%s,"completion":%[1]s,"reward":1,"is_completed":true}`, `{"version":2,"status":"success","eval":{},"plan":{},"samples":[{"id":1,"messages":%s,"scores":%[1]s}]}`,
		`{"input":"","output":"","gts":%s,"score":%[1]s,"step":1}`, `{"step":1,"prompt":%s,"completion":%[1]s,"advantage":%[1]s}`,
	} {
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, form, text), 0o600))
		var in *jsonl.Reader
		if in, err = jsonl.Open(path, nil); err == nil {
			_, err = in.NextTrajectory()
			err = errors.Join(err, in.Close())
		}
		if err == nil || fault.As(err) == nil {
			return err
		}
	}
	return err
}

// bomb is YAML whose aliases stand for width to the power of depth values.
func bomb(head string, width, depth int) string {
	var b strings.Builder
	b.WriteString("x0: &x0 [a]\n")
	for i := 1; i <= depth; i++ {
		fmt.Fprintf(&b, "x%d: &x%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i-1), width), ","))
	}
	return b.String() + head + fmt.Sprintf("*x%d\n", depth)
}

// Promise: YAML whose aliases stand for more than memory holds is one error, and
// takes little memory to refuse.
func TestYAMLBombs(t *testing.T) {
	for name, text := range map[string]string{
		"seed":    bomb("seed: ", 10, 12),
		"rewards": bomb("rewards: ", 10, 12),
		"options": strings.TrimSuffix(bomb("environment: {plugin: maze, options: {a: ", 10, 12), "\n") + "}}\n",
		"merge":   "a: &a {<<: *a}\nseed: *a\n",
		"itself":  "seed: &a [*a]\n",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := merit.ParseConfig("bomb.yaml", []byte(text), ".")
		runtime.ReadMemStats(&after)
		require.NotNil(t, fault.As(err), "%s: %v", name, err)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), name)
		path := filepath.Join(t.TempDir(), "tenants.yaml")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = tenant.Load(path)
		require.NotNil(t, fault.As(err), "%s: %v", name, err)
		_, _, err = rubric.Parse([]byte(text))
		require.Error(t, err, name)
	}
}

// Promise: no YAML does, either.
func TestDeepYAML(t *testing.T) {
	testneeds.NotShort(t)
	for _, depth := range []int{1000, 100_000} {
		for kind, text := range map[string]string{
			"lists":   "seed: " + strings.Repeat("[", depth) + strings.Repeat("]", depth),
			"objects": "seed: " + strings.Repeat("{a: ", depth) + "1" + strings.Repeat("}", depth),
			"open":    "seed: " + strings.Repeat("[{a: ", depth/2),
			"dashes":  strings.Repeat("- ", depth) + "1",
			"marks":   "seed: " + strings.Repeat("? ", depth) + "1",
			"quotes":  "seed: " + strings.Repeat("'", depth),
		} {
			_, err := merit.ParseConfig("deep.yaml", []byte(text), ".")
			require.NotNil(t, fault.As(err), "%s: %v", kind, err)
			path := filepath.Join(t.TempDir(), "tenants.yaml")
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			_, err = tenant.Load(path)
			require.NotNil(t, fault.As(err), "%s: %v", kind, err)
		}
	}
}

// nested is a field of a Protobuf message in itself: names are its numbers, in turn.
func nested(depth int, numbers ...protowire.Number) []byte {
	size, heads := 0, make([][]byte, depth)
	for i := range depth {
		n := numbers[(depth-1-i)%len(numbers)]
		heads[i] = protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.BytesType), uint64(size))
		size += len(heads[i])
	}
	var out []byte
	for i := depth - 1; i >= 0; i-- {
		out = append(out, heads[i]...)
	}
	return out
}

// Promise: nor does OTLP: lists in lists of an attribute's value.
func TestDeepOTLP(t *testing.T) {
	testneeds.NotShort(t)
	for _, depth := range append([]int{1000, 4000}, depths...) {
		// resource_spans > scope_spans > spans > attributes > value > array_value > values > …
		list := nested(depth, 5, 1)
		message := list
		for _, n := range []protowire.Number{2, 9, 2, 2, 1} {
			message = append(protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.BytesType), uint64(len(message))), message...)
		}
		var request service.ExportTraceServiceRequest
		if err := proto.Unmarshal(message, &request); err == nil {
			collect.Read(&request)
		} else {
			require.Greater(t, depth, 4000)
		}
	}
}

// Promise: nor does the footer of a Parquet file, in any of Thrift's ways to nest.
func TestDeepParquet(t *testing.T) {
	for _, depth := range depths {
		for kind, footer := range map[string]string{
			"lists":             "\x19" + strings.Repeat("\x19", depth),
			"sets":              "\x1a" + strings.Repeat("\x1a", depth),
			"structs":           strings.Repeat("\x1c", depth),
			"maps":              "\x1b" + strings.Repeat("\x01\xbb", depth),
			"maps as values":    "\x1b" + strings.Repeat("\x01\x3b\x00", depth),
			"structs in lists":  strings.Repeat("\x19\x1c", depth/2),
			"lists of many":     "\x19" + strings.Repeat("\xf9\x02", depth),
			"maps of structs":   strings.Repeat("\x1b\x01\x3c\x00", depth/2),
			"lists under names": "\x09\x02" + strings.Repeat("\x19", depth),
		} {
			file := "PAR1" + footer + string(binary.LittleEndian.AppendUint32(nil, uint32(len(footer)))) + "PAR1"
			_, err := columns.Open("deep.parquet", strings.NewReader(file), int64(len(file)))
			require.ErrorIs(t, err, fault.Of(fault.Data, fault.Corrupt), kind)
			require.ErrorContains(t, err, "nested too deep", kind)
		}
	}
}
