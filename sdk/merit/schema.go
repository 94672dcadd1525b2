package merit

import (
	_ "embed"
	"reflect"

	"github.com/merit-rl/merit/core/config"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

//go:generate go run ../../cmd/internal/configdocs ../.. configdocs.json train

// configDocs is what the source says of each key.
//
//go:embed configdocs.json
var configDocs []byte

// Schema returns the JSON Schema of a configuration, for editors: every key
// with its type, its default, what it means, and the words that it takes where
// they are a closed set.
//
//	# yaml-language-server: $schema=train.schema.json
func Schema() ([]byte, error) {
	d := config.Description{Title: "Merit training configuration", Words: Words()}
	if err := strictjson.Unmarshal(configDocs, &d.Comments); err != nil {
		return nil, err
	}
	return config.Schema(DefaultConfig(), d)
}

// Words returns the closed set of words of every key that has one, by key path.
// It asks the stages themselves, with a word that none allows.
func Words() map[string][]string {
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
	return words
}

// Keys returns every key path of a configuration, in the order of the file.
func Keys() []string { return config.Keys(DefaultConfig()) }
