// Package abi encodes trajectories in the format that modules read: the "flat" ABI,
// version 1. Guests read the buffer in place; sdk/reward contains the reader for
// Go.
//
// # Buffer
//
// One little-endian buffer, written by the host at the address that the
// guest's merit_alloc returned (8-aligned), read in place. Every offset counts
// bytes from the start of the buffer, never guest addresses. Table offsets and
// the size of the buffer are multiples of 8, so every f64 is 8-aligned.
//
//	str   = offset u32, length u32. Valid UTF-8 of that length, followed by one
//	        NUL that the length does not count (a NUL may also occur inside).
//	        An absent string is empty and still points at a NUL.
//	table = count u32, offset u32, stride u32. Row i starts at offset + i×stride.
//	        Readers must use the stride: later revisions append fields to rows
//	        and to the header (see header_size), and never change these fields.
//
// Header, 184 bytes:
//
//	  0 u32   magic          bytes 'M' 'R' 'T' '1'
//	  4 u32   version        1
//	  8 u32   header_size    184
//	 12 u32   total_size     bytes of the whole buffer
//	 16 u32   flags          bit 0: group buffer (members, no messages or steps)
//	 20 u32   stop_reason    0 none, 1 terminated, 2 truncated, 3 policy_ended, 4 pattern, 5 error
//	 24 table messages       count 24, offset 28, stride 32
//	 36 table tool_calls     count 36, offset 40, stride 44; all messages' calls in order
//	 48 table metadata       count 48, offset 52, stride 56; keys ascending by bytes
//	 60 table steps          count 60, offset 64, stride 68
//	 72 table members        count 72, offset 76, stride 80; group buffers only
//	 84 u32   heap_offset    the strings
//	 88 u32   heap_size
//	 92 u32   assistant_count  number of assistant messages, those of the prompt included
//	 96 i32   last_assistant   index in messages of the last assistant message, or −1
//	100 u32   reserved       0
//	104 str   id             of the trajectory; in a group buffer: empty
//	112 str   group          of the group
//	120 str   task           of the task
//	128 value ground_truth   32 bytes
//	160 i32   prompt_messages  how many messages belong to the prompt, or −1 if unknown
//	164 u32   as_text        bit 0: the prompt was a text, not a list of messages; bit 1: the completion was
//	168 table fields         count 168, offset 172, stride 176; other fields of messages
//	180 u32   reserved       0
//
// value, 32 bytes, any JSON value:
//
//	 0 u32   kind           0 absent, 1 string, 2 number, 3 bool, 4 null, 5 json (list, object, or a number too large)
//	 4 u32   bool           1 for true
//	 8 str   json           the JSON text, unchanged
//	16 str   text           the text of a string; for other kinds the same as json
//	24 f64   number         the value of a number, finite; 1 for true; else 0
//
// Message row, 72 bytes:
//
//	 0 u32   role           0 other, 1 system, 2 user, 3 assistant, 4 tool
//	 4 i32   assistant_index  0-based among the assistant messages after the
//	                          prompt, or −1: the index that step() takes by default
//	 8 str   role_text      the role; the field as_given has another original spelling
//	16 str   content        the text; for a list of parts, its text parts joined
//	24 str   name
//	32 str   tool_call_id
//	40 u32   first_tool_call  row in tool_calls
//	44 u32   tool_call_count
//	48 u32   flags          bit 0: content was null, bit 1: content was a list of parts
//	52 i32   step           row in steps whose action this message is, or −1
//	56 str   parts          JSON of the list of parts, unchanged, else empty
//	64 u32   first_field    row in fields
//	68 u32   field_count
//
// Tool call row, 32 bytes:
//
//	 0 str   id
//	 8 str   name           of the function
//	16 str   arguments      JSON text as the model wrote it, valid or not
//	24 str   type           usually "function"
//
// Metadata row, 40 bytes:
//
//	0 str   key
//	8 value value          32 bytes
//
// Field row, 40 bytes: a field of a message such as reasoning_content. The field
// as_given is an object with the original form of fields that Merit changed to the
// form above.
//
//	0 str   key
//	8 value value          32 bytes
//
// Step row, 48 bytes: one decision, as the environment recorded it.
//
//	 0 i32   message        index in messages of the action's message, or −1
//	 4 u32   flags          bit 0: action valid, bit 1: terminated, bit 2: truncated
//	 8 f64   env_reward
//	16 str   action         the text, or the name of the choice
//	24 u32   action_kind    0 none, 1 choice, 2 text, 3 tool call
//	28 i32   choice         index of the choice, else 0
//	32 str   anchor         the raw state before the action
//	40 u32   tool_call_count  calls of the action; the message has them
//	44 u32   reserved       0
//
// Member row, 8 bytes: a complete trajectory buffer inside the group buffer,
// with offsets from its own start.
//
//	0 u32   offset         8-aligned, from the start of the group buffer
//	4 u32   size
//
// # Calls
//
// The module exports memory, merit_abi_1() as the marker of this version,
// merit_alloc(size i32) -> ptr i32 (8-aligned, valid until the next
// merit_alloc), and merit_evaluate(ptr i32, len i32) -> status i32,
// merit_evaluate_group(ptr i32, len i32) -> status i32, or both;
// _initialize() is called first if it is exported. Then merit_warm_up() is called
// once if it is exported; otherwise the host evaluates a built-in conversation.
// Statuses: 0 scored, 1 invalid, 2 error.
//
// The module may import from merit_v1: set_score(f64),
// step(index i32, base_reward f64),
// step_metric(index i32, name_ptr i32, name_len i32, value f64),
// step_reason(index i32, ptr i32, len i32),
// metric(name_ptr i32, name_len i32, value f64), reason(ptr i32, len i32),
// error(ptr i32, len i32), log(level i32, ptr i32, len i32; 0 debug, 1 info, 2
// warning, 3 error), and during merit_evaluate_group member(index i32): the
// calls after it apply to that member. step_metric and step_reason must follow
// the step() that they describe. In a group, status 0 means that every member
// has a score or, after reason() without a score, is invalid. While the module
// starts and warms up, it may call log; the host rejects a module that then
// calls error() or any other import.
package abi
