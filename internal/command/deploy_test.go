package command_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/internal/base/testneeds"
)

// started is one container of a file.
type started struct {
	Image         string
	Command, Args []string
}

// documents reads a YAML file of examples/fleet strictly: a duplicate key is an error.
func documents[T any](t *testing.T, name string) (all []T) {
	text, err := os.ReadFile(filepath.Join(testneeds.Root(), "examples", "fleet", name))
	require.NoError(t, err)
	d := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var one T
		err := d.Decode(&one)
		if err == io.EOF {
			return all
		}
		require.NoError(t, err, name)
		all = append(all, one)
	}
}

// understood requires that merit has the command and every flag of a command line, and
// returns the command.
func understood(t *testing.T, args []string) string {
	n := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	require.Positive(t, n, args)
	for _, arg := range args[n:] {
		require.Regexp(t, "^--[a-z-]+=.", arg, "an argument that is not a flag follows a verb")
	}
	c := newConsole()
	require.Zero(t, c.Run(t.Context(), append(slices.Clone(args), "--help")), "%v: %s", args, c.err.String())
	require.Contains(t, c.out.String(), "merit "+strings.Join(args[:n], " ")+" ")
	return strings.Join(args[:n], " ")
}

// Promise: merit has every command and flag that the files of examples/fleet start.
func TestDeployFilesStartWhatThereIs(t *testing.T) {
	compose := documents[struct{ Services map[string]started }](t, "compose.yaml")[0].Services
	verbs := []string{}
	for name, s := range compose {
		require.Equal(t, "merit", s.Image, name)
		verbs = append(verbs, understood(t, s.Command))
	}
	slices.Sort(verbs)
	require.Equal(t, []string{"fleet serve", "fleet worker", "train"}, verbs)

	type object struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Template struct {
				Spec struct {
					Containers                    []started
					TerminationGracePeriodSeconds int `yaml:"terminationGracePeriodSeconds"`
				}
			}
			ScaleTargetRef struct{ Name string } `yaml:"scaleTargetRef"`
			Triggers       []struct{ Metadata map[string]string }
		}
	}
	kinds := map[string]object{}
	for _, o := range documents[object](t, "kubernetes.yaml") {
		kinds[o.Kind] = o
	}
	pod := kinds["Deployment"].Spec.Template.Spec
	require.Len(t, pod.Containers, 1)
	require.Equal(t, "fleet worker", understood(t, pod.Containers[0].Args))
	require.Greater(t, pod.TerminationGracePeriodSeconds, 60, "a drain takes a minute")
	scaled := documents[object](t, "keda.yaml")[0]
	require.Equal(t, kinds["Deployment"].Metadata.Name, scaled.Spec.ScaleTargetRef.Name)
	require.Equal(t, "MERIT_WORK", scaled.Spec.Triggers[0].Metadata["stream"])
	require.NotEmpty(t, documents[map[string]any](t, "nats-values.yaml")[0]["config"])
}
