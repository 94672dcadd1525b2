package rowio_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/merit-rl/merit/core/advantage"
	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/internal/data/rowio"
	"github.com/stretchr/testify/require"
)

// Promise: no bytes crash the reader; what it accepts is written as JSON, is
// accepted again and then gives the same bytes.
func FuzzRead(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(good + "\r\n" + with(`"step":0`, `"step":1`)))
	f.Add([]byte(with(`"o"`, `"\u00e9\ud83d\ude00\\\""`)))
	f.Add([]byte(with(`"reward":0`, `"reward":NaN`)))
	f.Add([]byte(with(`"reward":0`, `"reward":-0.0,"x":[{"y":"]"},null],"return":1`)))
	f.Add([]byte(with(`"reward":0,"episode_score":1`, `"reward":null,"episode_score":null`)))
	f.Add([]byte(good + with(`"trajectory":"t"`, `"trajectory":"u","branch_of":"t","branch_at":0,"log_prob":-1`)))
	f.Add([]byte(`{"st\u0065p":0}`))
	f.Add([]byte(`{"group":"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := rowio.Read("rows", bytes.NewReader(data))
		if err != nil {
			require.NotNil(t, fault.As(err))
			return
		}
		cfg := advantage.Default()
		cfg.Normalization = advantage.MeanStdNorm
		first, ok := through(t, cfg, table)
		if !ok {
			return
		}
		for _, line := range bytes.Split(bytes.TrimSpace(first), []byte("\n")) {
			require.True(t, json.Valid(line), "%s", line)
		}
		again, err := rowio.Read("rows", bytes.NewReader(first))
		require.NoError(t, err)
		second, ok := through(t, cfg, again)
		require.True(t, ok)
		require.Equal(t, string(first), string(second))
	})
}

// through returns the table as written with its advantages; false if its
// numbers are too large for that.
func through(t *testing.T, cfg advantage.Config, table *rowio.Table) ([]byte, bool) {
	var res advantage.Result
	if err := advantage.Estimate(cfg, &table.Rows, &res); err != nil {
		require.ErrorContains(t, table.Explain(err), "line ")
		return nil, false
	}
	var out bytes.Buffer
	require.NoError(t, table.Write(&out, &res))
	return out.Bytes(), true
}
