package reward

import "unsafe"

//go:wasmimport merit_v1 set_score
func hostScore(score float64)

//go:wasmimport merit_v1 step
func hostStep(index int32, reward float64)

//go:wasmimport merit_v1 step_metric
func hostStepMetric(index int32, name string, value float64)

//go:wasmimport merit_v1 step_reason
func hostStepReason(index int32, text string)

//go:wasmimport merit_v1 metric
func hostMetric(name string, value float64)

//go:wasmimport merit_v1 reason
func hostReason(text string)

//go:wasmimport merit_v1 error
func hostError(text string)

//go:wasmimport merit_v1 log
func hostLog(level int32, text string)

// sandbox sends results to the host.
type sandbox struct{}

func (sandbox) score(v float64)                       { hostScore(v) }
func (sandbox) step(index int, reward float64)        { hostStep(int32(index), reward) }
func (sandbox) stepMetric(i int, n string, v float64) { hostStepMetric(int32(i), n, v) }
func (sandbox) stepReason(index int, text string)     { hostStepReason(int32(index), text) }
func (sandbox) metric(name string, value float64)     { hostMetric(name, value) }
func (sandbox) reason(text string)                    { hostReason(text) }
func (sandbox) fail(text string)                      { hostError(text) }
func (sandbox) log(level Level, text string)          { hostLog(int32(level), text) }

var (
	input []uint64 // the memory of merit_alloc; uint64 so that it is 8-aligned
	guest = decoder{rollout: new(Rollout)}
)

// leastInput is the size of the first input buffer, in bytes: most inputs fit, so
// that calls need not allocate.
const leastInput = 128 << 10

//go:wasmexport merit_abi_1
func meritABI() {}

//go:wasmexport merit_alloc
func meritAlloc(size int32) unsafe.Pointer {
	if words := int(uint32(size)+7) / 8; words > len(input) {
		input = make([]uint64, max(words, 2*len(input), leastInput/8))
	}
	return unsafe.Pointer(&input[0])
}

//go:wasmexport merit_evaluate
func meritEvaluate(at unsafe.Pointer, size int32) int32 {
	out := Output{host: sandbox{}}
	switch {
	case registered == nil:
		out.Error("no reward is registered: call reward.Register in an init function")
	case !guest.decode(unsafe.Slice((*byte)(at), uint32(size))):
		out.Error(errBuffer.Error())
	default:
		registered(guest.rollout, &out)
	}
	return out.status
}

var members groupDecoder

// EvaluateGroup implements the export of package group: it reads a group buffer,
// calls rank, and sends each result after a call of member with its index.
func EvaluateGroup(at unsafe.Pointer, size int32, rank func([]*Rollout) []Result, member func(int32)) int32 {
	out := Output{host: sandbox{}}
	if !members.decode(unsafe.Slice((*byte)(at), uint32(size))) {
		out.Error(errBuffer.Error())
		return out.status
	}
	results := rank(members.rollouts)
	if len(results) != len(members.rollouts) {
		out.Error("the group reward returned another number of results than there are members")
		return out.status
	}
	for i := range results {
		member(int32(i))
		if results[i].Invalid && results[i].Reason == "" {
			results[i].Reason = "invalid"
		}
		out.Result(results[i])
	}
	return statusScored
}
