package chat

import (
	"net/url"
	"os"
	"time"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/cost"
)

// Config configures a model and limits on its use.
type Config struct {
	// URL is the base URL of the API, such as http://127.0.0.1:8080/v1.
	URL string `yaml:"url" json:"url"`
	// Model is the server's name of the model.
	Model string `yaml:"model" json:"model"`
	// KeyEnv is the environment variable that holds the API key; empty means no key. Merit
	// writes the key to no file, log or error.
	KeyEnv string `yaml:"key_env,omitempty" json:"key_env,omitempty"`
	// Lookup reads environment variables; nil reads those of the process.
	Lookup func(name string) (value string, ok bool) `yaml:"-" json:"-"`
	// Timeout is the time limit of one attempt, from the request to the last byte.
	Timeout time.Duration `yaml:"timeout" json:"timeout" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration, such as 2m"`
	// Retries is how often a request is retried after a temporary failure.
	Retries int `yaml:"retries" json:"retries" jsonschema:"minimum=0,maximum=100"`
	// Backoff is the wait before the first retry. It doubles with each retry; up to half of it
	// is random.
	Backoff time.Duration `yaml:"backoff" json:"backoff" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration, such as 500ms"`
	// MaxBackoff is the longest wait. If a server asks for a longer one with Retry-After,
	// Merit does not retry.
	MaxBackoff time.Duration `yaml:"max_backoff" json:"max_backoff"`
	// MaxConcurrent is the largest number of concurrent requests.
	MaxConcurrent int `yaml:"max_concurrent" json:"max_concurrent" jsonschema:"minimum=1,maximum=4096"`
	// RequestsPerMinute limits the rate of requests; 0 sets no limit.
	RequestsPerMinute int `yaml:"requests_per_minute" json:"requests_per_minute" jsonschema:"minimum=0"`
	// TokensPerMinute limits the rate of tokens, counted as hosted services do: an estimate of
	// the prompt plus all tokens that the answer may have. 0 sets no limit.
	TokensPerMinute int `yaml:"tokens_per_minute" json:"tokens_per_minute" jsonschema:"minimum=0"`
	// Budget stops the use of the model when it is spent.
	Budget Budget `yaml:"budget" json:"budget"`
	// MaxResponse is the largest answer in bytes.
	MaxResponse int `yaml:"max_response" json:"max_response" jsonschema:"minimum=1024,maximum=1073741824"`
	// Cassettes store answers, to replay them without a server.
	Cassettes Cassettes `yaml:"cassettes" json:"cassettes"`
	// TokenIDs requests token ids with return_token_ids, which vLLM and SGLang support. An
	// answer without them is then an error.
	TokenIDs bool `yaml:"token_ids" json:"token_ids"`
	// MaxTokensField is the server's name for the limit on the tokens of an answer:
	// max_tokens, or max_completion_tokens for newer models of OpenAI.
	MaxTokensField string `yaml:"max_tokens_field" json:"max_tokens_field" jsonschema:"enum=max_tokens,enum=max_completion_tokens"`
	// Extra is added to the JSON of every request, for settings of one kind of server, such as
	// top_k, min_p or chat_template_kwargs.
	Extra map[string]any `yaml:"extra,omitempty" json:"extra,omitempty"`
	// Prices are those of the configuration that the section is in. The prices of Budget come
	// first.
	Prices cost.Prices `yaml:"-" json:"-"`
}

// Budget limits what a client spends on all requests together. A request is sent only if its
// prompt (estimated at four bytes per token) and the longest answer that max_tokens allows
// still fit, in addition to concurrent requests. Retries and unreadable answers count, by the
// server's figures or else by the same estimate. If max_tokens is not set, the last answer may
// exceed the budget.
type Budget struct {
	// Tokens is the largest number of tokens, of prompts and answers; 0 sets no limit.
	Tokens int64 `yaml:"tokens" json:"tokens" jsonschema:"minimum=0" hint:"use a whole number of at least 0; 0 sets no limit"`
	// Cost is the largest cost, in the currency of the prices; 0 sets no limit.
	Cost float64 `yaml:"cost" json:"cost" jsonschema:"minimum=0,maximum=1e12"`
	// InputPrice is the price of a million prompt tokens. Without it and output_price, the
	// model's price in prices counts.
	InputPrice float64 `yaml:"input_price" json:"input_price" jsonschema:"minimum=0,maximum=1e12"`
	// OutputPrice is the price of a million answer tokens.
	OutputPrice float64 `yaml:"output_price" json:"output_price" jsonschema:"minimum=0,maximum=1e12"`
}

// Price returns what a million tokens of the model cost.
func (c Config) Price() cost.Price {
	own := cost.Price{Model: c.Model, Input: c.Budget.InputPrice, Output: c.Budget.OutputPrice}
	if own.Set() {
		return own
	}
	price, _ := c.Prices.Of(c.Model)
	price.Model = c.Model
	return price
}

// DefaultConfig returns the default settings, without URL and Model.
func DefaultConfig() Config {
	return Config{
		Timeout: 2 * time.Minute, Retries: 4, Backoff: 500 * time.Millisecond, MaxBackoff: time.Minute,
		MaxConcurrent: 32, MaxResponse: 16 << 20, Cassettes: Cassettes{Mode: Off}, MaxTokensField: maxTokens,
	}
}

// SetDefaults sets the defaults of an optional section before it is read.
func (c *Config) SetDefaults() { *c = DefaultConfig() }

const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// Validate returns all problems of c.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	checkURL(&p, c.URL)
	if c.Model == "" {
		p.Missing("model", "no model is set", "set it to a name that the server lists at url/models")
	}
	p.Check(c.MaxBackoff >= c.Backoff, "max_backoff", c.MaxBackoff, "use a duration of at least backoff, such as 1m")
	if c.Budget.Cost > 0 && !c.Price().Set() {
		p.Missing("budget.input_price", "budget.cost needs prices", "set budget.input_price and budget.output_price, per million tokens; a configuration for training or for optimize prompt can list the model in prices.models")
	}
	if c.Cassettes.Mode != Off && c.Cassettes.Dir == "" {
		p.Missing("cassettes.dir", "no folder is set", "set it to the folder for recorded answers")
	}
	checkExtra(&p, c.Extra)
	return p
}

func checkURL(p *fault.Problems, text string) {
	const hint = "use the base of an OpenAI-compatible API, such as http://127.0.0.1:8080/v1"
	if text == "" {
		p.Missing("url", "no server is set", hint)
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		p.Invalid("url", "is not an http or https URL", hint)
	case u.User != nil:
		p.Invalid("url", "contains a user or password", "put the key into an environment variable and name that with key_env")
	case u.RawQuery != "" || u.Fragment != "":
		p.Invalid("url", "contains a query or fragment", hint)
	}
}

// key returns the API key if one is configured and a server is used.
func (c Config) key() (string, error) {
	if c.KeyEnv == "" || c.Cassettes.Mode == Replay {
		return "", nil
	}
	lookup := c.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	key, _ := lookup(c.KeyEnv)
	e := &fault.Error{Boundary: fault.Config, Kind: fault.Missing, Where: "key_env"}
	switch {
	case key == "":
		e.What = "the environment variable " + c.KeyEnv + " is not set"
		e.Hint = "set it to the API key, or remove key_env if the server needs none"
	case !headerText(key):
		e.Kind = fault.Invalid
		e.What = "the environment variable " + c.KeyEnv + " does not hold a valid key"
		e.Hint = "a key is one line of printable ASCII; check for a line break or a space at its end"
	default:
		return key, nil
	}
	return "", e
}

// headerText reports whether s is allowed in an Authorization header.
func headerText(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
