package watch

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/core/fault"
)

// endings are those of files of rollouts, in a folder.
var endings = []string{".jsonl", ".ndjson", ".json", ".parquet", ".csv", ".tsv", ".eval"}

// listed returns the files at paths in natural order, so that 2.jsonl is before 10.jsonl.
func listed(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, &fault.Error{Boundary: fault.Data, Kind: fault.Missing, Where: path, What: "cannot read the folder", Err: err, Hint: "check its owner and mode"}
		}
		before := len(files)
		for _, e := range entries {
			if !e.IsDir() && slices.Contains(endings, filepath.Ext(uncompressed(e.Name()))) && e.Name()[0] != '.' {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == before {
			files = append(files, path) // such as trials of Harbor
		}
	}
	slices.SortStableFunc(files, natural)
	return slices.Compact(files), nil
}

// uncompressed returns a file name without the ending of a compression.
func uncompressed(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), ".gz"), ".zst")
}

// pieces are runs of digits, and of others.
var pieces = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// natural compares two names, and the numbers in them by their value.
func natural(a, b string) int {
	x, y := pieces.FindAllString(a, -1), pieces.FindAllString(b, -1)
	order := slices.CompareFunc(x, y, func(p, q string) int {
		m, errM := strconv.ParseUint(p, 10, 64)
		n, errN := strconv.ParseUint(q, 10, 64)
		if errM != nil || errN != nil {
			return cmp.Compare(p, q)
		}
		return cmp.Compare(m, n)
	})
	return cmp.Or(order, cmp.Compare(a, b))
}

// steps returns the training steps of files that are one iteration each: the last number in
// each name, if these ascend, or else 1, 2, ….
func steps(files []string) []int {
	numbers := make([]int, len(files))
	for i, file := range files {
		name := uncompressed(filepath.Base(file))
		found := pieces.FindAllString(strings.TrimSuffix(name, filepath.Ext(name)), -1)
		found = slices.DeleteFunc(found, func(p string) bool { return p[0] < '0' || p[0] > '9' })
		n, err := -1, error(nil)
		if len(found) > 0 {
			n, err = strconv.Atoi(found[len(found)-1])
		}
		if n < 0 || err != nil || i > 0 && n <= numbers[i-1] {
			for j := range numbers {
				numbers[j] = j + 1
			}
			return numbers
		}
		numbers[i] = n
	}
	return numbers
}
