package serve

import (
	_ "embed"
	"net/http"
)

// document is the contract: tests hold every route and what they send and get
// to it.
//
//go:embed openapi.json
var document []byte

// OpenAPI returns the OpenAPI 3.1 document of every server.
func OpenAPI() []byte { return append([]byte(nil), document...) }

func describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Access-Control-Allow-Origin", "*") // it holds no secret, and viewers are web pages
	_, _ = w.Write(document)
}
