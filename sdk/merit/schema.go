package merit

import "github.com/merit-rl/merit/core/config"

// Schema returns the JSON Schema of a configuration, for editors. See
// config.Schema.
func Schema() ([]byte, error) {
	return config.Schema("Merit training configuration", DefaultConfig())
}

// Words returns the allowed words of every key that has a fixed set, by key
// path.
func Words() map[string][]string { return config.Words(DefaultConfig()) }

// Keys returns every key path of a configuration, in the order of the file.
func Keys() []string { return config.Keys(DefaultConfig()) }
