package rubric

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/merit-rl/merit/core/env"
	"github.com/merit-rl/merit/internal/rubric/catalogue"
)

const namesForm = `{"form": "names", "domains": ["document"], "attempts": 2}`

// Promise: a rubric of names has the rules and the order of the catalogue, and weights that sum to 1.
func TestNamedRubric(t *testing.T) {
	r, problems := named("```json\n{\"rubric\": {\"tone: warm\": 1, \"length: short\": 3}}\n```", catalogue.Of(catalogue.Document))
	require.Empty(t, problems)
	require.Empty(t, r.Validate())
	require.Len(t, r.Criteria, 2)
	require.Equal(t, []string{"length: short", "tone: warm"}, []string{r.Criteria[0].Name, r.Criteria[1].Name})
	require.Equal(t, []float64{0.75, 0.25}, []float64{r.Criteria[0].Weight, r.Criteria[1].Weight})
	_, level, ok := catalogue.Find(catalogue.Document, "tone", "warm")
	require.True(t, ok)
	require.Equal(t, level.Rule(), r.Criteria[1].Rule)
	huge, problems := named(`{"rubric": {"tone: warm": 1e308, "length: short": 1e308}}`, catalogue.Of(catalogue.Document))
	require.Empty(t, problems)
	require.Equal(t, 0.5, huge.Criteria[0].Weight)
}

// Promise: a rubric that names something else is told all that is wrong with it, with what was
// probably meant.
func TestWrongNames(t *testing.T) {
	for text, want := range map[string][]string{
		"I would rather not.":                                  {`there is no JSON object with the key "ask" or "rubric".`},
		`{"rubric": {}}`:                                       {"the rubric is empty: name at least one criterion."},
		`{"rubric": ["length: short"]}`:                        {`"rubric" must be an object of names and weights, such as {"length: short": 3}`},
		`{"rubric": {"length: short": "a"}}`:                   {`"rubric" must be an object of names and weights`},
		`{"rubric": {"length: shorty": 1}}`:                    {`"length: shorty" is not one of the criteria: did you mean "length: short"?`},
		`{"rubric": {"length: short": 0}}`:                     {`the weight of "length: short" must be above 0, not 0.`},
		`{"rubric": {"length: short": 1e999}}`:                 {`"rubric" must be an object of names and weights`},
		`{"rubric": {"length: short": 1, "length: short": 2}}`: {`there is no JSON object with the key "ask" or "rubric".`},
		`{"rubric": {"length: short": 1, "length: medium": -2, "x": 1}}`: {
			`"length: short" and "length: medium" exclude each other: choose one.`, `"x" is not one of the criteria.`, `the weight of "length: medium" must be above 0, not -2.`,
		},
	} {
		r, problems := named(text, catalogue.Of(catalogue.Document))
		require.Nil(t, r, text)
		require.Len(t, problems, len(want), "%s: %v", text, problems)
		for i := range want {
			require.Contains(t, problems[i], want[i])
		}
	}
}

// Promise: the conversation says once which names there are, and its last step notes for people
// what was told, with the names; no observation has that.
func TestNamesConversation(t *testing.T) {
	turns := talk(t, namesForm, `{"ask": ["What matters most?"]}`, "well …", `{"rubric": {"length: short": 2}}`)
	require.Contains(t, turns[0].text, "Criteria: length: short | medium | detailed; ")
	require.Contains(t, turns[0].text, "Questions left: 3.")
	require.NotContains(t, turns[1].text, "Criteria: ")
	require.Contains(t, turns[2].text, "Rubrics that cannot be read: 1 of 2.")
	for _, before := range turns[:3] {
		require.Empty(t, before.info)
	}
	last := turns[3]
	require.Equal(t, env.Terminated, last.flags)
	require.Len(t, written(t, last).Rubric.Criteria, 1)
	var told []heardCriterion
	require.NoError(t, json.Unmarshal(last.info[infoTold], &told))
	require.Len(t, told, 1)
	require.Contains(t, turns[1].text, told[0].Answer)
	require.Contains(t, names(catalogue.Of(catalogue.Document)), told[0].Name)
	require.Equal(t, 3, told[0].Weight, "the heaviest comes first")
}
