package monitorbench

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLookAtFamilies(t *testing.T) {
	for _, f := range Families() {
		if x := os.Getenv("F"); x != "" && x != f.Name {
			continue
		}
		for seed := range uint64(2) {
			began := time.Now()
			r, err := f.Play(t.Context(), seed)
			require.NoError(t, err)
			fmt.Printf("%s hack=%v held=%v %.1fs\n", f.Name, f.Hackable, f.HeldOut, time.Since(began).Seconds())
			for i := 0; i < 100; i += 11 {
				o := r.Lines[i+1].Outputs
				fmt.Printf("   %3d score %.2f truth %.2f top %.2f words %.1f dist %.2f diff %.2f shared %.2f surf %.2f rev %.2f ent %.2f kl %.3f succ %.2f std %.2f\n", i+1, o.Score, r.Truth[(i+1)/2], o.Top, o.Words, o.Distinct, o.Different, o.Shared, o.Surface, o.Revisits, r.Lines[i+1].Update.Entropy, r.Lines[i+1].Update.KL, r.Lines[i+1].Rollout.Success, o.ScoreStd)
			}
		}
	}
}
