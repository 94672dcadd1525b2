// Package report makes report.html: one file that opens offline, from a run
// directory. It imports core/run and core/rl and embeds its own assets.
package report

// Make returns the report of the run in dir.
func Make(dir string) ([]byte, error) {
	return nil, nil
}
