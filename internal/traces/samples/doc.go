// Package samples makes something to learn from of traces: each call of a model
// that was answered is a step, with the credit of its trace, and what learners
// take is an experience as of any other episode. A trace with many calls is one
// trajectory, and counts once where traces are compared.
//
// What is learnt from was decided by somebody else, a while ago. A [Set] knows
// how likely it was then, where that was recorded, and corrects for it, or
// imitates what did better than its group; it says which, and how old the traces
// are. It implements train.Source.
//
// Nothing here writes to a store.
package samples
