package answer_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/merit-rl/merit/sdk/answer"
	"github.com/merit-rl/merit/sdk/answer/internal/syntax"
)

// seeds are passages of every kind, from which other tests make more.
var seeds = []string{
	`\frac{1}{2}`, `\frac12`, `3\frac{1}{7}`, `1,234.5`, `12\%`, `\$5.00`, `90^\circ`, `2e-`, `1.5e3`, `0.\overline{36}`, `204_5`,
	`\boxed{x = -2}`, `\boxed{3} and \boxed{4}`, `#### 42`, `The answer is (B).`, `final answer is $x^2$. I hope it is correct.`,
	`\{1, 2\} \cup [3, \infty)`, `(-\infty, 2) \setminus \{0\}`, `\{x \mid x > 2\}`, `1 < x \le 5`, `x \in \mathbb{R}`, `\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}`,
	`\sqrt[3]{2} + \sqrt{5}`, `2 \pm \sqrt{3}`, `\log_2 8`, `\sin^2 x + \cos^2 x`, `e^{i\pi}`, `|x - 1|`, `\lfloor \pi \rfloor`, `\binom{10}{3}`, `n!`,
	`\sum_{k=1}^{10} k^2`, `\int_0^1 x\,dx`, `f(x) = 2x + 3`, `3:4:5`, `10^{10^{10}}`, `((((1))))`, `x_{1}, x_2`, `\text{even}`, `½π√2`, `\left(`, `\sum_{k=1}^{10}\sum_{k=1}^{10}\sum_{k=1}^{10}\sum_{k=1}^{10} k^{210}`, `{{{`, `\frac{`, `a^b^c^d`,
}

// Promise: no text makes Check panic, or slow, and an answer states itself.
func FuzzCheck(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, seeds[(i+7)%len(seeds)])
	}
	f.Fuzz(func(t *testing.T, gold, text string) {
		start := time.Now()
		v := answer.Check(gold, text)
		if w := answer.Check(gold, text); w != v {
			t.Fatalf("two verdicts: %+v and %+v", v, w)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Fatalf("%v for %q against %q", d, gold, text)
		}
	})
}

// Promise: pieces of mathematics in any order, which is worse than what models
// write, neither panic nor take long. MERIT_FUZZ sets how many.
func TestMutatedAnswers(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("MERIT_FUZZ"))
	rng := rand.New(rand.NewPCG(30, 30))
	for range max(n, 5000) {
		gold, text := mutated(rng), mutated(rng)
		start := time.Now()
		answer.Check(gold, text)
		if d := time.Since(start); d > 5*time.Second {
			t.Fatalf("%v for %q against %q", d, gold, text)
		}
	}
}

const signs = `0123456789xyzei+-*/^_=<>(){}[]|,.;:!% \$&'"` + "\n√π∞²°≤"

func mutated(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		s := seeds[rng.IntN(len(seeds))]
		i := rng.IntN(len(s) + 1)
		j := i + rng.IntN(len(s)+1-i)
		switch rng.IntN(4) {
		case 0:
			b.WriteString(s)
		case 1:
			b.WriteString(s[:i] + s[j:])
		case 2:
			b.WriteString(s[:i] + string([]rune(signs)[rng.IntN(45)]) + s[i:])
		case 3:
			b.WriteString(strings.Repeat(s[i:j], 1+rng.IntN(20)))
		}
	}
	return b.String()
}

// Promise: what the parser reads equals itself, however it is spaced.
func TestEveryAnswerStatesItself(t *testing.T) {
	for _, s := range seeds {
		if _, _, err := syntax.Parse(s, syntax.Options{}); err != nil {
			continue
		}
		if v := answer.Check(s, `So it is $\boxed{ `+strings.ReplaceAll(s, `+`, ` + `)+` }$.`); v.Outcome == answer.Different {
			t.Errorf("%q against itself: %+v", s, v)
		}
	}
}
