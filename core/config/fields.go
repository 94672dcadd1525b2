package config

import (
	"fmt"
	"reflect"
	"strings"
)

// fields are the keys of a section, in the order of the struct.
type fields struct {
	names  []string
	values []reflect.Value
}

func fieldsOf(v reflect.Value) (f fields) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case strings.Contains(options, "inline"):
			inner := fieldsOf(v.Field(i))
			f.names = append(f.names, inner.names...)
			f.values = append(f.values, inner.values...)
		default:
			if name == "" {
				name = strings.ToLower(field.Name)
			}
			f.names = append(f.names, name)
			f.values = append(f.values, v.Field(i))
		}
	}
	return f
}

func (f fields) get(name string) (reflect.Value, bool) {
	for i, n := range f.names {
		if n == name {
			return f.values[i], true
		}
	}
	return reflect.Value{}, false
}

// suggest says which key was perhaps meant.
func suggest(key string, names []string) string {
	best, least := "", 1+max(len(key)/3, 1)
	for _, n := range names {
		if d := distance(key, n); d < least {
			best, least = n, d
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %s?", best)
	}
	return "the keys here are " + strings.Join(names, ", ")
}

// distance is the least number of insertions, deletions and substitutions of
// bytes that make a into b (Levenshtein 1966).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
