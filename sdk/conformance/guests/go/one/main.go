// Package main is the conformance guest in Go.
package main

import (
	"github.com/merit-rl/merit/sdk/conformance/guests/go/internal/check"
	"github.com/merit-rl/merit/sdk/reward"
)

func init() {
	reward.RegisterStream(func(r *reward.Rollout, out *reward.Output) {
		out.Log(reward.Info, "conformance")
		out.Result(check.Rollout(r))
	})
}

func main() {}
