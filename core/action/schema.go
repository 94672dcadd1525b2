package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// maxVisits bounds how many times a part of a schema is checked against a part of
// one value. Without it, a schema that refers to itself in two places takes twice
// as long with every level of a nested answer.
const maxVisits = 1 << 16

// schema is a JSON Schema that checks values within bounds.
type schema struct {
	mu       sync.Mutex
	visits   int // since the check began
	compiled *jsonschema.Schema
}

// errWork ends a check that takes too long.
var errWork = errors.New("it takes too long to check")

// compile reads a JSON Schema, which may refer to its own parts only.
func compile(document any) (*schema, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	d := decode(string(text), maxJSON)
	if d.err != nil {
		return nil, d.err
	}
	const place = "mem:///schema" // not a path: the compiler would make it absolute
	s := new(schema)
	var parts []*jsonschema.Schema
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(closed{})
	c.AssertVocabs()
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "mem:///parts", Compile: func(ctx *jsonschema.CompilerContext, _ map[string]any) (jsonschema.SchemaExt, error) {
		parts = append(parts, ctx.Enqueue(nil))
		return nil, nil
	}})
	if err := c.AddResource(place, d.value); err != nil {
		return nil, err
	}
	if s.compiled, err = c.Compile(place); err != nil {
		return nil, brief(err)
	}
	for _, part := range parts {
		part.Format = s.counted(part.Format)
	}
	return s, nil
}

// counted counts the visits of a part of the schema. The validator calls it for
// the format of a value before it visits the parts below.
func (s *schema) counted(f *jsonschema.Format) *jsonschema.Format {
	c := jsonschema.Format{Name: "counted"}
	if f != nil {
		c.Name = f.Name
	}
	c.Validate = func(v any) error {
		if s.visits++; s.visits > maxVisits {
			panic(errWork)
		}
		if f == nil || f.Validate == nil {
			return nil
		}
		return f.Validate(v)
	}
	return &c
}

// check returns what about v does not fit, or "" if it fits.
func (s *schema) check(v any) (problem string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits = 0
	defer func() {
		if r := recover(); r == errWork {
			problem = errWork.Error()
		} else if r != nil {
			panic(r)
		}
	}()
	if err := s.compiled.Validate(v); err != nil {
		return brief(err).Error()
	}
	return ""
}

// closed is a loader that rejects every reference outside the schema.
type closed struct{}

// Load implements jsonschema.URLLoader.
func (closed) Load(string) (any, error) {
	return nil, errors.New("a schema may only refer to its own parts")
}

// printer words the validator's errors.
var printer = message.NewPrinter(language.English)

// brief shortens the message of a validator or compiler to what is wrong and
// where. It sorts, because the validator visits the keys of an object in any
// order.
func brief(err error) error {
	var bad *jsonschema.SchemaValidationError
	if errors.As(err, &bad) {
		err = bad.Err
	}
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return errors.New(clip(err.Error(), maxSentence))
	}
	all := leaves(nil, v)
	slices.Sort(all)
	return errors.New(clip(strings.Join(slices.Compact(all), "; "), maxSentence))
}

func leaves(all []string, e *jsonschema.ValidationError) []string {
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
	case *kind.PropertyNames: // its location may be overwritten by then
		return append(all, k.LocalizedString(printer))
	}
	for _, cause := range e.Causes {
		all = leaves(all, cause)
	}
	if len(e.Causes) > 0 {
		return all
	}
	what := e.ErrorKind.LocalizedString(printer)
	if len(e.InstanceLocation) == 0 {
		return append(all, what)
	}
	return append(all, fmt.Sprintf("at %s: %s", clip(strings.Join(e.InstanceLocation, "."), maxQuote), what))
}
