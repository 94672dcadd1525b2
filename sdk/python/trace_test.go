package python_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
	"github.com/merit-rl/merit/internal/traces/collect"
	"github.com/merit-rl/merit/internal/traces/trace"
)

type keptSpans struct {
	mu    sync.Mutex
	spans []trace.Span
	about []trace.About
}

func (k *keptSpans) Put(_ context.Context, spans []trace.Span, about []trace.About) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.spans, k.about = append(k.spans, spans...), append(k.about, about...)
	return nil
}

// Promise: what merit_rl.trace sends, merit traces collect takes, every kind of span,
// and it becomes the trace that the program lived through.
func TestTracesReachTheCollector(t *testing.T) {
	python := testneeds.Python(t)
	sink := &keptSpans{}
	collector := httptest.NewServer(collect.New(collect.Options{Sink: sink}).Handler())
	defer collector.Close()
	cmd := exec.Command(python, "-B", filepath.Join("examples", "trace_agents.py"))
	cmd.Env = append(os.Environ(), "PYTHONPATH=.", "MERIT_COLLECT="+collector.URL)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
	require.Equal(t, "Bonn\n", string(text))
	x := trace.Trace{All: sink.spans}
	trace.Order(x.All)
	kinds := map[trace.Kind]int{}
	for i := range x.All {
		require.NoError(t, x.All[i].Check())
		require.Equal(t, x.All[0].Trace, x.All[i].Trace)
		kinds[x.All[i].Kind]++
	}
	require.Equal(t, map[trace.Kind]int{trace.KindPrompt: 2, trace.KindContent: 1, trace.KindTool: 1, trace.KindCoordination: 4, trace.KindReward: 1}, kinds)
	require.Equal(t, []string{"jury", "planner", "solver"}, x.Agents())
	require.Equal(t, 1.0, *trace.Total(x.All))
	require.Len(t, sink.about, 1)
	require.Equal(t, `"Bonn"`, string(sink.about[0].Metadata["ground_truth"]))
	require.Equal(t, "capital", sink.about[0].Task)
}
