// Package reward is what the author of a reward writes against. A reward is
// one function:
//
//	package main
//
//	import "github.com/merit-rl/merit/sdk/reward"
//
//	func init() { reward.Register(score) }
//	func main() {}
//
//	func score(r *reward.Rollout) reward.Result {
//		if r.Answer() == r.GroundTruth.Text {
//			return reward.Score(1)
//		}
//		return reward.Score(0)
//	}
//
// It is built as a WebAssembly reactor,
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o reward.wasm .
//
// and tested like any Go function, with a Rollout literal. Rewards that compare
// the members of a group use the package group beside this one.
//
// Everything of a Rollout is read in place: its strings and slices are valid
// until the function returns. The package imports nothing of Merit's host.
package reward
