package graphview

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/recheck/explain"
)

var update = flag.Bool("update", false, "write the golden file")

// around returns an explanation of a step to a board, with the given number of other edges and
// of steps on the way.
func around(edges, hops int) *explain.Explanation {
	const from, to = "####\n#@.#\n####", "####\n# +#\n####"
	e := &explain.Explanation{
		Anchor: &explain.Anchor{Key: from, Steps: make([]explain.Peer, edges+2)},
		Graph:  &explain.Graph{Known: true, Before: hops + 1, After: hops, Reached: true},
	}
	e.Config.Estimator = "graphgpo"
	for i := range edges {
		e.Edges = append(e.Edges, explain.Edge{To: fmt.Sprint("room ", i), After: i + 1, Reached: true, Actions: []string{fmt.Sprint("go ", i)}, Steps: 1, Members: 1, Next: 0.1, Value: 0.5})
	}
	e.Edges = append(e.Edges, explain.Edge{To: to, After: hops, Reached: true, Actions: []string{"right", "left"}, Steps: 2, Members: 2, Next: 1e-3, Value: -0.25, Self: true})
	for i := range hops {
		e.Graph.Path = append(e.Graph.Path, explain.Hop{Trajectory: "m1", Step: i + 1, Action: "up", State: to})
	}
	return e
}

// texts returns what a drawing says and how many nodes it has; it must be well-formed.
func texts(t *testing.T, drawing string) (all []string, nodes int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(drawing))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, nodes
		}
		require.NoError(t, err, drawing)
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local == "g" {
				nodes++
			}
		case xml.CharData:
			if s := strings.TrimSpace(string(x)); s != "" {
				all = append(all, s)
			}
		}
	}
}

// Promise: a drawing stays as it was looked at: the state, its edges with how many members took
// them, the step's own marked, and the way on.
func TestGolden(t *testing.T) {
	const path = "testdata/graph.svg"
	got := string(Draw(around(2, 2), nil))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
	all, _ := texts(t, got)
	text := strings.Join(all, "\n")
	for _, part := range []string{"this state", "3 steps to a success", "room 1", "right or 1 other ← this step", "2 steps of 2 members", "q 0.001 · A_S −0.25", "up (m1, step 2)", "success"} {
		require.Contains(t, text, part)
	}
}

// Promise: a drawing has at most 12 nodes, however many edges the state has and however long
// the way is; it says how many it leaves out.
func TestBounded(t *testing.T) {
	all, nodes := texts(t, string(Draw(around(100, 50), nil)))
	require.LessOrEqual(t, nodes, 12)
	require.Contains(t, all, "and 95 more edges")
	require.Contains(t, all, "and 45 more steps")
	for _, hops := range []int{0, 1, mostHops, mostHops + 1, mostHops + 2} {
		_, nodes := texts(t, string(Draw(around(0, hops), nil)))
		require.LessOrEqual(t, nodes, 12)
	}
}

// Promise: texts of the run are only text, whatever they contain, and short.
func TestHostile(t *testing.T) {
	const hostile = "</text><script>alert(1)</script>\u202e\x00\"&"
	e := around(1, 1)
	e.Anchor.Key, e.Edges[0].To, e.Edges[0].Actions = hostile, strings.Repeat(hostile, 1000), []string{hostile}
	e.Graph.Path[0].Action = hostile
	got := string(Draw(e, nil))
	texts(t, got)
	require.NotContains(t, got, "<script")
	require.NotContains(t, got, "\u202e")
	require.Less(t, len(got), 8000)
}

// Promise: without a graph there is no drawing.
func TestNothing(t *testing.T) {
	require.Empty(t, Draw(new(explain.Explanation), nil))
}
