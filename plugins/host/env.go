package host

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	pb "github.com/merit-rl/merit/sdk/plugin/proto"
	"github.com/merit-rl/merit/sdk/plugin/wire"
)

// environment is an env.Env in a plug-in. After a fault its process is gone;
// the next batch of resets starts another.
type environment struct {
	cfg    Config
	spec   env.Spec
	steps  *watchdog // batches without a reset
	resets *watchdog // batches with one
	closed bool

	session *session // nil after a fault
	rpc     pb.EnvironmentClient
	stream  grpc.BidiStreamingClient[pb.Batch, pb.BatchReply]
	cancel  context.CancelFunc // of the stream
	seq     uint64
	in      pb.Batch
	out     pb.BatchReply
}

var _ env.Renderer = (*environment)(nil)

// connect starts a process and configures it.
func (e *environment) connect(ctx context.Context) error {
	s, err := start(ctx, e.cfg.launch())
	if err != nil {
		return err
	}
	spec, err := s.configure(ctx, e.cfg)
	if err != nil {
		return err
	}
	if e.spec.Slots != 0 && !reflect.DeepEqual(spec, e.spec) {
		s.close()
		return changed(s.name)
	}
	streamCtx, cancel := context.WithCancel(context.Background())
	rpc := pb.NewEnvironmentClient(s.conn)
	stream, err := rpc.Run(streamCtx)
	if err != nil {
		cancel()
		return s.finish(ctx, err, "at its start", e.cfg.StartTimeout)
	}
	e.session, e.rpc, e.spec, e.stream, e.cancel, e.seq = s, rpc, spec, stream, cancel, 0
	return nil
}

// changed is the error of a plug-in that is not what it was.
func changed(name string) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: name, What: "describes itself differently after a restart",
		Hint: "was the binary replaced during the run?",
	}
}

// configure builds the environment in the plug-in.
func (s *session) configure(ctx context.Context, cfg Config) (spec env.Spec, err error) {
	if err := s.is(Environment); err != nil {
		return spec, err
	}
	err = s.call(ctx, "while it was configured", cfg.StartTimeout, func(ctx context.Context) error {
		m, err := pb.NewEnvironmentClient(s.conn).Configure(ctx, wire.EncodeConfiguration(wire.Configuration{
			Slots: cfg.Slots, Split: cfg.Split, Options: cfg.Options,
		}))
		if err == nil {
			spec, err = wire.DecodeSpec(m, cfg.Slots)
		}
		if m.GetFault() != nil {
			err = s.refusal(err)
		}
		return err
	})
	return spec, err
}

// Spec implements env.Env.
func (e *environment) Spec() env.Spec { return e.spec }

// Exchange implements env.Env.
func (e *environment) Exchange(ctx context.Context, b *env.Batch, r *env.Reply) error {
	if e.closed {
		return e.misuse("the environment is closed")
	}
	if err := b.Check(e.spec); err != nil {
		return e.misuse(err.Error())
	}
	if err := ctx.Err(); err != nil {
		return interrupted(nameOf(e.cfg.Path), "before a batch", err)
	}
	if e.session == nil {
		if i := slices.Index(b.Ops, env.Step); i >= 0 {
			return e.misuse(fmt.Sprintf("slot %d steps after a fault; every slot must be reset first", i))
		}
		if err := e.connect(ctx); err != nil {
			return err
		}
	}
	dog := e.steps
	if slices.Contains(b.Ops, env.Reset) {
		dog = e.resets
	}
	limit := dog.limit
	err := e.exchange(ctx, b, r, dog)
	if err == nil {
		return nil
	}
	s := e.session
	e.session = nil
	err = s.finish(ctx, err, "during a batch", limit)
	e.cancel()
	return err
}

func (e *environment) exchange(ctx context.Context, b *env.Batch, r *env.Reply, dog *watchdog) error {
	s := e.session
	timer := time.AfterFunc(dog.limit, s.expire)
	defer timer.Stop()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, s.kill)()
	}
	began := time.Now()
	e.seq++
	wire.EncodeBatch(&e.in, e.seq, b, e.spec)
	// The message may be used again: its reply proves that it was sent. An
	// error of a send is that the stream is over; Recv knows why.
	_ = e.stream.SendMsg(&e.in)
	if err := e.stream.RecvMsg(&e.out); err != nil {
		return err
	}
	if err := wire.DecodeReply(&e.out, e.seq, b, r, e.spec); err != nil {
		return err
	}
	dog.observe(time.Since(began))
	return nil
}

func (e *environment) misuse(what string) error {
	return &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, Where: nameOf(e.cfg.Path), What: what}
}

// Render implements env.Renderer. That there is no picture is no fault of the
// environment's: it goes on.
func (e *environment) Render(ctx context.Context, slot int) (string, error) {
	if e.closed || e.session == nil {
		return "", e.misuse("there is nothing to draw before the first reset")
	}
	var reply *pb.RenderReply
	err := e.session.call(ctx, "while it drew a slot", e.cfg.BatchDeadline, func(ctx context.Context) (err error) {
		reply, err = e.rpc.Render(ctx, &pb.RenderRequest{Slot: uint32(slot)})
		return err
	})
	if err != nil {
		e.session = nil
		e.cancel()
		return "", err
	}
	return wire.DecodeRender(reply)
}

// Close implements env.Env.
func (e *environment) Close() error {
	if e.closed {
		return nil
	}
	e.closed = true
	if e.session != nil {
		_ = e.stream.CloseSend()
		e.session.close()
		e.cancel()
	}
	return nil
}
