package config

import (
	"errors"
	"reflect"
	"slices"

	"github.com/merit-rl/merit/core/fault"
)

// Differences returns the keys, in the order of the file, whose values differ
// between f and g; lists and a plug-in's options count as one key.
func (f *File) Differences(g *File) []string {
	var keys []string
	var walk func(a, b reflect.Value, path string)
	walk = func(a, b reflect.Value, path string) {
		if a.Kind() != reflect.Struct {
			empty := a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0
			if !empty && !reflect.DeepEqual(a.Interface(), b.Interface()) {
				keys = append(keys, path)
			}
			return
		}
		left, right := fieldsOf(a), fieldsOf(b)
		for i, name := range left.names {
			walk(left.values[i], right.values[i], join(path, name))
		}
	}
	walk(reflect.ValueOf(*f), reflect.ValueOf(*g), "")
	return keys
}

// free are the keys that may change when a run goes on: none of them changes
// the bytes of what is already written, and none but train.iterations those of
// what is still to come.
var free = []string{
	"train.iterations", "rollout.parallel", "rollout.step_deadline", "rollout.episode_deadline", "sandbox.workers", "sandbox.cache_dir",
	"sandbox.cache_mib", "sandbox.wall_clock", "environment.start_timeout", "environment.batch_deadline", "environment.reset_deadline",
}

// CheckResume returns an error for every key of now that keeps it from going
// on with a run that began with f.
func (f *File) CheckResume(now *File) error {
	var errs []error
	for _, key := range f.Differences(now) {
		if !slices.Contains(free, key) {
			errs = append(errs, &fault.Error{
				Boundary: fault.Config, Kind: fault.Invalid, Where: key, What: "changed since the run began",
				Hint: "leave -c and --set away to go on with the run as it was, or start a new one in another directory",
			})
		}
	}
	return errors.Join(errs...)
}
