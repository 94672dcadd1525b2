package chat

import (
	"net/url"
	"os"
	"time"

	"github.com/merit-rl/merit/core/fault"
)

// Config says which model to ask, and how much.
type Config struct {
	// URL is the base of the API, as http://127.0.0.1:8080/v1.
	URL string `yaml:"url" json:"url"`
	// Model is the name by which the server knows the model.
	Model string `yaml:"model" json:"model"`
	// KeyEnv names the environment variable that holds the API key; empty means
	// no key. The key itself stands in no file, log or error.
	KeyEnv string `yaml:"key_env,omitempty" json:"key_env,omitempty"`
	// Lookup reads environment variables; nil means the process's own.
	Lookup func(name string) (value string, ok bool) `yaml:"-" json:"-"`
	// Timeout bounds one attempt, from the request to the last byte.
	Timeout time.Duration `yaml:"timeout" json:"timeout" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration, such as 2m"`
	// Retries is how often a request is sent again after a failure that may
	// pass.
	Retries int `yaml:"retries" json:"retries" jsonschema:"minimum=0,maximum=100"`
	// Backoff is the wait before the first retry. It doubles with each, and up
	// to half of it is left to chance.
	Backoff time.Duration `yaml:"backoff" json:"backoff" jsonschema:"exclusiveMinimum=0" hint:"use a positive duration, such as 500ms"`
	// MaxBackoff bounds a wait. A server that asks for more with Retry-After
	// gets no retry.
	MaxBackoff time.Duration `yaml:"max_backoff" json:"max_backoff"`
	// MaxConcurrent is how many requests are under way at one time.
	MaxConcurrent int `yaml:"max_concurrent" json:"max_concurrent" jsonschema:"minimum=1,maximum=4096"`
	// RequestsPerMinute bounds the rate of requests; 0 means no bound.
	RequestsPerMinute int `yaml:"requests_per_minute" json:"requests_per_minute" jsonschema:"minimum=0"`
	// TokensPerMinute bounds the rate of tokens, counted as hosted services do:
	// an estimate of the prompt and all tokens that the answer may have. 0 means
	// no bound.
	TokensPerMinute int `yaml:"tokens_per_minute" json:"tokens_per_minute" jsonschema:"minimum=0"`
	// Budget ends the use of the model when it is spent.
	Budget Budget `yaml:"budget" json:"budget"`
	// MaxResponse is the most bytes that an answer may have.
	MaxResponse int `yaml:"max_response" json:"max_response" jsonschema:"minimum=1024,maximum=1073741824"`
	// Cassettes keep answers, to be replayed without a server.
	Cassettes Cassettes `yaml:"cassettes" json:"cassettes"`
	// TokenIDs asks for the ids of tokens with return_token_ids, as vLLM and
	// SGLang know it; without them an answer is then an error.
	TokenIDs bool `yaml:"token_ids" json:"token_ids"`
	// MaxTokensField is what the server calls the most tokens of an answer:
	// max_tokens, or max_completion_tokens as newer models of OpenAI want it.
	MaxTokensField string `yaml:"max_tokens_field" json:"max_tokens_field" jsonschema:"enum=max_tokens,enum=max_completion_tokens"`
	// Extra is added to the JSON of every request: what only one kind of server
	// knows, as top_k, min_p or chat_template_kwargs.
	Extra map[string]any `yaml:"extra,omitempty" json:"extra,omitempty"`
}

// Budget bounds what a client spends on all requests together. A request is sent
// only if its prompt (estimated at four bytes a token) and the longest answer
// that max_tokens allows still fit, beside the requests under way. Retries and
// answers that cannot be read count: by what the server says, or else by the
// same estimate. Where max_tokens is not set, the last answer may exceed it.
type Budget struct {
	// Tokens is the most tokens, of prompts and answers; 0 means no bound.
	Tokens int64 `yaml:"tokens" json:"tokens" jsonschema:"minimum=0" hint:"use a whole number of at least 0; 0 means no bound"`
	// Cost is the most money, in the currency of the prices; 0 means no bound.
	Cost float64 `yaml:"cost" json:"cost" jsonschema:"minimum=0,maximum=1e12"`
	// InputPrice is the price of a million tokens of prompts.
	InputPrice float64 `yaml:"input_price" json:"input_price" jsonschema:"minimum=0,maximum=1e12"`
	// OutputPrice is the price of a million tokens of answers.
	OutputPrice float64 `yaml:"output_price" json:"output_price" jsonschema:"minimum=0,maximum=1e12"`
}

// DefaultConfig returns the settings of a client that says nothing. It lacks
// URL and Model.
func DefaultConfig() Config {
	return Config{
		Timeout: 2 * time.Minute, Retries: 4, Backoff: 500 * time.Millisecond, MaxBackoff: time.Minute,
		MaxConcurrent: 32, MaxResponse: 16 << 20, Cassettes: Cassettes{Mode: Off}, MaxTokensField: maxTokens,
	}
}

// SetDefaults is called for a section that need not be there before it is read.
func (c *Config) SetDefaults() { *c = DefaultConfig() }

const (
	maxTokens           = "max_tokens"
	maxCompletionTokens = "max_completion_tokens"
)

// Validate returns everything that is wrong with c.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	checkURL(&p, c.URL)
	if c.Model == "" {
		p.Missing("model", "no model is named", "give the name that the server lists at url/models")
	}
	p.Check(c.MaxBackoff >= c.Backoff, "max_backoff", c.MaxBackoff, "use a duration of at least backoff, such as 1m")
	if b := c.Budget; b.Cost > 0 && b.InputPrice == 0 && b.OutputPrice == 0 {
		p.Missing("budget.input_price", "a cost is bounded, but nothing has a price", "give budget.input_price and budget.output_price, per million tokens")
	}
	if c.Cassettes.Mode != Off && c.Cassettes.Dir == "" {
		p.Missing("cassettes.dir", "no folder is named", "give the folder in which answers are kept")
	}
	checkExtra(&p, c.Extra)
	return p
}

func checkURL(p *fault.Problems, text string) {
	const hint = "use the base of an OpenAI-compatible API, such as http://127.0.0.1:8080/v1"
	if text == "" {
		p.Missing("url", "no server is named", hint)
		return
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		p.Invalid("url", "is not an address of http or https", hint)
	case u.User != nil:
		p.Invalid("url", "has a user or password in it", "put the key into an environment variable and name that with key_env")
	case u.RawQuery != "" || u.Fragment != "":
		p.Invalid("url", "has a query or fragment", hint)
	}
}

// key reads the API key, if one is named and a server is asked.
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
		e.Hint = "set it to the API key, or remove key_env if the server wants none"
	case !headerText(key):
		e.Kind = fault.Invalid
		e.What = "the environment variable " + c.KeyEnv + " holds what no key can be"
		e.Hint = "a key is one line of printable ASCII; look for a line break or a space at its end"
	default:
		return key, nil
	}
	return "", e
}

// headerText reports whether s may stand in an Authorization header.
func headerText(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
