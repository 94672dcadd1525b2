// Package answer decides whether a model's answer states the same mathematics as
// the gold answer, at the speed of a function call and with nothing but the
// standard library.
//
// It reads answers with the conventions of math-verify 0.9: a box first, then "the
// answer is", then mathematics between dollars, then the last number. It reads
// LaTeX and plain text: numbers with separators, fractions, percent, units, sets,
// intervals, tuples, matrices, equations, inequalities, complex numbers, roots,
// logarithms, trigonometry, ±, multiple choice. It decides by the first of these
// that does: the same text, exact arithmetic, random evaluation in a prime field,
// evaluation in 320 bits at pseudo-random points. What it does not understand is
// Unknown, never Different.
//
// The work is bounded for every input, and the same inputs give the same verdict.
package answer
