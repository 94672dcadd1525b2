// Package rl defines the data that flows from a rollout to a reward, from a reward
// to an advantage, and from there to the learner. It uses the field's usual names;
// JSON names are those of OpenAI-style chat messages and of eval-protocol's
// EvaluateResult, so that users' files load unchanged.
package rl
