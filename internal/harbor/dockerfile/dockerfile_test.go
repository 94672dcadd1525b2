package dockerfile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Promise: continued lines, comments between them, flags, JSON lists and here-documents are
// read as BuildKit reads them.
func TestParse(t *testing.T) {
	all, problems := Parse("# syntax=docker/dockerfile:1\n# a comment\nfrom ubuntu:24.04 AS base\nRUN apt-get update && \\\n  # why\n\n  apt-get install -y \\\n  jq\n" +
		"COPY --from=base --chmod=755 a b /app/\nRUN <<EOF\nset -e\n# kept\nmkdir /x\nEOF\nCOPY <<-'END' /app/run.sh\n\techo $HOME\n\tEND\nCMD [\"bash\", \"-c\"]\nRUN cat > /a <<X && echo \\\n done\nline\nX\n")
	require.Empty(t, problems)
	require.Len(t, all, 7)
	require.Equal(t, "FROM", all[0].Name)
	require.Equal(t, "apt-get update &&   apt-get install -y   jq", all[1].Script())
	require.Equal(t, 4, all[1].Line)
	require.Equal(t, map[string]string{"from": "base", "chmod": "755"}, all[2].Flags)
	require.Equal(t, []string{"a", "b", "/app/"}, Words(all[2].Text))
	require.Equal(t, "set -e\n# kept\nmkdir /x\n", all[3].Script())
	require.Equal(t, Here{"END", "echo $HOME\n", true}, all[4].Here[0])
	require.Equal(t, []string{"bash", "-c"}, all[5].List)
	require.Equal(t, "cat > /a <<X && echo  done\nline\nX\n", all[6].Script())
}

// Promise: all mistakes of a Dockerfile are reported, with their lines.
func TestParseProblems(t *testing.T) {
	_, problems := Parse("FROM a\nRUNN x\nRUN\nRUN <<EOF\nnever\n")
	require.Len(t, problems, 3)
	for k, want := range []string{"2: RUNN is not an instruction", "3: RUN has no arguments", "4: the here-document EOF does not end"} {
		require.ErrorContains(t, problems[k], want)
	}
	_, problems = Parse("RUN x\n")
	require.ErrorContains(t, problems[0], "the first instruction is not FROM")
}

// Promise: variables, quotes and escapes have Docker's meaning.
func TestExpand(t *testing.T) {
	value := func(name string) (string, bool) { v, ok := map[string]string{"A": "1", "E": ""}[name]; return v, ok }
	for word, want := range map[string]string{
		"$A/${A}x": "1/1x", "${B:-two}": "two", "${E:-two}": "two", "${E-two}": "", "${A:+yes}": "yes", "${B:+yes}": "", `'$A'`: "$A",
		`"a $A"`: "a 1", `\$A`: "$A", `a\ b`: "a b", "$": "$", "$1": "$1", "${B:-${A}}": "1", `"\n"`: `\n`, "a'b'c": "abc",
	} {
		require.Equal(t, want, Expand(word, value), word)
	}
}

// Promise: .dockerignore leaves out what Docker leaves out.
func TestIgnore(t *testing.T) {
	ig := ParseIgnore("# c\n*.pyc\n**/*.log\ndata/\n!data/keep.txt\n/x?.md\n")
	for path, want := range map[string]bool{
		"a.pyc": true, "d/a.pyc": false, "a.log": true, "d/e/a.log": true, "data": true, "data/a": true, "data/keep.txt": false, "xa.md": true, "xab.md": false,
	} {
		require.Equal(t, want, ig.Ignores(path), path)
	}
}

// Promise: no text makes the reader fail otherwise than by a problem.
func FuzzParse(f *testing.F) {
	f.Add("FROM a\nRUN <<E\nx\nE\n")
	f.Add("# escape=`\nFROM a\nENV A=\"b c\" D=${E:-f\\}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := Parse(text)
		for _, i := range all {
			for _, w := range Words(i.Text) {
				Expand(w, func(string) (string, bool) { return "", false })
			}
		}
		ParseIgnore(text).Ignores("a/b")
	})
}
