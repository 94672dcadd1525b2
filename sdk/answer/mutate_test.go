package answer_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/answer"
)

// Mutations of a run; MERIT_MUTATIONS sets another number.
const usualMutations = 1_000

var (
	tokens = regexp.MustCompile(`\\[A-Za-z]+|\\.|\d+|\s+|.`)
	spare  = []string{
		`\frac`, `\sqrt`, `\left(`, `\right]`, `\boxed{`, `{`, `}`, `(`, `)`, `[`, `]`, `\{`, `\}`, `^`, `_`, `!`, `|`, `,`, `;`, `$`, `&`, `\\`, `\text{`, `\begin{pmatrix}`, `\end{pmatrix}`,
		`\cup`, `\le`, `<`, `>`, `=`, `\pm`, `\sin`, `\log_`, `\ln`, `\binom`, `\sum_{k=1}^{10}`, `\int_0^1`, `\pi`, `i`, `e`, `x`, `0`, `1`, `9`, `10^`, `999999999`, `0.`, `1e9`, `%`, `\%`, `^\circ`, `\infty`, `-`, `/`, `/0`,
		`#### `, `</think>`, "\n", "\x00", "\xff", "é", "√", "−", `\cdot`, `\times`, `\pmod`, `(A)`, `\overline{`, `\mathrm{`, `**`, ` or `, ` and `,
	}
)

// mutator makes texts that are almost mathematics.
type mutator struct {
	*rand.Rand
	corpus []string
}

func (m mutator) one() string {
	text := tokens.FindAllString(m.corpus[m.IntN(len(m.corpus))], -1)
	for range 1 + m.IntN(6) {
		text = m.step(text)
	}
	return strings.Join(text, "")
}

func (m mutator) step(text []string) []string {
	if len(text) == 0 {
		return []string{spare[m.IntN(len(spare))]}
	}
	at, to := m.IntN(len(text)), 0
	to = at + m.IntN(len(text)-at)
	head, body, tail := text[:at:at], text[at:to], text[to:]
	switch m.IntN(7) {
	case 0: // leave out
		return append(head, tail...)
	case 1: // repeat
		for range 1 + m.IntN(1<<m.IntN(6)) {
			head = append(head, body...)
		}
		return append(head, tail...)
	case 2: // put in
		return append(append(head, spare[m.IntN(len(spare))]), text[at:]...)
	case 3: // nest
		depth := 1 << m.IntN(9)
		open, shut := [][2]string{{"{", "}"}, {"(", ")"}, {`\frac{1}{`, "}"}, {`\sqrt{`, "}"}, {"-", ""}, {"2^{", "}"}, {"|", "|"}}[m.IntN(7)], ""
		head, shut = append(head, strings.Repeat(open[0], depth)), strings.Repeat(open[1], depth)
		return append(append(append(head, body...), shut), tail...)
	case 4: // splice
		other := tokens.FindAllString(m.corpus[m.IntN(len(m.corpus))], -1)
		return append(head, other[m.IntN(len(other)):]...)
	case 5: // exchange
		other := m.IntN(len(text))
		text[at], text[other] = text[other], text[at]
		return text
	default: // a long number
		return append(append(head, strings.Repeat(strconv.Itoa(m.IntN(10)), 1<<m.IntN(11))), tail...)
	}
}

// checked is Check, with what it panicked with.
func checked(gold, text string) (v answer.Verdict, panicked string) {
	defer func() {
		if p := recover(); p != nil {
			panicked = fmt.Sprintf("%v\ngold %q\ntext %q\n%s", p, gold, text, debug.Stack())
		}
	}()
	return answer.Check(gold, text), ""
}

// Promise: whatever a model or a data set writes, Check neither panics nor hangs, and it says
// the same twice.
func TestMutated(t *testing.T) {
	n := usualMutations
	if given := os.Getenv("MERIT_MUTATIONS"); given != "" {
		var err error
		n, err = strconv.Atoi(given)
		require.NoError(t, err)
	}
	m := mutator{rand.New(rand.NewPCG(30, uint64(n))), nil}
	for _, s := range sets {
		if !s.private {
			for _, c := range lines[testCase](t, filepath.Join("testdata", "compare", s.name+".jsonl")) {
				m.corpus = append(m.corpus, c.Gold, c.Text)
			}
		}
	}
	outcomes, slowest, which := map[answer.Outcome]int{}, time.Duration(0), ""
	for range n {
		gold, text := m.one(), m.one()
		began := time.Now()
		v, panicked := checked(gold, text)
		require.Empty(t, panicked)
		if took := time.Since(began); took > slowest {
			slowest, which = took, fmt.Sprintf("gold %.300q text %.300q", gold, text)
		}
		outcomes[v.Outcome]++
		require.Equal(t, v, answer.Check(gold, text), "gold %q\ntext %q", gold, text)
	}
	t.Logf("%d pairs: %v; the slowest took %v: %s", n, outcomes, slowest, which)
}
