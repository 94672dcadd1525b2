package rewardcmd

import (
	"context"
	"encoding/json"

	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/sandbox"
)

// scriptInspection is what can be determined about a loaded script.
type scriptInspection struct {
	Module   string           `json:"module"`
	Digest   string           `json:"digest"` // of the files and the interpreter
	ABI      string           `json:"abi"`
	Powers   []string         `json:"powers"`
	Function string           `json:"function,omitempty"` // the chosen function
	With     json.RawMessage  `json:"with,omitempty"`     // its parameters
	Manifest sandbox.Manifest `json:"manifest"`
}

func (o *inspectOptions) script(ctx context.Context, n Named) error {
	j, err := Load(ctx, o.host, sandbox.DefaultConfig(), n)
	if err != nil {
		return err
	}
	defer j.Close()
	m := j.Modules[0]
	info := m.Info()
	x := scriptInspection{
		Module: n.Path, Digest: info.Digest, ABI: info.ABI, Powers: []string{"trajectory"}, Manifest: m.Manifest(),
		Function: info.Function, With: info.With,
	}
	if info.Group {
		x.Powers = []string{"group"}
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(x)
	}
	manifest, err := json.Marshal(x.Manifest)
	if err != nil {
		return err
	}
	var t terminal.Table
	t.Add("module", x.Module)
	if x.Function != "" {
		t.Add("function", x.Function)
	}
	if len(x.With) > 0 {
		t.Add("with", terminal.Clean(string(x.With)))
	}
	t.Add("digest", x.Digest)
	t.Add("abi", x.ABI+"  "+x.Powers[0])
	t.Add("manifest", terminal.Clean(string(manifest)))
	t.Add("warm-up", warmUps[x.Manifest.WarmUp])
	return t.Write(o.host.Stdout)
}
