// Package bounds has the limits of what environments and policies say, and makes their
// text safe to show. It imports no protocol, so that modules stay small.
package bounds

import (
	"fmt"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Limits of what an environment says in one turn.
const (
	MaxText     = 1 << 20 // bytes of one anchor, text or event
	MaxAttached = 8 << 20 // bytes of one info of a turn, as JSON
	MaxName     = 256     // bytes of the name of an environment, action, tool or key
	MaxEvents   = 64      // events per slot in one batch
)

// CheckMetric checks that a metric of an episode has a name that fits into a
// table, and a finite JSON number as its value.
func CheckMetric(name, value string) error {
	ok := name != "" && len(name) <= 64
	for _, c := range []byte(name) {
		ok = ok && (c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}
	if !ok {
		return fmt.Errorf("the metric name %q does not consist of 1 to 64 letters, digits and _", Clean(name, MaxName))
	}
	var number *float64 // JSON numbers are always finite
	if err := strictjson.Unmarshal([]byte(value), &number); err != nil || number == nil {
		return fmt.Errorf("the metric %s is %s, not a finite number", name, Clean(value, MaxName))
	}
	return nil
}
