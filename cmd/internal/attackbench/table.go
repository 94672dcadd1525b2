package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/merit-rl/merit/internal/attack/corpus"
)

// table writes the results as Markdown: what was found of each half, and then every reward.
func table(w io.Writer, entries []corpus.Entry, results map[string]result) error {
	var b strings.Builder
	summary(&b, entries, results)
	rewards(&b, entries, results)
	_, err := io.WriteString(w, b.String())
	return err
}

func summary(b *strings.Builder, entries []corpus.Entry, results map[string]result) {
	b.WriteString("| rewards | attacked | found | median CPU seconds to the first finding | longest |\n|---|---:|---:|---:|---:|\n")
	for _, kind := range []string{corpus.Hackable, corpus.Sound} {
		for _, held := range []bool{false, true} {
			var seconds []float64
			attacked, found := 0, 0
			for _, e := range entries {
				r, ok := results[e.Name]
				if e.Kind != kind || e.HeldOut != held || !ok || r.Error != "" {
					continue
				}
				attacked++
				if len(r.Findings) > 0 {
					found++
					seconds = append(seconds, r.Seconds)
				}
			}
			if attacked > 0 {
				fmt.Fprintf(b, "| %s, %s | %d | %d | %s | %s |\n", kind, half(held), attacked, found, median(seconds), longest(seconds))
			}
		}
	}
	b.WriteString("\n")
}

func rewards(b *strings.Builder, entries []corpus.Entry, results map[string]result) {
	b.WriteString("| reward | kind | half | found | by | evaluations | CPU seconds |\n|---|---|---|---|---|---:|---:|\n")
	for _, e := range entries {
		r, ok := results[e.Name]
		if !ok {
			continue
		}
		found, by := "no", ""
		if len(r.Findings) > 0 {
			found, by = "yes", r.Findings[0].Kind
		}
		if r.Error != "" {
			found, by = "failed", r.Error
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %d | %.1f |\n", e.Name, e.Kind, half(e.HeldOut), found, strings.ReplaceAll(by, "|", "\\|"), r.Evaluations, r.Seconds)
	}
}

func half(held bool) string {
	if held {
		return "held out"
	}
	return "seen"
}

func median(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	slices.Sort(values)
	return fmt.Sprintf("%.1f", values[len(values)/2])
}

func longest(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", slices.Max(values))
}
