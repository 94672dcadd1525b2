// Package layout defines the offsets of the flat ABI, for the host and for guests
// in Go. The package comment of sandbox/abi explains them. It belongs to this SDK
// because new projects contain the SDK but not the host.
package layout

// Version is the version of the layout and of the calls.
const Version = 1

// Magic begins every buffer: the bytes "MRT1" as a little-endian u32.
const Magic = 0x3154524d

// Sizes of the header and of the rows that this version writes.
const (
	HeaderSize   = 184
	MessageSize  = 72
	ToolCallSize = 32
	MetadataSize = 40
	FieldSize    = 40
	StepSize     = 48
	MemberSize   = 8

	// FirstHeaderSize and FirstMessageSize are the sizes in buffers of old hosts,
	// which do not write the fields that were appended later.
	FirstHeaderSize  = 160
	FirstMessageSize = 64
)

// Offsets in the header. A table consists of count, offset and stride.
const (
	HeaderVersion        = 4
	HeaderHeaderSize     = 8
	HeaderTotalSize      = 12
	HeaderFlags          = 16
	HeaderStopReason     = 20
	HeaderMessages       = 24
	HeaderToolCalls      = 36
	HeaderMetadata       = 48
	HeaderSteps          = 60
	HeaderMembers        = 72
	HeaderHeapOffset     = 84
	HeaderHeapSize       = 88
	HeaderAssistantCount = 92
	HeaderLastAssistant  = 96
	HeaderID             = 104
	HeaderGroup          = 112
	HeaderTask           = 120
	HeaderGroundTruth    = 128
	HeaderPromptMessages = 160
	HeaderAsText         = 164
	HeaderFields         = 168
)

// Offsets in a value.
const (
	ValueKind   = 0
	ValueBool   = 4
	ValueJSON   = 8
	ValueText   = 16
	ValueNumber = 24
)

// Offsets in a message row.
const (
	MessageRole           = 0
	MessageAssistantIndex = 4
	MessageRoleText       = 8
	MessageContent        = 16
	MessageName           = 24
	MessageToolCallID     = 32
	MessageFirstToolCall  = 40
	MessageToolCallCount  = 44
	MessageFlags          = 48
	MessageStep           = 52
	MessageParts          = 56
	MessageFirstField     = 64
	MessageFieldCount     = 68
)

// Offsets in a tool call row.
const (
	ToolCallID        = 0
	ToolCallName      = 8
	ToolCallArguments = 16
	ToolCallType      = 24
)

// Offsets in a metadata row.
const (
	MetadataKey   = 0
	MetadataValue = 8
)

// Offsets in a row of the fields of messages.
const (
	FieldKey   = 0
	FieldValue = 8
)

// Offsets in a step row.
const (
	StepMessage       = 0
	StepFlags         = 4
	StepEnvReward     = 8
	StepAction        = 16
	StepActionKind    = 24
	StepChoice        = 28
	StepAnchor        = 32
	StepToolCallCount = 40
)

// Offsets in a member row.
const (
	MemberOffset = 0
	MemberLength = 4
)

// Flags of the header.
const FlagGroup = 1

// Flags of a message.
const (
	FlagContentNull  = 1
	FlagContentParts = 2
)

// Flags of a step.
const (
	FlagActionValid = 1
	FlagTerminated  = 2
	FlagTruncated   = 4
)

// Roles of a message.
const (
	RoleOther = iota
	RoleSystem
	RoleUser
	RoleAssistant
	RoleTool
)

// Kinds of a value.
const (
	KindAbsent = iota
	KindString
	KindNumber
	KindBool
	KindNull
	KindJSON
)

// Stop reasons.
const (
	StopNone = iota
	StopTerminated
	StopTruncated
	StopPolicyEnded
	StopPattern
	StopError
)

// Kinds of an action.
const (
	ActionNone = iota
	ActionChoice
	ActionText
	ActionTool
)

// Statuses of an evaluation.
const (
	StatusScored = iota
	StatusInvalid
	StatusError
)
