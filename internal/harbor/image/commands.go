package image

import (
	"path"
	"slices"
	"strings"
)

// command is a simple command of a shell script.
type command struct {
	from, to int // where it is in the script
	words    []string
}

// commandsOf splits a script at operators and line ends outside quotes. It is not a shell: it
// finds the commands that install something, and leaves everything else to the machine.
func commandsOf(script string) (all []command) {
	c, quote := command{}, byte(0)
	end := func(k int) {
		c.to = k
		if c.words = strings.Fields(unquoted(script[c.from:c.to])); len(c.words) > 0 {
			all = append(all, c)
		}
		c = command{from: k + 1}
	}
	for k := 0; k < len(script); k++ {
		switch b := script[k]; {
		case b == '\\':
			k++
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '<' && strings.HasPrefix(script[k:], "<<"):
			end(k)
			return all // what follows is a document
		case b == '&' && (k > 0 && script[k-1] == '>' || k+1 < len(script) && script[k+1] == '>'):
		case strings.IndexByte(";&|\n(){}", b) >= 0:
			end(k)
		}
	}
	end(len(script))
	return all
}

var unquote = strings.NewReplacer("\\\n", " ", `"`, "", "'", "", "\\", "")

func unquoted(text string) string { return unquote.Replace(text) }

// prefix is how many words come before the name of the program.
func (c command) prefix() (n int) {
	for n < len(c.words) && (strings.Contains(c.words[n], "=") || slices.Contains([]string{"sudo", "env", "exec", "time", "then", "do", "if", "else", "elif", "while", "!"}, c.words[n])) {
		n++
	}
	return n
}

// install is what a command installs, and with which manager.
type install struct {
	manager string // apt, pip, or what else brings software
	names   []string
	files   []string // lists of requirements
	runs    string   // a package whose program is run at once
}

// installs returns what a command installs; ok is false if it is another command.
func (c command) installs() (i install, ok bool) {
	w := c.words[c.prefix():]
	if len(w) == 0 {
		return i, false
	}
	name := path.Base(w[0])
	if (strings.HasPrefix(name, "python")) && len(w) > 2 && w[1] == "-m" {
		w = w[2:]
		name = w[0]
	}
	if name == "uv" && len(w) > 1 && (w[1] == "pip" || w[1] == "add") {
		w, name = append([]string{"pip"}, w[2:]...), "pip"
		if c.words[1] == "add" {
			w = append([]string{"pip", "install"}, w[1:]...)
		}
	}
	switch name {
	case "uvx":
		return with(w[1:]), true
	case "apt-get", "apt", "aptitude", "apk", "yum", "dnf", "microdnf":
		return packages("apt", w[1:], "install", "add")
	case "pip", "pip3", "pip3.11", "pip3.12", "pip3.13":
		return packages("pip", w[1:], "install")
	case "npm", "yarn", "pnpm", "gem", "cargo", "conda", "mamba", "cpan", "luarocks", "composer", "opam", "stack", "cabal":
		return packages(name, w[1:], "install", "add", "i", "ci", "build", "global")
	case "add-apt-repository", "apt-key":
		return install{manager: "apt"}, true
	}
	return i, false
}

// with reads the packages that uvx installs: those of --with, and not the program, whose own
// package is one of them or is installed.
func with(args []string) (i install) {
	i.manager = "pip"
	for k := 0; k < len(args); k++ {
		switch a := args[k]; {
		case a == "--from" && k+1 < len(args):
			k++
			i.runs = args[k]
		case (a == "-w" || a == "--with") && k+1 < len(args):
			k++
			i.names = append(i.names, strings.Split(args[k], ",")...)
		case strings.HasPrefix(a, "--with="):
			i.names = append(i.names, strings.Split(strings.TrimPrefix(a, "--with="), ",")...)
		}
	}
	return i
}

// valued are flags of managers that a value follows.
var valued = []string{"-t", "-o", "-c", "--target-release", "-i", "--index-url", "--extra-index-url", "--find-links", "-f", "--constraint", "--target", "--python", "--timeout", "--retries", "--trusted-host", "--prefix", "--root", "--virtual", "-p"}

// packages reads the arguments of a manager: verbs are those that install.
func packages(manager string, args []string, verbs ...string) (i install, ok bool) {
	i.manager = manager
	verb := ""
	for k := 0; k < len(args); k++ {
		a := args[k]
		switch {
		case (a == "-r" || a == "--requirement") && k+1 < len(args):
			k++
			i.files = append(i.files, args[k])
		case strings.HasPrefix(a, "-r") && manager == "pip" && len(a) > 2 && !strings.HasPrefix(a, "--"):
			i.files = append(i.files, a[2:])
		case slices.Contains(valued, a):
			k++
		case strings.HasPrefix(a, "-") || strings.HasPrefix(a, ">") || strings.HasPrefix(a, "2>") || strings.HasPrefix(a, "/dev/"):
		case verb == "":
			if verb = a; !slices.Contains(verbs, verb) {
				return i, manager == "apt" || manager == "pip" && (verb == "cache" || verb == "config") || manager == "npm"
			}
		default:
			i.names = append(i.names, a)
		}
	}
	return i, true
}
