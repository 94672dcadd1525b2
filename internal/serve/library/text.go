package library

import (
	"errors"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/archive"
)

// quote returns a client's text for a message, shortened and without control characters.
func quote(s string) string { return archive.Quote(s) }

// without returns err with a folder on the server's disk removed from all texts, because
// clients need not know where the server stores files.
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
