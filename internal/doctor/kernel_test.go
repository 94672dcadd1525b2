package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: releases as distributions number them are compared as numbers.
func TestKernelReleases(t *testing.T) {
	for release, want := range map[string]bool{
		"6.6.87.2-microsoft-standard-WSL2": false, "6.18.44-fc-v669": true, "6.8.0+": true, "6.18.20.1-microsoft-standard-WSL2": true,
		"5.15.0-130-generic": false, "6.7": true, "10.0.1": true, "unknown": false,
	} {
		require.Equal(t, want, isRecent(release), release)
	}
}
