package core_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/testneeds"
)

var meritCommand = regexp.MustCompile(`\bmerit (train|eval|advantages|explain|rollout|validate|schema|view|compare|reward|judge|plugins?|engine|version|python|js)\b`)

// Promise: what a Go program may show names no command of merit: those stand in
// the command, which adds them to hints.
func TestOnlyTheCommandNamesCommands(t *testing.T) {
	for _, folder := range []string{"core", "sandbox", "plugins", "sdk"} {
		err := filepath.WalkDir(filepath.Join(testneeds.Root(), folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
					require.NotRegexp(t, meritCommand, text.Value, path)
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
}
