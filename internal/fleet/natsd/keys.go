package natsd

import (
	"github.com/nats-io/nkeys"

	"github.com/merit-rl/merit/core/fault"
)

// Role is what somebody may do.
type Role string

// The roles.
const (
	Coordinator Role = "coordinator" // makes the queue, submits work, takes results, sees and drains workers
	Worker      Role = "worker"      // takes work, gives results, says how it is
	Watcher     Role = "watcher"     // sees workers, queues and logs
)

// User is somebody whom a server lets in.
type User struct {
	Key  string // public: U and 55 letters and digits
	Role Role
	Team string // sees nothing of others; empty is DefaultTeam
}

// NewKey makes a pair. The seed is the secret: nothing but it proves who has it.
func NewKey() (seed []byte, public string, err error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	if seed, err = pair.Seed(); err != nil {
		return nil, "", err
	}
	public, err = pair.PublicKey()
	return seed, public, err
}

// Public returns the public key of a seed.
func Public(seed []byte) (string, error) {
	pair, err := nkeys.FromSeed(seed)
	if err != nil {
		return "", &fault.Error{Boundary: fault.Fleet, Kind: fault.Invalid, What: "the key is no nkey seed", Hint: "make one with the command that makes keys"}
	}
	defer pair.Wipe()
	return pair.PublicKey()
}

// Permissions are subjects that a role may publish to and hear, for the user
// with a public key. None of both is everything in the user's account.
//
// The server minds to where one publishes, and not to where one has it answer: what
// a key may read must never be what it, or a key of another role, may write, or else
// it can have the server send that anywhere, such as an order to other workers. So a
// worker reads only what coordinators write, and a watcher only answers that the
// server wraps. What a worker says and gives has its key in the subject where the
// queue allows that.
func (r Role) Permissions(public string) (publish, subscribe []string) {
	inbox := "_INBOX_" + public + ".>"
	switch r {
	case Worker:
		return []string{
			"merit.result.>", "merit.dead." + public + ".*", "merit.worker." + public + ".*", "merit.log." + public + ".*", "merit.body." + public + ".>",
			"$JS.ACK.MERIT_WORK.>", "$JS.API.CONSUMER.MSG.NEXT.MERIT_WORK.>", "$JS.API.CONSUMER.INFO.MERIT_WORK.>",
			"$JS.API.CONSUMER.LIST.MERIT_WORK", "$JS.API.STREAM.INFO.MERIT_WORK",
			"$JS.API.STREAM.INFO.OBJ_merit-contents", "$JS.API.DIRECT.GET.OBJ_merit-contents.>", "$JS.API.STREAM.MSG.GET.OBJ_merit-contents",
			"$JS.API.CONSUMER.CREATE.OBJ_merit-contents.>", "$JS.API.CONSUMER.DELETE.OBJ_merit-contents.>", "$JS.FC.OBJ_merit-contents.>",
		}, []string{inbox, "merit.control.all", "merit.control." + public + ".*"}
	case Watcher:
		return []string{
			"$JS.API.INFO", "$JS.API.STREAM.INFO.MERIT_WORKERS", "$JS.API.STREAM.INFO.MERIT_LOGS", "$JS.API.STREAM.INFO.MERIT_WORK",
			"$JS.API.STREAM.INFO.MERIT_RESULTS", "$JS.API.STREAM.INFO.MERIT_DEAD", "$JS.API.CONSUMER.LIST.MERIT_WORK", "$JS.API.STREAM.MSG.GET.MERIT_WORK",
			"$JS.API.STREAM.MSG.GET.MERIT_WORKERS", "$JS.API.STREAM.MSG.GET.MERIT_LOGS",
		}, []string{inbox, "merit.worker.>"}
	}
	return nil, nil
}
