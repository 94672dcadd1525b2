package sandbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/reward"
)

// inJavaScript returns the evaluation of a script.
func inJavaScript(t *testing.T, code string) reward.Evaluation {
	m, err := loadScript(t, oneWorker(t), "reward.js", code)
	require.NoError(t, err)
	return m.Evaluate(context.Background(), small())
}

// Promise: rewards see the same language on each build of the interpreter: integers of any
// size, Unicode, a clock and random numbers that are the same in each evaluation, no Intl.
// testdata/javascript.json has what npm's build of QuickJS-NG and Merit's own agree on.
func TestJavaScriptOfAllBuilds(t *testing.T) {
	text, err := os.ReadFile("testdata/javascript.json")
	require.NoError(t, err)
	var rows [][2]string
	require.NoError(t, json.Unmarshal(text, &rows))
	code := `export const merit = { without: ["package"] };
const said = (code) => { try { return String((0, eval)(code)); } catch (e) { return "!" + e.name + ": " + e.message; } };
export default () => ({ score: 1, reason: JSON.stringify(%s.map(([code]) => [code, said(code)])) });`
	e := inJavaScript(t, fmt.Sprintf(code, text))
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	var got [][2]string
	require.NoError(t, json.Unmarshal([]byte(e.Result.Reason), &got))
	require.Equal(t, rows, got)
}

// jsonCode compares two readers on texts that it makes, and on each with some characters
// changed: JSON.parse without a reviver, which is Merit's own reader in Merit's build, and
// JSON.parse with one, which is always that of QuickJS.
const jsonCode = `
let state = 7;
const below = (n) => {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % n;
};
const any = (list) => list[below(list.length)];
const space = () => any(["", "", "", " ", "\n", "\t\r "]);
const text = () => {
  let t = "";
  for (let n = below(4) ? below(12) : below(70); n > 0; n--) {
    t += any(["a", "b", "messages", "é", "你", "😀", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\ud83d\\ude00", "\\ud800", "\ud800", "\x7f", "\u2028", " "]);
  }
  return t;
};
const key = () => any(["id", "role", "content", "__proto__", "constructor", "length", "0", "17", "-1", "4294967295", "", text()]);
const number = () => any(["0", "-0", "7", "-7", "123456789", "1234567890", "-2147483648", "9007199254740993", "1.5", "-0.001", "1e3", "2E-2", "1e400", "5e-324", "0.1"]);
function value(depth) {
  const kind = below(depth > 4 ? 5 : 8);
  if (kind === 0) return any(["true", "false", "null"]);
  if (kind < 3) return number();
  if (kind < 5) return '"' + text() + '"';
  const parts = Array.from({ length: below(5) }, () => space() + (kind < 7 ? '"' + key() + '"' + space() + ":" : "") + value(depth + 1) + space());
  return kind < 7 ? "{" + parts.join(",") + space() + "}" : "[" + parts.join(",") + space() + "]";
}
const broken = (t) => {
  const at = below(t.length + 1), other = any(["", '"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "tru", "\n", "\x00", "\x0b", "é", "'", "/", "\\u12"]);
  return t.slice(0, at) + other + t.slice(at + below(2));
};
function show(v) {
  if (Array.isArray(v)) return "[" + v.map(show).join() + "]";
  if (v && typeof v === "object") return "{" + Object.entries(v).map(([k, x]) => JSON.stringify(k) + show(x)).join() + "}" + (Object.getPrototypeOf(v) === Object.prototype);
  return Object.is(v, -0) ? "-0" : typeof v === "string" ? JSON.stringify(v) : String(v);
}
const read = (t, ...reviver) => { try { return show(JSON.parse(t, ...reviver)); } catch (e) { return e.name + e.message; } };
export default function () {
  let refused = 0, taken = 0;
  for (let n = 0; n < 1500; n++) {
    const t = space() + value(0) + space();
    for (const x of [t, broken(t), broken(broken(t))]) {
      const ours = read(x), theirs = read(x, (k, v) => v);
      if (ours !== theirs) return { score: 0, reason: JSON.stringify([x, ours, theirs]) };
      if (ours.startsWith("SyntaxError")) refused++;
      else taken++;
    }
  }
  return { score: refused > 1000 && taken > 1500 ? 1 : 0, reason: refused + " refused, " + taken + " read" };
}
`

// Promise: JSON.parse reads what QuickJS's own reader reads, to the same value, and refuses
// the rest with the same error.
func TestJSONReadersAgree(t *testing.T) {
	e := inJavaScript(t, jsonCode)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 1.0, e.Result.Score, e.Result.Reason)
}

// Promise: a text is searched as character by character, at every place of 16 bytes.
func TestSearchInJavaScript(t *testing.T) {
	e := inJavaScript(t, `
export default function () {
  for (const wide of ["", "你"]) {
    for (let size = 0; size < 70; size++) {
      for (let at = 0; at < size; at++) {
        const text = "-".repeat(at) + "x" + "-".repeat(size - at - 1) + wide, from = at >> 1;
        if (text.indexOf("x", from) !== at || text.indexOf("x", at + 1) !== -1 || text.indexOf("\u0178") !== -1) return 0;
        if (text.split("x").join("|").length !== text.length || text.indexOf("x-") !== (at < size - 1 ? at : -1)) return 0;
      }
    }
  }
  return 1;
}`)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 1.0, e.Result.Score)
}
