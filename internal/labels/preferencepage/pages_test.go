package preferencepage_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/labels/preference"
	"github.com/merit-rl/merit/internal/labels/preferencepage"
	"github.com/merit-rl/merit/internal/traces/tracestest"
	"github.com/merit-rl/merit/internal/ui"
	"github.com/merit-rl/merit/internal/ui/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// mails writes the answers of a policy to three mails.
func mails(t *testing.T, name, answer string) string {
	t.Helper()
	var b strings.Builder
	for i := range 3 {
		line, err := json.Marshal(map[string]any{"id": name, "messages": []map[string]string{
			{"role": "user", "content": fmt.Sprintf("Mail %d", i)}, {"role": "assistant", "name": name, "content": answer},
		}})
		require.NoError(t, err)
		b.Write(append(line, '\n'))
	}
	path := filepath.Join(t.TempDir(), name+".jsonl")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// shown waits for a question other than before, and returns its pair.
func shown(tab *browsertest.Tab, before string) string {
	tab.Wait(fmt.Sprintf(`(document.getElementById("question").dataset.shown ?? %q) !== %q`, before, before))
	return browsertest.Eval[string](tab, `document.getElementById("question").dataset.shown`)
}

// Promise: a rater answers in a browser by keys under the name of the account, goes back,
// and continues after a reload; neither the page nor what it loads says which policy an
// answer is from; who has not signed in sees no question and cannot answer.
func TestPreferences(t *testing.T) {
	pairs, err := preference.Read(mails(t, "baseline", "Sent."), mails(t, "trained", "<b>Dear</b> customer"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), preference.File)
	q, err := preference.Open(pairs, file, 1)
	require.NoError(t, err)
	accounts := filepath.Join(t.TempDir(), "raters.keys")
	key, err := ui.AddAccount(accounts, "ann")
	require.NoError(t, err)
	tab := browsertest.Open(t, tracestest.Serve(t, ui.Config{Raters: accounts}, preferencepage.Section(q)))

	tab.Go("/preferences")
	require.Contains(t, tab.Text("#locked"), "Sign in")
	require.Equal(t, 0, browsertest.Eval[int](tab, `fetch("/data/preferences").then((r) => r.json()).then((q) => q.items.length)`))
	require.Equal(t, 403, browsertest.Eval[int](tab, `fetch("/do/prefer", {method: "POST", body: "{}"}).then((r) => r.status)`))

	tab.Go("/login?next=/preferences")
	tab.Click("input[name=key]")
	tab.Type(key)
	tab.Press(browsertest.Enter)
	tab.Wait(`location.pathname === "/preferences" && document.querySelector("#question[data-rater=ann]")`)
	tab.Ready()
	first := shown(tab, "")
	require.Contains(t, tab.Text("#common"), "Mail ")
	require.Contains(t, tab.Text("#question"), "<b>Dear</b> customer")
	all := browsertest.Eval[string](tab, `fetch("/data/preferences").then((r) => r.text()).then((text) => text + document.documentElement.outerHTML)`)
	for _, word := range []string{"baseline", "trained", "before\"", "after\"", "policy"} {
		require.NotContains(t, all, word)
	}
	tab.Screenshot("question")
	tab.Press("1")
	second := shown(tab, first)
	tab.Press("=")
	third := shown(tab, second)
	tab.Press("z")
	require.Equal(t, second, shown(tab, third))
	tab.Press("s")
	require.Equal(t, third, shown(tab, second))

	tab.Go("/preferences")
	require.Equal(t, third, shown(tab, ""))
	require.Equal(t, "2 of 3", tab.Text("#progress"))
	tab.Click(`[data-choice="right"]`)
	tab.Wait(`!document.getElementById("empty").hidden`)
	answers, err := preference.ReadAnswers(file)
	require.NoError(t, err)
	var said []string
	for _, a := range answers {
		said = append(said, a.Rater+" "+a.Pair+" "+string(a.Choice))
	}
	require.Equal(t, []string{"ann " + first + " left", "ann " + second + " equal", "ann " + second + " skip", "ann " + third + " right"}, said)
}
