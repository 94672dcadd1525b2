package jetstream

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/merit-rl/merit/core/fleet"
)

// change changes how the worker is, and tells who wants to know.
func (k *worker) change(f func(*fleet.Worker)) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	f(&k.state)
	if k.OnState != nil {
		k.OnState(k.state)
	}
}

// announce says how the worker is.
func (k *worker) announce() {
	k.mutex.Lock()
	state := k.state
	k.mutex.Unlock()
	state.Seen = time.Now().UTC()
	text, err := json.Marshal(state)
	if err == nil {
		err = k.nc.Publish("merit.worker."+k.Name, text)
	}
	if err != nil {
		k.Log.Debug("nobody hears how this worker is", "cause", err)
	}
}

// beats says how the worker is, again and again.
func (k *worker) beats(ctx context.Context) {
	tick := time.NewTicker(k.Timings.Beat)
	defer tick.Stop()
	for {
		k.announce()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// leave says that the worker is gone.
func (k *worker) leave() {
	k.change(func(s *fleet.Worker) { s.Slots, s.Busy, s.Drains = 0, 0, true })
	k.announce()
	_ = k.nc.FlushTimeout(2 * time.Second) // a server that is away forgets it by itself
}

// obey listens to what admins and coordinators say.
func (k *worker) obey() error {
	for _, subject := range []string{"merit.control." + k.Name, "merit.control.all"} {
		if _, err := k.nc.Subscribe(subject, k.told); err != nil {
			return err
		}
	}
	return k.nc.FlushTimeout(10 * time.Second)
}

func (k *worker) told(m *nats.Msg) {
	what, job, _ := strings.Cut(string(m.Data), " ")
	switch what {
	case "forget":
		k.unwanted(job)
	case "drain":
		k.Log.Info("told to drain")
		k.drain()
		k.change(func(s *fleet.Worker) { s.Drains = true })
		k.announce()
	case "speak":
		k.announce()
	}
	if m.Reply != "" {
		_ = m.Respond([]byte("ok")) // who asked may have gone
	}
}
