package receiptscmd

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/data/jsonl"
	"github.com/merit-rl/merit/internal/receipts"
)

type showOptions struct {
	host   *console.Host
	ID     string `flag:"id" usage:"the id of the trajectory"`
	Number int    `flag:"number" usage:"the number of the receipt, instead of --id"`
	Out    string `flag:"out" usage:"where to write the receipt; - is stdout" output:"yes"`
	Armor  bool   `flag:"armor" usage:"print the signature as ssh-keygen reads it"`
	Text   bool   `flag:"statement" usage:"print the text that is signed"`
}

func newShowCmd(h *console.Host) *cobra.Command {
	o := &showOptions{host: h, Out: "-"}
	return console.Verb(&cobra.Command{
		Use:   "show FILE",
		Short: "Take one receipt out of a file, with what proves it",
		Long: `Show writes one receipt of a file as JSON that stands alone: the receipt, the header,
the path to the root that the seal signs, and the signature. merit receipts check reads
it. Show checks nothing.

With --statement and --armor, show prints the signed text and the signature, which
ssh-keygen -Y verify checks without Merit.`,
		Example: "  merit receipts show scores.receipts --id task-7 --out task-7.receipt\n  merit receipts show scores.receipts --number 1 --statement",
		Args:    console.Exactly("FILE"),
		RunE:    o.run,
	}, o)
}

func (o *showOptions) run(cmd *cobra.Command, args []string) error {
	if (o.ID == "") == (o.Number == 0) {
		return console.Usage(cmd, "name the trajectory: --id task-7; or the place in the file: --number 1", "show needs --id or --number")
	}
	x, err := receipts.Extract(args[0], func(r receipts.Receipt) bool { return r.Number == o.Number || o.ID != "" && r.ID == o.ID })
	if err != nil {
		return err
	}
	text, err := json.Marshal(x)
	switch {
	case err != nil:
		return err
	case o.Text && o.Armor:
		return console.Usage(cmd, "print one after the other", "--statement and --armor are two files")
	case o.Text:
		_, err = fmt.Fprint(o.host.Stdout, x.Statement)
		return err
	case o.Armor:
		_, err = fmt.Fprint(o.host.Stdout, x.Armored())
		return err
	}
	out, err := jsonl.Create(o.Out, o.host.Stdout)
	if err != nil {
		return err
	}
	defer out.Drop()
	if _, err := out.Write(append(text, '\n')); err != nil {
		return err
	}
	return out.Close()
}
