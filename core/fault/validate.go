package fault

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Validate returns every problem of v, a struct or a pointer to one, with key paths
// relative to it: values that the tags of its fields do not allow, and the problems
// that Validate of its sections returns. The tag jsonschema holds the keywords
// minimum, maximum, exclusiveMinimum, exclusiveMaximum and enum, which the schema
// also contains; bounds of a duration are written as 1ms. The tag hint replaces the
// hint that is made from the bounds.
func Validate(v any) Problems {
	var p Problems
	checkFields(&p, reflect.Indirect(reflect.ValueOf(v)), "")
	return p
}

func checkFields(p *Problems, v reflect.Value, path string) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case strings.Contains(options, "inline"):
			checkSection(p, v.Field(i), path)
		default:
			if at := strings.TrimPrefix(path+"."+name, "."); !checkSection(p, v.Field(i), at) {
				checkValue(p, v.Field(i), at, field.Tag)
			}
		}
	}
}

// checkSection adds the problems of a section, or of a list of them. It reports
// whether v is one.
func checkSection(p *Problems, v reflect.Value, at string) bool {
	own := v
	if v.Kind() == reflect.Struct && v.CanAddr() {
		own = v.Addr()
	}
	if nilable := v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface; nilable && v.IsNil() {
		return true
	}
	if section, ok := own.Interface().(interface{ Validate() []error }); ok {
		p.Under(at, section.Validate())
		return true
	}
	switch {
	case v.Kind() == reflect.Struct:
		checkFields(p, v, at)
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct:
		checkFields(p, v.Elem(), at)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			checkSection(p, v.Index(i), fmt.Sprintf("%s[%d]", at, i))
		}
	default:
		return false
	}
	return true
}

// checkValue checks a value, or each value of a list, against the tags of its
// field.
func checkValue(p *Problems, v reflect.Value, at string, tag reflect.StructTag) {
	r := rulesOf(tag)
	switch {
	case v.Kind() == reflect.Slice && r.words != nil:
		for i := range v.Len() {
			p.OneOf(at, v.Index(i).String(), r.words...)
		}
	case r.words != nil:
		p.OneOf(at, v.String(), r.words...)
	case v.CanInt() && !r.allow(float64(v.Int())), v.CanUint() && !r.allow(float64(v.Uint())), v.CanFloat() && !r.allow(v.Float()):
		p.Check(false, at, v.Interface(), r.advice(v))
	}
}

// rules are the keywords of a field's tag.
type rules struct {
	least, most           string
	aboveLeast, belowMost bool // the bounds are not allowed themselves
	words                 []string
	hint                  string
}

func rulesOf(tag reflect.StructTag) rules {
	r := rules{hint: tag.Get("hint")}
	for keyword := range strings.SplitSeq(tag.Get("jsonschema"), ",") {
		switch name, value, _ := strings.Cut(keyword, "="); name {
		case "minimum", "exclusiveMinimum":
			r.least, r.aboveLeast = value, name != "minimum"
		case "maximum", "exclusiveMaximum":
			r.most, r.belowMost = value, name != "maximum"
		case "enum":
			r.words = append(r.words, value)
		}
	}
	return r
}

// allow reports whether x is within the bounds; NaN is not.
func (r rules) allow(x float64) bool {
	least, most := bound(r.least), bound(r.most)
	return (r.least == "" || x > least || x == least && !r.aboveLeast) && (r.most == "" || x < most || x == most && !r.belowMost)
}

func bound(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	x, _ := strconv.ParseFloat(text, 64) // an empty text means no bound, and its value is not used
	return x
}

// advice says which values are allowed.
func (r rules) advice(v reflect.Value) string {
	what := "a number"
	switch {
	case r.hint != "":
		return r.hint
	case v.Type() == reflect.TypeFor[time.Duration]():
		what = "a duration"
	case !v.CanFloat():
		what = "a whole number"
	}
	var least, most string
	switch {
	case r.aboveLeast:
		least = " above " + r.least
	case r.most == "":
		least = " of at least " + r.least
	case r.least != "":
		least = " from " + r.least
	}
	switch {
	case r.most == "":
	case r.aboveLeast && r.belowMost:
		most = " and below " + r.most
	case r.belowMost:
		most = " to below " + r.most
	case r.aboveLeast:
		most = ", at most " + r.most
	case r.least == "":
		most = " of at most " + r.most
	default:
		most = " to " + r.most
	}
	return "use " + what + least + most
}

// Allows reports whether the bounds in the tag of a field allow x, in nanoseconds for
// a duration.
func Allows(tag reflect.StructTag, x float64) bool { return rulesOf(tag).allow(x) }

// Words returns the closed set of words that the tag of a field allows; nil if any
// text is allowed.
func Words(tag reflect.StructTag) []string { return rulesOf(tag).words }
