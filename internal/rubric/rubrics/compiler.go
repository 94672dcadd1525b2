package rubrics

import (
	"context"
	"sync"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/internal/rubric"
	"github.com/merit-rl/merit/sandbox"
)

// Limits of the cache of compiled rules: rules, and their bytes as source and as compiled
// code. If one is exceeded, the whole cache is cleared.
const (
	maxCompiled      = 1 << 12
	maxCompiledBytes = 64 << 20
)

// compiler compiles rules in the sandbox, each once, with the fuel of a separate evaluation.
// This does not run the rule.
type compiler struct {
	script *script

	mu    sync.Mutex
	rules map[string]*compiled // by code
	bytes int
}

// compiled is a rule in the form that the runner takes, or the reason why there is none.
type compiled struct {
	mu     sync.Mutex
	done   bool
	text   string
	failed *rubric.Verdict
}

func newCompiler(s *script) *compiler { return &compiler{script: s, rules: map[string]*compiled{}} }

// compile returns the compiled code, or the verdict about code that does not compile.
func (c *compiler) compile(ctx context.Context, runtime *sandbox.Runtime, code string) (string, *rubric.Verdict) {
	c.mu.Lock()
	found := c.rules[code]
	if found == nil {
		if len(c.rules) >= maxCompiled || c.bytes >= maxCompiledBytes {
			clear(c.rules)
			c.bytes = 0
		}
		found = &compiled{}
		c.rules[code] = found
		c.bytes += len(code)
	}
	c.mu.Unlock()

	found.mu.Lock()
	defer found.mu.Unlock()
	if found.done {
		return found.text, found.failed
	}
	e := c.script.evaluate(ctx, runtime, map[string]any{}, map[string]string{"code": code})
	if e.Outcome == reward.Scored {
		found.done, found.text = true, e.Result.Reason
		c.mu.Lock()
		c.bytes += len(found.text)
		c.mu.Unlock()
		return found.text, nil
	}
	v := verdict(e)
	if ctx.Err() == nil && !v.Unavailable() {
		found.done, found.failed = true, &v
	}
	return "", &v
}
