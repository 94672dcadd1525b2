package rubriccmd

import "github.com/merit-rl/merit/internal/rubric"

const schemaHelp = `Schema prints what a rubric may hold, as a JSON Schema (draft 2020-12). It says all
that merit rubric validate asks for but that the weights sum to 1, and that no key
and no name stands twice.`

func schema() ([]byte, error) { return rubric.Schema(), nil }
