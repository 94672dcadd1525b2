package auditcmd

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/audit"
	"github.com/merit-rl/merit/internal/audit/envaudit"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/host"
	"github.com/merit-rl/merit/internal/host/disk"
	"github.com/merit-rl/merit/sdk/merit"
)

// environment audits an environment.
func (o *auditOptions) environment(ctx context.Context, target string, kind what, bounds *[2]float64) (*audit.Report, error) {
	s := envaudit.Subject{Texts: o.Say, Range: bounds}
	digest, err := "", error(nil)
	switch kind {
	case folder:
		s.Folder = target
		if digest, err = envaudit.Digest(target); err == nil && o.URL != "" {
			err = o.server(ctx, &s, o.URL)
		}
	case server:
		s.Manifest = envaudit.Describe(target, "")
		err = o.server(ctx, &s, target)
	default:
		digest, err = o.plugin(ctx, &s, target)
	}
	if err == nil && o.Oracle != "" {
		s.Oracle, err = envaudit.ReadSolutions(o.Oracle)
	}
	if err != nil {
		return nil, err
	}
	m, results, err := envaudit.Run(ctx, s)
	if err != nil {
		return nil, err
	}
	return audit.New(target, digest, audit.OpenEnv, m, results), nil
}

// plugin prepares the audit of a plug-in or a module.
func (o *auditOptions) plugin(ctx context.Context, s *envaudit.Subject, target string) (digest string, err error) {
	path, err := host.Find(target, merit.PluginFolders(o.host.Env)...)
	if here := "./" + target; err != nil && !strings.ContainsRune(target, '/') && disk.Check(here) == nil {
		path, err = here, nil
	}
	if err != nil {
		return "", err
	}
	if text, err := os.ReadFile(strings.TrimPrefix(path, disk.Sandbox)); err == nil && strings.HasSuffix(path, ".py") {
		if s.Source = string(text); !plays.Match(text) && !strings.HasPrefix(path, disk.Sandbox) {
			path = disk.Sandbox + path // a class, which only the sandbox plays
		}
	}
	cfg := o.config(path)
	found, err := host.Check(ctx, cfg)
	if err != nil {
		return "", err
	}
	s.Manifest = envaudit.Describe(found.Name, found.Version)
	s.Sandboxed = disk.Runs(path)
	s.Open = func(ctx context.Context) (env.Env, error) { return host.Open(ctx, cfg) }
	if s.Sandboxed && strings.HasSuffix(path, ".wasm") {
		other := cfg
		other.Sandbox.Interpreter = true
		s.Portable = func(ctx context.Context) (env.Env, error) { return host.Open(ctx, other) }
	}
	if file := strings.TrimPrefix(path, disk.Sandbox); !strings.HasPrefix(path, disk.BuiltIn) {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			s.Files = file
		}
	}
	return "sha256:" + found.Digest, nil
}

// config returns how to start a plug-in. It allows slow starts and resets.
func (o *auditOptions) config(path string) host.Config {
	cfg := host.DefaultConfig()
	cfg.Path, cfg.Slots, cfg.Log = path, 5, o.host.Logger()
	cfg.StartTimeout, cfg.BatchDeadline, cfg.ResetDeadline = time.Minute, time.Minute, time.Minute
	if o.Options != "" {
		cfg.Options = json.RawMessage(o.Options)
	}
	return cfg
}

// server prepares the audit of the environment at a URL, through Merit's client of OpenEnv.
func (o *auditOptions) server(ctx context.Context, s *envaudit.Subject, url string) error {
	options := map[string]any{}
	if o.Options != "" {
		if err := strictjson.Unmarshal([]byte(o.Options), &options); err != nil {
			return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "--options", What: "is not a JSON object", Err: err, Hint: `write names and texts in double quotes, such as {"action": {"field": "move"}}`}
		}
	}
	options["url"] = url
	text, err := json.Marshal(options)
	if err != nil {
		return err
	}
	path, err := host.Find("builtin:openenv", merit.PluginFolders(o.host.Env)...)
	if err != nil {
		return err
	}
	cfg := o.config(path)
	cfg.Options = text
	if _, err := host.Check(ctx, cfg); err != nil {
		return err // the server does not answer, or the client needs other options: nothing was audited
	}
	if cfg.Slots, err = sessions(ctx, cfg, options); err != nil {
		return err
	}
	s.Remote = true
	s.Open = func(ctx context.Context) (env.Env, error) {
		e, err := host.Open(ctx, cfg)
		if err != nil {
			return nil, err
		}
		return envaudit.Steady(e), nil
	}
	return nil
}

// sessions returns for how many of the slots the server has a session at the same time; many
// servers of OpenEnv admit one.
func sessions(ctx context.Context, cfg host.Config, options map[string]any) (int, error) {
	options = maps.Clone(options)
	options["reset_timeout"] = "5s"
	text, err := json.Marshal(options)
	if err != nil {
		return 0, err
	}
	cfg.Options = text
	e, err := host.Open(ctx, cfg)
	if err != nil {
		return 0, err
	}
	b, r, n := env.NewBatch(e.Spec()), env.Reply{}, cfg.Slots
	for i := range b.Ops {
		b.Ops[i] = env.Reset
	}
	err = e.Exchange(ctx, b, &r)
	for _, v := range r.Events {
		if v.Kind == env.EventError && strings.Contains(v.Message, "the server had no session") {
			n--
		}
	}
	return max(1, n), errors.Join(err, e.Close())
}
