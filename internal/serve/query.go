package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/serve/library"
)

// query reads the parameters of the URL. It returns an error if one is not allowed or is given
// twice.
func (c *call) query(allowed ...string) (url.Values, error) {
	given, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "query", "cannot be read: "+err.Error(), "percent-encode it")
	}
	var problems []error
	for name, values := range given {
		switch {
		case !slices.Contains(allowed, name):
			hint := "this path and content type take no parameters"
			if len(allowed) > 0 {
				hint = "the parameters are " + strings.Join(allowed, ", ")
			}
			problems = append(problems, refuse(http.StatusBadRequest, "query "+strconv.Quote(name), "is not a parameter", hint))
		case len(values) > 1:
			problems = append(problems, refuse(http.StatusBadRequest, "query "+name, "is given twice", "give it once"))
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return given, errors.Join(problems...)
}

// opening lists the parameters that determine how a reward is opened.
var opening = []string{"function", "with", "batch", "fuel", "memory_mib"}

// options reads the parameters in opening.
func options(q url.Values) (o library.Options, err error) {
	var problems []error
	o.Function, o.Batch = q.Get("function"), q.Get("batch")
	if with := q.Get("with"); with != "" {
		o.With = json.RawMessage(with)
		problems = append(problems, checkWith(o.With, "query with"))
	}
	number := func(name string, bits int) uint64 {
		text := q.Get(name)
		if text == "" {
			return 0
		}
		n, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			problems = append(problems, refuse(http.StatusBadRequest, "query "+name, fmt.Sprintf("%q is not an integer in the allowed range", text), "use digits"))
		}
		return n
	}
	o.Fuel = number("fuel", 64)
	o.MemoryMiB = int(number("memory_mib", 31))
	return o, errors.Join(problems...)
}

// checkWith returns an error if with is not a JSON object.
func checkWith(with json.RawMessage, where string) error {
	var object map[string]json.RawMessage
	if err := strictjson.Unmarshal(with, &object); err != nil || object == nil {
		return refuse(http.StatusBadRequest, where, "is not a JSON object", `write {"name": value}`)
	}
	return nil
}
