package config

import "reflect"

// Difference is a key with its values in two configurations.
type Difference struct {
	Key  string
	A, B any
}

// Differences returns the keys, in their order, whose values differ between a
// and b, pointers to structs of one type. A list or a map counts as one key.
func Differences(a, b any) []Difference {
	var found []Difference
	var walk func(a, b reflect.Value, path string)
	walk = func(a, b reflect.Value, path string) {
		if a.Kind() != reflect.Struct {
			empty := (a.Kind() == reflect.Slice || a.Kind() == reflect.Map) && a.Len() == 0 && b.Len() == 0
			if !empty && !reflect.DeepEqual(a.Interface(), b.Interface()) {
				found = append(found, Difference{path, a.Interface(), b.Interface()})
			}
			return
		}
		left, right := fieldsOf(a), fieldsOf(b)
		for i, name := range left.names {
			walk(left.values[i], right.values[i], join(path, name))
		}
	}
	walk(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "")
	return found
}
