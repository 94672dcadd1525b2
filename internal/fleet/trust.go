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
	"github.com/merit-rl/merit/internal/asking"
	"github.com/merit-rl/merit/internal/judge/judging"
	"github.com/merit-rl/merit/internal/rubric/rubrics"
	"github.com/merit-rl/merit/sdk/merit"
)

// trusted returns the TLS configuration for cfg, or nil if cfg names no TLS files.
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
			return nil, wrong("ca", nil, "no certificate was found in "+cfg.CA)
		}
	}
	if cfg.Cert != "" {
		own, err := tls.LoadX509KeyPair(cfg.Cert, cfg.CertKey)
		if err != nil {
			return nil, wrong("cert", err, "the certificate of this process cannot be used")
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

// Grants is what jobs may use of a worker.
type Grants struct {
	// Plugins lists the digests of the plug-ins that jobs may start, as sha256:…. Nil allows
	// all plug-ins.
	Plugins []string
	// Variables are the names of environment variables whose values jobs may read. The fleet
	// key is never among them.
	Variables []string
}

// confine limits the configuration of a job in dir to what a worker allows to anyone who may
// send jobs. Its rewards and tasks may read only files of the job, links included; Merit's folders are
// the worker's own; and the job gets only the allowed variables. Merit does not limit what a
// plug-in reads, which is why plug-ins have a list of allowed digests.
func confine(cfg *merit.Config, dir string, links []string, grants Grants) error {
	cfg.Sandbox.CacheDir, cfg.Sandbox.InterpreterDir = "", ""
	var errs []error
	whose := "its rewards read"
	own := func(path string) string {
		name, err := filepath.Rel(dir, path)
		parts := strings.Split(filepath.ToSlash(name), "/")
		if err != nil || len(parts) < 3 || parts[0] != "files" {
			errs = append(errs, fmt.Errorf("%s %.200q, which is not one of its files", whose, path))
			return path
		}
		root := strings.Join(parts[:2], "/") + "/"
		if i := slices.IndexFunc(links, func(link string) bool { return strings.HasPrefix(link+"/", root) }); i >= 0 {
			errs = append(errs, fmt.Errorf("%s the link %.200q", whose, links[i]))
		}
		return path
	}
	for _, r := range cfg.Rewards {
		r.EachPath(own)
	}
	if whose = "its tasks are"; cfg.Environment.Harbor != "" {
		own(cfg.Environment.Harbor)
	}
	if len(errs) > 0 {
		return refusedJob(errors.Join(errs...), "check who sent it: Merit does not pack such jobs")
	}
	return checkGrants(variablesOf(cfg), grants.Variables)
}

// variablesOf returns the names of environment variables that a job uses: those passed to
// plug-ins and those that hold keys of judges and of models that rewards ask.
func variablesOf(cfg *merit.Config) []string {
	names := slices.Concat(cfg.Environment.PassEnv, cfg.Policy.PassEnv)
	for _, part := range cfg.Environment.Mixture {
		names = append(names, part.PassEnv...)
	}
	for _, r := range cfg.Rewards {
		for _, part := range r.Chain() {
			names = append(names, keysOf(part)...)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// keysOf returns the names of the environment variables with the keys of a reward's models.
func keysOf(r merit.Reward) (names []string) {
	if c := judging.Of(r); c != nil {
		names = append(names, c.Server.KeyEnv)
	}
	if c := asking.Of(r); c != nil && c.Server != nil {
		names = append(names, c.Server.KeyEnv)
	}
	if c := rubrics.Of(r); c != nil && c.Judge != nil && c.Judge.Server != nil {
		names = append(names, c.Judge.Server.KeyEnv)
	}
	return names
}

// checkGrants returns an error if a job wants variables that the worker does not allow. Only the text
// reaches the coordinator, not the hint, so the text says what to do.
func checkGrants(want, grants []string) error {
	kept := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return slices.Contains(grants, name) && name != KeyVariable })
	if len(kept) == 0 {
		return nil
	}
	if slices.Contains(kept, KeyVariable) {
		return refusedJob(errors.New("the worker's own key, "+KeyVariable), "check who sent it")
	}
	if len(kept) > 8 {
		kept = append(kept[:8], "…")
	}
	names := strings.Join(kept, ",")
	return refusedJob(
		fmt.Errorf("the environment variables %.300s; it allows only those that merit fleet worker --pass-env names", names),
		"start workers with --pass-env "+names+", or remove them from environment.pass_env, policy.pass_env and the key_env of judges and of rewards[].ask",
	)
}

// checkVariables returns an error if a name is not one of a variable that a worker can share.
func checkVariables(names []string) error {
	var problems []error
	wrong := func(what, hint string) {
		problems = append(problems, &fault.Error{Boundary: fault.CLI, Kind: fault.Invalid, Where: "--pass-env", What: what, Hint: hint})
	}
	for _, name := range names {
		switch {
		case name == KeyVariable:
			wrong(name+" is this worker's own key, which jobs never get", "leave it out")
		case !variableName.MatchString(name):
			wrong(fmt.Sprintf("%.40q is not the name of a variable", name), "give names only; the values stay in the environment")
		}
	}
	return errors.Join(problems...)
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
