package collect_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	service "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/merit-rl/merit/internal/traces/collect"
	"github.com/merit-rl/merit/internal/traces/trace"
)

var update = flag.Bool("update", false, "write the golden files")

// recorded is a request that a real exporter sent.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".pb"))
	require.NoError(t, err)
	return body
}

func read(t testing.TB, body []byte) collect.Batch {
	t.Helper()
	var request service.ExportTraceServiceRequest
	require.NoError(t, proto.Unmarshal(body, &request))
	return collect.Read(&request)
}

// Promise: what the instrumentations of real libraries send becomes the same
// spans, to the byte; testdata/README.md says who wrote what.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pb")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file[:len(file)-len(".pb")])
		t.Run(name, func(t *testing.T) {
			b := read(t, recorded(t, name))
			require.Empty(t, b.Refused)
			for i := range b.Spans {
				require.NoError(t, b.Spans[i].Check())
			}
			got, err := json.MarshalIndent(struct {
				Spans  []trace.Span  `json:"spans"`
				About  []trace.About `json:"traces"`
				Silent int           `json:"silent"`
			}{b.Spans, b.About, b.Silent}, "", " ")
			require.NoError(t, err)
			golden := filepath.Join("testdata", name+".json")
			if *update {
				require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got)+"\n")
		})
	}
}
