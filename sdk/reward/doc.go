// Package reward is the SDK for authors of rewards in Go. A reward is one
// function:
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
// Build it as a WebAssembly reactor,
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o reward.wasm .
//
// and test it like any Go function, with a Rollout literal. Rewards that compare
// the members of a group use the package reward/group.
//
// A Rollout is read in place: its strings and slices are valid only until the
// function returns. The package imports no packages of Merit's host.
package reward
