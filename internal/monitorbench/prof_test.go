package monitorbench

import "testing"

func BenchmarkPlay(b *testing.B) {
	f := Families()
	for b.Loop() {
		_, _ = f[8].Play(b.Context(), 1)
	}
}
