// Package prompt optimises a prompt by textual gradients: a model answers tasks
// under a prompt, a reward scores the answers, an editor (a model too) says what
// is wrong with the prompt and rewrites it, and a beam of the best candidates
// goes on to the next round.
//
// The method is ProTeGi's (Pryzant et al., EMNLP 2023, arXiv 2305.03495):
// minibatch → critique → edit and paraphrase → selection by a bandit or by
// successive halving. Two things are stricter here. The held-out tasks are
// played after the search has ended, so no decision can have seen them. And
// every answer of a model goes through a Journal, from which the whole search is
// a pure function: one that was killed goes on to the same bytes.
//
// The package opens no server, disk or sandbox: a Model answers, a
// reward.Pool scores, a Journal keeps.
package prompt
