package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// loose lists the files that decode JSON by a package that takes names in
// another case and names given twice, each with the reason why it may.
var loose = map[string]string{
	"cmd/internal/runbytes/runbytes.go":                  "compares files that Merit wrote",
	"internal/rewards/guest/sources.go":                  "the output of go list, a stream of values",
	"core/action/decode.go":                              "reads tokens of what a model said, where JSON may break off; it refuses names given twice itself",
	"internal/data/jsonl/answers.go":                     "asks only where the first value of a line ends",
	"internal/data/jsonl/foreign.go":                     "asks only whether a text breaks off",
	"internal/base/jsonspan/jsonspan.go":                 "one string, which has been checked",
	"internal/recheck/recompute/difference.go":           "values that were encoded a line before",
	"core/rl/evaluate.go":                                "tokens of a text that the strict decoder hands over, to keep the order of metrics",
	"internal/traces/collect/json.go":                    "keeps numbers as text; strictjson.Check has gone before",
	"examples/rewards/measure.go":                        "written as a user's is",
	"examples/traces/coordination/main.go":               "written as a user's is",
	"examples/htdag/own/executor/main.go":                "written as a user's is",
	"examples/two-agents/support.go":                     "written as a user's is",
	"examples/estimator/peers/main.go":                   "written as a user's is",
	"plugins/internal/htdag/internal/plan/object.go":     "reads tokens of what a model said; it refuses names given twice itself",
	"internal/models/chat/schema.go":                     "keeps numbers as text; strictjson.Check has gone before",
	"internal/mcp/result.go":                             "keeps numbers as text; strictjson.Check has gone before",
	"internal/openenv/shape/result.go":                   "keeps numbers as text; strictjson.Check has gone before",
	"plugins/internal/toolbox/internal/schema/schema.go": "fills arrays from a value that was encoded a line before; strictjson.Check has gone before",
	"sandbox/internal/engine/filed.go":                   "a file of the cache, held to its digest",
	"sandbox/internal/marshal/encode.go":                 "tokens of a text that the strict decoder has read, to keep the order of names",
	"sandbox/internal/remote/link.go":                    "frames of Merit's own worker process",
	"sandbox/internal/remote/module.go":                  "as link.go",
	"sandbox/internal/remote/note.go":                    "as link.go",
	"sandbox/internal/remote/remote.go":                  "as link.go",
	"sandbox/internal/remote/serve.go":                   "frames of the process that started this one",
	"sandbox/internal/source/choice.go":                  "keeps numbers as text; it refuses names given twice itself",
	"sandbox/userland/jq.go":                             "takes what jq takes, such as names given twice",
	"sandbox/userland/main.go":                           "a request that the host encoded a line before; it is another module of Go",
	"sdk/conformance/zoo/compiled/go/calls/main.go":      "written as a user's is",
	"internal/runs/runspage/kept.go":                     "a stream of episodes, held to its digest; an episode decodes itself strictly",
}

// decoders are the functions that decode JSON loosely, by package.
var decoders = map[string][]string{
	"encoding/json": {"Unmarshal", "NewDecoder"},
	"github.com/santhosh-tekuri/jsonschema/v6": {"UnmarshalJSON"},
}

// Promise: JSON from outside goes through internal/base/strictjson. A file that uses another
// decoder is listed with a reason, and the list has no file that no longer does.
func TestStrictDecoders(t *testing.T) {
	testneeds.NotShort(t)
	used := map[string]bool{}
	for _, f := range goFiles(t) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(testneeds.Root(), f), nil, 0)
		require.NoError(t, err)
		for _, call := range looseCalls(file) {
			used[f] = true
			assert.NotEmpty(t, loose[f], "%s calls %s: use internal/base/strictjson, or list the file here with the reason", f, call)
		}
	}
	for f := range loose {
		require.True(t, used[f], "%s decodes no JSON loosely any more: remove it from the list", f)
	}
}

// looseCalls names the loose decoders that a file uses.
func looseCalls(file *ast.File) (calls []string) {
	names := map[string][]string{}
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if list := decoders[path]; list != nil {
			name := strings.TrimSuffix(path, "/v6")
			name = name[strings.LastIndex(name, "/")+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = list
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, _ := s.X.(*ast.Ident)
			for _, name := range names[ident(x)] {
				if s.Sel.Name == name {
					calls = append(calls, ident(x)+"."+name)
				}
			}
		}
		return true
	})
	return calls
}

func ident(x *ast.Ident) string {
	if x == nil {
		return ""
	}
	return x.Name
}
