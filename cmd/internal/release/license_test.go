package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: a licence is named where its text is known, all of several are, and
// none is guessed.
func TestSPDX(t *testing.T) {
	const bsd = "Redistributions in binary form must\n reproduce the above copyright notice"
	for text, want := range map[string]string{
		"                                 Apache License\n                           Version 2.0, January 2004": "Apache-2.0",
		bsd: "BSD-2-Clause",
		bsd + " … may be used to endorse or promote products":                                                                    "BSD-3-Clause",
		"Permission is hereby granted, free of charge … The above copyright notice and this permission notice shall be included": "MIT",
		"Mozilla Public License, version 2.0":                                                                                    "MPL-2.0",
		"All rights reserved.":                                                                                                   "",
		"Permission is hereby granted, for USD":                                                                                  "",
	} {
		require.Equal(t, want, spdx([]notice{{text: []byte(text)}}), text)
	}
	require.Equal(t, "BSD-2-Clause AND Unlicense", spdx([]notice{{text: []byte("This is free and unencumbered software")}, {text: []byte(bsd)}}))
	require.Empty(t, spdx(nil))
}
