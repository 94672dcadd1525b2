package source

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// native refuses a package with code for another platform if the interpreter includes that
// package: Python would import the wrong one. Native code of other packages is allowed,
// because many packages work without theirs.
func (s *Script) native(at string) error {
	by := s.Language.Interpreter()
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if ext := path.Ext(name); ext != ".so" && ext != ".pyd" {
			continue
		}
		folder, _, _ := strings.Cut(name, "/")
		for _, e := range by.Includes {
			if e.Name == folder {
				return Refusal(at, fmt.Sprintf("%s is native code for another platform%s", name, s.wheel(folder)),
					fmt.Sprintf("delete the package %s and its .dist-info from the folder: %s includes %s %s", folder, by.Title, e.Name, e.Version), nil)
			}
		}
	}
	return nil
}

// wheel returns the tag of the wheel that a package was installed from, as a phrase.
func (s *Script) wheel(name string) string {
	for file, data := range s.Files {
		if ok, _ := path.Match(name+"-*.dist-info/WHEEL", file); !ok {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if tag, ok := strings.CutPrefix(line, "Tag: "); ok {
				return " (a wheel for " + strings.TrimSpace(tag) + ")"
			}
		}
	}
	return ""
}
