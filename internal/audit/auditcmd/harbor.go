package auditcmd

import (
	"context"

	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/taskaudit"
	"github.com/merit-rl/merit/sdk/merit"
)

// harbor audits a task in Harbor's format.
func (o *auditOptions) harbor(ctx context.Context, target string, bounds *[2]float64) (*audit.Report, error) {
	cfg := o.Sandbox
	if cfg.CacheDir == "" {
		cfg.CacheDir = merit.CacheFolder(o.host.Env)
	}
	m, err := cfg.OpenBoxes(ctx)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if bounds == nil {
		bounds = &[2]float64{0, 1}
	}
	manifest, digest, results, err := taskaudit.Run(ctx, m, target, *bounds)
	if err != nil {
		return nil, err
	}
	return audit.New(target, digest, audit.Harbor, manifest, results), nil
}
