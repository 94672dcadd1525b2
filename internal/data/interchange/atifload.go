package interchange

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
)

// mostBundle limits the bytes of a document with those that it refers to, and mostFiles their number.
const (
	mostBundle = 48 << 20
	mostFiles  = 1000
)

// atifLoader joins a document with the files that it refers to.
type atifLoader struct {
	open  func(path string) ([]byte, error)
	notes *Notes
	on    map[string]bool // the files that lead to the current one
	size  int
	files int
}

// loadATIF returns a document in the form of version 1.7 with the sub-agents in other files
// embedded and the document that continues it as the member continuation.
func loadATIF(text []byte, open func(string) ([]byte, error), notes *Notes) ([]byte, error) {
	l := &atifLoader{open: open, notes: notes, on: map[string]bool{}}
	return l.load(text, ".")
}

// load loads a document whose references are relative to folder.
func (l *atifLoader) load(text []byte, folder string) ([]byte, error) {
	if l.size += len(text); l.size > mostBundle {
		return nil, notATIF(fmt.Errorf("it and the files that it refers to have more than %d MiB", mostBundle>>20))
	}
	root := object(text)
	if len(root.names) == 0 {
		return nil, notATIF(errors.New("it is not an object"))
	}
	l.version(&root)
	l.known("trajectory", root)
	l.known("agent", object(root.values["agent"]))
	root.set(continuation, nil)
	if err := l.embed(&root, folder); err != nil {
		return nil, err
	}
	return l.continued(root, folder)
}

// embed loads the sub-agents of a document, and embeds those of other files.
func (l *atifLoader) embed(root *fields, folder string) error {
	subs, known := list(root.values["subagent_trajectories"]), map[string]bool{}
	for i, sub := range subs {
		loaded, err := l.load(sub, folder)
		if err != nil {
			return strictjson.At(fmt.Sprintf("subagent_trajectories[%d]", i), err)
		}
		subs[i] = loaded
		known[textOf(object(loaded).values["trajectory_id"])] = true
	}
	steps := list(root.values["steps"])
	for i := range steps {
		l.unknown(steps[i])
		step, more, err := l.step(steps[i], folder, known)
		if err != nil {
			return err
		}
		steps[i], subs = step, append(subs, more...)
	}
	if len(steps) > 0 {
		root.set("steps", joined(steps))
	}
	if len(subs) > 0 {
		root.set("subagent_trajectories", joined(subs))
	}
	return nil
}

// atifMembers are the members of each object of ATIF 1.7.
var atifMembers = map[string]string{
	"trajectory": " schema_version session_id trajectory_id agent steps notes final_metrics continued_trajectory_ref extra subagent_trajectories ",
	"agent":      " name version model_name tool_definitions extra ",
	"step": " step_id timestamp source model_name reasoning_effort message reasoning_content tool_calls observation metrics is_copied_context " +
		"llm_call_count extra ",
	"tool call":   " tool_call_id function_name arguments extra ",
	"observation": " results ",
	"result":      " source_call_id content subagent_trajectory_ref extra ",
	"metrics":     " prompt_tokens completion_tokens cached_tokens cost_usd prompt_token_ids completion_token_ids logprobs extra ",
}

// known counts the members of an object that ATIF does not have.
func (l *atifLoader) known(kind string, f fields) {
	for _, name := range f.names {
		if !strings.Contains(atifMembers[kind], " "+name+" ") {
			l.notes.Add("%s with the member %.60q, which ATIF does not have: kept for --to atif", kind, name)
		}
	}
}

// unknown counts the members of a step and of what it contains that ATIF does not have.
func (l *atifLoader) unknown(step []byte) {
	s := object(step)
	l.known("step", s)
	l.known("metrics", object(s.values["metrics"]))
	for _, call := range list(s.values["tool_calls"]) {
		l.known("tool call", object(call))
	}
	observation := object(s.values["observation"])
	l.known("observation", observation)
	for _, result := range list(observation.values["results"]) {
		l.known("result", object(result))
	}
}

// version raises the version of a document to the one that Merit writes.
func (l *atifLoader) version(root *fields) {
	given := textOf(root.values["schema_version"])
	minor := strings.TrimPrefix(given, atifPrefix)
	switch {
	case minor == given || minor == "" || strings.Trim(minor, "0123456789") != "" || len(minor) > 4:
		return // the checks say it
	case len(minor) > 1 || minor[0] > '0'+atifNewest:
		l.notes.Add("document of %s, which is newer than the version that Merit knows, %s", given, atifVersion)
	}
	root.set("schema_version", quoted(atifVersion))
}

// step embeds the sub-agents to which the results of a step refer by file.
func (l *atifLoader) step(text []byte, folder string, known map[string]bool) (step []byte, subs [][]byte, err error) {
	s := object(text)
	observation := object(s.values["observation"])
	results := list(observation.values["results"])
	changed := false
	for k := range results {
		r := object(results[k])
		refs := list(r.values["subagent_trajectory_ref"])
		for n := range refs {
			ref := object(refs[n])
			sub, err := l.ref(&ref, folder, known)
			if err != nil {
				return nil, nil, err
			}
			if sub != nil {
				subs = append(subs, sub)
			}
			refs[n], changed = ref.text(), true
		}
		if len(refs) > 0 {
			r.set("subagent_trajectory_ref", joined(refs))
			results[k] = r.text()
		}
	}
	if !changed {
		return text, nil, nil
	}
	observation.set("results", joined(results))
	s.set("observation", observation.text())
	return s.text(), subs, nil
}

// ref makes a reference name its sub-agent by trajectory_id, as version 1.7 does, and returns
// the document of one that is in another file.
func (l *atifLoader) ref(ref *fields, folder string, known map[string]bool) ([]byte, error) {
	id, at := textOf(ref.values["trajectory_id"]), textOf(ref.values["trajectory_path"])
	if id != "" && known[id] {
		return nil, nil
	}
	text, where, err := l.file(at, folder)
	if err != nil {
		return nil, err
	}
	if text == nil {
		l.notes.Add("reference to a sub-agent whose document is not here: kept as a reference")
		if session := ref.values["session_id"]; id == "" && at == "" && session != nil {
			ref.set("trajectory_id", session)
		}
		return nil, nil
	}
	loaded, err := l.enter(text, where)
	if err != nil {
		return nil, err
	}
	doc := object(loaded)
	if id = textOf(doc.values["trajectory_id"]); id == "" || known[id] {
		if id = at; known[id] {
			return nil, nil // a second reference to the same file
		}
		doc.set("trajectory_id", quoted(id))
	}
	known[id] = true
	ref.set("trajectory_id", quoted(id))
	return doc.text(), nil
}

// continued loads the document that continues root.
func (l *atifLoader) continued(root fields, folder string) ([]byte, error) {
	at := textOf(root.values["continued_trajectory_ref"])
	text, where, err := l.file(at, folder)
	if err != nil {
		return nil, err
	}
	if text == nil {
		if at != "" {
			l.notes.Add("continued_trajectory_ref to a file that is not here: kept as a reference")
		}
		return root.text(), nil
	}
	loaded, err := l.enter(text, where)
	if err != nil {
		return nil, err
	}
	root.set(continuation, loaded)
	return root.text(), nil
}

// enter loads the document of a file, unless it leads back to itself.
func (l *atifLoader) enter(text []byte, where string) ([]byte, error) {
	switch l.files++; {
	case l.on[where]:
		return nil, notATIF(fmt.Errorf("%s refers to itself, directly or by another file", where))
	case l.files > mostFiles:
		return nil, notATIF(fmt.Errorf("it refers to more than %d files", mostFiles))
	}
	if err := strictjson.Check(text); err != nil {
		return nil, notATIF(fmt.Errorf("%s: %w", where, jsonHint(text, err)))
	}
	l.on[where] = true
	defer delete(l.on, where)
	loaded, err := l.load(text, path.Dir(where))
	if err != nil {
		return nil, notATIF(fmt.Errorf("%s: %w", where, err))
	}
	return loaded, nil
}

// file returns the content of a file that a document in folder refers to, and its path; nil
// if it is elsewhere: an address, a path that leaves the folder, or a file that is missing.
func (l *atifLoader) file(at, folder string) (text []byte, where string, err error) {
	where = path.Join(folder, at)
	if at == "" || l.open == nil || strings.Contains(at, "://") || !fs.ValidPath(where) {
		return nil, where, nil
	}
	text, err = l.open(where)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, where, nil
	}
	return text, where, err
}

// textOf returns the content of a JSON string; empty for another value.
func textOf(raw []byte) (text string) {
	if len(raw) > 0 && raw[0] == '"' {
		_ = strictjson.Unmarshal(raw, &text) // it has been checked
	}
	return text
}

// documents returns the files of a bundle: the document, then those that continue it or its sub-agents.
func documents(bundle []byte) []Document {
	var more []Document
	root := unchained(bundle, &more)
	return append([]Document{{Text: root}}, more...)
}

// unchained removes continuations from a document and adds them to more.
func unchained(doc []byte, more *[]Document) []byte {
	f := object(doc)
	if subs := list(f.values["subagent_trajectories"]); len(subs) > 0 {
		for i := range subs {
			subs[i] = unchained(subs[i], more)
		}
		f.set("subagent_trajectories", joined(subs))
	}
	then := f.values[continuation]
	if then == nil {
		return f.text()
	}
	f.set(continuation, nil)
	at := freePath(textOf(f.values["continued_trajectory_ref"]), *more)
	f.set("continued_trajectory_ref", quoted(at))
	n := len(*more)
	*more = append(*more, Document{Path: at})
	(*more)[n].Text = unchained(then, more)
	return f.text()
}

// freePath returns at, or a path like it that is in the folder and that no document has.
func freePath(at string, taken []Document) string {
	used := func(at string) bool {
		for _, d := range taken {
			if d.Path == at {
				return true
			}
		}
		return at == "trajectory.json"
	}
	if !fs.ValidPath(at) || at == "." {
		at = "trajectory.cont.json"
	}
	for n, base := 2, strings.TrimSuffix(at, ".json"); used(at); n++ {
		at = fmt.Sprintf("%s-%d.json", base, n)
	}
	return at
}
