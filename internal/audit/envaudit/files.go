package envaudit

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/audit"
)

// The bounds of the layout, in bytes: of an archive and of any file.
const (
	maxArchive = 1 << 20
	maxFile    = 64 << 20
)

// file is one file of a package.
type file struct {
	path string // relative, with slashes
	size int64
}

// walk lists the files of a package, or its one file.
func walk(root string) (list []file) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what cannot be read is not shipped either
		}
		name, _ := filepath.Rel(root, path) // below root
		if info, err := d.Info(); err == nil {
			list = append(list, file{filepath.ToSlash(name), info.Size()})
		}
		return nil
	})
	return list
}

func hasFile(folder string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := os.Stat(filepath.Join(folder, name))
		return err == nil
	})
}

var (
	unclean  = regexp.MustCompile(`(^|/)(\.git/|node_modules/|__pycache__/|\.venv/|venv/|\.pytest_cache/|\.mypy_cache/|\.env$|\.netrc$|id_rsa$|[^/]+\.pem$|[^/]+\.key$|\.DS_Store$|\.ipynb_checkpoints/|[^/]+\.pyc$)`)
	archives = regexp.MustCompile(`(?i)\.(zip|tar|tgz|gz|bz2|xz|zst|7z|rar|whl|jar)$`)
	boms     = regexp.MustCompile(`(?i)(^|/)([^/]*\.(spdx|cdx)(\.json|\.xml|\.yaml)?|sbom[^/]*\.json|bom\.(json|xml)|[^/]*cyclonedx[^/]*)$`)
)

// files checks what a package ships.
func (a *auditor) files(root string) {
	list := walk(root)
	ignored, _ := os.ReadFile(filepath.Join(root, ".dockerignore"))
	var dirty, heavy []string
	bom := false
	total := int64(0)
	for _, f := range list {
		total += f.size
		if m := unclean.FindString(f.path); m != "" && !ignores(string(ignored), f.path) && len(dirty) < 5 {
			dirty = append(dirty, f.path)
		}
		if f.size > maxFile || f.size > maxArchive && archives.MatchString(f.path) {
			heavy = append(heavy, fmt.Sprintf("%s has %d MiB", f.path, f.size>>20))
		}
		bom = bom || boms.MatchString(f.path)
	}
	a.add(audit.Judge("static.image_hygiene", map[string]any{"files": len(list)}, dirty))
	a.add(audit.Judge("static.layout", map[string]any{"bytes": total}, heavy))
	if a.Folder == "" {
		return
	}
	var lacking []string
	if !bom {
		lacking = []string{"no SPDX or CycloneDX file"}
	}
	a.add(audit.Judge("static.sbom", nil, lacking))
}

// ignores reports whether one of the lines of a .dockerignore names a part of the path.
func ignores(lines, path string) bool {
	for _, line := range strings.Split(lines, "\n") {
		name := strings.Trim(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "**/")), "/")
		if name != "" && !strings.HasPrefix(name, "#") && (strings.HasPrefix(path, name) || strings.Contains("/"+path, "/"+name+"/") || strings.HasSuffix(path, strings.TrimPrefix(name, "*"))) {
			return true
		}
	}
	return false
}

// image checks the Dockerfile and the dependencies of a package.
func (a *auditor) image(folder string) {
	docker := ""
	for _, name := range []string{"Dockerfile", "server/Dockerfile"} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err == nil && docker == "" {
			docker = comments.ReplaceAllString(string(text), "")
		}
	}
	a.add(audit.Judge("static.dependency_pinning", nil, unpinned(folder, docker)))
	if docker == "" {
		a.add(audit.Skipping("static.oci_labels", "the package has no Dockerfile"))
		a.add(audit.Skipping("static.reproducible_build", "the package has no Dockerfile"))
		return
	}
	var lacking []string
	for _, label := range []string{"source", "version", "licenses"} {
		if !strings.Contains(docker, "org.opencontainers.image."+label) {
			lacking = append(lacking, "the Dockerfile has no LABEL org.opencontainers.image."+label)
		}
	}
	a.add(audit.Judge("static.oci_labels", nil, lacking))
	if moving := unsteadyBuild(docker); len(moving) > 0 {
		a.add(audit.Failing("static.reproducible_build", nil, moving...))
		return
	}
	a.add(audit.Skipping("static.reproducible_build", "two builds need an image builder; the Dockerfile names no moving input"))
}

var (
	from        = regexp.MustCompile(`(?mi)^FROM\s+(?:--platform=\S+\s+)?(\S+)(?:\s+AS\s+(\S+))?`)
	comments    = regexp.MustCompile(`(?m)^\s*#.*$`)
	exact       = regexp.MustCompile(`===?\s*[\w.!+-]+|@\s*\S+|^\s*-|^\s*$|^\s*#`)
	projectDeps = regexp.MustCompile(`(?ms)^dependencies\s*=\s*\[(.*?)^\s*\]`)
)

// unpinned lists the dependencies without an exact version: none with a lock file.
func unpinned(folder, docker string) (problems []string) {
	stages := map[string]bool{}
	for _, m := range from.FindAllStringSubmatch(docker, -1) {
		if !stages[strings.ToLower(m[1])] && m[1] != "scratch" && !strings.Contains(m[1], "@sha256:") {
			problems = append(problems, "the base image "+m[1]+" has no digest")
		}
		stages[strings.ToLower(m[2])] = true
	}
	if hasFile(folder, "uv.lock", "poetry.lock", "pdm.lock", "requirements.lock", "go.sum", "package-lock.json", "Cargo.lock") {
		return problems
	}
	for _, name := range []string{"requirements.txt", "server/requirements.txt"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			continue
		}
		for i, line := range strings.Split(string(text), "\n") {
			if !exact.MatchString(line) && len(problems) < 6 {
				problems = append(problems, fmt.Sprintf("%s:%d: %s has no exact version", name, i+1, strings.TrimSpace(line)))
			}
		}
	}
	text, _ := os.ReadFile(filepath.Join(folder, "pyproject.toml"))
	if m := projectDeps.FindStringSubmatch(string(text)); m != nil {
		for _, line := range strings.Split(m[1], "\n") {
			if dep := strings.Trim(strings.TrimSpace(line), `",`); dep != "" && !exact.MatchString(dep) && len(problems) < 6 {
				problems = append(problems, "pyproject.toml: "+dep+" has no exact version, and there is no lock file")
			}
		}
	}
	return problems
}

// unsteadyBuild lists the lines of a Dockerfile whose result changes from day to day.
func unsteadyBuild(docker string) (lines []string) {
	for i, line := range strings.Split(docker, "\n") {
		switch low := strings.ToLower(line); {
		case strings.Contains(low, ":latest"), strings.Contains(low, "apt-get upgrade"), strings.Contains(low, "dist-upgrade"),
			strings.Contains(low, "$(date"), strings.Contains(low, "| sh"), strings.Contains(low, "| bash"),
			strings.Contains(low, "git clone") && !strings.Contains(low, "--branch") && !strings.Contains(low, "checkout"),
			strings.HasPrefix(strings.TrimSpace(low), "add http"), strings.Contains(low, "pip install") && (strings.Contains(low, "--upgrade") || strings.Contains(low, " -u ")):
			lines = append(lines, fmt.Sprintf("Dockerfile:%d: %.100s", i+1, strings.TrimSpace(line)))
		}
	}
	return lines[:min(len(lines), 5)]
}

// Task makes the checks of the files of a Harbor task. Its image is built where it is played and
// published nowhere, and the base image is Merit's own.
func Task(folder string) []audit.Result {
	a := &auditor{}
	a.files(folder)
	build := filepath.Join(folder, "environment")
	a.add(audit.Judge("static.dependency_pinning", nil, unpinned(build, "")))
	for _, id := range []string{"static.oci_labels", "static.sbom"} {
		a.add(audit.Skipping(id, "a Harbor task is not published as an image"))
	}
	text, _ := os.ReadFile(filepath.Join(build, "Dockerfile")) // the task may name an image instead
	if moving := unsteadyBuild(comments.ReplaceAllString(string(text), "")); len(moving) > 0 {
		a.add(audit.Failing("static.reproducible_build", nil, moving...))
	}
	return a.results
}

// plain makes the static checks of a plug-in, which has no image.
func (a *auditor) plain() {
	if a.Manifest != nil {
		a.add(audit.Passing("static.manifest", nil, "the environment describes itself: name, version, actions, tools and options"))
	}
	if a.Files != "" {
		a.files(a.Files)
		a.add(audit.Judge("static.dependency_pinning", nil, unpinned(a.Files, "")))
	} else {
		for _, id := range []string{"static.image_hygiene", "static.layout", "static.dependency_pinning"} {
			a.add(audit.Skipping(id, "it is built into this program, or runs at a server: there are no files to read"))
		}
	}
	for _, id := range []string{"static.sbom", "static.oci_labels", "static.reproducible_build", "static.resource_declaration"} {
		a.add(audit.Skipping(id, "it has no image: Merit runs the file that the digest names"))
	}
	a.add(audit.Skipping("static.task_distribution_pinning", "it declares no generated or external tasks"))
}
