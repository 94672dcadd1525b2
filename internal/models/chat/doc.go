// Package chat asks language models behind an OpenAI-compatible API: vLLM,
// SGLang, llama.cpp, or a hosted service. The policy plug-in and judges use it.
//
//	config := chat.DefaultConfig()
//	config.URL, config.Model = "http://127.0.0.1:8080/v1", "smollm2-135m"
//	client, err := chat.New(config)
//	...
//	defer client.Close()
//	served, err := client.Served(ctx) // is the server there, has it this model, how long is its context?
//	answer, err := client.Complete(ctx, chat.Request{
//		Messages: messages, MaxTokens: 64, Seed: new(int64(7)), LogProbs: true,
//	})
//
// A Client retries, waits, counts and pays for all that use it: make one for
// each model, and call it from as many goroutines as there are questions.
// A request has one answer; ask several times, with other seeds, for several.
//
// # Errors
//
// Everything that a server or network does ends in one *fault.Error with a
// hint, of the boundary fault.Model. fault.Retryable tells what is wrong with
// the server at this moment (after the client's own retries) from what stays
// wrong. Three are about the one request, not about the server or the
// configuration, and have a sentinel for errors.Is: ErrContext (the
// conversation is too long; a policy ends the episode with it), ErrFilter (a
// content filter refused it) and ErrBudget (the budget is spent, for this
// request and all that follow).
//
//	what the server does                           kind         again?
//	refuses or drops the connection, 5xx,
//	is still loading its model                     Crashed      yes
//	is slower than timeout, 408                    Timeout      yes
//	429                                            Exhausted    yes, after Retry-After
//	429 because an account is empty                Exhausted    no
//	half a JSON, a body that does not end, NaN,
//	a log-probability above 0, an aborted answer   Protocol     yes
//	JSON of another shape, HTML, ids or
//	log-probabilities that were asked for missing  Protocol     no
//	401, 403 with a key                            Invalid      no
//	401, 403 without one                           Missing      no
//	404, a model that it does not have             Missing      no
//	a redirect, a huge or endless body,
//	a certificate that does not verify             Refused      no
//	the context is too short                       Exhausted    no (ErrContext)
//	a content filter refuses the prompt            Refused      no (ErrFilter)
//	other 4xx                                      Invalid      no
//
// A filter that cuts an answer is no error: see FinishFilter. A context of the
// caller that ends gives Interrupted or Timeout.
//
// # Tokens
//
// Tokens are those that the server sampled, with its log-probabilities, or nil:
// nothing is ever tokenised again. vLLM and SGLang give ids when they are asked
// (token_ids: true), with those of the prompt; llama.cpp gives ids with
// log-probabilities, unasked, and none of the prompt. What log-probabilities
// mean is the server's matter: llama.cpp gives those of the model at
// temperature 1 before top_k, top_p and min_p, so sample with
// extra: {top_k: 0, min_p: 0} and top_p 1 where they must be those of sampling.
// An answer that a stop string cut has, on some servers, fewer tokens than
// Usage.Completion counts.
//
// # For a policy
//
// Temperature 0 is greedy. A seed of rl.Seed is int64(seed & math.MaxInt32).
// ErrContext becomes rl.StopContext; an answer of FinishFilter, a Refusal and
// ErrFilter are of one conversation, so they end an episode and not a run. An
// answer of FinishLength may be half a thought or half a tool call. A
// conversation that ends with an assistant's message is gone on with by
// llama.cpp; vLLM and SGLang want
// extra: {add_generation_prompt: false, continue_final_message: true}.
//
// # Cassettes
//
// With cassettes, every answer is kept in a file that is named after the
// request (the digest of its JSON, in which neither key nor address stands) and
// can be replayed without a server, byte for byte. Identical requests are one
// request: give each its own seed where answers shall differ. Kept are answers
// and ErrContext; other failures are not.
package chat
