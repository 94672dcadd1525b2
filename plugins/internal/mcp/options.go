package mcp

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/merit-rl/merit/internal/mcp/cassette"
	"github.com/merit-rl/merit/internal/mcp/client"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/sdk/plugin"
	"github.com/merit-rl/merit/sdk/plugin/tasks"
)

// The modes.
const (
	live   = "live"   // every call goes to the server
	record = "record" // calls that are not recorded go to the server, and are recorded
	replay = "replay" // the server is not started
)

// What happens in replay with a call that is not in the recording.
const (
	fail   = "fail"   // the episode fails, and counts as a failure of the infrastructure
	answer = "answer" // the call is answered with the error not_recorded
)

// When a server starts again.
const (
	episode = "episode"
	never   = "never"
)

// Options are the options that a user may set.
type Options struct {
	tasks.Source // the tasks

	Command string            `json:"command" doc:"the program of a server over standard input and output"`
	Args    []string          `json:"args" doc:"arguments of command"`
	Dir     string            `json:"dir" doc:"working directory of command"`
	Env     map[string]string `json:"env" doc:"variables of command, besides PATH and TMPDIR"`
	PassEnv []string          `json:"pass_env" doc:"variables of Merit's own environment that command gets too"`
	URL     string            `json:"url" doc:"the address of a server over streamable HTTP, instead of command"`
	Headers map[string]string `json:"headers" doc:"name of a header to the variable of Merit's environment that holds its complete value"`

	Tools   []string `json:"tools" doc:"tools that the policy may call; if empty, all"`
	Choices []Choice `json:"choices" doc:"for a network: the actions that it chooses from, each a name with a tool and arguments, or with an answer"`

	Mode       string `json:"mode" doc:"live asks the server, record asks it what is not recorded, replay answers from the recording alone" jsonschema:"enum=live,enum=record,enum=replay"`
	Recording  string `json:"recording" doc:"the file of recorded answers"`
	Digest     string `json:"digest" doc:"digest that the recording must have in replay, as sha256:…; if empty, any"`
	Match      string `json:"match" doc:"what an answer depends on: the calls before it (history), or the call alone (call)" jsonschema:"enum=history,enum=call"`
	Unrecorded string `json:"unrecorded" doc:"in replay, what a call does that is not recorded: end the episode (fail), or get the error not_recorded (answer)" jsonschema:"enum=fail,enum=answer"`
	Restart    string `json:"restart" doc:"when a slot gets a new server: for each episode, or never" jsonschema:"enum=episode,enum=never"`

	System   string        `json:"system" doc:"opens the conversation; if empty, what the server says of its use"`
	MaxSteps int           `json:"max_steps" doc:"the step at which an episode is truncated"`
	Shares   plugin.Shares `json:"shares" doc:"shares of the tasks for validation and test"`
	Limits   Limits        `json:"limits" doc:"bounds of an episode and the server"`
}

// Limits bound an episode and the server.
type Limits struct {
	Calls    int           `json:"calls" doc:"calls of an episode"`
	Text     int           `json:"text" doc:"bytes of a result; the rest is cut"`
	Message  int           `json:"message" doc:"bytes of a message of the server"`
	Start    time.Duration `json:"start" doc:"time for the start of a server"`
	Call     time.Duration `json:"call" doc:"time for a call"`
	Starting int           `json:"starting" doc:"servers that start at the same time"`
}

// Choice is an action of a network: a call, or an answer that ends the episode.
type Choice struct {
	Name      string         `json:"name"`
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Answer    string         `json:"answer"`
}

func defaults() Options {
	return Options{
		Args: []string{}, Env: map[string]string{}, PassEnv: []string{}, Headers: map[string]string{}, Tools: []string{}, Choices: []Choice{},
		Mode: live, Match: cassette.History, Unrecorded: fail, Restart: episode,
		MaxSteps: 16, Shares: plugin.Shares{Validation: 0.2, Test: 0.2},
		Limits: Limits{Calls: 32, Text: 16 << 10, Message: 4 << 20, Start: 10 * time.Second, Call: 10 * time.Second, Starting: 4},
	}
}

var (
	digest   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// check returns all problems of o, except those that only the server knows.
func (o Options) check(split string) error {
	var p plugin.Problems
	p.Split(split)
	o.checkServer(&p)
	o.checkRecording(&p)
	o.checkLimits(&p)
	o.checkChoices(&p)
	sharing := o.Shares.Valid()
	p.Shares(o.Shares, 0.2)
	if o.File == "" {
		p.Add("file", "name a file of JSON Lines, Parquet, CSV or TSV with a prompt in each row", "no file of tasks is named")
		return p.Err()
	}
	switch all, err := o.Read(); {
	case err != nil:
		p = append(p, err)
	case sharing && len(o.deal(all, split)) == 0:
		p.Add("shares", "take more tasks, or other shares", "none of the %d tasks is left for split %s", len(all), split)
	}
	return p.Err()
}

// deal returns the tasks of a split.
func (o Options) deal(all []plugin.Task, split string) []plugin.Task {
	return plugin.Deal(o.Shares, all, tasks.Key, split)
}

func (o Options) checkServer(p *plugin.Problems) {
	switch {
	case o.Command != "" && o.URL != "":
		p.Add("url", "remove one of the two", "names a second server beside command")
	case o.Command == "" && o.URL == "" && o.Mode != replay:
		p.Add("command", "name the program of a server, or its address as url", "no server is named")
	case o.URL != "":
		if u, err := url.Parse(o.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			p.Add("url", "write an address such as http://127.0.0.1:8000/mcp, and keys as headers", "%q is not an address of http or https", wire.Clean(o.URL, 200))
		}
	}
	if o.Command == "" && (len(o.Args) > 0 || len(o.Env) > 0 || len(o.PassEnv) > 0 || o.Dir != "") {
		p.Add("command", "name the program, or remove args, dir, env and pass_env", "is missing, but its arguments or variables are set")
	}
	if o.URL == "" && len(o.Headers) > 0 {
		p.Add("headers", "remove them, or set url", "have no effect without url")
	}
	for name := range o.Env {
		if !variable.MatchString(name) {
			p.Add("env", "use letters, digits and _", "%q is not the name of a variable", wire.Clean(name, 40))
		}
	}
	if o.Mode == replay {
		return
	}
	for _, name := range o.PassEnv {
		if _, ok := os.LookupEnv(name); !ok {
			p.Add("pass_env", "set it in the environment in which you start merit", "the variable %s is not set", wire.Clean(name, 40))
		}
	}
	_, missing := client.Headers(o.Headers, os.LookupEnv)
	for _, name := range missing {
		p.Add("headers", "set it in the environment in which you start merit", "the variable %s is not set", wire.Clean(name, 40))
	}
}

func (o Options) checkRecording(p *plugin.Problems) {
	one := func(key, value string, of ...string) {
		if !slices.Contains(of, value) {
			p.Add(key, of[0]+" is the default", "must be %s, not %q", strings.Join(of, " or "), wire.Clean(value, 40))
		}
	}
	one("mode", o.Mode, live, record, replay)
	one("match", o.Match, cassette.History, cassette.Call)
	one("unrecorded", o.Unrecorded, fail, answer)
	one("restart", o.Restart, episode, never)
	switch {
	case o.Mode != live && o.Recording == "":
		p.Add("recording", "name a file, such as ./recording.jsonl", "is missing, but mode is %s", wire.Clean(o.Mode, 40))
	case o.Mode == live && o.Recording != "":
		p.Add("recording", "set mode: record or mode: replay", "has no effect with mode: live")
	}
	if o.Digest != "" && !digest.MatchString(o.Digest) {
		p.Add("digest", "write sha256: and 64 hexadecimal digits, or omit it", "%q is not a digest", wire.Clean(o.Digest, 80))
	}
	if o.Mode == record && o.Match == cassette.History && o.Restart == never {
		p.Add("restart", "use restart: episode, or match: call if the server has no state", "never would record answers that depend on earlier episodes")
	}
}

func (o Options) checkLimits(p *plugin.Problems) {
	for _, b := range []struct {
		key                string
		value, least, most int
	}{
		{"max_steps", o.MaxSteps, 1, 10_000},
		{"limits.calls", o.Limits.Calls, 1, 10_000},
		{"limits.text", o.Limits.Text, 256, 1 << 20},
		{"limits.message", o.Limits.Message, 1 << 10, 64 << 20},
		{"limits.starting", o.Limits.Starting, 1, 4096},
	} {
		if b.value < b.least || b.value > b.most {
			p.Add(b.key, fmt.Sprintf("use a number in this range, such as %d", defaultOf(b.key)), "must be %d to %d, not %d", b.least, b.most, b.value)
		}
	}
	for key, d := range map[string]time.Duration{"limits.start": o.Limits.Start, "limits.call": o.Limits.Call} {
		if d <= 0 || d > 10*time.Minute {
			p.Add(key, "10s is the default", "must be more than 0 and at most 10m, not %v", d)
		}
	}
}

func defaultOf(key string) int {
	d := defaults()
	return map[string]int{"max_steps": d.MaxSteps, "limits.calls": d.Limits.Calls, "limits.text": d.Limits.Text, "limits.message": d.Limits.Message, "limits.starting": d.Limits.Starting}[key]
}

func (o Options) checkChoices(p *plugin.Problems) {
	seen := map[string]bool{}
	if len(o.Choices) > wire.MaxActions {
		p.Add("choices", "offer fewer", "has %d actions, at most %d", len(o.Choices), wire.MaxActions)
	}
	for i, c := range o.Choices {
		at := fmt.Sprintf("choices[%d]", i)
		switch {
		case c.Name == "" || len(c.Name) > wire.MaxName || seen[c.Name]:
			p.Add(at+".name", "give each choice a unique name", "%q is empty, longer than %d bytes or a duplicate", wire.Clean(c.Name, 80), wire.MaxName)
		case (c.Tool == "") == (c.Answer == ""):
			p.Add(at, "set tool and arguments for a call, or answer for the end of the episode", "must have either a tool or an answer")
		}
		seen[c.Name] = true
	}
}

// restarts reports whether each episode has a new server. A server without state is recorded
// in one session.
func (o Options) restarts() bool {
	return o.Restart == episode && (o.Mode != record || o.Match == cassette.History)
}

// server returns how to reach the server.
func (o Options) server() *client.Server {
	s := &client.Server{
		Dir: o.Dir, URL: o.URL, Start: o.Limits.Start, Call: o.Limits.Call, MaxMessage: o.Limits.Message, MaxText: o.Limits.Text,
	}
	s.Header, _ = client.Headers(o.Headers, os.LookupEnv) // checked
	if o.URL == "" {
		s.Command = append([]string{o.Command}, o.Args...)
		s.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "PYTHONUNBUFFERED=1"}
		for name, value := range o.Env {
			s.Env = append(s.Env, name+"="+value)
		}
		for _, name := range o.PassEnv {
			s.Env = append(s.Env, name+"="+os.Getenv(name))
		}
	}
	return s
}

// secrets returns what hides the values of variables in answers and recordings; nil if there
// is nothing to hide.
func (o Options) secrets() *strings.Replacer {
	names := slices.Clone(o.PassEnv)
	for _, name := range o.Headers {
		names = append(names, name)
	}
	slices.Sort(names)
	var pairs []string
	for _, name := range slices.Compact(names) {
		for _, value := range []string{os.Getenv(name), strings.TrimPrefix(os.Getenv(name), "Bearer ")} {
			if len(value) >= 8 {
				pairs = append(pairs, value, "$"+name)
			}
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}
