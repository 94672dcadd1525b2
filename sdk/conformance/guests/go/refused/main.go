// Package main tries what its conversation's last answer names, and scores 0 if
// that fails, as if the answer were wrong.
package main

import (
	"math/rand/v2"
	"mime"
	"net"
	"os"
	"time"

	"github.com/merit-rl/merit/sdk/reward"
)

func init() {
	reward.Register(func(r *reward.Rollout) reward.Result {
		if try(r.Answer()) != nil {
			return reward.Score(0)
		}
		return reward.Score(1)
	})
}

func try(what string) (err error) {
	switch what {
	case "read":
		_, err = os.ReadFile("/etc/passwd")
	case "write":
		err = os.WriteFile("/tmp/log.txt", nil, 0o600)
	case "relative":
		_, err = os.ReadFile("data/answers.json")
	case "stat":
		_, err = os.Stat("/data")
	case "mkdir":
		err = os.Mkdir("/tmp/x", 0o700)
	case "list":
		_, err = os.ReadDir(".")
	case "dial":
		_, err = net.Dial("tcp", "example.com:80")
	default:
		_ = time.Now().Local().Format(time.RFC1123) + mime.TypeByExtension(".html") + os.Getenv("KEY") + string(rune(rand.IntN(9)))
	}
	return err
}

func main() {}
