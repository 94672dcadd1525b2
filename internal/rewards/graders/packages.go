package graders

import (
	"regexp"
	"slices"
	"strings"
)

// published maps the modules of packages that python graders of the image 2025-05-08 may import
// to what merit reward add installs. numpy is in the interpreter.
var published = map[string]string{
	"rapidfuzz": "rapidfuzz", "rouge_score": "rouge-score", "nltk": "nltk", "sympy": "sympy", "yaml": "PyYAML",
	"jsonschema": "jsonschema<4.18", "deepdiff": "deepdiff", "sqlparse": "sqlparse", "pydantic": "pydantic<2",
}

// refusedPackages are those of the same image that cannot run in the sandbox, with what to do
// instead.
var refusedPackages = map[string]string{
	"pandas": "use csv, json and numpy: a reward sees one row, not a table", "scipy": "use numpy, statistics and sympy",
	"sklearn": "use numpy and statistics", "rdkit": "compute what needs it before, and pass it as a column",
	"skbio": "compute what needs it before, and pass it as a column", "ast_grep_py": "use Python's ast, or a parser such as lark",
}

// importing matches the statements that import, that begin a line.
var importing = regexp.MustCompile(`(?m)^[ \t]*(?:from[ \t]+([A-Za-z_]\w*)[\w.]*[ \t]+import\b|import[ \t]+([\w., \t]+))`)

// imports returns the modules that a source imports, without their submodules, in order.
func imports(source string) (all []string) {
	for _, found := range importing.FindAllStringSubmatch(source, -1) {
		for _, name := range strings.Split(found[1]+found[2], ",") {
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			name, _, _ = strings.Cut(name, ".")
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// needed returns the packages that a source imports.
func needed(source string) (all []string) {
	for _, name := range imports(source) {
		if p := published[name]; p != "" {
			all = append(all, p)
		}
	}
	return all
}
