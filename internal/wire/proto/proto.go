// Package proto is the gRPC contract between Merit and its plug-ins, one .proto
// file a noun: environment.proto and policy.proto are the services,
// fault.proto the error that every service answers with. They are in
// sdk/plugin/proto. The Go code here
// is generated; internal/wire converts it from and to Merit's own types
// and nothing else should read it.
package proto

// Generating needs protoc (Debian: protobuf-compiler); its Go plug-ins are
// pinned in go.mod. The files go by the path of their protobuf package, which is
// what other languages import.
//
//go:generate sh -c "protoc --plugin=protoc-gen-go=$DOLLAR(go tool -modfile=../../../.ci/tools.mod -n protoc-gen-go) --plugin=protoc-gen-go-grpc=$DOLLAR(go tool -modfile=../../../.ci/tools.mod -n protoc-gen-go-grpc) -I merit/plugin/v1=../../../sdk/plugin/proto --go_out=. --go_opt=module=github.com/merit-rl/merit/internal/wire/proto --go-grpc_out=. --go-grpc_opt=module=github.com/merit-rl/merit/internal/wire/proto merit/plugin/v1/environment.proto merit/plugin/v1/fault.proto merit/plugin/v1/policy.proto"
