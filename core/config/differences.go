package config

import "reflect"

// Differences returns the keys, in their order, whose values differ between a
// and b, pointers to structs of one type. A list or a map counts as one key.
func Differences(a, b any) []string {
	var keys []string
	var walk func(a, b reflect.Value, path string)
	walk = func(a, b reflect.Value, path string) {
		if a.Kind() != reflect.Struct {
			empty := a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0
			if !empty && !reflect.DeepEqual(a.Interface(), b.Interface()) {
				keys = append(keys, path)
			}
			return
		}
		left, right := fieldsOf(a), fieldsOf(b)
		for i, name := range left.names {
			walk(left.values[i], right.values[i], join(path, name))
		}
	}
	walk(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "")
	return keys
}
