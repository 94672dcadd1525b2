package packages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// Remove removes packages from a reward, together with what only they need, and returns what
// is left and the names of what is gone. The folder changes only at the end, and as a whole.
// The error has one *fault.Error for each name that the reward does not have, or that
// another package needs.
func Remove(ctx context.Context, r Request) (left []Package, gone []string, err error) {
	before, err := readRequirements(filepath.Join(r.Folder, requirementsFile))
	if err != nil {
		return nil, nil, err
	}
	needs, err := readNeeds(filepath.Join(r.Folder, Folder))
	if err != nil {
		return nil, nil, err
	}
	names := make([]string, len(r.Wanted))
	for i, w := range r.Wanted {
		names[i] = normal(w)
	}
	stays, err := staying(before, names, needs)
	if err != nil {
		return nil, nil, err
	}
	var specs []string
	for _, b := range before {
		if stays[b.name] {
			specs = append(specs, b.line)
		} else {
			gone = append(gone, b.name)
		}
	}
	left, err = r.install(ctx, before, specs)
	return left, gone, err
}

// staying returns the packages that stay without names: those that names do not need, and
// what these need.
func staying(all []requirement, names []string, needs map[string][]string) (map[string]bool, error) {
	below := reached(names, needs)
	var roots []string
	for _, one := range all {
		if !below[one.name] {
			roots = append(roots, one.name)
		}
	}
	stays := reached(roots, needs)
	var problems []error
	for _, name := range names {
		switch user := needing(name, slices.Sorted(maps.Keys(stays)), needs); {
		case !slices.ContainsFunc(all, func(r requirement) bool { return r.name == name }):
			problems = append(problems, &fault.Error{
				Boundary: fault.Data, Kind: fault.Missing, Where: requirementsFile, What: fmt.Sprintf("the reward has no package %q", name), Hint: "the packages are: " + listed(all),
			})
		case stays[name]:
			problems = append(problems, &fault.Error{
				Boundary: fault.Data, Kind: fault.Refused, Where: name, What: user + " needs it", Hint: fmt.Sprintf("remove both: merit reward remove %s %s", user, name),
			})
		}
	}
	return stays, errors.Join(problems...)
}

func needing(name string, users []string, needs map[string][]string) string {
	for _, user := range users {
		if slices.Contains(needs[user], name) {
			return user
		}
	}
	return ""
}

func listed(all []requirement) string {
	if len(all) == 0 {
		return "none"
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.name
	}
	return strings.Join(names, ", ")
}

// reached returns names and all that they need.
func reached(names []string, needs map[string][]string) map[string]bool {
	found := map[string]bool{}
	for next := slices.Clone(names); len(next) > 0; {
		name := next[len(next)-1]
		if next = next[:len(next)-1]; !found[name] {
			found[name] = true
			next = append(next, needs[name]...)
		}
	}
	return found
}

// readNeeds returns what each unpacked package needs, by the metadata that it brings. What it
// needs only for an extra does not count.
func readNeeds(folder string) (map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.dist-info", "METADATA"))
	needs := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		head, _, _ := strings.Cut(string(text), "\n\n")
		name := ""
		for line := range strings.Lines(head) {
			field, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			spec, marker, _ := strings.Cut(value, ";")
			switch {
			case field == "Name":
				name = normal(value)
			case field == "Requires-Dist" && !strings.Contains(marker, "extra"):
				needs[name] = append(needs[name], nameOf(spec))
			}
		}
	}
	return needs, err
}
