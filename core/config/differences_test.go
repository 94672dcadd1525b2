package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/config"
)

// Promise: a number that a program wrote is that of a file, whatever its type.
func TestDifferencesOfNumbers(t *testing.T) {
	type settings struct {
		Options map[string]any `yaml:"options"`
	}
	program := settings{map[string]any{"batch": 8, "rate": 3, "list": []string{"a"}}}
	file := settings{map[string]any{"batch": uint64(8), "rate": 3.0, "list": []any{"a"}}}
	require.Empty(t, config.Differences(&program, &file))
	file.Options["batch"] = uint64(9)
	require.Equal(t, []config.Difference{{Key: "options.batch", A: 8, B: uint64(9)}}, config.Differences(&program, &file))
}
