// Package dockerfile reads Dockerfiles: instructions with their flags, here-documents and
// continued lines, variables, and the patterns of .dockerignore.
package dockerfile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// Instruction is one instruction of a Dockerfile.
type Instruction struct {
	Name  string // in capitals
	Flags map[string]string
	Text  string   // the arguments as written, in one line
	List  []string // the arguments, if they were a JSON list
	Here  []Here
	Line  int
}

// Here is a here-document.
type Here struct {
	Name   string
	Text   string
	Quoted bool // variables in it are left to the shell
}

// known are the instructions of the language.
var known = map[string]bool{
	"ADD": true, "ARG": true, "CMD": true, "COPY": true, "ENTRYPOINT": true, "ENV": true, "EXPOSE": true, "FROM": true, "HEALTHCHECK": true,
	"LABEL": true, "MAINTAINER": true, "ONBUILD": true, "RUN": true, "SHELL": true, "STOPSIGNAL": true, "USER": true, "VOLUME": true, "WORKDIR": true,
}

// reader reads the lines of a Dockerfile.
type reader struct {
	lines  []string
	next   int
	escape byte
}

var (
	directive = regexp.MustCompile(`^#\s*(\w+)\s*=\s*(\S+)\s*$`)
	hereMark  = regexp.MustCompile(`<<(-?)(["']?)([A-Za-z_][A-Za-z0-9_]*)(["']?)`)
)

// Parse reads a Dockerfile. The places of problems are numbers of lines.
func Parse(text string) (all []Instruction, problems fault.Problems) {
	r := &reader{lines: strings.Split(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"), "\n"), escape: '\\'}
	r.directives()
	for broken := false; ; {
		line, at, ok := r.logical()
		if !ok {
			break
		}
		i, err := r.instruction(line, at)
		if err != nil && (!broken || known[i.Name]) { // what follows a wrong line is often part of it
			problems.Invalid(fmt.Sprint(at), err.Error(), "correct the Dockerfile")
		}
		if broken = err != nil; !broken {
			all = append(all, i)
		}
	}
	if len(problems) == 0 && (len(all) == 0 || all[0].Name != "FROM" && all[0].Name != "ARG") {
		problems.Invalid("1", "the first instruction is not FROM", "begin with a base image")
	}
	return all, problems
}

// directives reads comments such as # escape=` at the beginning.
func (r *reader) directives() {
	for _, line := range r.lines {
		m := directive.FindStringSubmatch(line)
		if m == nil {
			return
		}
		if strings.EqualFold(m[1], "escape") && len(m[2]) == 1 {
			r.escape = m[2][0]
		}
	}
}

// logical returns the next line with those that continue it.
func (r *reader) logical() (line string, at int, ok bool) {
	for ; r.next < len(r.lines); r.next++ {
		text := r.lines[r.next]
		trimmed := strings.TrimSpace(text)
		if trimmed == "" && !ok || strings.HasPrefix(trimmed, "#") {
			continue // a comment between continued lines is left out
		}
		if trimmed == "" {
			continue
		}
		if !ok {
			text, at, ok = strings.TrimLeft(text, " \t"), r.next+1, true
		}
		text = strings.TrimRight(text, " \t")
		if !strings.HasSuffix(text, string(r.escape)) {
			r.next++
			return line + text, at, true
		}
		line += strings.TrimSuffix(text, string(r.escape))
	}
	return line, at, ok
}

// instruction reads an instruction, and the here-documents after it.
func (r *reader) instruction(line string, at int) (Instruction, error) {
	name, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	if strings.Contains(line, "\t") {
		k := strings.IndexAny(line, " \t")
		name, rest = line[:k], line[k+1:]
	}
	i := Instruction{Name: strings.ToUpper(name), Line: at, Flags: map[string]string{}}
	if !known[i.Name] {
		return i, fmt.Errorf("%s is not an instruction", name)
	}
	rest = strings.TrimLeft(rest, " \t")
	for strings.HasPrefix(rest, "--") && i.Name != "ENV" {
		flag, more, _ := strings.Cut(rest, " ")
		key, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		i.Flags[key], rest = value, strings.TrimLeft(more, " \t")
	}
	if i.Text = rest; rest == "" {
		return i, fmt.Errorf("%s has no arguments", i.Name)
	}
	if strings.HasPrefix(rest, "[") {
		if strictjson.Unmarshal([]byte(rest), &i.List) != nil {
			i.List = nil // a command that begins with [
		}
	}
	if i.Name == "RUN" || i.Name == "COPY" || i.Name == "ADD" {
		return i, r.documents(&i)
	}
	return i, nil
}

// documents reads the here-documents of an instruction.
func (r *reader) documents(i *Instruction) error {
	for _, m := range hereMark.FindAllStringSubmatch(i.Text, -1) {
		var b strings.Builder
		ended := false
		for ; r.next < len(r.lines) && !ended; r.next++ {
			text := r.lines[r.next]
			if m[1] == "-" {
				text = strings.TrimLeft(text, "\t")
			}
			if ended = text == m[3]; !ended {
				b.WriteString(text + "\n")
			}
		}
		if !ended {
			return fmt.Errorf("the here-document %s does not end", m[3])
		}
		i.Here = append(i.Here, Here{Name: m[3], Text: b.String(), Quoted: m[2] != ""})
	}
	return nil
}

// Script returns the shell script of a RUN.
func (i Instruction) Script() string {
	if len(i.Here) == 0 {
		return i.Text
	}
	if m := hereMark.FindString(i.Text); len(i.Here) == 1 && strings.TrimSpace(i.Text) == m {
		return i.Here[0].Text
	}
	text := i.Text + "\n"
	for _, h := range i.Here {
		text += h.Text + h.Name + "\n"
	}
	return text
}

// Words splits the arguments as COPY, ENV and others do: at blanks outside quotes. Quotes and
// escapes are kept, for Expand.
func Words(text string) (words []string) {
	var word strings.Builder
	quote, any := byte(0), false
	for k := 0; k < len(text); k++ {
		c := text[k]
		switch {
		case c == '\\' && quote != '\'' && k+1 < len(text):
			word.WriteByte(c)
			k++
			c, any = text[k], true
		case quote == 0 && (c == '"' || c == '\''):
			quote, any = c, true
		case c == quote:
			quote = 0
		case quote == 0 && (c == ' ' || c == '\t'):
			if any || word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
			continue
		}
		word.WriteByte(c)
	}
	if any || word.Len() > 0 {
		words = append(words, word.String())
	}
	return words
}
