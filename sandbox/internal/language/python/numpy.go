package python

import (
	_ "embed"
	"encoding/json"
)

// numpySource is run in a program before it has a solution, so that it is part of the snapshot:
// to import numpy uses 400 M units of fuel, twice what a test has.
//
//go:embed numpy.py
var numpySource string

// Prepared implements source.Preparer: programs in "python_numpy" begin with numpy imported. If
// the build has no numpy, they are as those in "python".
func (*Language) Prepared() map[string][]byte {
	request, _ := json.Marshal(map[string]string{"do": "load", "source": numpySource}) // of texts
	return map[string][]byte{"numpy": request}
}
