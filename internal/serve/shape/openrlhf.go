package shape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/base/strictjson"
)

// openRLHF reads {"query": […], "prompts": […], "labels": […]}, lists of equal length
// (agent.py: _fetch_rewards_via_http). A query is a prompt followed by its response, decoded
// with special tokens. The prompt becomes the user message and the rest the assistant message.
// A label is the ground truth. Any other field is a column; a list of the same length holds one
// value per query.
func (d *decoder) openRLHF(o object) []made {
	queries, ok := d.list("query", o.values["query"])
	prompts, also := d.list("prompts", o.values["prompts"])
	labels := make([]json.RawMessage, len(queries))
	if raw := o.get("labels"); raw != nil {
		if list, ok := d.list("labels", raw); ok && len(list) != len(queries) {
			d.wrong("labels", fmt.Sprintf("has %d elements, but query has %d", len(list), len(queries)), "send one for each query")
		} else if ok {
			labels = list
		}
	}
	if !ok || !also || !d.within("query", len(queries), d.Trajectories, "queries") {
		return nil
	}
	if len(queries) == 0 {
		d.wrong("query", "the list is empty", "send one text for each response")
	}
	if len(prompts) != len(queries) {
		d.wrong("prompts", fmt.Sprintf("has %d elements, but query has %d", len(prompts), len(queries)), "send one for each query")
		return nil
	}
	all := make([]made, 0, len(queries))
	others := d.others(o, len(queries))
	for i := range queries {
		answer, ok := d.answered(i, queries[i], prompts[i])
		if !ok {
			continue
		}
		c := columns{decoder: d}
		c.keep(index("query", i), "query", queries[i])
		for _, name := range others.names {
			c.keep(name, name, others.of(name, i))
		}
		all = append(all, made{id: index("query", i), prompt: prompts[i], completion: quote(answer), truth: present(labels[i]), columns: c.kept})
	}
	return all
}

// answered returns what a query has after its prompt.
func (d *decoder) answered(i int, rawQuery, rawPrompt json.RawMessage) (answer string, ok bool) {
	query, isText := d.text(index("query", i), rawQuery)
	prompt, isToo := d.text(index("prompts", i), rawPrompt)
	if !isText || !isToo {
		return "", false
	}
	if answer, ok = response(query, prompt); !ok {
		d.wrong(index("query", i), fmt.Sprintf("does not begin with prompts[%d], so the response cannot be separated from the prompt", i),
			"send the prompt as the tokenizer decodes it; this format does not support prompts with images")
	}
	return answer, ok
}

// others holds the fields of a request besides those of the protocol.
type others struct {
	names []string
	lists map[string][]json.RawMessage // by name, one value per query
	all   map[string]json.RawMessage   // by name, one value for all queries
}

func (d *decoder) others(o object, queries int) others {
	found := others{lists: map[string][]json.RawMessage{}, all: map[string]json.RawMessage{}}
	for _, name := range o.names {
		switch name {
		case "query", "prompts", "labels":
			continue
		}
		found.names = append(found.names, name)
		var list []json.RawMessage
		if strictjson.Unmarshal(o.values[name], &list) == nil && len(list) == queries {
			found.lists[name] = list
		}
		found.all[name] = o.values[name]
	}
	return found
}

// of returns the value of a field for a query.
func (o others) of(name string, query int) json.RawMessage {
	if list := o.lists[name]; list != nil {
		return list[query]
	}
	return o.all[name]
}

// ends are the tokens with which models end a turn. OpenRLHF decodes them together with the
// response. Merit removes them from the response's text; the query in the metadata keeps them.
var ends = []string{
	"<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<|return|>", "</s>", "<eos>", "<end_of_turn>",
	"<turn|>", "<｜end▁of▁sentence｜>",
}

// begins are the tokens that tokenizers put before a text.
var begins = []string{"<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>", "<｜begin▁of▁sentence｜>"}

// response returns the part of query after prompt, without the end token.
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

// cutLoosely cuts prompt off the front of query if only spaces differ, as with tokenizers that
// clean up spaces after decoding.
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

// leastTail is the smallest length, in bytes, of an end that identifies a prompt.
const leastTail = 32

// cutTail cuts the end of prompt off the front of query, because OpenRLHF drops the beginning
// of a prompt that is too long. It uses the longest matching end, which it finds in linear time
// (Knuth, Morris and Pratt 1977).
func cutTail(query, prompt string) (string, bool) {
	if len(prompt) > len(query) {
		prompt = prompt[len(prompt)-len(query):]
	}
	head := query[:len(prompt)]
	border := make([]int32, len(head)+1) // border[i]: the length of the longest end of head[:i] that also begins it
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

// openRewards is the response format of OpenRLHF's own server (serve_rm.py).
type openRewards struct {
	Rewards []*decimal           `json:"rewards"`
	Scores  []*decimal           `json:"scores"`
	Extra   map[string][]decimal `json:"extra_logs"`
}

// decimal is a number that Python decodes as a float. From integers, torch.tensor would make a
// tensor of another type than from the rest of a batch.
type decimal float64

// MarshalJSON writes 1 as 1.0.
func (d decimal) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(float64(d))
	if err == nil && !bytes.ContainsAny(text, ".e") {
		text = append(text, ".0"...)
	}
	return text, err
}

// rewards answers all queries. extra_logs must have the same names in every response, because
// the trainer fails on samples that lack a name of the first one (experience.py:
// make_experience_batch). So it contains no metrics, which evaluations without a score lack.
// For a single query without a score, null replaces the lists themselves: the client accepts
// that as a sample without a reward, whereas a list that contains null would crash the trainer
// in torch.tensor.
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
