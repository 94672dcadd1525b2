package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/sdk/plugin/wire"
)

// Found is what a plug-in says of itself.
type Found struct {
	Name         string          `json:"name"`
	Path         string          `json:"path"`
	Version      string          `json:"version,omitempty"`
	Digest       string          `json:"digest,omitempty"` // hexadecimal SHA-256 of the binary
	Protocol     uint32          `json:"protocol,omitempty"`
	Summary      string          `json:"summary,omitempty"`
	Options      json.RawMessage `json:"options,omitempty"`       // every option with its default
	Actions      []string        `json:"actions,omitempty"`       // with default options
	FeatureShape []int           `json:"feature_shape,omitempty"` // with default options
	MaxSteps     int             `json:"max_steps,omitempty"`     // with default options
	Err          error           `json:"-"`                       // why what follows Path is empty
}

// Find returns the path of a plug-in given by path or by name. A name is
// looked up in dirs, in order.
func Find(plugin string, dirs ...string) (string, error) {
	if strings.ContainsRune(plugin, filepath.Separator) {
		return plugin, checkBinary(plugin)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, plugin)
		if checkBinary(path) == nil {
			return path, nil
		}
	}
	return "", &fault.Error{
		Boundary: fault.Plugin, Kind: fault.Missing, Where: plugin,
		What: fmt.Sprintf("there is no plug-in of this name in %s", strings.Join(dirs, ", ")),
		Hint: "build it with `make build`, give its path, or see `merit plugins list`",
	}
}

// Inspect starts a plug-in to ask who it is. A plug-in that has no answer to
// its default options is described without them.
func Inspect(ctx context.Context, path string) (Found, error) {
	found := Found{Name: nameOf(path), Path: path}
	cfg := DefaultConfig()
	cfg.Path = path
	s, err := start(ctx, cfg)
	if err != nil {
		return found, err
	}
	defer s.close()
	d := s.description
	found.Name, found.Version, found.Protocol = d.Name, d.Version, d.Protocol
	found.Summary, found.Options = d.Summary, d.Options
	if found.Digest, err = Digest(path); err != nil {
		return found, err
	}
	if spec, err := s.configure(ctx, wire.Configuration{Slots: 1, Split: cfg.Split}, cfg.StartTimeout); err == nil {
		found.Actions, found.FeatureShape, found.MaxSteps = spec.Actions, spec.FeatureShape, spec.MaxSteps
	}
	return found, nil
}

// Discover inspects every executable file in dirs. One that is no working
// plug-in is listed with its error; a folder that does not exist is empty.
func Discover(ctx context.Context, dirs ...string) ([]Found, error) {
	var all []Found
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, &fault.Error{Boundary: fault.Plugin, Kind: fault.Missing, Where: dir, What: "cannot be listed", Err: err}
		}
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			if checkBinary(path) != nil {
				continue
			}
			found, err := Inspect(ctx, path)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			found.Err = err
			all = append(all, found)
		}
	}
	return all, nil
}
