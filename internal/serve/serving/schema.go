package serving

import (
	_ "embed"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/sandbox"
)

//go:generate go run ../../../cmd/internal/configdocs ../../.. configdocs.json serve

// configDocs is what the source says of each key.
//
//go:embed configdocs.json
var configDocs []byte

// Schema returns the JSON Schema of a server's configuration, for editors.
//
//	# yaml-language-server: $schema=serve.schema.json
func Schema() ([]byte, error) {
	d := config.Description{Title: "Merit server configuration", Words: map[string][]string{
		"sandbox.isolation": {"", string(sandbox.Snapshot), string(sandbox.Fresh), string(sandbox.Shared), string(sandbox.Process)},
	}}
	if err := strictjson.Unmarshal(configDocs, &d.Comments); err != nil {
		return nil, err
	}
	return config.Schema(DefaultConfig(), d)
}
