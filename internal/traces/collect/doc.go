// Package collect receives what instrumented agents send and converts it to spans:
// OTLP over HTTP and gRPC, and Merit's own JSON form.
//
// Read converts an OTLP request. It understands OpenTelemetry's GenAI conventions
// (current and earlier), OpenInference and OpenLLMetry. Decode reads Merit's own
// form. Handler and Server are the HTTP and gRPC servers for both. All input is
// untrusted: it is size-limited and checked.
package collect
