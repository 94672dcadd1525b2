package rubrics_test

import (
	"testing"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/models/chat"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/stretchr/testify/require"
)

// Promise: all problems of a section are reported at once, each with its key; the defaults are
// valid.
func TestValidate(t *testing.T) {
	require.Empty(t, rubrics.DefaultConfig().Validate())
	both := chat.DefaultConfig()
	for _, c := range []struct {
		change func(*rubrics.Config)
		want   []string
	}{
		{func(c *rubrics.Config) { c.Fuel, c.MemoryMiB, c.Kept = 1, 1, -1 }, []string{"fuel", "memory_mib", "kept"}},
		{func(c *rubrics.Config) { c.TotalFuel = c.Fuel - 1 }, []string{"total_fuel"}},
		{func(c *rubrics.Config) { c.Languages[1] = "ruby" }, []string{"languages"}},
		{func(c *rubrics.Config) { c.Judge = &rubrics.Judge{} }, []string{"judge"}},
		{func(c *rubrics.Config) { c.Judge = &rubrics.Judge{Script: "none.py"} }, []string{"judge.script"}},
		{func(c *rubrics.Config) { c.Judge = &rubrics.Judge{Script: "config_test.go:a.b", Server: nil} }, []string{"judge.script"}},
		{func(c *rubrics.Config) { c.Judge = &rubrics.Judge{}; c.Judge.SetDefaults(); c.Judge.Server = &both }, []string{"judge.server.url", "judge.server.model"}},
	} {
		cfg := rubrics.DefaultConfig()
		c.change(&cfg)
		var got []string
		for _, err := range cfg.Validate() {
			got = append(got, fault.As(err).Where)
			require.NotEmpty(t, fault.As(err).Hint)
		}
		require.Equal(t, c.want, got)
	}
}

// Promise: paths of a section are relative to its file, and replacing them does not change
// other copies of the section.
func TestEachPath(t *testing.T) {
	c := rubrics.DefaultConfig()
	c.Judge = &rubrics.Judge{Script: "judge.py", Cache: "answers", Server: &chat.Config{Cassettes: chat.Cassettes{Dir: "tapes"}}}
	own := c
	own.EachPath(func(path string) string { return "x/" + path })
	require.Equal(t, "x/judge.py x/answers x/tapes", own.Judge.Script+" "+own.Judge.Cache+" "+own.Judge.Server.Cassettes.Dir)
	require.Equal(t, "judge.py answers tapes", c.Judge.Script+" "+c.Judge.Cache+" "+c.Judge.Server.Cassettes.Dir)
}
