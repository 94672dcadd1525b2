package tracespage

import (
	"context"
	"time"

	"github.com/merit-rl/merit/internal/traces/trace"
	"github.com/merit-rl/merit/internal/ui"
)

// Watch follows what stands for a store.
func Watch(s interface {
	Now(context.Context) (uint64, error)
	Changes(ctx context.Context, after uint64, limit int) (heads []trace.Head, next uint64, err error)
}) func(context.Context, *ui.Hub) error {
	return watch{s, time.Second}.run
}
