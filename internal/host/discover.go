package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/host/disk"
)

// Found is what a plug-in reports about itself.
type Found struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind,omitempty"` // Environment or Policy
	Path     string          `json:"path"`
	Version  string          `json:"version,omitempty"`
	Digest   string          `json:"digest,omitempty"` // hexadecimal SHA-256, see Digest
	Protocol uint32          `json:"protocol,omitempty"`
	Summary  string          `json:"summary,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"` // every option with its default

	// For an environment, with the options that it was started with.
	Actions      []string `json:"actions,omitempty"`
	FeatureShape []int    `json:"feature_shape,omitempty"`
	MaxSteps     int      `json:"max_steps,omitempty"`
	Tasks        int      `json:"tasks,omitempty"`
	Encodes      bool     `json:"encodes,omitempty"` // it reads recorded calls

	Tools json.RawMessage `json:"tools,omitempty"` // likewise

	// For a policy, see policy.Spec.
	Learns    bool   `json:"learns,omitempty"`
	Model     string `json:"model,omitempty"`
	Tokenizer string `json:"tokenizer,omitempty"`
	Context   int    `json:"context,omitempty"`
}

// The kinds of plug-in.
const (
	Environment = "environment"
	Policy      = "policy"
)

// Find returns the path of a plug-in given by path or by name. A plug-in is an
// executable file, a Python file, or a folder with a manifest. Find looks a name up in
// dirs, in order. Config and PolicyConfig do not look names up: they take a path.
func Find(plugin string, dirs ...string) (string, error) { return disk.Find(plugin, dirs...) }

// Digest returns the hexadecimal SHA-256 of a plug-in, for manifests and for
// Config.Digest. For a file it covers the bytes of the file; for a folder, its files
// and command. It takes about 1 ms per MB.
func Digest(path string) (string, error) { return disk.Digest(path) }

// Inspect starts a plug-in, which must have the digest unless that is empty, and returns
// its description. If an environment does not accept its default options, the description
// leaves out what depends on them. So does that of every policy, because configuring one
// may ask an engine for a model.
func Inspect(ctx context.Context, path, digest string) (Found, error) {
	cfg := DefaultConfig()
	cfg.Path, cfg.Slots, cfg.Digest = path, 1, digest
	if disk.Runs(path) {
		found, err := describeModule(ctx, cfg)
		if found.Version != "" && errors.Is(err, fault.Of(fault.Config, "")) {
			err = nil // ignore errors: the user may need to set options
		}
		return found, err
	}
	l := cfg.launch(describeDeadline)
	l.timeout, l.describe = 3*l.timeout, l.timeout // it may be written in Python
	found, s, err := describe(ctx, l)
	if err != nil {
		return found, err
	}
	defer s.close()
	if found.Kind == Environment {
		_ = found.configure(ctx, s, cfg) // ignore errors: the user may need to set options
	}
	return found, nil
}

// Check starts the plug-in of cfg, asks for its description and has it configured for
// cfg's options and split. It returns every error that Open would return.
func Check(ctx context.Context, cfg Config) (Found, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return Found{Name: nameOf(cfg.Path), Path: cfg.Path}, err
	}
	if disk.Runs(cfg.Path) {
		return describeModule(ctx, cfg)
	}
	found, s, err := describe(ctx, cfg.launch(describeDeadline))
	if err != nil {
		return found, err
	}
	defer s.close()
	return found, found.configure(ctx, s, cfg)
}

// describeModule is Check for an environment in the sandbox.
func describeModule(ctx context.Context, cfg Config) (Found, error) {
	e, said, err := openModule(ctx, cfg)
	f := Found{Name: nameOf(cfg.Path), Path: cfg.Path}
	if said.Name != "" {
		f.Name, f.Kind, f.Version, f.Protocol, f.Summary, f.Options = said.Name, Environment, said.Version, said.Protocol, said.Summary, said.Options
	}
	if err == nil {
		f.of(e.Spec())
		err = e.Close()
	}
	if f.Kind != "" {
		var wrong error
		f.Digest, wrong = Digest(cfg.Path)
		err = errors.Join(err, wrong)
	}
	return f, err
}

// CheckPolicy is Check for OpenPolicy.
func CheckPolicy(ctx context.Context, cfg PolicyConfig) (Found, error) {
	l, err := cfg.launch()
	if err != nil {
		return Found{Name: nameOf(cfg.Path), Path: cfg.Path}, err
	}
	found, s, err := describe(ctx, l)
	if err != nil {
		return found, err
	}
	defer s.close()
	spec, err := s.configurePolicy(ctx, cfg)
	if err == nil {
		found.Learns, found.Model, found.Tokenizer, found.Context = spec.Learns, spec.Model, spec.Tokenizer, spec.Context
	}
	return found, err
}

// describe starts a plug-in and returns its description before configuration, and its
// session.
func describe(ctx context.Context, l *launch) (Found, *session, error) {
	found := Found{Name: nameOf(l.path), Path: l.path}
	s, err := start(ctx, l)
	if err != nil {
		return found, nil, err
	}
	d := s.description
	found.Name, found.Kind, found.Version, found.Protocol = d.Name, s.kind, d.Version, d.Protocol
	found.Summary, found.Options = d.Summary, d.Options
	if found.Digest, err = Digest(l.path); err != nil {
		s.close()
		return found, nil, err
	}
	return found, s, nil
}

// configure adds what the plug-in reports about the environment that cfg asks for.
func (f *Found) configure(ctx context.Context, s *session, cfg Config) error {
	spec, _, err := s.configure(ctx, cfg, nil)
	if err == nil {
		f.of(spec)
	}
	return err
}

// of adds what an environment reports as configured.
func (f *Found) of(spec env.Spec) {
	f.Actions, f.FeatureShape, f.MaxSteps, f.Tools, f.Tasks = spec.Actions, spec.FeatureShape, spec.MaxSteps, spec.Tools, spec.Tasks
	f.Encodes = spec.Encodes
}
