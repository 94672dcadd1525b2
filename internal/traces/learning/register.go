package learning

import "github.com/merit-rl/merit/sdk/merit"

func init() { merit.RegisterTraces(new(Config)) }

// Of returns the traces section of a configuration.
func Of(c *merit.Config) *Config { return c.Traces.(*Config) }

// Chosen implements merit.TracesSection.
func (c *Config) Chosen() bool { return c.Query != "" }
