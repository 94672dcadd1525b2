package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/merit-rl/merit/core/policy"
	"github.com/merit-rl/merit/internal/base/backoff"
	"github.com/merit-rl/merit/internal/wire"
	pb "github.com/merit-rl/merit/internal/wire/proto"
)

// remote is a policy.Learner in a plug-in. If the policy learns, its process holds
// state: when the process dies, its unsaved updates are lost, and only Load starts
// another process. Any other policy is restarted by the next request.
type remote struct {
	cfg    PolicyConfig
	launch *launch
	spec   policy.Spec
	newest atomic.Uint64      // updates since the newest published weights
	ctx    context.Context    // serializes starts
	cancel context.CancelFunc // canceled by Close
	tasks  sync.WaitGroup     // readers, writers and starts

	mu     sync.Mutex
	line   *line          // nil while no process runs
	start  *attempt       // nil unless a start is under way
	loaded []byte         // the state to load into a new process
	lost   error          // why requests fail until Load
	final  bool           // requests fail even after Load
	budget backoff.Budget // counts processes that died without answering
	pause  time.Duration  // how long to wait before the next start
	doing  string         // the control call under way, if any
}

// OpenPolicy starts the plug-in of cfg and configures it. The context bounds the start,
// not the life of the policy. Errors are those of Open, and of kind Missing if a
// variable of PassEnv is not set.
//
// A request that fails has its error in Decision.Err: the policy's own error, a Timeout
// or Crashed fault that is fault.Retryable, or a Protocol fault that is not. Act itself
// fails if the policy is closed or lost, or if its context is canceled. If the process
// of a policy that learns dies, every call returns a fault of boundary Learner until
// Load starts another process. If a policy does not learn, Learn, Publish, Save and
// Load return Refused.
func OpenPolicy(ctx context.Context, cfg PolicyConfig) (policy.Learner, error) {
	l, err := cfg.launch()
	if err != nil {
		return nil, err
	}
	p := &remote{cfg: cfg, launch: l, budget: backoff.Budget{Config: cfg.Restarts}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	line, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	p.adopt(line)
	return p, nil
}

// connect starts a process, configures it and opens its stream.
func (p *remote) connect(ctx context.Context) (*line, error) {
	s, err := start(ctx, p.launch)
	if err != nil {
		return nil, err
	}
	spec, err := s.configurePolicy(ctx, p.cfg)
	if err != nil {
		return nil, err
	}
	if p.spec.Name == "" {
		p.spec = spec
	}
	if spec != p.spec {
		s.close()
		return nil, changed(s.name)
	}
	l, err := newLine(s)
	if err != nil {
		return nil, s.finish(ctx, err, "at its start", p.cfg.StartTimeout)
	}
	return l, nil
}

// configurePolicy builds the policy in the plug-in.
func (s *session) configurePolicy(ctx context.Context, cfg PolicyConfig) (spec policy.Spec, err error) {
	if err := s.is(Policy); err != nil {
		return spec, err
	}
	err = s.call(ctx, "while it was configured", cfg.ConfigureTimeout, func(ctx context.Context) error {
		m, err := pb.NewPolicyClient(s.conn).Configure(ctx, wire.EncodePolicyConfiguration(cfg.configuration()))
		if err == nil {
			hideFault(s.secrets, m.Fault)
			spec, err = wire.DecodePolicySpec(m)
		}
		if m.GetFault() != nil {
			err = s.refusal(err)
		}
		return err
	})
	spec.Name, spec.Version = s.description.Name, s.description.Version
	return spec, err
}

// Spec implements policy.Learner.
func (p *remote) Spec() policy.Spec { return p.spec }

// Version implements policy.Policy.
func (p *remote) Version() uint64 { return p.newest.Load() }

// Close implements policy.Learner.
func (p *remote) Close() error {
	p.mu.Lock()
	l, over := p.line, p.ctx.Err() != nil
	p.cancel()
	p.mu.Unlock()
	if l != nil && !over {
		l.session.close()
	}
	p.tasks.Wait()
	return nil
}
