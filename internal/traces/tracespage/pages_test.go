package tracespage_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/internal/base/cost"
	"github.com/merit-rl/merit/internal/traces/store"
	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/internal/traces/tracespage"
	"github.com/merit-rl/merit/internal/traces/tracestest"
	"github.com/merit-rl/merit/internal/ui"
	"github.com/merit-rl/merit/internal/ui/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// open opens a tab on the pages of a store with n traces.
func open(t *testing.T, n int) (*browsertest.Tab, *store.Store) {
	t.Helper()
	s := tracestest.Store(t)
	tracestest.Fill(t, s, n)
	return serve(t, s), s
}

// serve opens a tab on the pages of a store. What is written before it changes
// nothing under the mouse.
func serve(t *testing.T, s *store.Store) *browsertest.Tab {
	t.Helper()
	return browsertest.Open(t, tracestest.Serve(t, ui.Config{}, tracespage.Section(s, cost.Prices{})))
}

// shown waits for the rows of a query.
func shown(tab *browsertest.Tab, query string) {
	tab.Wait(fmt.Sprintf(`document.getElementById("sheet").dataset.shown === %q && document.querySelector("#facets .choice")`, query))
}

const ids = `[...document.querySelectorAll("#sheet .row")].map((r) => r.dataset.item)`

// Promise: what is typed filters the list and is in the URL, so that a link
// shows the same; a query that is none says what is wrong and leaves the list.
func TestFilter(t *testing.T) {
	tab, _ := open(t, 300)
	tab.Go("/traces")
	shown(tab, "")
	require.Equal(t, "300 traces", tab.Text("#total"))
	tab.Dark(true)
	tab.Screenshot("list-dark")
	tab.Press("/")
	tab.Press(strings.Split("agent=solver status=error", "")...)
	shown(tab, "agent=solver status=error")
	tab.Wait(`document.getElementById("total").textContent === "14 traces"`) // of 300: each third, of those each seventh
	want := browsertest.Eval[[]string](tab, ids)
	require.Len(t, want, 14)
	require.Equal(t, tracestest.ID(286), want[0], "newest first")
	tab.Go(tab.Path())
	shown(tab, "agent=solver status=error")
	require.Equal(t, want, browsertest.Eval[[]string](tab, ids))

	tab.Press("/")
	tab.Press(strings.Split("reward>x colour=red", "")...)
	tab.Wait(`!document.getElementById("wrong").hidden && document.getElementById("wrong").textContent.includes("colour")`)
	require.Contains(t, tab.Text("#wrong"), "reward must be compared with a number")
	require.Equal(t, want, browsertest.Eval[[]string](tab, ids))
}

// Promise: on a phone, nothing scrolls sideways: every column is in view under its name, in
// the rows of the list too; long names wrap; rows do not overlap, also after the phone is turned.
func TestPhone(t *testing.T) {
	for _, prices := range []cost.Prices{{}, {Currency: "EUR", Models: []cost.Price{{Model: "*", Input: 1}}}} {
		s := tracestest.Store(t)
		tracestest.Fill(t, s, 60)
		require.NoError(t, s.Put(t.Context(), nil, []trace.About{{Trace: tracestest.ID(59), Task: "a task with a name of many words that no phone shows in one line, and a_word_that_is_longer_than_a_line_of_a_phone_is_wide"}}))
		tab := browsertest.Open(t, tracestest.Serve(t, ui.Config{}, tracespage.Section(s, prices)))
		tab.Width(360)
		tab.Go("/traces")
		shown(tab, "")
		tab.Screenshot("list-phone" + prices.Currency)
		inside := `[...document.querySelectorAll(".row.head, #sheet .row:nth-child(-n+4)")].flatMap((r) => [...r.children]).filter((c) => { const b = c.getBoundingClientRect(), r = c.parentElement.getBoundingClientRect(); return b.width < 8 || b.left < 0 || b.right > 360 || b.bottom > r.bottom }).map((c) => c.textContent)`
		apart := `(() => { const r = [...document.querySelectorAll("#sheet .row")].map((e) => e.getBoundingClientRect()); return r.every((b, i) => !i || b.top >= r[i - 1].bottom - 0.5) })()`
		require.Empty(t, browsertest.Eval[[]string](tab, inside))
		require.True(t, browsertest.Eval[bool](tab, apart))
		require.Equal(t, 360, browsertest.Eval[int](tab, `document.documentElement.scrollWidth`))
		require.LessOrEqual(t, browsertest.Eval[int](tab, `document.querySelector(".across").scrollWidth`), 360)
		require.Equal(t, browsertest.Eval[int](tab, `document.querySelectorAll(".row.head > *").length`), browsertest.Eval[int](tab, `document.querySelector("#sheet .row").children.length`))
		require.Greater(t, browsertest.Eval[float64](tab, `document.querySelector("#sheet .row > :nth-child(3)").getBoundingClientRect().height`), 30.0, "two lines")
		tab.Width(1280)
		tab.Wait(`document.querySelector("#sheet .row").getBoundingClientRect().height === 34 && ` + apart)
	}
}

// Promise: counts are buttons that narrow the list and widen it again, days too,
// and the way back goes through each.
func TestFacets(t *testing.T) {
	s := tracestest.Store(t)
	tracestest.FillEach(t, s, 6000, 20) // two days and more, of each agent as many
	tab := serve(t, s)
	tab.Go("/traces")
	shown(tab, "")
	require.Equal(t, []string{"ok", "error"}, browsertest.Eval[[]string](tab, `[...document.querySelectorAll("[aria-label=status] .choice .cut")].map((c) => c.textContent)`))
	tab.Click("[aria-label=agent] .choice:nth-of-type(2)")
	shown(tab, "agent=planner")
	tab.Wait(`document.getElementById("total").textContent === "100 traces"`)
	tab.Click(".days g:nth-of-type(2)")
	shown(tab, "agent=planner since=2026-11-02 before=2026-11-03")
	tab.Wait(`document.getElementById("total").textContent === "48 traces"`)
	tab.Click("[aria-label=agent] .choice[aria-pressed=true]")
	shown(tab, "since=2026-11-02 before=2026-11-03")
	tab.Wait(`document.getElementById("total").textContent === "144 traces"`)
	browsertest.Eval[int](tab, `(history.back(), 0)`)
	shown(tab, "agent=planner since=2026-11-02 before=2026-11-03")
}

// Promise: a task of several words, with commas and quotes in them, narrows the
// list by a click as any other, and a task that has no name, too.
func TestFacetsInWords(t *testing.T) {
	s := tracestest.Store(t)
	tracestest.Fill(t, s, 4)
	for i, task := range []string{`add 1, 2 and "3"`, "x", "x"} {
		require.NoError(t, s.Put(t.Context(), nil, []trace.About{{Trace: tracestest.ID(i), Task: task}}))
	}
	late, _ := tracestest.Spans(9)
	require.NoError(t, s.Put(t.Context(), late, nil)) // without a task
	tab := serve(t, s)
	tab.Go("/traces")
	shown(tab, "")
	for _, task := range []struct{ name, query, id string }{{`add 1, 2 and "3"`, `task="add 1, 2 and ""3"""`, tracestest.ID(0)}, {"none", `task=""`, tracestest.ID(9)}} {
		browsertest.Eval[int](tab, fmt.Sprintf(`([...document.querySelectorAll("[aria-label=task] .choice")].find((c) => c.querySelector(".cut").textContent === %q).id = "this", 0)`, task.name))
		tab.Click("#this")
		shown(tab, task.query)
		require.Equal(t, []string{task.id}, browsertest.Eval[[]string](tab, ids))
		tab.Wait(`document.querySelector("[aria-label=task] .choice[aria-pressed=true]")`)
		tab.Click("[aria-label=task] .choice[aria-pressed=true]")
		shown(tab, "")
		tab.Wait(`document.getElementById("total").textContent === "5 traces"`)
	}
}

// Promise: a long list is scrolled to its end without its rows being in the
// page: what is there is what is seen, and a little more.
func TestScroll(t *testing.T) {
	tab, _ := open(t, 1500)
	tab.Go("/traces")
	shown(tab, "")
	for range 100 {
		browsertest.Eval[int](tab, `new Promise((done) => { const w = document.getElementById("window"); w.scrollTop = w.scrollHeight; requestAnimationFrame(() => requestAnimationFrame(() => done(0))) })`)
		if browsertest.Eval[int](tab, `document.getElementById("sheet").clientHeight`) == 1500*34 {
			break
		}
		tab.Wait(`document.getElementById("window").scrollTop + document.getElementById("window").clientHeight < document.getElementById("window").scrollHeight - 10`)
	}
	// The last page may have come before the window was at its end.
	tab.Wait(fmt.Sprintf(`((w) => { w.scrollTop = w.scrollHeight; return %s.at(-1) === %q })(document.getElementById("window"))`, ids, tracestest.ID(0)))
	require.Less(t, browsertest.Eval[int](tab, `document.querySelectorAll("#sheet .row").length`), 80)
	tab.Press("o")
	shown(tab, "order=oldest")
	require.Equal(t, tracestest.ID(0), browsertest.Eval[[]string](tab, ids)[0])
}

// Promise: keys alone lead from the list into a trace, open and close what is in
// it, and lead back.
func TestKeys(t *testing.T) {
	tab, _ := open(t, 30)
	tab.Go("/traces?q=agent%3Dplanner")
	shown(tab, "agent=planner")
	tab.Press("j", "j", "k", "j", browsertest.Enter)
	tab.Wait(`document.querySelector("#spans")?.dataset.shown`)
	tab.Ready()
	require.Equal(t, "/traces/"+tracestest.ID(24), tab.Path())
	require.Equal(t, 5, browsertest.Eval[int](tab, `document.querySelectorAll(".span.open").length`), "a short trace is open")
	tab.Screenshot("trace")
	tab.Dark(true)
	tab.Screenshot("trace-dark")
	tab.Press("e")
	tab.Wait(`document.querySelectorAll(".span.open").length === 0`)
	tab.Press("j", "j", browsertest.Enter)
	tab.Wait(`document.querySelectorAll(".span.open").length === 1`)
	require.Equal(t, "/traces/"+tracestest.ID(24)+"?span=2", tab.Path())
	tab.Press("u")
	shown(tab, "agent=planner")
}

// Promise: pages follow what is recorded, also by others: a new trace appears in
// the list, and a new span on its timeline, where it belongs.
func TestLive(t *testing.T) {
	tab, s := open(t, 3)
	tab.Go("/traces")
	shown(tab, "")
	tab.Wait(`document.getElementById("live").dataset.state === "live"`)
	spans, about := tracestest.Spans(10)
	require.NoError(t, s.Put(t.Context(), spans[:2], []trace.About{about}))
	tab.Wait(fmt.Sprintf(`%s[0] === %q`, ids, tracestest.ID(10)))
	tab.Wait(`document.getElementById("total").textContent === "4 traces"`) // the counts above the list have been drawn
	tab.Click(fmt.Sprintf(`[data-item=%q] a`, tracestest.ID(10)))
	tab.Wait(`document.querySelector("#spans")?.dataset.shown && document.querySelectorAll(".span").length === 2`)
	tab.Wait(`document.getElementById("live").dataset.state === "live"`)
	late := spans[1]
	late.ID, late.Start, late.End = "late", spans[0].Start.Add(time.Millisecond), spans[0].End
	require.NoError(t, s.Put(t.Context(), []trace.Span{late, spans[3], spans[4]}, nil))
	tab.Wait(`document.querySelectorAll(".span").length === 5`)
	require.Equal(t, []string{"1", "late", "2", "4", "5"}, browsertest.Eval[[]string](tab, `[...document.querySelectorAll(".span")].map((s) => s.dataset.item)`))
}

// hostile is what an agent might say to a person who looks at it.
var hostile = []string{
	`<script>document.title = "taken"</script>`, `<img src=x onerror="document.title='taken'">`, `</div></main><style>*{display:none}</style>`,
	`[click](javascript:alert(1)) {{.Title}} ${document.title}`, "\u202etxt.exe\u202c", "\x1b[31mred\x07\u200b", `"><a href="javascript:document.title='taken'">x</a>`, "&lt;b&gt;",
}

// Promise: what an agent wrote is text wherever it stands, with what a browser
// would obey or hide shown; no script of it runs, nothing of it is loaded.
func TestHostileText(t *testing.T) {
	s := tracestest.Store(t)
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	all := strings.Join(hostile, "\n")
	name := strings.Join(hostile[:2], " ")
	quoted, err := json.Marshal(all)
	require.NoError(t, err)
	half := 0.5
	span := func(id string, kind trace.Kind) trace.Span {
		return trace.Span{Trace: "evil", ID: id, Agent: name, Kind: kind, Name: name, Start: start, End: start.Add(time.Second), Status: trace.StatusError, Error: all, Attributes: map[string]json.RawMessage{name: quoted}}
	}
	message := rl.Message{Role: rl.RoleAssistant, Name: name, Content: rl.Text(all), ToolCallID: name, ToolCalls: []rl.ToolCall{{ID: name, Function: rl.FunctionCall{Name: name, Arguments: all}}}}
	spans := []trace.Span{span("1", trace.KindPrompt), span("2", trace.KindTool), span("3", trace.KindReward), span("4", trace.KindCoordination), span("5", trace.KindContent), span("6", trace.KindReasoning), span("7", trace.KindReward)}
	spans[0].Prompt = &trace.Prompt{Model: name, Messages: []rl.Message{message}, Answer: &message, Others: []rl.Message{message}, Finish: name, Settings: quoted, Tools: quoted}
	spans[1].Tool = &trace.Tool{CallID: name, Arguments: all, Result: all}
	spans[2].Reward = &trace.Reward{Digest: name, Outcome: name, By: name, Result: &rl.EvaluateResult{Reason: all, Metrics: rl.Metrics{{Name: name, Reason: all}}}}
	spans[3].Coordination, spans[3].Text = &trace.Coordination{Event: trace.EventVote, For: name}, all
	spans[4].Text, spans[5].Text = all, all
	spans[6].Reward = &trace.Reward{Of: "1", Digest: name, Outcome: "scored", Score: &half, By: name}
	require.NoError(t, s.Put(t.Context(), spans, []trace.About{{Trace: "evil", Agent: name, Task: name, Metadata: map[string]json.RawMessage{name: quoted}}}))

	tab := serve(t, s)
	tab.Go("/traces")
	shown(tab, "")
	require.Contains(t, tab.Text("#sheet"), hostile[0])
	tab.Go("/traces/evil")
	tab.Wait(`document.querySelectorAll(".span.open").length === 7`)
	browsertest.Eval[int](tab, `(document.querySelectorAll("details").forEach((d) => d.open = true), 0)`)
	text := browsertest.Eval[string](tab, `document.querySelector("main").textContent`)
	for _, line := range []string{hostile[0], hostile[1], hostile[2], hostile[3], "⟨U+202E⟩txt.exe⟨U+202C⟩", "⟨U+001B⟩[31mred⟨U+0007⟩⟨U+200B⟩", hostile[6], hostile[7]} {
		require.GreaterOrEqual(t, strings.Count(text, line), 10, "%q is not shown", line)
	}
	require.NotContains(t, text, "\u202e")
	require.Equal(t, "Trace evil · Merit", browsertest.Eval[string](tab, `document.title`))
	require.Zero(t, browsertest.Eval[int](tab, `document.querySelectorAll("main script, main img, main style, main iframe, main [onerror], main a[href^=javascript]").length`))
	tab.Screenshot("hostile")
}

// Promise: a long text is cut, says how long it is, and is shown whole by one
// click; a conversation shows what is new, and the rest when it is asked for.
func TestShowAll(t *testing.T) {
	s := tracestest.Store(t)
	tracestest.Fill(t, s, 1)
	long := strings.Repeat("0123456789", 6_000)
	spans, _ := tracestest.Spans(0)
	tool := spans[1]
	tool.ID, tool.Tool = "long", &trace.Tool{Result: long}
	require.NoError(t, s.Put(t.Context(), []trace.Span{tool}, nil))
	tab := serve(t, s)
	tab.Go("/traces/" + tracestest.ID(0) + "?span=long")
	tab.Wait(`document.querySelector("#spans").dataset.shown`)
	require.Equal(t, 2000, browsertest.Eval[int](tab, `document.querySelector("[data-item=long] .text").textContent.length`))
	require.Equal(t, "show all 60,000 bytes", tab.Text("[data-item=long] .all"))
	tab.Click("[data-item=long] .all")
	tab.Wait(`document.querySelector("[data-item=long] .text").textContent.length === 60000`)

	const second = `document.querySelectorAll("[data-item='3'] .talk .message")`
	require.Equal(t, 1, browsertest.Eval[int](tab, second+`.length`), "the tool's answer is new")
	tab.Click("[data-item='3'] .all")
	tab.Wait(second + `.length === 4`)
	require.Contains(t, browsertest.Eval[string](tab, second+`[1].textContent`), "What is")
}

// Promise: what agents decided together is a table by round and agent, and an
// event in it leads to its span.
func TestTogether(t *testing.T) {
	s := tracestest.Store(t)
	start := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	var spans []trace.Span
	add := func(agent string, e trace.Event, round int, whom, text string) {
		n := len(spans)
		spans = append(spans, trace.Span{Trace: "council", ID: fmt.Sprint(n), Agent: agent, Kind: trace.KindCoordination, Name: string(e), Text: text, Status: trace.StatusOK,
			Start: start.Add(time.Duration(n) * time.Second), End: start.Add(time.Duration(n) * time.Second), Coordination: &trace.Coordination{Event: e, Round: round, For: whom, Consensus: e == trace.EventEnd}})
	}
	add("ann", trace.EventAnswer, 0, "", "42")
	add("bob", trace.EventAnswer, 0, "", "41")
	add("bob", trace.EventRestart, 0, "", "I forgot the carry")
	add("ann", trace.EventVote, 1, "ann", "")
	add("bob", trace.EventVote, 1, "ann", "hers adds up")
	add("", trace.EventEnd, 1, "ann", "")
	require.NoError(t, s.Put(t.Context(), spans, nil))
	tab := serve(t, s)
	tab.Go("/traces/council")
	tab.Wait(`document.querySelector("#spans").dataset.shown`)
	cells := browsertest.Eval[[]string](tab, `[...document.querySelectorAll("#together tbody tr:nth-child(2) > *")].map((c) => c.innerText.trim().replace(/\s+/g, " "))`)
	require.Equal(t, []string{"1", "votes for ann", "votes for ann hers adds up", "agreed on ann"}, cells)
	tab.Click("#together .restart a")
	tab.Wait(`document.querySelector("[data-item='2'].at")`)
	require.Equal(t, "/traces/council?span=2", tab.Path())
	tab.Screenshot("together")
}

// Promise: a trace that is not there, and a question that is none, are said to
// be so.
func TestNotThere(t *testing.T) {
	tab, _ := open(t, 1)
	tab.Go("/traces/nobody")
	require.Contains(t, tab.Text("main"), "is not in this store")
	require.Equal(t, 400, browsertest.Eval[int](tab, `fetch("/data/trace/trace-000000?from=-1").then((r) => r.status)`))
	require.Equal(t, 404, browsertest.Eval[int](tab, `fetch("/data/trace/trace-000000/text?span=1&part=x").then((r) => r.status)`))
	require.Equal(t, 400, browsertest.Eval[int](tab, `fetch("/data/traces?after=zzz").then((r) => r.status)`))
}

// Promise: a text of 8 MiB opens in pieces: the first at once, the next as the reader scrolls,
// and the page answers meanwhile.
func TestHugeTextOpensInPieces(t *testing.T) {
	s := tracestest.Store(t)
	text := strings.Repeat("one two\U0001f600 ", 8<<20/14) + "the end"
	require.NoError(t, s.Put(t.Context(), []trace.Span{{Trace: "huge", ID: "1", Kind: trace.KindTool, Name: "fetch", Start: tracestest.Begin, End: tracestest.Begin, Status: trace.StatusOK, Tool: &trace.Tool{Result: text}}}, nil))
	tab := browsertest.Open(t, tracestest.Serve(t, ui.Config{}, tracespage.Section(s, cost.Prices{})))
	tab.Go("/traces/huge")
	tab.Click(".body button.all")
	tab.Wait(`document.querySelector(".body .piece")`)
	length := `[...document.querySelectorAll(".body .piece")].reduce((n, p) => n + p.textContent.length, 0)`
	require.Less(t, browsertest.Eval[int](tab, length), 1<<18)
	before := browsertest.Eval[int](tab, length)
	tab.Wait(fmt.Sprintf(`(() => { const box = document.querySelector(".body .text"); box.scrollTop = box.scrollHeight; return %s > %d })()`, length, before))
	require.True(t, browsertest.Eval[bool](tab, `[...document.querySelectorAll(".body .piece")].every((p) => !/\ufffd/.test(p.textContent) && p.textContent.isWellFormed())`))
	require.Contains(t, tab.Text(".body .text"), "scroll down for more")
}
