package guest

// Languages returns the table. The order decides which one a folder with
// several is taken for.
func Languages() []Language {
	return []Language{golang()}
}

func golang() Language {
	return Language{
		Name:   "go",
		Title:  "Go",
		Detect: has("*.go"),
		Needs:  map[string]string{"go": "install Go 1.24 or later from https://go.dev/dl"},
		Commands: func(folder, out string) []Command {
			return []Command{{
				Dir:  folder,
				Env:  []string{"GOOS=wasip1", "GOARCH=wasm"},
				Args: []string{"go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "."},
			}}
		},
		Template: "go",
		SDK:      map[string]string{"reward": "vendor/github.com/merit-rl/merit/sdk/reward"},
		Export: func(name string) string {
			switch name {
			case "merit_evaluate_group":
				return `import "github.com/merit-rl/merit/sdk/reward/group" and call group.Register in an init function`
			case "memory", "_initialize":
				return "build with merit reward build (go build -buildmode=c-shared)"
			}
			return `import "github.com/merit-rl/merit/sdk/reward", call reward.Register in an init function, and build with merit reward build (go build -buildmode=c-shared)`
		},
	}
}
