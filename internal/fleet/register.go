package fleet

import "github.com/merit-rl/merit/sdk/merit"

func init() { merit.RegisterFleet(new(Config)) }

// Of returns the fleet section of a configuration.
func Of(c *merit.Config) *Config { return c.Fleet.(*Config) }
