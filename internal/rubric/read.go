package rubric

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/rubric/internal/tree"
)

// StakeholderKeys are the keys, besides those of a rubric, in files of stakeholders, in the
// form for ReadFile. The environment defines their meaning.
var StakeholderKeys = []string{"domain", "brief", "criteria.aspect", "criteria.level", "criteria.hinted", "criteria.answer"}

// ReadFile reads the rubric in a file, as JSON if the name ends in .json and as YAML
// otherwise, strictly and without repairs. Others are the paths, without indices, of keys that
// have a meaning elsewhere, such as "criteria.aspect"; any other key is a problem. The error
// joins all problems, each a *fault.Error whose Where is file:line: path.
func ReadFile(path string, others ...string) (*Rubric, error) {
	text, err := bytesOf(path)
	if err != nil {
		return nil, err
	}
	return Decode(path, text, others...)
}

// Decode is ReadFile for the text of a file.
func Decode(file string, text []byte, others ...string) (*Rubric, error) {
	d := newDecoder(file, others)
	if !d.readable(text) {
		return nil, d.err()
	}
	read := tree.YAML
	if strings.EqualFold(filepath.Ext(file), ".json") {
		read = tree.JSON
	}
	root, err := read(text)
	if err != nil {
		d.syntax(err)
		return nil, d.err()
	}
	r := d.rubric(root)
	if d.validate(r); len(d.found) > 0 {
		return nil, d.err()
	}
	return r, nil
}

// ReadWritten reads a language model's answer from a file, as Parse does.
func ReadWritten(path string) (rubric *Rubric, repairs []string, err error) {
	text, err := bytesOf(path)
	if err != nil {
		return nil, nil, err
	}
	return Parse(text)
}

// bytesOf reads only as much as is needed to find out that a file is too large.
func bytesOf(path string) (text []byte, err error) {
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		text, err = io.ReadAll(io.LimitReader(file, MaxText+1))
	}
	if err != nil {
		return nil, &fault.Error{
			Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "the rubric cannot be read", Err: err, Hint: "correct the path",
		}
	}
	return text, nil
}
