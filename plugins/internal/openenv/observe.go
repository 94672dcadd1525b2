package openenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/openenv/shape"
	"github.com/merit-rl/merit/internal/wire"
	"github.com/merit-rl/merit/plugins/internal/parallel"
)

// observe reads the parts of an answer that the options name.
func (g *game) observe(a *shape.Answer) (parallel.Frame, error) {
	o := g.options.Observation
	f := parallel.Frame{Reward: a.Reward}
	var err error
	if f.Text, err = texts(a, o.Text); err != nil {
		return f, err
	}
	f.Anchor = f.Text
	if len(o.Anchor) > 0 {
		if f.Anchor, err = texts(a, o.Anchor); err != nil {
			return f, err
		}
	}
	if f.Features, err = g.features(a); err != nil {
		return f, err
	}
	if a.Done {
		f.Flags = env.Terminated
		if cut, _ := a.Lookup(o.Truncated); cut == true {
			f.Flags = env.Truncated
		}
	}
	over := f.Flags != 0
	if odd, _ := a.Lookup(o.Invalid); odd == true {
		f.Flags |= env.InvalidAction
	}
	if f.Mask, err = g.mask(a); err != nil {
		return f, err
	}
	if !over && len(f.Mask) > 0 && !slices.Contains(f.Mask, 1) {
		return f, errors.New("the episode continues but no choice is available")
	}
	return f, g.say(a, &f)
}

// texts joins the texts at paths.
func texts(a *shape.Answer, paths Paths) (string, error) {
	var parts []string
	for _, path := range paths {
		v, ok := a.Lookup(path)
		if !ok {
			return "", fmt.Errorf("the answer has no %s", path)
		}
		parts = append(parts, shape.Text(v))
	}
	text := strings.Join(parts, "\n\n")
	switch {
	case len(text) > wire.MaxText:
		return "", fmt.Errorf("%s has %d bytes of text, at most %d", strings.Join(paths, ", "), len(text), wire.MaxText)
	case text == "":
		return " ", nil // an observation is never empty
	}
	return text, nil
}

func (g *game) features(a *shape.Answer) (all []float32, err error) {
	o, n := g.options.Observation, g.spec(1).Features()
	for _, path := range o.Features {
		v, ok := a.Lookup(path)
		if !ok {
			return nil, fmt.Errorf("the answer has no %s", path)
		}
		if all, err = shape.Numbers(all, v, n); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	if len(all) != n {
		return nil, fmt.Errorf("%s have %d numbers, and the shape %v has %d", strings.Join(o.Features, ", "), len(all), o.Shape, n)
	}
	return all, nil
}

// mask returns which choices are available: all, unless the answer restricts them.
func (g *game) mask(a *shape.Answer) ([]byte, error) {
	o, choices := g.options.Observation, g.options.Action.Choices
	if g.options.Action.As != asChoices {
		return nil, nil
	}
	path := o.Mask + o.Legal // one of them is empty
	if path == "" {
		return slices.Repeat([]byte{1}, len(choices)), nil
	}
	v, ok := a.Lookup(path)
	list, is := v.([]any)
	if !ok || !is {
		if v == nil && a.Done {
			return make([]byte, len(choices)), nil
		}
		return nil, fmt.Errorf("%s is not a list", path)
	}
	mask := make([]byte, len(choices))
	if o.Mask != "" && len(list) != len(choices) {
		return nil, fmt.Errorf("%s has %d entries for %d choices", path, len(list), len(choices))
	}
	for i, item := range list {
		text := shape.Text(item)
		switch {
		case o.Mask != "" && (text == "1" || text == "true"):
			mask[i] = 1
		case o.Mask != "" && (text == "0" || text == "false"):
		case o.Mask != "":
			return nil, fmt.Errorf("%s has %s, neither 0 nor 1", path, wire.Clean(text, 60))
		default:
			// A legal action that is not one of our choices cannot be taken.
			if at := g.choice(item); at >= 0 {
				mask[at] = 1
			}
		}
	}
	return mask, nil
}

// choice returns the index of a choice that is given by name or index, or -1.
func (g *game) choice(item any) int {
	choices := g.options.Action.Choices
	if n, ok := item.(json.Number); ok {
		if i, err := n.Int64(); err == nil && i >= 0 && i < int64(len(choices)) {
			return int(i)
		}
		return -1
	}
	name, _ := item.(string)
	return slices.IndexFunc(choices, func(c Choice) bool { return c.Name == name })
}

// say adds metrics and infos to the frame.
func (g *game) say(a *shape.Answer, f *parallel.Frame) error {
	o := g.options.Observation
	metrics, _ := a.Lookup(o.Metrics)
	if object, ok := metrics.(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(object)) {
			value := shape.Text(object[name])
			if err := wire.CheckMetric(name, value); err != nil {
				return err
			}
			f.Events = append(f.Events, env.Event{Kind: env.EventMetric, Name: name, Message: value})
		}
	}
	for _, path := range o.Info {
		if v, ok := a.Lookup(path); ok {
			raw, err := json.Marshal(v)
			if err != nil {
				return err
			}
			f.Events = append(f.Events, env.Event{Kind: env.EventInfo, Name: path, Message: string(raw)})
		}
	}
	for _, e := range f.Events {
		if len(e.Name) > wire.MaxName || len(e.Message) > wire.MaxText {
			return fmt.Errorf("%s has more than %d bytes", wire.Clean(e.Name, 60), wire.MaxText)
		}
	}
	return nil
}
