// Package graders makes rewards in Python of OpenAI's graders: string_check, text_similarity,
// score_model, label_model, python and multi, whose service ends on 2026-11-30.
package graders

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed templates/openai_graders/*.py
var library embed.FS

// Reward is a reward that does what a grader did.
type Reward struct {
	Name     string            // a valid name of a folder
	Files    map[string][]byte // by their paths in the folder, with slashes
	Packages []string          // packages of Python that the grader imports, as merit reward add takes them
	Asks     int               // questions to a language model for each row
}

// Import makes a reward of the graders in text, the content of file. The error joins an
// *fault.Error for each problem, with its place.
func Import(file string, text []byte) (*Reward, error) {
	r := &reader{file: file}
	f := r.read(text)
	if f == nil || len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	base := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	reward := &Reward{Name: slug(f.name, base), Files: map[string][]byte{"grader.json": text}}
	for _, g := range f.parts {
		if g.Type == "python" {
			reward.Files[moduleOf(f, g)+".py"] = []byte(strings.TrimRight(g.Source, "\n") + "\n")
			reward.Packages = append(reward.Packages, needed(g.Source)...)
		}
		if strings.HasSuffix(g.Type, "_model") {
			reward.Asks++
		}
	}
	slices.Sort(reward.Packages)
	reward.Packages = slices.Compact(reward.Packages)
	reward.Files["reward.py"] = source(reward.Name, file, f)
	if err := reward.library(f); err != nil {
		return nil, err
	}
	for name, content := range fixtures(f) {
		reward.Files["fixtures/"+name] = content
	}
	if reward.Asks > 0 {
		reward.Files["eval.yaml"] = configuration(reward, f)
	}
	return reward, nil
}

// library adds the parts of openai_graders that the graders use.
func (w *Reward) library(f *found) error {
	parts := []string{"__init__"}
	if f.has("text_similarity") {
		parts = append(parts, "similarity")
	}
	if w.Asks > 0 {
		parts = append(parts, "models")
	}
	for _, name := range parts {
		file := "openai_graders/" + name + ".py"
		text, err := fs.ReadFile(library, "templates/"+file)
		if err != nil {
			return err
		}
		w.Files[file] = text
	}
	return nil
}

func (f *found) has(types ...string) bool {
	return slices.ContainsFunc(f.parts, func(g *grader) bool { return slices.Contains(types, g.Type) })
}

var notOfName = regexp.MustCompile(`[^a-z0-9_-]+`)

// slug returns a name of a folder for a name that people gave.
func slug(names ...string) string {
	for _, name := range names {
		name = strings.Trim(notOfName.ReplaceAllString(strings.ToLower(name), "-"), "-_")
		if name != "" && (name[0] < 'a' || name[0] > 'z') {
			name = "grader-" + name
		}
		if name != "" {
			return name[:min(len(name), 63)]
		}
	}
	return "grader"
}

// moduleOf is the module that has the source of a python grader: grader.py, or one named after
// each if there are several.
func moduleOf(f *found, g *grader) string {
	if f.top == g {
		return "grader"
	}
	name := strings.ReplaceAll(slug(g.key), "-", "_")
	return "grader_" + strings.TrimPrefix(name, "grader_")
}

// source is the reward in Python.
func source(name, file string, f *found) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\"\"\"%s: OpenAI's grader of %s, imported by merit reward import.\"\"\"\n\n", name, strings.ReplaceAll(filepath.Base(file), `"""`, ""))
	imported(&b, f)
	fmt.Fprintf(&b, "\n__merit__ = {\"name\": %s}\n\nGRADERS = {\n", literal(name))
	for _, g := range f.parts {
		fmt.Fprintf(&b, "    %s: lambda row: %s,\n", literal(g.key), call(f, g))
	}
	b.WriteString("}\n\n\ndef combined(s):\n")
	switch {
	case f.top == nil:
		fmt.Fprintf(&b, "    \"\"\"1 if all criteria pass, as the eval counts it.\"\"\"\n    return %s\n", passes(f))
	case f.top.Type == "multi":
		fmt.Fprintf(&b, "    # %s\n    return %s\n", strings.Join(strings.Fields(f.top.Formula), " "), f.formula)
	default:
		fmt.Fprintf(&b, "    return s[%s]\n", literal(f.top.key))
	}
	b.WriteString("\n\ndef grade(sample, item):\n    return graded(GRADERS, combined, sample, item)\n")
	return b.Bytes()
}

// imported writes the imports: the standard library, Merit's library, the sources of the file.
func imported(b *bytes.Buffer, f *found) {
	if strings.Contains(f.formula, "math.") {
		b.WriteString("import math\n\n")
	}
	for _, g := range f.parts {
		if m := moduleOf(f, g); g.Type == "python" {
			fmt.Fprintf(b, "import %s\n", m)
		}
	}
	names := []string{"graded"}
	if strings.Contains(f.formula, "power(") {
		names = append(names, "power")
	}
	for kind, name := range map[string]string{"python": "python", "string_check": "string_check"} {
		if f.has(kind) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	fmt.Fprintf(b, "from openai_graders import %s\n", strings.Join(names, ", "))
	for _, module := range []struct {
		name  string
		calls []string
	}{{"models", []string{"label_model", "score_model"}}, {"similarity", []string{"bleu", "fuzzy_match", "gleu", "rouge"}}} {
		var used []string
		for _, name := range module.calls {
			if slices.ContainsFunc(f.parts, func(g *grader) bool { return strings.HasPrefix(call(f, g), name+"(") }) {
				used = append(used, name)
			}
		}
		if len(used) > 0 {
			fmt.Fprintf(b, "from openai_graders.%s import %s\n", module.name, strings.Join(used, ", "))
		}
	}
}

// call is the expression that scores a row.
func call(f *found, g *grader) string {
	text := func(template string) string {
		if !strings.Contains(template, "{{") {
			return literal(template)
		}
		return "row.text(" + literal(template) + ")"
	}
	switch g.Type {
	case "string_check":
		return fmt.Sprintf("string_check(%s, %s, %s)", literal(g.Operation), text(g.template), text(g.Reference))
	case "text_similarity":
		return fmt.Sprintf(metrics[g.Metric], text(g.template), text(g.Reference))
	case "python":
		return fmt.Sprintf("python(%s.grade, row)", moduleOf(f, g))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s(\n        row,\n        [\n", g.Type)
	for _, m := range g.messages {
		fmt.Fprintf(&b, "            (%s, %s),\n", literal(m.role), literal(m.text))
	}
	b.WriteString("        ],\n")
	if g.Type == "score_model" {
		fmt.Fprintf(&b, "        %s,\n        %s,\n", number(g.Range[0]), number(g.Range[1]))
	} else {
		fmt.Fprintf(&b, "        %s,\n        %s,\n", list(g.Labels), list(g.Passing))
	}
	if s := g.Sampling.Seed; s != nil {
		fmt.Fprintf(&b, "        seed=%d,\n", *s)
	}
	b.WriteString("    )")
	return b.String()
}

// passes is the expression for an eval: whether each score reaches its threshold.
func passes(f *found) string {
	var all []string
	for _, g := range f.parts {
		least := 1.0
		if g.Threshold != nil {
			least = *g.Threshold
		}
		all = append(all, fmt.Sprintf("s[%s] >= %s", literal(g.key), number(least)))
	}
	return "float(" + strings.Join(all, " and ") + ")"
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// literal is a text in Python, which reads the escapes of Go's literals as Go does.
func literal(text string) string { return strconv.Quote(text) }

func list(texts []string) string {
	var all []string
	for _, t := range texts {
		all = append(all, literal(t))
	}
	return "[" + strings.Join(all, ", ") + "]"
}
