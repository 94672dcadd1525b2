package councils

import (
	_ "embed"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/internal/base/strictjson"
	"github.com/merit-rl/merit/internal/council"
)

//go:generate go run ../../../cmd/internal/configdocs ../../.. configdocs.json council

// configDocs is what the source says of each key.
//
//go:embed configdocs.json
var configDocs []byte

// Schema returns the JSON Schema of a council's configuration, for editors.
//
//	# yaml-language-server: $schema=council.schema.json
func Schema() ([]byte, error) {
	d := config.Description{Title: "Merit council", Words: map[string][]string{"council.credit": {council.Team, council.Own, council.Gain}}}
	if err := strictjson.Unmarshal(configDocs, &d.Comments); err != nil {
		return nil, err
	}
	return config.Schema(DefaultConfig(), d)
}
