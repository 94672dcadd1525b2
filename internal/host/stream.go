package host

import (
	"context"
	"io"

	"google.golang.org/grpc"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/internal/wire/lane"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// stream carries batches: a lane, or gRPC's Run. Close ends it at once, even while a
// call waits for the other side.
type stream interface {
	SendMsg(m any) error
	RecvMsg(m any) error
	io.Closer
}

// run adapts gRPC's Run to a stream.
type run struct {
	grpc.BidiStreamingClient[pb.Batch, pb.BatchReply]
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (r run) Close() error {
	r.cancel()
	return nil
}

// build has the plug-in build the environment of cfg and opens a stream to it: a lane,
// if the plug-in accepts one.
func (s *session) build(ctx context.Context, cfg Config) (env.Spec, stream, error) {
	var offer *lane.Offer
	if !cfg.GRPCOnly {
		var err error
		if offer, err = offerLane(); err != nil {
			s.close()
			return env.Spec{}, nil, err
		}
		defer offer.Close()
	}
	spec, taken, err := s.configure(ctx, cfg, offer)
	if err != nil || taken != nil {
		return spec, taken, err
	}
	alive, cancel := context.WithCancel(context.Background())
	client, err := pb.NewEnvironmentClient(s.conn).Run(alive)
	if err != nil {
		cancel()
		return spec, nil, s.finish(ctx, err, "at its start", cfg.StartTimeout)
	}
	return spec, run{client, cancel}, nil
}

func offerLane() (*lane.Offer, error) {
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	offer, err := lane.Listen(dir)
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Storage, Kind: fault.Exhausted, Where: dir, What: "cannot create the socket of a lane",
			Hint: "free disk space there, or set TMPDIR", Err: err,
		}
	}
	return offer, nil
}

// configure builds the environment in the plug-in. Offer may be nil. Taken is the
// offered lane if the plug-in accepted it, or nil.
func (s *session) configure(ctx context.Context, cfg Config, offer *lane.Offer) (spec env.Spec, taken stream, err error) {
	if err := s.is(Environment); err != nil {
		return spec, nil, err
	}
	request := wire.EncodeConfiguration(wire.Configuration{Slots: cfg.Slots, Split: cfg.Split, Options: cfg.Options})
	if offer != nil {
		request.Lane = offer.Path()
	}
	err = s.call(ctx, "while it was configured", cfg.StartTimeout, func(ctx context.Context) error {
		m, err := pb.NewEnvironmentClient(s.conn).Configure(ctx, request)
		if err == nil {
			hideFault(s.secrets, m.Fault)
			spec, err = wire.DecodeSpec(m, cfg.Slots)
		}
		if m.GetFault() != nil {
			err = s.refusal(err)
		}
		switch {
		case err != nil || !m.Lane:
		case offer == nil:
			err = &fault.Error{
				Boundary: fault.Plugin, Kind: fault.Protocol, Where: "lane", What: "was not offered",
				Hint: "ask the plug-in's author to correct it: it breaks the contract of sdk/plugin/proto",
			}
		default:
			taken, err = offer.Accept(ctx)
		}
		return err
	})
	return spec, taken, err
}
