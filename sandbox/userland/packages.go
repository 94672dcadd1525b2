package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// There is no network. What a script installs is there, or is refused by name.

// provided are the packages of Debian and Ubuntu whose commands the userland has, or that have
// none which a script would miss.
var provided = strings.Fields(`apt-transport-https apt-utils bash ca-certificates coreutils curl dash diffutils file findutils gawk gnupg grep gzip jq
	locales mawk musl-locales procps py3-numpy py3-pip py3-pytest python-is-python3 python3 python3-minimal python3-numpy python3-pip python3-pytest python3-venv python3-setuptools python3-wheel
	sed software-properties-common sudo tar time tree tzdata unzip util-linux wget xxd zip`)

// apt is also Alpine's apk, as far as scripts differ.
func apt(c *call) int {
	var rest []string
	for args := c.args; len(args) > 0; {
		if args = beyond(args, "-o -t -c --option --target-release --virtual -X --repository"); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	if len(rest) == 0 {
		c.usage("no operation given")
	}
	switch rest[0] {
	case "update", "upgrade", "dist-upgrade", "full-upgrade", "clean", "autoclean", "autoremove", "remove", "purge", "del", "fix", "cache":
		c.print("Reading package lists...\n")
		return 0
	case "install", "add":
	case "list", "show", "policy", "search", "info":
		for _, name := range rest[1:] {
			if slices.Contains(provided, name) {
				c.print(name, " [installed]\n")
			}
		}
		return 0
	default:
		fmt.Fprintf(c.err, "E: Invalid operation %s\n", rest[0])
		return 100
	}
	status := 0
	for _, name := range rest[1:] {
		bare, _, _ := strings.Cut(name, "=")
		if slices.Contains(provided, bare) {
			c.print(bare, " is already the newest version.\n")
			continue
		}
		if c.deferred("apt " + bare) {
			continue
		}
		fmt.Fprintf(c.err, "E: Unable to locate package %s: this machine has no network, and no such command\n", bare)
		status = 100
	}
	return status
}

// deferredFile lists what was installed but is not there, if it exists. Many images install
// what nobody uses, so that this matters only when a program asks for it.
const deferredFile = "/etc/merit/deferred"

// deferred notes that something is missing, and reports whether that may be ignored.
func (c *call) deferred(what string) bool {
	f, err := os.OpenFile(deferredFile, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.WriteString(what + "\n")
	return err == nil
}

// download is curl and wget. The only thing that they can fetch is the installer of uv, which
// is there already.
func download(c *call) int {
	for _, a := range c.args {
		if strings.HasPrefix(a, "https://astral.sh/uv/") && strings.HasSuffix(a, "install.sh") {
			c.print("#!/bin/sh\necho 'uv is installed already'\n")
			return 0
		}
	}
	host := "the host"
	for _, a := range c.args {
		if _, rest, ok := strings.Cut(a, "://"); ok {
			host, _, _ = strings.Cut(rest, "/")
		}
	}
	if c.name == "wget" {
		fmt.Fprintf(c.err, "wget: unable to resolve host address ‘%s’: this machine has no network\n", host)
		return 4
	}
	fmt.Fprintf(c.err, "curl: (6) Could not resolve host: %s: this machine has no network\n", host)
	return 6
}

// beyond returns what follows the options of a program, of which some take a value.
func beyond(args []string, valued string) []string {
	takes := strings.Fields(valued)
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		option := args[0]
		args = args[1:]
		if option == "--" {
			break
		}
		if slices.Contains(takes, option) && len(args) > 0 {
			args = args[1:]
		}
	}
	return args
}

const uvOptions = "-p --python -w --with --from --with-requirements --with-editable --index-url --index --default-index --extra-index-url --extra --group --project --directory --link-mode " +
	"--cache-dir --config-file --env-file --exclude-newer --index-strategy --keyring-provider --resolution --prerelease --python-preference --python-platform --color " +
	"-c --constraints --constraint --overrides --override --build-constraints --refresh-package --reinstall-package --upgrade-package -P --no-build-package --no-binary-package " +
	"--torch-backend --fork-strategy --allow-insecure-host --default-timeout --with-executables-from --no-group --only-group --package --config-setting -C -f --find-links"

// uvx runs a command of an installed package.
func uvx(c *call) int {
	rest := beyond(c.args, uvOptions)
	if len(rest) == 0 {
		c.usage("no command given")
	}
	name, _, _ := strings.Cut(rest[0], "@")
	return c.run(c, append([]string{name}, rest[1:]...))
}

func uv(c *call) int {
	args := beyond(c.args, uvOptions)
	if len(args) == 0 {
		c.print("uv 0.9.7\n")
		return 0
	}
	name, rest := args[0], args[1:]
	switch name {
	case "init", "venv", "sync", "lock", "python", "cache", "self":
		return 0
	case "version":
		c.print("uv 0.9.7\n")
		return 0
	case "pip":
		return c.run(c, append([]string{"pip"}, rest...))
	case "add":
		return c.run(c, append([]string{"pip", "install"}, rest...))
	case "tool":
		if len(rest) > 0 && rest[0] == "run" {
			child := *c
			child.args = rest[1:]
			return uvx(&child)
		}
		return 0
	case "run":
		rest = beyond(rest, uvOptions)
		if len(rest) > 0 && strings.HasSuffix(rest[0], ".py") {
			rest = append([]string{"python3"}, rest...)
		}
		return c.run(c, rest)
	}
	return c.fail("the command %s of uv does not exist on this machine", name)
}

// useradd adds a user to the list of users. Every file and program still belongs to root.
func useradd(c *call) int {
	name, home, shell := "", "", "/bin/sh"
	for i := 0; i < len(c.args); i++ {
		switch a := c.args[i]; {
		case (a == "-d" || a == "--home-dir" || a == "--home") && i+1 < len(c.args):
			i++
			home = c.args[i]
		case (a == "-s" || a == "--shell") && i+1 < len(c.args):
			i++
			shell = c.args[i]
		case slices.Contains(strings.Fields("-u --uid -g --gid -G --groups -c --comment --gecos -p --password -k -e"), a):
			i++
		case !strings.HasPrefix(a, "-"):
			name = a
		}
	}
	users, _ := os.ReadFile("/etc/passwd")
	switch {
	case name == "":
		c.usage("no user given")
	case strings.Contains("\n"+string(users), "\n"+name+":"):
		c.fail("user '%s' already exists", name)
		return 9
	}
	id := 1000 + strings.Count(string(users), "\n") - 1
	home = cmpOr(home, "/home/"+name)
	list := map[string]string{
		"/etc/passwd": fmt.Sprintf("%s:x:%d:%d::%s:%s\n", name, id, id, home, shell),
		"/etc/group":  fmt.Sprintf("%s:x:%d:\n", name, id),
	}
	for file, line := range list {
		before, _ := os.ReadFile(file)
		if err := os.WriteFile(file, append(before, line...), 0o644); err != nil {
			return c.fail("%s", err)
		}
	}
	_ = os.MkdirAll(home, 0o755)
	return 0
}

// su runs a command, as root.
func su(c *call) int {
	for i, a := range c.args {
		if (a == "-c" || a == "--command") && i+1 < len(c.args) {
			return c.run(c, []string{"sh", "-c", c.args[i+1]})
		}
		if a == "--" && i+1 < len(c.args) {
			return c.run(c, c.args[i+1:])
		}
	}
	return 0
}

// dpkg answers queries.
func dpkg(c *call) int {
	o, names := c.parse("s|status l|list L|listfiles W|show f|showformat= i|install print-architecture configure a")
	if o.has("print-architecture") {
		c.print("amd64\n")
		return 0
	}
	status := 0
	for _, name := range names {
		if !slices.Contains(provided, name) {
			fmt.Fprintf(c.err, "dpkg-query: package '%s' is not installed and no information is available\n", name)
			status = 1
			continue
		}
		c.print("Package: ", name, "\nStatus: install ok installed\n")
	}
	return status
}

// ps lists the only process that a command can see.
func ps(c *call) int {
	c.print("    PID TTY          TIME CMD\n      1 ?        00:00:00 bash\n")
	return 0
}

func file(c *call) int {
	o, names := c.parse("b|brief i|mime mime-type L")
	for _, name := range names {
		if !o.has("b") {
			c.print(name, ": ")
		}
		c.print(kindOfFile(c.path(name)), "\n")
	}
	return 0
}

func kindOfFile(at string) string {
	info, err := os.Stat(at)
	if err != nil {
		return "cannot open (No such file or directory)"
	}
	if info.IsDir() {
		return "directory"
	}
	data, _ := os.ReadFile(at)
	text := string(data)
	switch {
	case text == "":
		return "empty"
	case strings.HasPrefix(text, "\x1f\x8b"):
		return "gzip compressed data"
	case strings.HasPrefix(text, "PK\x03\x04"):
		return "Zip archive data"
	case strings.HasPrefix(text, "\x7fELF"):
		return "ELF 64-bit LSB executable"
	case strings.HasPrefix(text, "\x89PNG"):
		return "PNG image data"
	case strings.HasPrefix(text, "#!") && strings.Contains(text[:min(len(text), 80)], "python"):
		return "Python script, ASCII text executable"
	case strings.HasPrefix(text, "#!"):
		return "Bourne-Again shell script, ASCII text executable"
	case strings.IndexByte(text, 0) >= 0:
		return "data"
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return "JSON text data"
	}
	for _, b := range data {
		if b >= 128 {
			return "Unicode text, UTF-8 text"
		}
	}
	return "ASCII text"
}
