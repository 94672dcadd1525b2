package plugin_test

import (
	"encoding/json"
	"fmt"

	"github.com/merit-rl/merit/sdk/plugin"
)

// What a user wrote is decoded strictly; everything wrong with it is said at
// once, with its key. Merit puts the file and the line before it.
func ExampleProblem() {
	_, err := Corridor().Open(plugin.Setup{Slots: 1, Split: plugin.Train}, json.RawMessage(`{"length": 0, "width": 3}`))
	fmt.Println(err)
	// Output:
	// options.width: is not an option
	// options.length: must be positive, not 0
}
