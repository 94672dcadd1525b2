// Package graphview draws the graph around an explained step: its state, where the steps of the
// group from there lead, and the shortest way on to a success. The drawing is one SVG element
// that needs no script; it shows texts of the run only as text.
package graphview

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"

	"github.com/merit-rl/merit/internal/recheck/explain"
)

// Style is the style sheet of the drawing. It uses the colors --ink, --soft, --rule, --floor,
// --card and --a of the page, and --wall, --box, --player and --target where it has them.
//
//go:embed style.css
var Style string

// Limits of a drawing. The state and a success are two more nodes.
const (
	mostEdges = 6
	mostHops  = 4 // of the way, after the next state
)

// Draw returns the drawing of e, or nothing if its estimator has no graph. Visible changes
// untrusted texts before they are escaped, as ui.Visible does; nil replaces characters that
// cannot be seen by �.
func Draw(e *explain.Explanation, visible func(string) string) template.HTML {
	if e.Graph == nil || e.Anchor == nil || len(e.Edges) == 0 {
		return ""
	}
	if visible == nil {
		visible = func(s string) string { return strings.Map(graphic, s) }
	}
	c := &canvas{visible: visible}
	c.state(e)
	c.edges(e)
	c.way(e.Graph, chosen(e))
	return c.svg("The graph around this step", describe(e))
}

// chosen returns the edge of the explained step.
func chosen(e *explain.Explanation) *explain.Edge {
	for i := range e.Edges {
		if e.Edges[i].Self {
			return &e.Edges[i]
		}
	}
	return &e.Edges[0]
}

// few returns the edges to draw, the explained step's own last, because the way continues from
// there, and how many there are besides.
func few(e *explain.Explanation) (drawn []*explain.Edge, more int) {
	own := chosen(e)
	for i := range e.Edges {
		if edge := &e.Edges[i]; edge != own && len(drawn) < mostEdges-1 {
			drawn = append(drawn, edge)
		}
	}
	return append(drawn, own), len(e.Edges) - len(drawn) - 1
}

// state draws the node of the step's state.
func (c *canvas) state(e *explain.Explanation) {
	far := "no way to a success is known"
	if g := e.Graph; g.Known {
		far = left(g.Before)
	}
	c.node(nodeLeft, "from", e.Anchor.Key, "this state", plural(len(e.Anchor.Steps), "step")+" of the group from here", far)
}

// edges draws where the steps from the state lead.
func (c *canvas) edges(e *explain.Explanation) {
	drawn, more := few(e)
	trunk := c.y
	for i, edge := range drawn {
		class := "edge"
		if edge.Self {
			class = "edge own"
		}
		if i == len(drawn)-1 && more > 0 {
			c.note(edgeLeft, "and "+plural(more, "more edge"))
		}
		c.y += gap
		top := c.y
		c.node(edgeLeft, class, edge.To, labels(e, edge)...)
		c.arrow(class, trunkLeft, trunk, top+arrowIn, edgeLeft)
	}
}

// labels are the lines of an edge's node.
func labels(e *explain.Explanation, edge *explain.Edge) []string {
	head := "no action"
	if n := len(edge.Actions); n > 0 {
		head = edge.Actions[0]
		if n > 1 {
			head += " or " + plural(n-1, "other")
		}
	}
	if edge.Self {
		head += " ← this step"
	}
	far := "no way to a success"
	switch {
	case edge.End:
		far = edge.Where()
	case edge.Reached:
		far = left(edge.After)
	}
	if edge.To == e.Anchor.Key {
		far = "stays here, " + far
	}
	return []string{
		head, plural(edge.Steps, "step") + " of " + plural(edge.Members, "member"), far,
		fmt.Sprintf("%s %s · A_S %s", prime.Replace(e.NextName()), short(edge.Next), signed(edge.Value)),
	}
}

var prime = strings.NewReplacer("'", "′")

// way draws the shortest way from the next state to a success.
func (c *canvas) way(g *explain.Graph, own *explain.Edge) {
	if !g.Reached || own.End {
		return
	}
	far := own.After
	for i, hop := range g.Path {
		if i == mostHops && len(g.Path) > mostHops+1 {
			hop = g.Path[len(g.Path)-1]
			last := max(hop.Kept, 1)
			c.step("and " + plural(far-last, "more step"))
			c.node(edgeLeft, "hop", hop.State, left(last))
			c.step(how(hop))
			break
		}
		if i > 0 {
			c.node(edgeLeft, "hop", hop.State, left(far))
		}
		c.step(how(hop))
		far -= max(hop.Kept, 1)
	}
	c.node(edgeLeft, "success", "", "success")
}

// how says who took a step of the way.
func how(hop explain.Hop) string {
	if hop.Kept > 0 {
		return plural(hop.Kept, "step") + " of earlier iterations"
	}
	if hop.Action == "" {
		return fmt.Sprintf("%s, step %d", hop.Trajectory, hop.Step)
	}
	return fmt.Sprintf("%s (%s, step %d)", hop.Action, hop.Trajectory, hop.Step)
}

// describe is the drawing in words, for those who cannot see it.
func describe(e *explain.Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The way to a success: %s.", e.Graph.Left())
	drawn, more := few(e)
	for _, edge := range drawn {
		fmt.Fprintf(&b, " %s.", strings.Join(labels(e, edge), ", "))
	}
	if more > 0 {
		fmt.Fprintf(&b, " And %s.", plural(more, "more edge"))
	}
	for _, hop := range e.Graph.Path {
		fmt.Fprintf(&b, " Then %s.", how(hop))
		if b.Len() > maxDescription {
			b.WriteString(" And so on.")
			break
		}
	}
	return b.String()
}

// maxDescription is where a description stops.
const maxDescription = 1200

// left says how far a success is.
func left(steps int) string { return plural(steps, "step") + " to a success" }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
