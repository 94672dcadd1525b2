package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/judge/judging"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/sdk/merit"
)

// trusted is TLS as cfg has it; nil if it names nothing.
func trusted(cfg Config) (*tls.Config, error) {
	if cfg.CA == "" && cfg.Cert == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	wrong := func(key string, err error, what string) error {
		return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: "fleet." + key, What: what, Err: err, Hint: "name PEM files, such as those of merit fleet keygen"}
	}
	if cfg.CA != "" {
		text, err := os.ReadFile(cfg.CA)
		if err != nil {
			return nil, wrong("ca", err, "the authority's certificate cannot be read")
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, wrong("ca", nil, "there is no certificate in "+cfg.CA)
		}
	}
	if cfg.Cert != "" {
		own, err := tls.LoadX509KeyPair(cfg.Cert, cfg.CertKey)
		if err != nil {
			return nil, wrong("cert", err, "the own certificate cannot be used")
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

// Lent is what a worker lends to jobs of its own.
type Lent struct {
	// Plugins lists the digests, as sha256:…, of the plug-ins that jobs may start;
	// nil is all.
	Plugins []string
	// Variables are those of its environment whose values jobs may have. The key of
	// the fleet is never one.
	Variables []string
}

// confine holds the configuration of a job that lies in dir to what a worker lends
// to anybody who may send jobs: its rewards read files of the job and no others,
// also behind links, Merit's folders are the worker's own, and it gets the variables
// that are lent. What a plug-in reads is its own affair, which is why plug-ins are
// listed.
func confine(cfg *merit.Config, dir string, links []string, lent Lent) error {
	cfg.Sandbox.CacheDir, cfg.Sandbox.InterpreterDir = "", ""
	var errs []error
	own := func(path string) string {
		name, err := filepath.Rel(dir, path)
		parts := strings.Split(filepath.ToSlash(name), "/")
		if err != nil || len(parts) < 3 || parts[0] != "files" {
			errs = append(errs, fmt.Errorf("its rewards read %.200q, which is none of its files", path))
			return path
		}
		root := strings.Join(parts[:2], "/") + "/"
		if i := slices.IndexFunc(links, func(link string) bool { return strings.HasPrefix(link+"/", root) }); i >= 0 {
			errs = append(errs, fmt.Errorf("its rewards read the link %.200q", links[i]))
		}
		return path
	}
	for _, r := range cfg.Rewards {
		r.EachPath(own)
	}
	if len(errs) > 0 {
		return refusedJob(errors.Join(errs...), "look at who sent it: Merit packs no such job")
	}
	return lend(variablesOf(cfg), lent.Variables)
}

// variablesOf are the variables of a worker's environment that a job gets, or that
// its judges' keys stand in.
func variablesOf(cfg *merit.Config) []string {
	names := slices.Concat(cfg.Environment.PassEnv, cfg.Policy.PassEnv)
	for _, r := range cfg.Rewards {
		if c := judging.Of(r); c != nil {
			names = append(names, c.Server.KeyEnv)
		}
		if c := rubrics.Of(r); c != nil && c.Judge != nil && c.Judge.Server != nil {
			names = append(names, c.Judge.Server.KeyEnv)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// lend is why a job cannot have the variables that it wants. Its text goes to the
// coordinator, who sees no hint: it says what to do.
func lend(want, lent []string) error {
	kept := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return slices.Contains(lent, name) && name != KeyVariable })
	if len(kept) == 0 {
		return nil
	}
	if slices.Contains(kept, KeyVariable) {
		return refusedJob(errors.New("the worker's own key, "+KeyVariable), "look at who sent it")
	}
	if len(kept) > 8 {
		kept = append(kept[:8], "…")
	}
	names := strings.Join(kept, ",")
	return refusedJob(
		fmt.Errorf("the variables %.300s of its environment; it gives those that it was started with by merit fleet worker --pass-env", names),
		"start workers with --pass-env "+names+", or name no such variable in environment.pass_env, policy.pass_env and the key_env of judges",
	)
}

// checkLent refuses names of variables that a worker cannot lend.
func checkLent(names []string) error {
	var problems []error
	wrong := func(what, hint string) {
		problems = append(problems, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "--pass-env", What: what, Hint: hint})
	}
	for _, name := range names {
		switch {
		case name == KeyVariable:
			wrong(name+" is this worker's own key, which no job gets", "leave it out")
		case !variableName.MatchString(name):
			wrong(fmt.Sprintf("%.40q is no name of a variable", name), "give names only; the values stay in the environment")
		}
	}
	return errors.Join(problems...)
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
