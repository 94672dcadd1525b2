// Package prompt optimizes a prompt by textual gradients: a model answers tasks with a prompt,
// a reward scores the answers, an editor (also a model) criticizes and rewrites the prompt,
// and a beam of the best candidates advances to the next round.
//
// The method is ProTeGi (Pryzant et al., EMNLP 2023, arXiv 2305.03495): minibatch → critique →
// edit and paraphrase → selection by a bandit or by successive halving. Two things are
// stricter here. The held-out tasks are played after the search, so no decision can depend on
// them. And every answer of a model is stored in a Journal; the search is a pure function of
// the journal, so a killed search resumes and results in the same bytes.
//
// The package opens no server, file or sandbox: a Model answers, a reward.Pool scores, and a
// Journal stores.
package prompt
