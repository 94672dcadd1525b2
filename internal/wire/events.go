package wire

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/wire/bounds"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// decodeEvents decodes the events of slots, and checks that each failed slot
// has an error message.
func decodeEvents(events []*pb.Event, b *env.Batch, r *env.Reply, n int) error {
	if len(events) > n*MaxEvents {
		return broken("events", "%d events for %d slots", len(events), n)
	}
	r.Events = r.Events[:0]
	last, reasons := 0, make([]bool, n)
	for i, e := range events {
		at := fmt.Sprintf("events[%d]", i)
		if int(e.Slot) >= n || int(e.Slot) < last {
			return broken(at, "slot %d is out of order or not below %d", e.Slot, n)
		}
		if most := maxMessage(env.EventKind(e.Kind)); len(e.Name) > MaxName || len(e.Message) > most {
			return broken(at, "the name has %d bytes and the message %d; the limits are %d and %d", len(e.Name), len(e.Message), MaxName, most)
		}
		event := env.Event{Slot: int(e.Slot), Kind: env.EventKind(e.Kind), Name: Clean(e.Name, MaxName), Message: e.Message}
		switch event.Kind {
		case env.EventError:
			event.Message = Clean(e.Message, MaxText)
			reasons[event.Slot] = true
		case env.EventTask:
			if b.Ops[event.Slot] != env.Reset || !json.Valid([]byte(e.Message)) {
				return broken(at, "the task of slot %d is not JSON or does not follow a reset", e.Slot)
			}
		case env.EventInfo:
			if !json.Valid([]byte(e.Message)) {
				return broken(at, "info %q of slot %d is not JSON", event.Name, e.Slot)
			}
		case env.EventMetric:
			if err := CheckMetric(e.Name, e.Message); err != nil {
				return broken(at, "slot %d: %v", e.Slot, err)
			}
		case env.EventToolResult:
		default:
			return broken(at, "unknown kind %q", Cut(e.Kind, MaxName))
		}
		last = event.Slot
		r.Events = append(r.Events, event)
	}
	for i, f := range r.Flags {
		if f&env.Failed != 0 && !reasons[i] {
			return broken("flags", "slot %d failed, but no event has its error", i)
		}
	}
	return nil
}

// maxMessage returns the largest size of the message of an event, in bytes.
func maxMessage(kind env.EventKind) int {
	if kind == env.EventInfo {
		return MaxAttached
	}
	return MaxText
}

// CheckMetric checks the name and the value of a metric of an episode.
func CheckMetric(name, value string) error { return bounds.CheckMetric(name, value) }
