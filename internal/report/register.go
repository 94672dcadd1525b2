package report

import "github.com/merit-rl/merit/sdk/merit"

func init() { merit.RegisterReport(Make) }
