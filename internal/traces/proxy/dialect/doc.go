// Package dialect defines what the proxy reads of calls of language models, whatever
// API they use: a request, an answer with its choices, the events of a stream, and JSON
// that breaks off. Packages openai and anthropic read their APIs into it.
package dialect
