package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/sandbox/abi"
	"github.com/merit-rl/merit/sandbox/internal/engine"
	"github.com/merit-rl/merit/sandbox/internal/result"
)

// warmRounds is how many evaluations of a built-in conversation precede the snapshot,
// which then includes what a guest allocates and compiles at its first calls.
const warmRounds = 2

// errCold means that the module failed on the built-in conversation. That is allowed;
// its instances then start without it.
var errCold = errors.New("the module failed on the built-in conversation")

// prepare starts the guest and warms it up, unless its start has already done
// so or its manifest forbids it. It does the same in every isolation mode, so
// that results and fuel are the same.
func (w *worker) prepare(ctx context.Context) error {
	budget := w.module.startBudget()
	booted, stop, err := w.boot(ctx, budget)
	if err != nil {
		return err
	}
	if stop == nil {
		budget.Fuel -= booted
		_, stop = w.within(ctx, budget, w.guest.Start)
	}
	if stop != nil {
		return w.notStarted(stop)
	}
	if err := w.describe(); err != nil || w.session == nil || w.module.cold || w.module.manifest.WarmUp != abi.WarmUpConversation {
		return err
	}
	return w.warm(ctx)
}

// severalRewards finds the first reward in the message of a script that has several.
var severalRewards = regexp.MustCompile(`(?m)^LookupError: the module has several rewards;.*\n\s+(\S+)`)

// unstarted is the reason why a guest did not start, with a hint.
type unstarted struct{ what, hint string }

func (u *unstarted) Error() string { return u.what }

func (w *worker) notStarted(stop *engine.Stop) error {
	denied := w.instance.MemoryDenied()
	v := result.Stopped(stop, denied)
	u := &unstarted{v.Reason, "correct the reward: the message comes from it"}
	if strings.HasPrefix(v.Reason, "LookupError: ") {
		u.hint = "see docs/python.md for which functions can be a reward, and for their parameters"
	}
	if v == errUngranted {
		u.what, u.hint = ungranted, grantHint
	}
	if strings.Contains(v.Reason, "to bring the files beside it, name its folder") {
		u.hint = "put the reward as reward.py into a separate folder with the files that it reads, and name the folder: --reward FOLDER"
	}
	if choice := severalRewards.FindStringSubmatch(v.Reason); choice != nil {
		u.hint = "name one of them after the file, as in --reward " + choice[1]
	}
	long, budget := w.module.longStart(), w.module.startBudget()
	const less = "import less and do less in the warm-up"
	switch {
	case stop.Kind == engine.OutOfFuel && long:
		u.what = fmt.Sprintf("its imports and its warm-up used up the fuel of a start (sandbox.start_fuel: %d)", budget.Fuel)
		u.hint = less + ", or raise sandbox.start_fuel"
	case stop.Kind == engine.TimedOut && long:
		u.what = fmt.Sprintf("its imports and its warm-up took longer than a start may (sandbox.start_wall_clock: %v)", budget.Wall)
		u.hint = less + ", or raise sandbox.start_wall_clock"
	case stop.Kind == engine.OutOfFuel:
		u.hint = "do less in the initialization, which needs more fuel than an evaluation may use, export a warm-up (merit_warm_up), or raise sandbox.fuel"
	case stop.Kind == engine.TimedOut:
		u.hint = "do less in the initialization, which takes too long, export a warm-up (merit_warm_up), or raise sandbox.wall_clock"
	case v.Outcome == reward.OutputLimit:
		u.hint = "log less while it starts, or raise the limit named above"
	case denied:
		u.hint = "import less, or raise sandbox.memory_mib"
	}
	u.what += w.lastLog()
	return u
}

func (w *worker) warm(ctx context.Context) error {
	if !w.session.Lasting() {
		return nil
	}
	members := warmConversation()[:1]
	if w.module.info.Group {
		members = warmConversation()
	}
	for range warmRounds {
		switch _, v, _ := w.run(ctx, members, nil); {
		case v == nil:
		case v.Outcome == reward.Timeout || v.Outcome == reward.Infrastructure:
			return v
		default:
			return errCold
		}
	}
	return nil
}

func (w *worker) lastLog() string {
	const shown = 2000
	end := w.collector.LogEnd(shown)
	if end == "" {
		return ""
	}
	return "; its log ends:\n" + end
}

// warmConversation returns a group of two conversations that use every part of
// the layout.
func warmConversation() []*rl.Trajectory {
	call := rl.ToolCall{ID: "call-1", Type: "function", Function: rl.FunctionCall{Name: "add", Arguments: `{"a":2,"b":2}`}}
	conversation := func(id, answer string) *rl.Trajectory {
		return &rl.Trajectory{
			ID: id, Group: "warm-up", Task: "warm-up",
			Messages: []rl.Message{
				{Role: rl.RoleSystem, Content: rl.Text("Answer with a number.")},
				{Role: rl.RoleUser, Content: rl.Text("What is 2 + 2?")},
				{Role: rl.RoleAssistant, Content: rl.Text("I add them."), ToolCalls: []rl.ToolCall{call}},
				{Role: rl.RoleTool, Name: "add", ToolCallID: "call-1", Content: rl.Text("4")},
				{Role: rl.RoleAssistant, Content: rl.Text("2 + 2 = 4\nA: " + answer + "\n#### " + answer)},
			},
			GroundTruth: json.RawMessage(`"4"`),
			Metadata:    map[string]json.RawMessage{"difficulty": json.RawMessage("1"), "source": json.RawMessage(`"warm-up"`)},
			Steps: []rl.Step{
				{MessageCount: 2, Action: rl.Action{Kind: rl.ActionText, Text: "I add them."}, Anchor: "start", ActionValid: true},
				{Index: 1, MessageCount: 4, Action: rl.Action{Kind: rl.ActionText, Text: answer}, Anchor: "sum", ActionValid: true, EnvReward: 1, Terminated: true},
			},
			StopReason: rl.StopTerminated,
		}
	}
	return []*rl.Trajectory{conversation("warm-up-1", "4"), conversation("warm-up-2", "5")}
}
