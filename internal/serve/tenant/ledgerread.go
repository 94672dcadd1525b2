package tenant

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// maxLine is the longest line of an accounting file, in bytes.
const maxLine = 1 << 16

// ReadUsage adds up the lines of accounting files whose interval ends after from and not after
// to, by tenant and key. A zero time means no bound. Lines that a rotation carried over count
// only in their original file.
func ReadUsage(from, to time.Time, paths ...string) ([]Usage, error) {
	all := newTally()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, &fault.Error{Boundary: fault.Storage, Kind: fault.Missing, Where: path, What: "the accounting file cannot be read", Err: err, Hint: "correct the path"}
		}
		_, err = readLedger(path, f, func(line entryLine) {
			if !line.Carried && (from.IsZero() || line.To.After(from)) && (to.IsZero() || !line.To.After(to)) {
				all.add(line.Usage)
			}
		})
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return all.sorted(), nil
}

// readLedger calls tell for each whole line and returns the offset of their end. An incomplete
// last line is ignored. A damaged line before a whole one is an error.
func readLedger(path string, in io.Reader, tell func(entryLine)) (end int64, err error) {
	r := bufio.NewReaderSize(in, maxLine)
	var at int64
	damaged := 0 // number of the first damaged line
	for n := 1; ; n++ {
		text, err := r.ReadSlice('\n')
		at += int64(len(text))
		switch {
		case errors.Is(err, io.EOF):
			return end, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return 0, &fault.Error{Boundary: fault.Storage, Kind: fault.Corrupt, Where: path, What: "the accounting file cannot be read", Err: err, Hint: "check the disk"}
		}
		line, ok := decodeLine(text)
		switch {
		case !ok && damaged == 0:
			damaged = n
		case ok && damaged > 0:
			return 0, &fault.Error{
				Boundary: fault.Storage, Kind: fault.Corrupt, Where: fmt.Sprintf("%s:%d", path, damaged), What: "the line is not a valid accounting entry",
				Hint: "correct or remove the line, or move the file away so that the server starts a new one",
			}
		case ok:
			tell(line)
			end = at
		}
	}
}

// decodeLine decodes a line, including its line feed.
func decodeLine(text []byte) (entryLine, bool) {
	var line entryLine
	if err := strictjson.UnmarshalKnown(text, &line); err != nil || text[len(text)-1] != '\n' {
		return entryLine{}, false
	}
	return line, nameForm.MatchString(line.Tenant) && !line.To.Before(line.From)
}
