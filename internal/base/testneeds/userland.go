package testneeds

import (
	"archive/zip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// UserlandVariable names the folder with the files of the userland.
const UserlandVariable = "MERIT_USERLAND"

// Userland returns a folder with userland.wasm and userland-packages.zip, which contains
// pytest. It builds what does not exist for the sources of this tree.
func Userland(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv(UserlandVariable); dir != "" {
		return dir
	}
	source := filepath.Join(Root(), "sandbox", "userland")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "merit", "test", "userland-"+sumOf(t, source)[:16])
	if _, err := os.Stat(filepath.Join(dir, "userland.wasm")); err == nil {
		return dir
	}
	scratch := t.TempDir()
	packPytest(t, filepath.Join(scratch, "userland-packages.zip"))
	build := exec.Command("sh", filepath.Join(source, "build.sh"), filepath.Join(scratch, "userland.wasm"))
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the userland cannot be built: %v\n%s", err, said)
	}
	if err := os.CopyFS(dir, os.DirFS(scratch)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sumOf is a digest of the files in a folder.
func sumOf(t testing.TB, dir string) string {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", name[len(dir):], len(text), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// pytestParts are the packages that pytest needs, as they begin in site-packages.
var pytestParts = []string{"py.py", "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"}

// packPytest puts the packages of an installed pytest into an archive.
func packPytest(t testing.TB, file string) {
	python := Python(t)
	said, err := exec.Command(python, "-c", "import os, pytest; print(os.path.dirname(os.path.dirname(pytest.__file__)))").Output()
	if err != nil {
		t.Fatalf("%s has no pytest: install it, or set PYTHONPATH: %v", python, err)
	}
	site := strings.TrimSpace(string(said))
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	err = filepath.WalkDir(site, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(site, name)
		for _, part := range pytestParts {
			if strings.HasPrefix(rel, part) && filepath.Ext(rel) != ".pyc" {
				return pack(z, filepath.ToSlash(rel), name)
			}
		}
		return nil
	})
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func pack(z *zip.Writer, name, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
