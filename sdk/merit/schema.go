package merit

import "github.com/merit-rl/merit/core/config"

// Schema returns the JSON Schema of a configuration, for editors, as config.Schema
// has it.
func Schema() ([]byte, error) {
	return config.Schema("Merit training configuration", DefaultConfig())
}

// Words returns the closed set of words of every key that has one, by key path.
func Words() map[string][]string { return config.Words(DefaultConfig()) }

// Keys returns every key path of a configuration, in the order of the file.
func Keys() []string { return config.Keys(DefaultConfig()) }
