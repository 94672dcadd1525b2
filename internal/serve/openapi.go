package serve

import (
	_ "embed"
	"net/http"
)

// document is the server's contract: tests check every route, request and response against it.
//
//go:embed openapi.json
var document []byte

// OpenAPI returns the OpenAPI 3.1 document of the server.
func OpenAPI() []byte { return append([]byte(nil), document...) }

func describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Access-Control-Allow-Origin", "*") // it contains no secret, and web pages display it
	_, _ = w.Write(document)
}
