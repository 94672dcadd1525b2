package answer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/sdk/answer"
)

type pair struct {
	gold, text string
	want       answer.Outcome
}

func hold(t *testing.T, pairs []pair) {
	t.Helper()
	for _, p := range pairs {
		v := answer.Check(p.gold, p.text)
		require.Equal(t, p.want, v.Outcome, "gold %q, text %q: %+v", p.gold, p.text, v)
		if v.Outcome != answer.Equal {
			require.Zero(t, v.Error)
		}
	}
}

// Promise: the answer of a reply is its last box, else what follows "the answer
// is", else the last mathematics, else the last number.
func TestWhichTextIsTheAnswer(t *testing.T) {
	hold(t, []pair{
		{"4", `First $\boxed{3}$. No: that was wrong, because the sign of the second term is different. We start again from the first line, so it is $\boxed{4}$.`, answer.Equal},
		{"3, 4", `\boxed{3} and \boxed{4}`, answer.Equal},
		{"18", "She makes 9 * 2 = $18 every day.\n#### 18", answer.Equal},
		{"34", "Final Answer: The largest $n$ is 34.", answer.Equal},
		{"7", "<think>maybe \\boxed{9}</think> The answer is 7.", answer.Equal},
		{"7", "<think>maybe \\boxed{7}</think> The answer is 9.", answer.Different},
		{"2/3", "P(A) = (1/2) / (3/4), so the probability is 2/3. <|im_start|>user", answer.Equal},
		{"1,4,9", "The roots are 1, 4, and 9.", answer.Equal},
		{"10√2", "The distance is 10√2.", answer.Equal},
		{"1250.5", `Thus it costs \$1{,}250.50`, answer.Equal},
		{"1234567", "There are 1{,}234{,}567 of them.", answer.Equal},
		{"567", "There are 1{,}234{,}567 of them.", answer.Different},
		{"2", "AZYUK2A", answer.Different},
		{"5", "I do not know.", answer.Different},
		{"5", "", answer.Different},
	})
}

// Promise: a number is the same number however it is written, and no other.
func TestNumbers(t *testing.T) {
	hold(t, []pair{
		{"7425000", "7,425,000", answer.Equal}, {"1000", "1 000", answer.Equal}, {"1000000", `\boxed{1\,000\,000}`, answer.Equal},
		{"14916", `14{,}916`, answer.Equal}, {"32349", `\boxed{32, 349}`, answer.Different}, {"0.4", ".4", answer.Equal}, {"0,111", "0.111", answer.Equal},
		{`\frac{1}{3}`, "0.333333", answer.Equal}, {`\frac{1}{3}`, "0.333", answer.Different}, {`0.\overline{3}`, `\frac13`, answer.Equal},
		{`3\frac{1}{2}`, "3.5", answer.Equal}, {"3 1/2", "7/2", answer.Equal}, {`28\%`, "0.28", answer.Equal}, {`28\%`, "28", answer.Equal}, {"28", "0.28", answer.Different},
		{`204_5`, `\boxed{204_5}`, answer.Equal}, {`204_5`, `\boxed{204_6}`, answer.Different}, {"4.5e6", "4500000", answer.Equal}, {"two", "2", answer.Equal},
		{`7^{500}+1`, `7^{500}`, answer.Different}, {`\frac{1}{50!}`, `\frac{1}{51!}`, answer.Different}, {`2^{1000}-1`, `2^{1000}`, answer.Different},
		{`\binom{12}{9}`, `\boxed{\binom{12}{3}}`, answer.Equal}, {"3:4", "6:8", answer.Equal}, {"1:2:3", "1:3:2", answer.Different}, {"12:00", "1:00", answer.Different},
		{`15\mbox{ cm}^2`, "15", answer.Equal}, {`90^\circ`, "90", answer.Equal}, {"20", `\boxed{\text{20 students}}`, answer.Equal}, {`\sum_{k=1}^{10} k`, "55", answer.Equal},
	})
}

// Promise: two expressions are equal if they are equal for all values of their variables.
func TestExpressions(t *testing.T) {
	hold(t, []pair{
		{`\sqrt{12}`, `2\sqrt{3}`, answer.Equal}, {`\sqrt{3+2\sqrt2}`, `1+\sqrt2`, answer.Equal}, {`4`, `4\sqrt2`, answer.Different},
		{`(x+1)^2`, `x^2+2x+1`, answer.Equal}, {`(x+1)^2`, `x^2+1`, answer.Different}, {`\frac{x^2-1}{x-1}`, `x+1`, answer.Equal},
		{`\tan^2 y + 1`, `\sec^2 y`, answer.Equal}, {`2 \sin b \cos a`, `\sin(a+b)-\sin(a-b)`, answer.Equal}, {`\sin 30^\circ`, `\frac12`, answer.Equal},
		{`\ln 8`, `3\ln 2`, answer.Equal}, {`\log_2 8`, "3", answer.Equal}, {`e^{i\pi}`, "-1", answer.Equal}, {`-i`, `\frac{1}{i}`, answer.Equal},
		{`\sqrt{x^2}`, `x`, answer.Different}, {`|x|`, `\sqrt{x^2}`, answer.Equal}, {`\sqrt[3]{-8}`, "-2", answer.Equal},
		{`\frac{n!}{k!(n-k)!}`, `\binom{n}{k}`, answer.Equal}, {`\frac{n(n+1)}{2}`, `\binom{n+1}{2}`, answer.Equal}, {"f(x)", "f(y)", answer.Different},
		{`\arctan 1`, `\frac{\pi}{4}`, answer.Equal}, {`2^{n+1}`, `2 \cdot 2^n`, answer.Equal}, {`e^{\pi\sqrt{163}}`, "262537412640768744", answer.Different},
	})
}

// Promise: sets have no order, tuples do; ends of intervals matter; a list of the
// answer is read as the gold is.
func TestCollections(t *testing.T) {
	hold(t, []pair{
		{"-2,1", `\boxed{1,-2}`, answer.Equal}, {`\{1, 2\}`, `\{2, 1, 1\}`, answer.Equal}, {"(3,1)", `\{1,3\}`, answer.Different}, {"(1,3)", `\{1,3\}`, answer.Equal},
		{"(2,3)", "[2,3]", answer.Different}, {"[0,1)", "(0,1]", answer.Different}, {"[2,5)", `2 \le x < 5`, answer.Equal}, {`(-\infty,1)\cup(3,\infty)`, `x<1 or x>3`, answer.Equal},
		{`1 \pm \sqrt{19}`, `1-\sqrt{19}, 1+\sqrt{19}`, answer.Equal}, {`\pm 2021`, "2021", answer.Different}, {"[-36,104]", `[-36, 104]`, answer.Equal},
		{`\emptyset`, `\boxed{\varnothing}`, answer.Equal}, {`\begin{pmatrix}1&2\\3&4\end{pmatrix}`, `\begin{bmatrix}1&2\\3&4\end{bmatrix}`, answer.Equal},
		{`\begin{pmatrix}6 & 8 \\ 10 & 12\end{pmatrix}`, `\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix} + \begin{pmatrix}5 & 6 \\ 7 & 8\end{pmatrix}`, answer.Equal},
		{"5", `\left[\frac12, 8\right]`, answer.Different}, {"15", `\{x \mid x = 3k\}`, answer.Different}, {"100", "t(0,4]", answer.Different},
	})
}

// Promise: an equation is the same if it is multiplied through or solved, x = 5 is
// 5, and an inequality may be turned around.
func TestRelations(t *testing.T) {
	hold(t, []pair{
		{"x=5", "5", answer.Equal}, {"5", "x=5", answer.Equal}, {"x=5", "y=5", answer.Different}, {"7 = 11a+c", "11a+c", answer.Different},
		{"2x+4y-3=0", `y=-\frac{1}{2}x+\frac{3}{4}`, answer.Equal}, {"x^2/4 + y^2/3 = 1", "x^2/16 + y^2/12 = 1/4", answer.Equal}, {"y=2x+3", "y=2x+4", answer.Different},
		{"x < 1", "-x > -1", answer.Equal}, {"x < 1", "x > -1", answer.Different}, {`x \le 5`, `5 \ge x`, answer.Equal}, {"-1<x<3", "3>x>-1", answer.Equal},
		{"x=1/3", `x = 5+5+1 = 1/3 \approx 11`, answer.Equal}, {"(x,y)=(3,2)", "(3,2)", answer.Equal}, {"p=5,q=2;p=7,q=2", "(5,2),(7,2)", answer.Equal},
		{`i^{15}=(i^4)^3 \cdot i^3=-i`, `x=\frac{25}{2}`, answer.Different}, {`\Phi(x,y)=\frac{x+1}{2y}`, `\Phi(x,y)=\frac{x}{2y}+\frac{1}{2y}`, answer.Equal},
	})
}

// Promise: quantities of one dimension are compared in one unit, and others differ. A unit
// or a currency may be absent.
func TestQuantities(t *testing.T) {
	hold(t, []pair{
		{`5\text{ cm}`, `5\text{ m}`, answer.Different}, {`5\text{ cm}`, `0.05\text{ m}`, answer.Equal}, {`5 \text{ m}`, `\boxed{5}`, answer.Equal}, {"5 m", "5 s", answer.Different},
		{`24\text{ cm}^2`, `24\ \mathrm{cm}^3`, answer.Different}, {`24\text{ cm}^2`, "24 square centimeters", answer.Equal}, {"1 mile", "5280 feet", answer.Equal},
		{"3 hours", "It takes 180 minutes.", answer.Equal}, {"3 hours", "It takes 3 minutes.", answer.Different}, {"5 feet 3 inches", "63 inches", answer.Equal},
		{`36\text{ km/h}`, `10\text{ m/s}`, answer.Equal}, {`9.8\ \mathrm{m/s^2}`, `9.8\,\mathrm{m\,s^{-2}}`, answer.Equal}, {`2\pi\text{ m}`, `200\pi\text{ cm}`, answer.Equal},
		{"$15", "It costs 15 cents.", answer.Different}, {"$0.75", "It costs 75 cents.", answer.Equal}, {"€20", "He pays $20.", answer.Different}, {"£20", "20 pounds", answer.Equal},
		{"12 apples", "12 pears", answer.Equal}, {`100^\circ\text{C}`, `100^\circ\text{F}`, answer.Different}, {"2.5 million dollars", "$2,500,000", answer.Equal},
		{`4.2\text{ kJ}`, `4200\text{ J}`, answer.Equal}, {`5\,\mathrm{N}`, `5\,\mathrm{kg\cdot m/s^2}`, answer.Equal},
	})
}

// Promise: dates and times of day are themselves, and not the numbers in them.
func TestCalendar(t *testing.T) {
	hold(t, []pair{
		{"July 4, 1776", "It was the 4th of July 1776.", answer.Equal}, {"July 4, 1776", "It was July 5, 1776.", answer.Different}, {"March 15", `\text{March 15}`, answer.Equal},
		{"2024-02-29", "It is February 29, 2024.", answer.Equal}, {"2024-02-29", "1993", answer.Different}, {"March 15", "15", answer.Different},
		{"3:30 PM", "They meet at 15:30.", answer.Equal}, {"3:30 PM", "They meet at 3:30 a.m.", answer.Different}, {"8 a.m.", "8:00 AM", answer.Equal}, {"10:05", "10:50", answer.Different},
	})
}

// Promise: functions by cases have the same values under the same conditions, and a
// system of equations is what it gives its unknowns.
func TestCases(t *testing.T) {
	abs := `\begin{cases} x & x \ge 0 \\ -x & x < 0 \end{cases}`
	hold(t, []pair{
		{abs, `\begin{cases} -x, & \text{if } x < 0, \\ x, & \text{if } x \geq 0. \end{cases}`, answer.Equal}, {abs, `\begin{cases} -x & x \ge 0 \\ x & x < 0 \end{cases}`, answer.Different},
		{abs, `\begin{cases} x & x > 0 \\ -x & x < 0 \end{cases}`, answer.Different}, {abs, `0`, answer.Different}, {`\begin{cases} x = 1 \\ y = 2 \end{cases}`, "(1, 2)", answer.Equal},
		{`\begin{cases} x = 1 \\ y = 2 \end{cases}`, "(2, 1)", answer.Different}, {"x = 1, y = 4", `$x = \boxed{4}$ and $y = \boxed{1}$`, answer.Different},
	})
}

// Promise: what is in a box is the answer even if it cannot be read; no number of it is
// taken instead.
func TestUnreadableBox(t *testing.T) {
	hold(t, []pair{{"5", `\boxed{\oint_5 \unknown 5}`, answer.Unknown}, {`\oint_5 \unknown 5`, `\boxed{5}`, answer.Unknown}})
}

// Promise: words and letters of a choice are compared as text.
func TestWordsAndChoices(t *testing.T) {
	hold(t, []pair{
		{`\text{Evelyn}`, `\boxed{\text{Evelyn}}`, answer.Equal}, {"odd", "$odd$", answer.Equal}, {`\text{even}`, `\boxed{\text{odd}}`, answer.Different},
		{"B", "So the answer is **B**.", answer.Equal}, {"B", `\boxed{\text{(B)}}`, answer.Equal}, {"B", "The answer is (C).", answer.Different}, {"(A)", "A) 15", answer.Equal},
		{"yes", `\boxed{\text{Yes}}`, answer.Equal}, {"even", "The function is even.", answer.Equal}, {"even", "The function is not even.", answer.Different},
		{`\text{None}`, `\emptyset`, answer.Equal}, {`\text{all real numbers}`, `\mathbb{R}`, answer.Equal},
	})
}

// Promise: what is not understood is unknown and says why.
func TestUnknownSaysWhy(t *testing.T) {
	v := answer.Check(`\int_0^1 x^2 dx`, `\boxed{\frac13}`)
	require.Equal(t, answer.Unknown, v.Outcome)
	require.NotEmpty(t, v.Way)
	require.Equal(t, "unknown", v.Outcome.String())
}
