package answer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/answer"
)

// reads are answers of each kind: the ground truth, then texts that state it.
var reads = []struct {
	kind, gold string
	texts      []string
}{
	{"boxes", `4`, []string{`First 3, then $\boxed{4}$.`, `\fbox{4}`}},
	{"several boxes", `-2, 5`, []string{`\boxed{5} and \boxed{-2}`}},
	{"words before the answer", `4`, []string{`The answer is 4, not 3.`, `**Answer:** 4`}},
	{"the last number", `18`, []string{`She makes 9 * 2 = $18 a day.`}},
	{"separators", `1234567`, []string{`\boxed{1,234,567}`, `\boxed{1{,}234{,}567}`, `\boxed{1\,234\,567}`, `\boxed{1.234.567}`, `\boxed{12,34,567}`}},
	{"decimals", `\frac{3}{4}`, []string{`\boxed{0.75}`, `\boxed{.75}`}},
	{"periodic decimals", `\frac{1}{3}`, []string{`$\boxed{0.\overline{3}}$`, `It is 0.333...`}},
	{"scientific notation", `120000`, []string{`\boxed{1.2 \times 10^5}`}},
	{"fractions", `\frac{3}{4}`, []string{`\boxed{3/4}`, `\boxed{\dfrac{6}{8}}`, `\boxed{\tfrac34}`}},
	{"mixed numbers", `\frac{7}{3}`, []string{`\boxed{2\frac{1}{3}}`}},
	{"percent", `25\%`, []string{`\boxed{25\%}`, `\boxed{25}`, `\boxed{0.25}`}},
	{"money", `12.50`, []string{`The change is \$12.5.`}},
	{"units", `5\text{ cm}`, []string{`\boxed{5\,\mathrm{cm}}`, `\boxed{50 \text{ mm}}`, `\boxed{5}`}},
	{"compound units", `36\text{ km/h}`, []string{`\boxed{10\ \mathrm{m\,s^{-1}}}`}},
	{"degrees", `60`, []string{`\boxed{60^\circ}`, `The angle is 60 degrees.`}},
	{"minutes of an angle", `22.5^\circ`, []string{`\boxed{22^\circ 30'}`}},
	{"times of day", `3{:}30\text{ PM}`, []string{`\boxed{15:30}`}},
	{"dates", `July 4, 1776`, []string{`It was on 4 July 1776.`}},
	{"roots", `2\sqrt{3}`, []string{`\boxed{\sqrt{12}}`, `\boxed{\frac{6}{\sqrt{3}}}`}},
	{"powers", `2^{100}`, []string{`\boxed{4^{50}}`}},
	{"logarithms", `\log_2 3`, []string{`\boxed{\frac{\ln 3}{\ln 2}}`}},
	{"factorials", `120`, []string{`\boxed{5!}`}},
	{"trigonometry", `\cos 2x`, []string{`\boxed{1 - 2\sin^2 x}`}},
	{"complex numbers", `\frac{1}{2}+\frac{\sqrt{3}}{2}i`, []string{`\boxed{e^{i\pi/3}}`}},
	{"polynomials", `x^2+2x+1`, []string{`\boxed{(x+1)^2}`}},
	{"rational functions", `\frac{1}{x-1}`, []string{`\boxed{\frac{x+1}{x^2-1}}`}},
	{"equations", `y = 2x + 1`, []string{`\boxed{2x - y + 1 = 0}`}},
	{"assignments", `x = 2, y = 5`, []string{`$\boxed{y = 5, x = 2}$`}},
	{"inequalities", `x > 2`, []string{`\boxed{2 < x}`, `\boxed{(2,\infty)}`}},
	{"intervals", `[2,5)`, []string{`\boxed{2 \le x < 5}`, `\boxed{x \in [2,5)}`}},
	{"intervals in words", `(2,3)`, []string{`The root lies between 2 and 3.`, `\boxed{]2,3[}`}},
	{"unions", `(-\infty,2)\cup(3,\infty)`, []string{`\boxed{x<2 \text{ or } x>3}`}},
	{"sets and lists", `\{1,2,3\}`, []string{`\boxed{3, 2, 1}`}},
	{"tuples", `(\frac{1}{2}, 3)`, []string{`\boxed{(0.5, 3)}`, `$(x, y) = (0.5, 3)$`}},
	{"plus or minus", `1 \pm \sqrt{2}`, []string{`\boxed{1+\sqrt{2}, 1-\sqrt{2}}`}},
	{"values in words", `3, 5`, []string{`So x = 3 or x = 5.`}},
	{"vectors", `\langle 1, -2 \rangle`, []string{`\boxed{\hat{i} - 2\hat{j}}`, `\boxed{\begin{pmatrix} 1 \\ -2 \end{pmatrix}}`}},
	{"cases", `\begin{cases} x & x \ge 0 \\ -x & x < 0 \end{cases}`, []string{`\boxed{\begin{cases} -x, & \text{if } x < 0 \\ x, & \text{otherwise} \end{cases}}`}},
	{"antiderivatives", `\frac{x^2}{2} + C`, []string{`\boxed{\frac12 x^2 + K}`}},
	{"sums", `\frac{n(n+1)}{2}`, []string{`\boxed{\sum_{k=1}^{n} k}`}},
	{"matrices", `\begin{pmatrix} 1/2 \\ 0 \end{pmatrix}`, []string{`\boxed{\begin{bmatrix} 0.5 \\ 0 \end{bmatrix}}`}},
	{"ratios", `3:5`, []string{`\boxed{6:10}`}},
	{"numbers of another base", `1011_2`, []string{`\boxed{1011_{2}}`}},
	{"digits beyond 9", `2F_{16}`, []string{`\boxed{\text{2F}_{16}}`}},
	{"multiple choice", `\text{(C)}`, []string{`\boxed{C}`, `$\boxed{\textbf{(C)}\ 12}$`, `The correct option is (C).`}},
	{"words", `\text{even}`, []string{`The function is \boxed{\text{Even}}.`}},
}

// Promise: each kind of answer of docs/mathematics.md is read and compared.
func TestReads(t *testing.T) {
	var table strings.Builder
	table.WriteString("| kind | ground truth | answers that state it |\n|---|---|---|\n")
	for _, r := range reads {
		for _, text := range r.texts {
			v := answer.Check(r.gold, text)
			require.Equal(t, answer.Equal, v.Outcome, "%s: %q states %q: %+v", r.kind, text, r.gold, v)
		}
		table.WriteString("| " + r.kind + " | `" + r.gold + "` | `" + strings.Join(r.texts, "`, `") + "` |\n")
	}
	held(t, "reads", table.String())
}
