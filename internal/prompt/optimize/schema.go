package optimize

import (
	_ "embed"
	"reflect"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

//go:generate go run ../../../cmd/internal/configdocs ../../.. configdocs.json optimize

// configDocs is what the source says of each key.
//
//go:embed configdocs.json
var configDocs []byte

// Schema returns the JSON Schema of a search's configuration, for editors.
//
//	# yaml-language-server: $schema=optimize.schema.json
func Schema() ([]byte, error) {
	words := map[string][]string{}
	c := DefaultConfig()
	config.EachText(c, func(path string, value reflect.Value) {
		before := value.String()
		value.SetString("\x00")
		for _, problem := range c.Validate() {
			if f := fault.As(problem); f.Where == path && f.Allowed != nil {
				words[path] = f.Allowed
			}
		}
		value.SetString(before)
	})
	d := config.Description{Title: "Merit prompt optimisation", Words: words}
	if err := strictjson.Unmarshal(configDocs, &d.Comments); err != nil {
		return nil, err
	}
	return config.Schema(DefaultConfig(), d)
}
