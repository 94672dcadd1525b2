package rewards

import (
	"context"
	"encoding/json"

	"github.com/merit-rl/merit/cmd/merit/internal/ui"
	"github.com/merit-rl/merit/sandbox"
)

// scriptInspection is what can be said of a script once it is loaded.
type scriptInspection struct {
	Module   string           `json:"module"`
	Digest   string           `json:"digest"` // of the files and the interpreter
	ABI      string           `json:"abi"`
	Powers   []string         `json:"powers"`
	Manifest sandbox.Manifest `json:"manifest"`
}

func (o *inspectOptions) script(ctx context.Context, path string) error {
	j, err := Load(ctx, o.host, sandbox.DefaultConfig(), path)
	if err != nil {
		return err
	}
	defer j.Close()
	m := j.Modules[0]
	info := m.Info()
	x := scriptInspection{Module: path, Digest: info.Digest, ABI: info.ABI, Powers: []string{"trajectory"}, Manifest: m.Manifest()}
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
	var t ui.Table
	t.Add("module", x.Module)
	t.Add("digest", x.Digest)
	t.Add("abi", x.ABI+"  "+x.Powers[0])
	t.Add("manifest", ui.Clean(string(manifest)))
	t.Add("warm-up", warmUps[x.Manifest.WarmUp])
	return t.Write(o.host.Stdout)
}
