package library

import (
	"errors"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/archive"
)

// quote shows what a client wrote, bounded and with nothing that a terminal
// would obey.
func quote(s string) string { return archive.Quote(s) }

// without returns err with a folder of the server's disk left out of all that
// it says: where the server keeps things is nobody's business.
func without(err error, folder string) error {
	var list []error
	for _, e := range fault.Leaves(err) {
		cut := func(s string) string {
			return strings.ReplaceAll(strings.ReplaceAll(s, folder+"/", ""), folder, "reward")
		}
		f := fault.As(e)
		if f == nil {
			list = append(list, errors.New(cut(e.Error())))
			continue
		}
		told := *f
		told.Where, told.What, told.Hint = cut(f.Where), cut(f.What), cut(f.Hint)
		if f.Err != nil && strings.Contains(f.Err.Error(), folder) {
			told.Err = errors.New(cut(f.Err.Error()))
		}
		list = append(list, &told)
	}
	return errors.Join(list...)
}
