// Package receiptscmd implements merit receipts, and the flags with which merit eval writes
// receipts.
package receiptscmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/core/scoring"
	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/receipts"
	"github.com/merit-rl/merit/sandbox"
	"github.com/merit-rl/merit/sdk/merit"
)

// NewCmd returns merit receipts.
func NewCmd(h *console.Host) *cobra.Command {
	return console.Group("receipts", "Check signed receipts of scores", newCheckCmd(h), newShowCmd(h))
}

// Signing are the flags of a command that writes receipts.
type Signing struct {
	Receipts string `flag:"receipts" usage:"where to write a signed receipt of every score, with --key" output:"yes"`
	Key      string `flag:"key" usage:"the private key that signs the receipts, from ssh-keygen -t ed25519"`
	signer   *receipts.Signer
	writer   *receipts.Writer
}

// Prepare checks the flags and reads the key. computed is false if the command takes scores from
// elsewhere.
func (s *Signing) Prepare(cmd *cobra.Command, computed bool) (err error) {
	switch {
	case s.Receipts == "" && s.Key == "":
		return nil
	case s.Receipts == "":
		return console.Usage(cmd, "name the file of the receipts: --receipts scores.receipts", "--key signs receipts, and none are written")
	case s.Key == "":
		return console.Usage(cmd, "make a key: ssh-keygen -t ed25519 -N '' -f receipts-key; then add --key receipts-key", "--receipts needs --key")
	case s.Receipts == "-":
		return console.Usage(cmd, "name a file: --receipts scores.receipts", "--receipts cannot be the standard output")
	case !computed:
		return console.Usage(cmd, "score all again, without --retry", "--retry keeps results of a file, and a receipt is about a score that was computed")
	}
	s.signer, err = receipts.ReadSigner(s.Key)
	return err
}

// Open begins the receipts of an evaluation, if they were asked for.
func (s *Signing) Open(cmd *cobra.Command, rewards *merit.Rewards, cfg sandbox.Config, columns []string, skipBad bool) (err error) {
	if s.signer == nil {
		return nil
	}
	if cfg.Isolation == sandbox.Shared {
		return console.Usage(cmd, "use --isolation snapshot, the default", "--receipts cannot be combined with the isolation shared, in which scores depend on earlier ones")
	}
	v := merit.ReadVersion()
	list := receipts.Rewards(rewards.Parts)
	s.writer, err = receipts.Create(s.Receipts, nil, receipts.Header{
		Merit: strings.TrimSpace(v.Version + " " + v.Revision), Rewards: list, Limits: cfg.Limits,
		Columns: columns, SkipBad: skipBad, Repeatable: receipts.Repeatable(list),
	}, s.signer)
	return err
}

// On reports whether receipts are written.
func (s *Signing) On() bool { return s.writer != nil }

// Note adds the receipt of the next result.
func (s *Signing) Note(result *scoring.Result) {
	if s.writer != nil {
		s.writer.Add(result)
	}
}

// Close finishes the file, and Drop discards it. Both do nothing if it is finished, or if none is
// written.
func (s *Signing) Close() error {
	if s.writer == nil {
		return nil
	}
	w := s.writer
	s.writer = nil
	return w.Close()
}

// Drop discards the file.
func (s *Signing) Drop() {
	if s.writer != nil {
		s.writer.Drop()
	}
}
