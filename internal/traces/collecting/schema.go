package collecting

import (
	_ "embed"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

//go:generate go run ../../../cmd/internal/configdocs ../../.. configdocs.json collect

// configDocs is what the source says of each key.
//
//go:embed configdocs.json
var configDocs []byte

// Schema returns the JSON Schema of a collector's configuration, for editors.
//
//	# yaml-language-server: $schema=collect.schema.json
func Schema() ([]byte, error) {
	d := config.Description{Title: "Merit collector configuration"}
	if err := strictjson.Unmarshal(configDocs, &d.Comments); err != nil {
		return nil, err
	}
	return config.Schema(DefaultConfig(), d)
}
