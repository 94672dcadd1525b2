// Package openai reads calls of OpenAI's APIs: chat/completions, completions and
// responses, with what vLLM, SGLang and llama.cpp add to them.
package openai
