package judge

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/merit-rl/merit/core/fault"
)

// Mode is how many trajectories the judge sees in one question.
type Mode = string

// The modes.
const (
	Ruler       Mode = "ruler"       // a whole group, whose members are scored relative to each other
	Independent Mode = "independent" // each trajectory alone
)

// Config configures a judge.
type Config struct {
	// Mode is ruler (one question for a whole group; the scores are relative to each other) or
	// independent (one question for each trajectory).
	Mode Mode `yaml:"mode" json:"mode" jsonschema:"enum=ruler,enum=independent"`
	// Rubric describes a good trajectory, in words; if it is empty, the judge uses RULER's
	// four rules.
	Rubric string `yaml:"rubric" json:"rubric"`
	// RubricFile is a file with the rubric, relative to the configuration file. Set it instead
	// of rubric.
	RubricFile string `yaml:"rubric_file" json:"rubric_file"`
	// Explain asks for a sentence before each score, which becomes the reason.
	Explain bool `yaml:"explain" json:"explain"`
	// MaxExplanation is the longest explanation, in characters, on servers that enforce
	// maxLength; 0 sets no limit.
	MaxExplanation int `yaml:"max_explanation" json:"max_explanation" jsonschema:"minimum=0,maximum=100000"`
	// ScoreStep is the distance between the scores that the judge may give, from 0.001 to 0.5.
	// Servers that enforce a schema enforce such a list better than the bounds of a number. 0
	// allows any number from 0 to 1.
	ScoreStep float64 `yaml:"score_step" json:"score_step"`
	// Seed determines the order in which members are shown, and the sampling.
	Seed uint64 `yaml:"seed" json:"seed"`
	// Temperature is the sampling temperature; 0 takes the most likely answer.
	Temperature float64 `yaml:"temperature" json:"temperature" jsonschema:"minimum=0,maximum=2"`
	// MaxTokens is the largest number of tokens in an answer.
	MaxTokens int `yaml:"max_tokens" json:"max_tokens" jsonschema:"minimum=1,maximum=1048576"`
	// MaxChars is the largest size of a question, in bytes. The members of a longer question
	// get no score.
	MaxChars int `yaml:"max_chars" json:"max_chars" jsonschema:"minimum=1000,maximum=67108864"`
	// Timeout is the time limit for one question, including retries.
	Timeout time.Duration `yaml:"timeout" json:"timeout" jsonschema:"exclusiveMinimum=0" hint:"use a duration above 0, such as 2m"`
	// Cache is a folder that keeps answers between runs; without it, answers are kept in
	// memory.
	Cache string `yaml:"cache" json:"cache"`
}

// DefaultRubric is RULER's rubric: the four rules in src/art/rewards/ruler.py of OpenPipe ART
// (Apache-2.0).
const DefaultRubric = `- A trajectory that achieves its goal should always get a significantly higher score than a trajectory that does not achieve its goal.
- A trajectory that achieves its goal more efficiently (eg. by avoiding unproductive detours) should get a higher score than a trajectory that achieves its goal less efficiently.
- If one trajectory is only slightly better than another, the difference in scores should be small. If it is significantly better, the difference in scores should be large.
- You may give some partial credit for a trajectory that makes progress towards its goal but does not complete it.`

// DefaultConfig ranks whole groups by RULER's rubric.
func DefaultConfig() Config {
	return Config{Mode: Ruler, Explain: true, ScoreStep: 0.05, Seed: 1, MaxTokens: 4096, MaxChars: 400_000, Timeout: 5 * time.Minute}
}

// Validate returns every problem of c, with key paths relative to the stage.
func (c Config) Validate() []error {
	p := fault.Validate(&c)
	if c.RubricFile != "" {
		if c.Rubric != "" {
			p.Invalid("rubric_file", "both rubric and rubric_file are set", "keep one of rubric and rubric_file")
		} else if info, err := os.Stat(c.RubricFile); err != nil {
			p.Missing("rubric_file", fmt.Sprintf("the file %s does not exist", c.RubricFile), "create the file, or correct the path")
		} else if info.IsDir() {
			p.Invalid("rubric_file", c.RubricFile+" is a folder", "name a text file")
		}
	}
	p.Check(len(c.Rubric) <= maxRubric, "rubric", fmt.Sprintf("a text of %d bytes", len(c.Rubric)), fmt.Sprintf("use at most %d bytes", maxRubric))
	if c.ScoreStep != 0 {
		p.Within("score_step", c.ScoreStep, 0.001, 0.5)
	}
	return p
}

// maxRubric is the largest size of a rubric, in bytes.
const maxRubric = 64 << 10

// rubric returns the configured rubric, or DefaultRubric.
func (c Config) rubric() (string, error) {
	text := c.Rubric
	if c.RubricFile != "" {
		f, err := os.Open(c.RubricFile)
		if err != nil {
			return "", rubricError(c.RubricFile, "cannot be read", err)
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxRubric+1))
		if err != nil {
			return "", rubricError(c.RubricFile, "cannot be read", err)
		}
		if text = string(data); len(text) > maxRubric || !utf8.ValidString(text) || strings.TrimSpace(text) == "" {
			return "", rubricError(c.RubricFile, fmt.Sprintf("is not a rubric: it must be non-empty UTF-8 text of at most %d bytes", maxRubric), nil)
		}
	}
	if text = strings.TrimSpace(text); text == "" {
		text = DefaultRubric
	}
	return text, nil
}

func rubricError(path, what string, err error) error {
	return &fault.Error{Boundary: fault.Config, Kind: fault.Invalid, Where: path, What: what, Err: err, Hint: "name a text file in rubric_file"}
}
