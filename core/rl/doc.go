// Package rl holds Merit's nouns: what flows from a rollout to a reward, from
// a reward to an advantage, and from there to the learner. Names are the
// field's; JSON names are those of OpenAI-style chat messages and of
// eval-protocol's EvaluateResult, so that users' files load unchanged.
package rl
