package serve

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/serve/tenant"
)

// Promise: decoding a request that is refused delays its tenant's next input while others
// compute, even if the decoding itself found no problem. A fault of the server delays nobody.
func TestRefusedRequestsOweWhatTheyTook(t *testing.T) {
	known := func() *tenant.Tenant {
		who, err := tenant.Local(tenant.Limits{}).Authenticate("")
		require.NoError(t, err)
		return who
	}
	attacker, neighbour := known(), known()
	const took = 100 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		s := &Server{Options: Options{Scheduler: tenant.NewScheduler(2)}}
		decode := func(who *tenant.Tenant) (*call, time.Duration) {
			c := &call{Server: s, tenant: who, r: (&http.Request{}).WithContext(t.Context())}
			began := time.Now()
			require.NoError(t, c.decode(func() error { time.Sleep(took); return nil }))
			return c, time.Since(began)
		}
		for _, x := range []struct {
			status int
			waits  bool
		}{{http.StatusUnprocessableEntity, true}, {http.StatusInternalServerError, false}, {http.StatusTooManyRequests, true}} {
			c, _ := decode(attacker)
			c.refused(x.status)
			_, beside := decode(neighbour)
			require.Equal(t, took, beside)
			_, next := decode(attacker)
			require.Equal(t, x.waits, next > took, x.status)
		}
	})
}
