package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/serve/credit"
	"github.com/merit-rl/merit/internal/serve/internal/fields"
)

// advantages handles POST /v1/advantages, whose body is an object or one row per line.
func (c *call) advantages() error {
	media, err := c.contentType(typeJSON, typeNDJSON)
	if err != nil {
		return err
	}
	if media == typeNDJSON {
		return c.advantageLines()
	}
	if _, err := c.query(); err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	var text []byte
	if err := c.decode(func() (err error) { text, err = credit.Answer(body, c.Limits.Rows); return err }); err != nil {
		return err
	}
	return c.text(http.StatusOK, typeJSON, text)
}

// advantageLines computes advantages of rows, with the configuration in the query.
func (c *call) advantageLines() error {
	cfg, err := c.estimator()
	if err != nil {
		return err
	}
	body, err := c.wholeLines()
	if err != nil {
		return err
	}
	if n := bytes.Count(body, []byte("\n")); n > c.Limits.Rows {
		return refuse(http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("%d rows exceed the limit of %d", n, c.Limits.Rows), "send fewer rows in a request, or ask the operator to raise limits.rows")
	}
	var said []byte
	var out bytes.Buffer
	err = c.decode(func() error {
		stats, err := credit.Lines(cfg, "rows", bytes.NewReader(body), &out)
		if err == nil {
			said, err = json.Marshal(stats)
		}
		return err
	})
	if err != nil {
		return err
	}
	c.w.Header().Set("Merit-Stats", string(said))
	return c.text(http.StatusOK, typeNDJSON, out.Bytes())
}

// wholeLines reads a body that may lack a Content-Length.
func (c *call) wholeLines() ([]byte, error) {
	if c.r.ContentLength >= 0 {
		if err := c.length("body", c.Limits.Body); err != nil {
			return nil, err
		}
	} else if err := errors.Join(c.tenant.Afford(), c.reserve(c.Limits.Body)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(c.reader(), c.Limits.Body+1))
	switch {
	case err != nil:
		return nil, c.cannotRead(err)
	case int64(len(body)) > c.Limits.Body:
		return nil, refuse(http.StatusRequestEntityTooLarge, "body", fmt.Sprintf("the body exceeds the limit of %d bytes", c.Limits.Body), "send fewer rows in a request, or ask the operator to raise limits.body")
	}
	for _, packed := range []string{"\x1f\x8b", "\x28\xb5\x2f\xfd"} {
		if bytes.HasPrefix(body, []byte(packed)) {
			return nil, refuse(http.StatusUnsupportedMediaType, "body", "the body is compressed", "send the rows uncompressed")
		}
	}
	return body, nil
}

// estimator reads an advantage.Config from the query.
func (c *call) estimator() (advantage.Config, error) {
	cfg := advantage.Default()
	var known map[string]json.RawMessage
	text, err := json.Marshal(cfg)
	if err == nil {
		err = strictjson.Unmarshal(text, &known)
	}
	if err != nil {
		return cfg, err
	}
	names := slices.Sorted(maps.Keys(known))
	q, err := c.query(names...)
	if err != nil {
		return cfg, err
	}
	var problems []error
	for _, name := range names {
		if q.Has(name) {
			problems = append(problems, set(&cfg, name, q, known[name][0] == '"'))
		}
	}
	problems = append(problems, credit.Check(cfg, "query")...)
	return cfg, errors.Join(problems...)
}

// set sets one field of cfg from the query; word means that its value is a string.
func set(cfg *advantage.Config, name string, q url.Values, word bool) error {
	value := json.RawMessage(q.Get(name))
	if word {
		value, _ = json.Marshal(q.Get(name)) // the value is a string
	}
	if !json.Valid(value) {
		return refuse(http.StatusBadRequest, "query "+name, fmt.Sprintf("%q is not a number", q.Get(name)), "use digits")
	}
	text := fmt.Appendf(nil, "{%q:%s}", name, value)
	return fields.Decode("query", text, cfg)
}
