package merit

import (
	"fmt"

	"github.com/merit-rl/merit/core/reward"
	"github.com/merit-rl/merit/core/train"
)

// calls is how many questions a run asks a language model for one part of the reward,
// at most, and what they may cost. Answers that repeat, from a cache or because
// episodes are equal, cost nothing; unusable ones are asked for twice.
type calls struct {
	Reward string `json:"reward"`
	Per    string `json:"per"` // group or episode
	// Training, Validation, Test and Total are questions; they are 0 if their number
	// depends on the episodes, as for rubrics.
	Training   int `json:"training"`
	Validation int `json:"validation"`
	Test       int `json:"test"`
	Total      int `json:"total"`
	reward.Forecast
	// Sample is what the question about the sample of Try used.
	Sample reward.Usage `json:"sample"`
}

// forecaster is a reward.Asker that can say beforehand what it will ask.
type forecaster interface {
	reward.Asker
	Forecast() reward.Forecast
}

// forecast returns the calls of every part that asks a language model. A run that learns
// from traces has no forecast: its number of held-out traces is not known.
func (s *Session) forecast() (all []calls) {
	if s.Config.Traced() {
		return nil
	}
	load := s.Config.Settings().Load(train.Compares(s.Parts))
	var parts []reward.Weighted
	for _, p := range reward.NewPool(s.Parts, 1).Parts() {
		parts = append(parts, members(p)...)
	}
	for _, p := range parts {
		f, ok := p.Scorer.(forecaster)
		if !ok {
			continue
		}
		asked, asks := f.Asked()
		if !asks {
			continue
		}
		c := calls{Reward: p.Name, Per: "episode", Forecast: f.Forecast()}
		c.Training, c.Validation, c.Test = load.Training.Episodes, load.Validation.Episodes, load.Test.Episodes
		if p.Scorer.Info().Group {
			c.Per, c.Training, c.Validation, c.Test = "group", load.Training.Groups, load.Validation.Groups, load.Test.Groups
		}
		for _, n := range []*int{&c.Training, &c.Validation, &c.Test} {
			*n *= c.Questions
		}
		c.Total = c.Training + c.Validation + c.Test
		if n := asked.Questions - asked.Cached; n > 0 {
			c.Sample = reward.Usage{PromptTokens: asked.PromptTokens / int64(n), CompletionTokens: asked.CompletionTokens / int64(n), Cost: asked.Cost / float64(n)}
		}
		all = append(all, c)
	}
	return all
}

// String describes the number of calls.
func (c calls) String() string {
	if c.Questions == 0 {
		return "as many as the rubric of each " + c.Per + " has questions for the model"
	}
	each := "one for each " + c.Per
	if c.Questions > 1 {
		each = fmt.Sprintf("%d for each %s", c.Questions, c.Per)
	}
	return fmt.Sprintf("at most %d: %d in training, %d in validations, %d in the tests; %s", c.Total, c.Training, c.Validation, c.Test, each)
}

// Cost describes what the calls may cost, in tokens and, with prices, in money.
func (c calls) Cost() string {
	text := fmt.Sprintf("an answer has at most %d", c.MaxTokens)
	if c.MaxTokens == 0 {
		text = "an answer has no limit"
	}
	if c.Sample.PromptTokens > 0 {
		text += fmt.Sprintf("; the question about the built-in conversation has %d, its answer %d", c.Sample.PromptTokens, c.Sample.CompletionTokens)
	}
	switch {
	case !c.Price.Set():
		text += "; no price is configured for the model"
	case c.Total > 0:
		n := float64(c.Total)
		text += fmt.Sprintf("; all answers cost at most %.2f %s, and the questions %.2f %s for each thousand tokens of one",
			n*float64(c.MaxTokens)*c.Price.Output/1e6, c.Currency, n*1000*c.Price.Input/1e6, c.Currency)
	}
	if c.MaxCost > 0 {
		text += fmt.Sprintf("; budget.cost stops at %.2f %s", c.MaxCost, c.Currency)
	}
	return text
}
