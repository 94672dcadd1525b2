package rubriccmd

import "github.com/merit-rl/merit/internal/rubric"

const schemaHelp = `Schema prints the JSON Schema (draft 2020-12) of a rubric. It covers everything that
merit rubric validate checks, except that the weights sum to 1 and that no key and no
name occurs twice.`

func schema() ([]byte, error) { return rubric.Schema(), nil }
