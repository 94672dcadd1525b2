package group

import (
	"unsafe"

	"github.com/merit-rl/merit/sdk/reward"
)

//go:wasmimport merit_v1 member
func hostMember(index int32)

//go:wasmexport merit_evaluate_group
func meritEvaluateGroup(at unsafe.Pointer, size int32) int32 {
	return reward.EvaluateGroup(at, size, rank, func(i int32) { hostMember(i) })
}

func rank(members []*reward.Rollout) []reward.Result {
	if registered == nil {
		panic("no reward is registered: call group.Register in an init function")
	}
	return registered(members)
}
