package host

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// environment is an env.Env in a plug-in. After a fault its process is gone, and the
// next batch of resets starts another one.
type environment struct {
	cfg    Config
	spec   env.Spec
	steps  *watchdog // batches without a reset
	resets *watchdog // batches with one
	closed bool

	session *session // nil after a fault
	rpc     pb.EnvironmentClient
	stream  stream
	seq     uint64
	in      pb.Batch
	out     pb.BatchReply
}

var (
	_ env.Renderer    = (*environment)(nil)
	_ env.Snapshotter = (*environment)(nil)
	_ env.Encoder     = (*environment)(nil)
)

// connect starts a process and configures it.
func (e *environment) connect(ctx context.Context) error {
	s, err := start(ctx, e.cfg.launch(describeDeadline))
	if err != nil {
		return err
	}
	spec, through, err := s.build(ctx, e.cfg)
	if err != nil {
		return err
	}
	if e.spec.Slots != 0 && !reflect.DeepEqual(spec, e.spec) {
		_ = through.Close()
		s.close()
		return changed(s.name)
	}
	e.session, e.rpc, e.spec, e.stream, e.seq = s, pb.NewEnvironmentClient(s.conn), spec, through, 0
	return nil
}

// changed returns the error for a plug-in whose description differs after a restart.
func changed(name string) error {
	return &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Protocol, Where: name, What: "describes itself differently after a restart",
		Hint: "check whether the binary was replaced during the run",
	}
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
	_ = e.stream.Close()
	return err
}

func (e *environment) exchange(ctx context.Context, b *env.Batch, r *env.Reply, dog *watchdog) error {
	// Close the stream as well: a descendant of the plug-in may hold the other end.
	s, through := e.session, e.stream
	e.seq++
	seq := e.seq
	s.waiting.Store(seq)
	timer := time.AfterFunc(dog.limit, func() { s.overdue(seq, e.spec.Slots, through) })
	defer timer.Stop()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { s.kill(); _ = through.Close() })()
	}
	began := time.Now()
	wire.EncodeBatch(&e.in, seq, b, e.spec)
	// The message can be reused, because its reply proves that it was sent.
	err := through.SendMsg(&e.in)
	if err == nil || err == io.EOF { // RecvMsg returns why the stream ended
		err = through.RecvMsg(&e.out)
	}
	if !s.waiting.CompareAndSwap(seq, 0) {
		s.late.Store(true)
		return errLate
	}
	if err != nil {
		return err
	}
	if s.secrets != nil {
		hideReply(s.secrets, &e.out)
	}
	if err := wire.DecodeReply(&e.out, seq, b, r, e.spec); err != nil {
		return err
	}
	dog.observe(time.Since(began))
	return nil
}

func (e *environment) misuse(what string) error {
	return &fault.Error{Boundary: fault.Plugin, Kind: fault.Invalid, Where: nameOf(e.cfg.Path), What: what}
}

// Render implements env.Renderer. An environment that cannot draw keeps running.
func (e *environment) Render(ctx context.Context, slot int) (string, error) {
	if e.closed || e.session == nil {
		return "", e.misuse("cannot draw before the first reset")
	}
	var reply *pb.RenderReply
	err := e.session.call(ctx, "while it drew a slot", e.cfg.BatchDeadline, func(ctx context.Context) (err error) {
		reply, err = e.rpc.Render(ctx, &pb.RenderRequest{Slot: uint32(slot)})
		return err
	})
	if err != nil {
		e.session = nil
		_ = e.stream.Close()
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
		_ = e.stream.Close()
		e.session.close()
	}
	return nil
}

// Snapshot implements env.Snapshotter. An error that the environment itself returns
// does not end its process.
func (e *environment) Snapshot(ctx context.Context, slot int) ([]byte, error) {
	var m *pb.SnapshotReply
	err := e.betweenBatches(ctx, "snapshots", e.spec.Snapshots, "while it took a snapshot", func(ctx context.Context) (err error) {
		m, err = e.rpc.Snapshot(ctx, &pb.SnapshotRequest{Slot: uint32(slot)})
		return err
	})
	if err != nil {
		return nil, err
	}
	return wire.DecodeSnapshot(m)
}

// Restore implements env.Snapshotter.
func (e *environment) Restore(ctx context.Context, slot int, state []byte) error {
	var m *pb.RestoreReply
	err := e.betweenBatches(ctx, "snapshots", e.spec.Snapshots, "while it restored a snapshot", func(ctx context.Context) (err error) {
		m, err = e.rpc.Restore(ctx, &pb.RestoreRequest{Slot: uint32(slot), State: state})
		return err
	})
	if err != nil {
		return err
	}
	return wire.DecodeRestore(m)
}

// Encode implements env.Encoder. An error that the environment itself returns does not
// end its process.
func (e *environment) Encode(ctx context.Context, messages []string, answer string, reply *env.Reply) (action int, err error) {
	var m *pb.EncodeReply
	err = e.betweenBatches(ctx, "encodes", e.spec.Encodes, "while it encoded a recorded call", func(ctx context.Context) (err error) {
		m, err = e.rpc.Encode(ctx, &pb.EncodeRequest{Messages: messages, Answer: answer})
		return err
	})
	if err != nil {
		return 0, err
	}
	if e.session.secrets != nil {
		hideFault(e.session.secrets, m.Fault)
	}
	action, err = wire.DecodeEncoding(m, reply, e.spec)
	if m.Fault == nil { // the plug-in's own errors keep their form: they are about the call
		err = named(nameOf(e.cfg.Path), err)
	}
	return action, err
}

// betweenBatches makes a call between batches that the environment may offer. A failed
// call ends the process, unless the plug-in does not implement the call.
func (e *environment) betweenBatches(ctx context.Context, offer string, offered bool, doing string, rpc func(context.Context) error) error {
	if e.closed || e.session == nil || !offered {
		return e.misuse("its description does not say " + offer + ", or it is closed or was not reset yet")
	}
	var unknown error
	err := e.session.call(ctx, doing, e.cfg.ResetDeadline, func(ctx context.Context) error {
		err := rpc(ctx)
		if status.Code(err) == codes.Unimplemented {
			unknown, err = err, nil
		}
		return err
	})
	if err != nil {
		e.session = nil
		_ = e.stream.Close()
		return err
	}
	if unknown != nil {
		return e.misuse("declares " + offer + " but does not implement the call")
	}
	return nil
}
