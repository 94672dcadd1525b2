// Package proto is the gRPC contract between Merit and its plug-ins. The .proto files
// are in sdk/plugin/proto: environment.proto and policy.proto define the services,
// fault.proto the error that every service returns. The messages here are generated.
// service.go has the calls, with generics in a quarter of the code that
// protoc-gen-go-grpc writes. internal/wire converts messages from and to Merit's own
// types; nothing else should read them.
package proto

// Generating needs protoc (Debian: protobuf-compiler); its Go plug-in is pinned in
// .ci/tools.mod. The paths of the files follow their protobuf package, which other
// languages import.
//
//go:generate sh -c "protoc --plugin=protoc-gen-go=$DOLLAR(go tool -modfile=../../../.ci/tools.mod -n protoc-gen-go) -I merit/plugin/v1=../../../sdk/plugin/proto --go_out=. --go_opt=module=github.com/merit-rl/merit/internal/wire/proto merit/plugin/v1/environment.proto merit/plugin/v1/fault.proto merit/plugin/v1/policy.proto"
