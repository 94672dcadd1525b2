package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/rl"
	"github.com/merit-rl/merit/core/scoring"
)

// openRLHF reads {"query": […], "prompts": […], "labels": […]}, lists of one
// length (agent.py: _fetch_rewards_via_http). A query is a prompt and the
// response to it, decoded with special tokens: it becomes the prompt as the
// user's message and the rest as the assistant's. A label is the ground truth.
func (d *decoder) openRLHF(o object) []*rl.Trajectory {
	queries, ok := d.list("query", o.values["query"])
	prompts, also := d.list("prompts", o.values["prompts"])
	labels := make([]json.RawMessage, len(queries))
	if raw := o.get("labels"); raw != nil {
		if list, ok := d.list("labels", raw); ok && len(list) != len(queries) {
			d.wrong("labels", fmt.Sprintf("it has %d elements, query %d", len(list), len(queries)), "give one for each query")
		} else if ok {
			labels = list
		}
	}
	if !ok || !also || !d.within("query", len(queries), d.Trajectories, "queries") {
		return nil
	}
	if len(queries) == 0 {
		d.wrong("query", "it is empty", "give one text for each response")
	}
	if len(prompts) != len(queries) {
		d.wrong("prompts", fmt.Sprintf("it has %d elements, query %d", len(prompts), len(queries)), "give one for each query")
		return nil
	}
	all := make([]*rl.Trajectory, 0, len(queries))
	for i := range queries {
		query, isText := d.text(index("query", i), queries[i])
		prompt, isToo := d.text(index("prompts", i), prompts[i])
		if !isText || !isToo {
			continue
		}
		answer, found := response(query, prompt)
		if !found {
			d.wrong(index("query", i), fmt.Sprintf("it does not begin with prompts[%d], so the response cannot be told from the prompt", i),
				"send the prompt as text that the tokenizer gives back; prompts with images cannot be sent in this shape")
			continue
		}
		asked := 1
		all = append(all, &rl.Trajectory{
			PromptMessages: &asked, AsText: rl.PromptAsText | rl.CompletionAsText,
			ID:          index("query", i),
			Messages:    []rl.Message{{Role: rl.RoleUser, Content: rl.Text(prompt)}, {Role: rl.RoleAssistant, Content: rl.Text(answer)}},
			GroundTruth: present(labels[i]),
			Metadata:    map[string]json.RawMessage{"query": queries[i]},
		})
	}
	return all
}

// ends are the tokens with which models end a turn. OpenRLHF decodes them with
// the response, of whose text they are no part; the query in the metadata has
// them.
var ends = []string{
	"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<|return|>", "</s>", "<eos>", "<end_of_turn>",
	"<turn|>", "<｜end▁of▁sentence｜>",
}

// begins are the tokens that tokenizers put before a text.
var begins = []string{"<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<｜begin▁of▁sentence｜>"}

// response returns what query has behind prompt, without the token that ends it.
func response(query, prompt string) (string, bool) {
	for _, begin := range begins {
		if text, found := strings.CutPrefix(query, begin); found && !strings.HasPrefix(prompt, begin) {
			query = text
		}
	}
	rest, ok := strings.CutPrefix(query, prompt)
	if !ok {
		rest, ok = cutLoosely(query, prompt)
	}
	if !ok {
		rest, ok = cutTail(query, prompt)
	}
	for _, end := range ends {
		if text, found := strings.CutSuffix(rest, end); found {
			return text, ok
		}
	}
	return rest, ok
}

// cutLoosely cuts prompt off the front of query where only spaces differ, as
// they do behind tokenizers that clean up after decoding.
func cutLoosely(query, prompt string) (string, bool) {
	body := strings.TrimRightFunc(prompt, unicode.IsSpace)
	at := 0
	for _, c := range body {
		if unicode.IsSpace(c) {
			continue
		}
		at += len(query[at:]) - len(strings.TrimLeftFunc(query[at:], unicode.IsSpace))
		got, n := utf8.DecodeRuneInString(query[at:])
		if n == 0 || got != c {
			return "", false
		}
		at += n
	}
	return strings.TrimPrefix(query[at:], prompt[len(body):]), body != ""
}

// leastTail is how many bytes of a prompt must be there to know it by its end.
const leastTail = 32

// cutTail cuts the end of prompt off the front of query: OpenRLHF drops the
// beginning of a prompt that is too long. The longest end counts, found in
// linear time (Knuth, Morris and Pratt 1977).
func cutTail(query, prompt string) (string, bool) {
	if len(prompt) > len(query) {
		prompt = prompt[len(prompt)-len(query):]
	}
	head := query[:len(prompt)]
	border := make([]int32, len(head)+1) // border[i]: the longest end of head[:i] that also begins it
	k := int32(0)
	for i := 1; i < len(head); i++ {
		for k > 0 && head[i] != head[k] {
			k = border[k]
		}
		if head[i] == head[k] {
			k++
		}
		border[i+1] = k
	}
	k = 0
	for i := range len(prompt) {
		for k > 0 && (int(k) == len(head) || prompt[i] != head[k]) {
			k = border[k]
		}
		if prompt[i] == head[k] {
			k++
		}
	}
	return query[k:], k >= leastTail
}

// openRewards is the answer of OpenRLHF's own server (serve_rm.py).
type openRewards struct {
	Rewards []*decimal           `json:"rewards"`
	Scores  []*decimal           `json:"scores"`
	Extra   map[string][]decimal `json:"extra_logs"`
}

// decimal is a number that Python reads as a float. Of whole numbers, torch.tensor
// would make another type than of the rest of a batch.
type decimal float64

// MarshalJSON writes 1 as 1.0.
func (d decimal) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(float64(d))
	if err == nil && !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	return text, err
}

// rewards answers all queries. extra_logs holds the same name in every answer:
// the trainer fails on samples that do not have the names of the first
// (experience.py: make_experience_batch), so metrics, which an unscored
// evaluation has not, are no part of it. A single query without a score is
// answered with null itself in the place of the lists: the client takes it for a
// sample without a reward, where a list with null in it would end the trainer in
// torch.tensor.
func rewards(results []scoring.Result, scores []*float64) ([]byte, error) {
	r := openRewards{Rewards: decimals(scores), Scores: decimals(scores)}
	flags := make([]decimal, len(results))
	for i, x := range results {
		if x.Outcome != reward.Scored {
			flags[i] = 1
		}
	}
	r.Extra = map[string][]decimal{"merit_unscored": flags}
	if len(scores) == 1 && scores[0] == nil {
		r.Rewards, r.Scores = nil, nil
	}
	return json.Marshal(r)
}

func decimals(scores []*float64) []*decimal {
	out := make([]*decimal, len(scores))
	for i, x := range scores {
		out[i] = (*decimal)(x)
	}
	return out
}
