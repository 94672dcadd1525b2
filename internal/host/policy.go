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

// remote is a policy.Learner in a plug-in. One that learns is a process with a
// state: when it is gone, so is what it has learnt, and only Load starts
// another. Any other is started again by the next request.
type remote struct {
	cfg    PolicyConfig
	launch *launch
	spec   policy.Spec
	newest atomic.Uint64      // updates behind the newest weights
	ctx    context.Context    // of starts
	cancel context.CancelFunc // closes
	tasks  sync.WaitGroup     // readers, writers and starts

	mu     sync.Mutex
	line   *line          // nil while there is no process
	start  *attempt       // nil unless one is being started
	loaded []byte         // the state that a new process is put into
	lost   error          // why no request is answered, until Load
	final  bool           // and after it
	budget backoff.Budget // of processes that answer nothing
	pause  time.Duration  // before the next one
	doing  string         // the control call that is under way, if there is one
}

// OpenPolicy starts the plug-in of cfg and configures it. The context bounds
// the start, not the life of the policy. Errors are those of Open, and of kind
// Missing if a variable of PassEnv is not set.
//
// A request that fails has its error in Decision.Err: what the policy said, a
// Timeout or a Crashed that is fault.Retryable, a Protocol fault that is not.
// Act itself fails if the policy is closed or lost, or its context cancelled. A
// policy that learns and whose process ends answers every call with a fault of
// boundary Learner until Load, which starts another; of a policy that does not
// learn, Learn, Publish, Save and Load are Refused.
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
