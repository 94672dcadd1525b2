package packages

import (
	"errors"

	"github.com/merit-rl/merit/core/fault"
)

// instead says, for packages that cannot run in the sandbox and that rewards often import,
// what to do without them.
var instead = map[string]string{
	"torch":         "compute what needs a model before, and pass it as a column; numpy has arrays and linear algebra",
	"tensorflow":    "compute what needs a model before, and pass it as a column; numpy has arrays and linear algebra",
	"jax":           "numpy has arrays and linear algebra",
	"transformers":  "count tokens or run the model before, and pass the result as a column; or ask a model with merit.ask",
	"pandas":        "use csv, json and numpy: a reward sees one row, not a table",
	"scipy":         "use numpy, statistics and sympy",
	"scikit-learn":  "use numpy and statistics",
	"lxml":          "use html.parser, xml.etree or beautifulsoup4",
	"orjson":        "use json, which has the same loads and dumps",
	"ujson":         "use json, which has the same loads and dumps",
	"tiktoken":      "count tokens before, and pass the number as a column",
	"tokenizers":    "count tokens before, and pass the number as a column",
	"levenshtein":   "use rapidfuzz or textdistance",
	"pydantic-core": "use pydantic 1: merit reward add \"pydantic<2\"",
	"spacy":         "use nltk or regex",
	"z3-solver":     "use sympy",
}

// refused returns an error for each wanted package that cannot run.
func refused(wanted []string) error {
	var problems []error
	for _, w := range wanted {
		name := nameOf(w)
		switch hint := instead[name]; {
		case name == "":
			problems = append(problems, &fault.Error{Boundary: fault.Data, Kind: fault.Invalid, Where: w, What: "it is not the name of a package", Hint: "write names as for pip: sympy, sympy==1.14.0, \"networkx<4\""})
		case hint != "":
			problems = append(problems, native(name, hint))
		}
	}
	return errors.Join(problems...)
}

// native is the error for a package whose native code the sandbox does not have.
func native(name, hint string) error {
	if hint == "" {
		hint = "use a package in Python, or compute what it does before and pass the result as a column"
	}
	return &fault.Error{Boundary: fault.Sandbox, Kind: fault.Refused, Where: name, What: "it needs native code that the sandbox does not have", Hint: hint}
}
