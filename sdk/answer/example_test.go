package answer_test

import (
	"fmt"

	"github.com/merit-rl/merit/sdk/answer"
)

// A reply is compared with the gold answer. The verdict says what was compared and
// how it was decided.
func ExampleCheck() {
	reply := `The roots of $x^2 - 4x + 1$ are $\boxed{2 \pm \sqrt{3}}$.`
	v := answer.Check(`\{2 + \sqrt{3}, 2 - \sqrt{3}\}`, reply)
	fmt.Println(v.Outcome, v.Answer)

	v = answer.Check(`\frac{3}{4}`, "So 75% of the pupils came. The answer is 0.75.")
	fmt.Println(v.Outcome, v.Way)

	v = answer.Check("(0, 1]", "The interval is $[0, 1]$.")
	fmt.Println(v.Outcome)
	// Output:
	// equal 2 \pm \sqrt{3}
	// equal number
	// different
}
