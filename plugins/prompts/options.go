package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/merit-rl/merit/sdk/plugin"
)

// Options is what a user may set.
type Options struct {
	File   string        `json:"file"`   // prompts, with blank lines between them
	System string        `json:"system"` // opens the conversation
	Ask    string        `json:"ask"`    // what the model is told; {prompt} is where the prompt belongs
	Shares plugin.Shares `json:"shares"` // how prompts are dealt to the splits
}

func defaults() Options {
	return Options{Ask: "{prompt}", Shares: plugin.Shares{Validation: 0.2, Test: 0.2}}
}

// maxFile bounds the file of prompts in bytes.
const maxFile = 16 << 20

// check returns everything that is wrong with o.
func (o Options) check(split string) error {
	var errs []error
	if splits := []string{plugin.Train, plugin.Validation, plugin.Test}; !slices.Contains(splits, split) {
		errs = append(errs, fmt.Errorf("split %q is not one of %s", split, strings.Join(splits, ", ")))
	}
	if !strings.Contains(o.Ask, "{prompt}") {
		errs = append(errs, plugin.Problem("ask", fmt.Sprintf("%q does not have the prompt in it", o.Ask), "write {prompt} where it belongs"))
	}
	sharing := o.Shares.Valid()
	if !sharing {
		errs = append(errs, plugin.Problem("shares", fmt.Sprintf("validation %v and test %v must be positive and leave something to train on", o.Shares.Validation, o.Shares.Test), "0.2 each is a good choice"))
	}
	all, err := o.read()
	switch {
	case o.File == "":
		errs = append(errs, plugin.Problem("file", "no file of prompts is named", "name a file of text with blank lines between the prompts"))
	case err != nil:
		errs = append(errs, plugin.Problem("file", err.Error(), "name a file of text with blank lines between the prompts"))
	case sharing && len(o.deal(all, split)) == 0:
		errs = append(errs, plugin.Problem("shares", fmt.Sprintf("of %d prompts none is left for split %s", len(all), split), "take more prompts, or other shares"))
	}
	return errors.Join(errs...)
}

var blank = regexp.MustCompile(`\n[ \t\r]*\n\s*`)

// read returns the prompts of the file, each once.
func (o Options) read() ([]string, error) {
	f, err := os.Open(o.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s has more than %d bytes", o.File, maxFile)
	case !utf8.Valid(text):
		return nil, fmt.Errorf("%s is not UTF-8", o.File)
	}
	var all []string
	for _, prompt := range blank.Split(strings.TrimSpace(string(text)), -1) {
		if prompt != "" && !slices.Contains(all, prompt) {
			all = append(all, prompt)
		}
	}
	return all, nil
}

// deal returns the prompts of a split. They are put in an order that has
// nothing to do with the file and are dealt from the front: test, validation,
// and the rest is for training.
func (o Options) deal(all []string, split string) []string {
	return plugin.Deal(o.Shares, all, func(prompt string) string { return prompt }, split)
}
