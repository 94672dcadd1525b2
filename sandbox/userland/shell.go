package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

func start(r request) int {
	return shell(r)
}

func shell(q request) int {
	f, err := syntax.NewParser().Parse(strings.NewReader(q.Args[2]), "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	r, err := interp.New(interp.StdIO(os.Stdin, os.Stdout, os.Stderr), interp.Env(expand.ListEnviron(q.Env...)), interp.Dir(q.Dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	err = r.Run(context.Background(), f)
	var status interp.ExitStatus
	switch {
	case errors.As(err, &status):
		return int(status)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
