// Package anthropic reads calls of Anthropic's Messages API, with which Claude Code and
// agents of the package anthropic speak to models.
//
// Its messages are lists of blocks. A message of Merit has the text and the calls of tools
// as those of OpenAI's API have them: tool_use becomes a tool call, each tool_result a
// message of the role tool, and thinking blocks, with their signatures, the field
// thinking_blocks. All other blocks stay in the content as they came.
package anthropic
