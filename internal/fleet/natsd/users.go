package natsd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/renameio/v2"
	"github.com/nats-io/nkeys"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/fleet/queue"
)

// DefaultTeam is the team of users who are in no other.
const DefaultTeam = "merit"

// Team is who shares a fleet. What a team has, nobody of another team sees.
type Team struct {
	Name        string
	Storage     int64 // bytes of disk that its queues, results and contents may take; 0 = what the server has
	Connections int   // ends that may be connected at one time; 0 = any number
}

// Users is who may come to a server.
type Users struct {
	Users []User
	Teams []Team // by name: every one that a user is in, and others that the file names
}

// maxUsers bounds a file of users, in bytes: some 10,000 lines.
const maxUsers = 1 << 20

// ReadUsers reads a file of users. The error has every problem of it, with its
// line.
func ReadUsers(path string) (Users, error) {
	f, err := os.Open(path)
	if err != nil {
		return Users{}, unread(path, "the users cannot be read", err, "make the file with the command that makes keys")
	}
	defer f.Close() // only read
	text, err := io.ReadAll(io.LimitReader(f, maxUsers+1))
	if err != nil {
		return Users{}, unread(path, "the users cannot be read", err, "see the cause")
	}
	return ParseUsers(path, string(text))
}

// ParseUsers reads the text of a file of users, which errors call name. A line is
//
//	KEY ROLE [TEAM]
//	team NAME [storage=20GiB] [connections=100]
//
// and what follows # is a comment.
func ParseUsers(name, text string) (Users, error) {
	if len(text) > maxUsers || !utf8.ValidString(text) {
		return Users{}, invalid(name, "it is too large, or no text", "give each team a server of its own")
	}
	var u Users
	var problems []error
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := u.add(fmt.Sprintf("%s:%d", name, i+1), words); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) == 0 && len(u.Users) == 0 {
		problems = append(problems, invalid(name, "it names nobody", "add a line KEY ROLE for each key"))
	}
	for _, user := range u.Users {
		u.team(user.Team)
	}
	slices.SortFunc(u.Teams, func(a, b Team) int { return strings.Compare(a.Name, b.Name) })
	return u, errors.Join(problems...)
}

// add adds what one line says.
func (u *Users) add(where string, words []string) error {
	if words[0] == "team" {
		return u.addTeam(where, words[1:])
	}
	if len(words) < 2 || len(words) > 3 {
		return invalid(where, "it is neither KEY ROLE TEAM nor team NAME", "write the public key, one of coordinator, worker and watcher, and perhaps a team")
	}
	user := User{Key: words[0], Role: Role(words[1]), Team: DefaultTeam}
	if len(words) == 3 {
		user.Team = words[2]
	}
	switch {
	case nkeys.IsValidPublicUserKey(user.Key) && len(user.Key) == 56: // of a seed the error must show nothing
	case strings.HasPrefix(user.Key, "SU"):
		return invalid(where, "it holds a secret key", "write the public key, which begins with U, and make a new pair: this one was shown")
	default:
		return invalid(where, "its first word is no public key", "write the key that begins with U")
	}
	if !slices.Contains([]Role{Coordinator, Worker, Watcher}, user.Role) {
		return &fault.Error{Boundary: fault.Fleet, Kind: fault.Invalid, Where: where, What: fmt.Sprintf("%.40q is no role", user.Role), Hint: "use coordinator, worker or watcher", Allowed: []string{string(Coordinator), string(Worker), string(Watcher)}}
	}
	if !queue.Word(user.Team) {
		return invalid(where, fmt.Sprintf("%.40q cannot name a team", user.Team), "use letters, digits and dashes, 32 at most")
	}
	if slices.ContainsFunc(u.Users, func(other User) bool { return other.Key == user.Key }) {
		return invalid(where, "the key has a line above", "give everybody a key")
	}
	u.Users = append(u.Users, user)
	return nil
}

func (u *Users) addTeam(where string, words []string) error {
	if len(words) == 0 || !queue.Word(words[0]) {
		return invalid(where, "the team has no name", "use letters, digits and dashes, 32 at most")
	}
	t := u.team(words[0])
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "storage":
			t.Storage, err = size(value)
		case "connections":
			t.Connections, err = strconv.Atoi(value)
			if t.Connections < 1 || t.Connections > 1<<20 {
				err = errors.New("from 1 to 1048576")
			}
		default:
			err = errors.New("there is storage= and connections=")
		}
		if err != nil {
			return invalid(where, fmt.Sprintf("%.40q is not allowed", word), "write storage=20GiB or connections=100")
		}
	}
	return nil
}

// team returns the team of a name, which is added if it is not there.
func (u *Users) team(name string) *Team {
	i := slices.IndexFunc(u.Teams, func(t Team) bool { return t.Name == name })
	if i < 0 {
		i = len(u.Teams)
		u.Teams = append(u.Teams, Team{Name: name})
	}
	return &u.Teams[i]
}

// size reads a number of bytes: 500MiB, 20GiB, 1TiB.
func size(text string) (int64, error) {
	for unit, shift := range map[string]int{"MiB": 20, "GiB": 30, "TiB": 40} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseInt(digits, 10, 22)
			if err != nil || n < 1 {
				return 0, errors.New("no size")
			}
			return n << shift, nil
		}
	}
	return 0, errors.New("no unit")
}

// AddUser adds a line to a file of users, which is made if it is not there. What
// stands there stays as it is; the result is a valid file, or nothing changes.
func AddUser(path, line string) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unread(path, "the users cannot be read", err, "see the cause")
	}
	text := string(before)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += line + "\n"
	if _, err := ParseUsers(path, text); err != nil {
		return err
	}
	if err := renameio.WriteFile(path, []byte(text), 0o644); err != nil {
		return unread(path, "the users cannot be written", err, "see the cause")
	}
	return nil
}
