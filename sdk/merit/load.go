package merit

import (
	"path/filepath"
	"slices"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/run"
	"github.com/merit-rl/merit/internal/base/cost"
)

// LoadConfig reads the configuration at path, applies overrides of the form
// key.path=value, and checks the result. The error joins all problems, each a
// *fault.Error whose Where is file:line: key.path. LoadConfig makes relative
// paths in the file relative to the working directory.
//
// If the file can be read but has problems, LoadConfig returns both the error
// and the part of the configuration that it could read.
func LoadConfig(path string, overrides ...string) (*Config, error) {
	return load(path, overrides, (*Config).Validate)
}

// LoadPartial is LoadConfig for a program that brings its own environment or
// scorer: the file may lack both. Open reports what is still missing.
func LoadPartial(path string, overrides ...string) (*Config, error) {
	return load(path, overrides, func(c *Config) []error { return c.problems(false, false) })
}

// LoadRun reads the configuration of the run in dir, as LoadPartial does.
func LoadRun(dir string, overrides ...string) (*Config, error) {
	return LoadPartial(filepath.Join(dir, run.ConfigFile), overrides...)
}

// ParseConfig is LoadConfig for text; source names it in errors. Paths in the
// text are relative to dir.
func ParseConfig(source string, text []byte, dir string, overrides ...string) (*Config, error) {
	return parse(source, text, dir, overrides, (*Config).Validate)
}

func load(path string, overrides []string, check func(*Config) []error) (*Config, error) {
	text, err := config.Read(path)
	if err != nil {
		return nil, err
	}
	return parse(path, text, filepath.Dir(path), overrides, check)
}

func parse(source string, text []byte, dir string, overrides []string, check func(*Config) []error) (*Config, error) {
	c := DefaultConfig()
	d := config.New(source)
	readable := d.Decode(text, c)
	c.join(dir)
	for _, o := range overrides {
		d.Set(o, c)
	}
	c.eachPath(filepath.Clean)
	places := c.Environment.expand(d.Places())
	c.Rewards = c.priced()
	if c.Traced() && !d.Places().Set("advantage.estimator") {
		c.Advantage.Estimator = "lightning" // every call of a trace has the trace's credit
	}
	if readable {
		d.Check(check(c))
	}
	c.Places = places
	return c, d.Err()
}

// priced returns the rewards of c, whose models have the prices of c.
func (c *Config) priced() []Reward {
	list := slices.Clone(c.Rewards)
	for i := range list {
		list[i].usePrices(c.Prices)
	}
	return list
}

// usePrices sets the prices of the models of r and of the rewards after it.
func (r *Reward) usePrices(prices cost.Prices) {
	r.Judge, r.Rubric, r.Ask = priced(r.Judge, prices), priced(r.Rubric, prices), priced(r.Ask, prices)
	if r.Otherwise != nil {
		own := *r.Otherwise
		own.usePrices(prices)
		r.Otherwise = &own
	}
}

// PlayConfig returns a configuration without a file, made of overrides of the
// form key.path=value, for a program that does not train: each section is checked by itself.
func PlayConfig(overrides ...string) (*Config, error) {
	return parse("", nil, "", overrides, func(c *Config) []error { return fault.Validate(c) })
}
