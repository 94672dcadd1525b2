// Package proto is the gRPC contract between Merit and its plug-ins, one .proto
// file a noun: environment.proto and policy.proto are the services,
// fault.proto the error that every service answers with. They are in
// sdk/plugin/proto. The messages here are generated; service.go has the calls,
// with generics a quarter of what protoc-gen-go-grpc writes. internal/wire
// converts messages from and to Merit's own types and nothing else should read
// them.
package proto

// Generating needs protoc (Debian: protobuf-compiler); its Go plug-in is
// pinned in .ci/tools.mod. The files go by the path of their protobuf package, which is
// what other languages import.
//
//go:generate sh -c "protoc --plugin=protoc-gen-go=$DOLLAR(go tool -modfile=../../../.ci/tools.mod -n protoc-gen-go) -I merit/plugin/v1=../../../sdk/plugin/proto --go_out=. --go_opt=module=github.com/merit-rl/merit/internal/wire/proto merit/plugin/v1/environment.proto merit/plugin/v1/fault.proto merit/plugin/v1/policy.proto"
