package auditcmd

import (
	"context"

	"github.com/merit-rl/merit/internal/audit"
)

// environment audits an environment.
func (o *auditOptions) environment(ctx context.Context, target string, kind what, bounds *[2]float64) (*audit.Report, error) {
	return nil, nil
}
