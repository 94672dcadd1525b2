// Command corpus counts what shell scripts use: how many parse, which commands they call and
// which features of the shell. Its arguments are folders; it reads *.sh and the RUN lines of
// Dockerfiles in them.
package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

type counts struct {
	scripts, parsed    int
	errors             []string
	commands, features map[string]map[string]bool // to the files that use them
}

func main() {
	c := counts{commands: map[string]map[string]bool{}, features: map[string]map[string]bool{}}
	for _, dir := range os.Args[1:] {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if d.Name() == "Dockerfile" || filepath.Ext(path) == ".sh" {
				data, _ := os.ReadFile(path)
				text := string(data)
				if d.Name() == "Dockerfile" {
					text = runLines(text)
				}
				c.add(path, text)
			}
			return nil
		})
	}
	fmt.Printf("%d scripts, %d parse\n", c.scripts, c.parsed)
	for _, e := range c.errors[:min(len(c.errors), 20)] {
		fmt.Println("  ", e)
	}
	show("commands", c.commands)
	show("features", c.features)
}

func show(title string, m map[string]map[string]bool) {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(m[b])-len(m[a]), cmp.Compare(a, b)) })
	fmt.Println(title)
	for _, n := range names {
		fmt.Printf("%6d %s\n", len(m[n]), n)
	}
}

// runLines returns the shell commands of a Dockerfile, one after the other.
func runLines(text string) string {
	var out []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		rest, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "RUN ")
		if !ok || strings.HasPrefix(strings.TrimSpace(rest), "[") {
			continue
		}
		for strings.HasSuffix(strings.TrimRight(rest, " \t"), "\\") && i+1 < len(lines) {
			i++
			if t := strings.TrimSpace(lines[i]); strings.HasPrefix(t, "#") || t == "" {
				continue
			}
			rest += "\n" + lines[i]
		}
		for _, mark := range []string{"<<EOF", "<<'EOF'"} {
			if strings.Contains(rest, mark) {
				for i+1 < len(lines) {
					i++
					rest += "\n" + lines[i]
					if lines[i] == "EOF" {
						break
					}
				}
				break
			}
		}
		out = append(out, rest)
	}
	return strings.Join(out, "\n") + "\n"
}

func (c *counts) add(path, text string) {
	c.scripts++
	f, err := syntax.NewParser().Parse(strings.NewReader(text), path)
	if err != nil {
		c.errors = append(c.errors, err.Error())
		return
	}
	c.parsed++
	functions := map[string]bool{}
	note := func(m map[string]map[string]bool, name string) {
		if m[name] == nil {
			m[name] = map[string]bool{}
		}
		m[name][path] = true
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			functions[n.Name.Value] = true
		case *syntax.ProcSubst:
			note(c.features, "process substitution")
		case *syntax.CoprocClause:
			note(c.features, "coproc")
		case *syntax.Redirect:
			if n.N != nil && n.N.Value > "2" {
				note(c.features, "descriptor "+n.N.Value)
			}
		case *syntax.Stmt:
			if n.Background {
				note(c.features, "background")
			}
		case *syntax.ParamExp:
			if n.Param != nil && strings.ToUpper(n.Param.Value) == n.Param.Value && strings.Contains(" PIPESTATUS BASH_SOURCE RANDOM SECONDS LINENO FUNCNAME BASHPID ! $ EPOCHSECONDS ", " "+n.Param.Value+" ") {
				note(c.features, "$"+n.Param.Value)
			}
		}
		return true
	})
	syntax.Walk(f, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		name := call.Args[0].Lit()
		if name == "" {
			name = "(computed)"
		}
		if !functions[name] {
			note(c.commands, name)
			if len(call.Args) > 1 && strings.Contains(" set trap read exec shopt printf wait ", " "+name+" ") {
				note(c.features, strings.TrimSpace(name+" "+call.Args[1].Lit()))
			}
		}
		return true
	})
}
