package run

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/klauspost/compress/zstd"

	"github.com/merit-rl/merit/core/fault"
	"github.com/merit-rl/merit/core/rl"
)

// SaveEpisodes appends training episodes, one zstd frame for all of them, to
// trajectories/train.jsonl.zst. Equal episodes give equal bytes.
func (d *Dir) SaveEpisodes(episodes []*rl.Trajectory) error {
	if len(episodes) == 0 {
		return nil
	}
	frame, err := pack(episodes)
	if err := errors.Join(err, d.begin()); err != nil {
		return err
	}
	return d.episodes.append(frame)
}

// WriteEpisodes writes trajectories/<name>.jsonl.zst whole.
func (d *Dir) WriteEpisodes(name string, episodes []*rl.Trajectory) error {
	frame, err := pack(episodes)
	if err := errors.Join(err, d.begin()); err != nil {
		return err
	}
	return writeFile(d.file(Trajectories, name+".jsonl.zst"), frame)
}

func pack(episodes []*rl.Trajectory) ([]byte, error) {
	var frame bytes.Buffer
	// One worker: the bytes must not depend on the machine's processors.
	z, err := zstd.NewWriter(&frame, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	enc := json.NewEncoder(z)
	enc.SetEscapeHTML(false)
	for _, t := range episodes {
		if err := enc.Encode(t); err != nil {
			return nil, &fault.Error{
				Boundary: fault.Data, Kind: fault.Numeric, Where: t.ID, What: "cannot be stored", Err: err,
				Hint: "a reward or a policy gave a number that is not finite",
			}
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return frame.Bytes(), nil
}
