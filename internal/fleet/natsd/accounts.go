package natsd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/httpd"
)

// check refuses a server that strangers of other machines could use.
func (o Options) check() error { return CheckLocks(o.Listen, len(o.Users) > 0, o.TLS != nil) }

// CheckLocks refuses to listen where strangers of other machines come by without
// users who are known and a certificate, and says all that is missing.
func CheckLocks(listen string, users, certificate bool) error {
	host, _, err := net.SplitHostPort(listen)
	if listen == "" || err != nil || httpd.Loopback(host) {
		return nil // none, or one that is refused when it is to be used
	}
	var problems []error
	refuse := func(what, hint string) {
		problems = append(problems, &fault.Error{Boundary: fault.Fleet, Kind: fault.Refused, Where: listen, What: what, Hint: hint})
	}
	if !users {
		refuse("a server that other machines reach lets in whoever has a key, and no key is known", "give it a file of users, or listen on 127.0.0.1")
	}
	if !certificate {
		refuse("a server that other machines reach speaks TLS, and there is no certificate", "give it a certificate and its key, or listen on 127.0.0.1")
	}
	return errors.Join(problems...)
}

// accounts gives each team an account, with its users and quotas. Those of kept have
// one although nobody is in them.
func accounts(opts *server.Options, users []User, teams []Team, kept map[string]bool) error {
	if len(users) == 0 {
		return nil
	}
	text, err := formed(users, teams, kept)
	if err != nil {
		return err
	}
	return opts.ProcessConfigString(string(text))
}

// teamMemory is how many bytes a team with a quota may keep in memory: what its
// workers say of themselves. The server reserves it, so it is not the quota of
// the disk, which may be more than there is memory.
const teamMemory = 128 << 20

// Accounts is the part of a NATS server's configuration that lets users in: an
// account for each team, with its quotas, and what each key may do in it. It is
// JSON, which the server reads as its own form, and the Helm chart as values.
func Accounts(users []User, teams []Team) ([]byte, error) {
	return formed(users, teams, nil)
}

func formed(users []User, teams []Team, kept map[string]bool) ([]byte, error) {
	all := map[string]*account{}
	for team := range kept {
		all[team] = &account{JetStream: "enabled", Users: []any{}}
	}
	for _, u := range users {
		team := cmp.Or(u.Team, DefaultTeam)
		if all[team] == nil {
			all[team] = &account{JetStream: "enabled"}
		}
		all[team].Users = append(all[team].Users, u.form())
	}
	for _, t := range teams {
		a := all[t.Name]
		if a == nil {
			continue // nobody is in it
		}
		if t.Storage > 0 {
			a.JetStream = map[string]int64{"max_file": t.Storage, "max_mem": teamMemory}
		}
		if t.Connections > 0 {
			a.Limits = map[string]int{"max_connections": t.Connections}
		}
	}
	var text bytes.Buffer
	form := json.NewEncoder(&text)
	form.SetEscapeHTML(false) // the server knows no \u003e
	form.SetIndent("", "  ")
	err := form.Encode(map[string]any{"accounts": all})
	return text.Bytes(), err
}

// account is a team in the server's own form.
type account struct {
	JetStream any            `json:"jetstream"`
	Limits    map[string]int `json:"limits,omitempty"`
	Users     []any          `json:"users"`
}

// form is a user in the server's own form, with what the role may do.
func (u User) form() any {
	publish, subscribe := u.Role.Permissions(u.Key)
	if publish == nil {
		return map[string]any{"nkey": u.Key}
	}
	may := map[string]any{"publish": map[string]any{"allow": publish}, "subscribe": map[string]any{"allow": subscribe}}
	if u.Role == Worker { // it is asked to drain, and answers once, within a minute
		may["allow_responses"] = map[string]any{"max": 1, "expires": "1m"}
	}
	return map[string]any{"nkey": u.Key, "permissions": may}
}
