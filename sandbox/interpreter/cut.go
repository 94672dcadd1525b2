package interpreter

import (
	"encoding/binary"
	"errors"
)

var errModule = errors.New("not a WebAssembly module")

// librarySection is the custom section with the standard library.
const librarySection = "merit.lib"

// cut returns a module without its custom sections, which hold names and debug
// information, and the content of the section with the library; nil without one.
func cut(file []byte) (module, library []byte, err error) {
	const header = 8
	if len(file) < header {
		return nil, nil, errModule
	}
	module = append(make([]byte, 0, len(file)), file[:header]...)
	for at := header; at < len(file); {
		size, n := binary.Uvarint(file[at+1:])
		end := at + 1 + n + int(size)
		if n <= 0 || size > uint64(len(file)) || end > len(file) {
			return nil, nil, errModule
		}
		if file[at] != 0 {
			module = append(module, file[at:end]...)
		} else if name, content := custom(file[at+1+n : end]); name == librarySection {
			library = content
		}
		at = end
	}
	return module, library, nil
}

// custom returns the name and the content of a custom section.
func custom(section []byte) (name string, content []byte) {
	size, n := binary.Uvarint(section)
	if n <= 0 || size > uint64(len(section)-n) {
		return "", nil
	}
	return string(section[n : n+int(size)]), section[n+int(size):]
}
