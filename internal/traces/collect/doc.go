// Package collect turns what instrumented agents say into spans, and listens
// for it: OTLP over HTTP and over gRPC, and a plain form in JSON.
//
// Read turns a request of OTLP into spans and knows the words of OpenTelemetry's
// GenAI conventions (today's and those before), of OpenInference and of
// OpenLLMetry. Decode reads the plain form. Handler and Server are the
// listeners' sides of both. All of it is untrusted: bounded and checked.
package collect
