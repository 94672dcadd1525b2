package servecmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/merit-rl/merit/internal/cli/console"
	"github.com/merit-rl/merit/internal/cli/terminal"
	"github.com/merit-rl/merit/internal/serve/tenant"
)

type keyOptions struct {
	host    *console.Host
	tenants string
}

// newKeyCmd returns the command serve key.
func newKeyCmd(h *console.Host) *cobra.Command {
	o := &keyOptions{host: h}
	cmd := console.GroupOf(&cobra.Command{
		Use:   "key",
		Short: "Create, list and revoke the keys of tenants",
		Long: `Key changes the keys file next to the tenants file. The keys file contains only hashes of
keys. A running server reloads it on SIGHUP.`,
	})
	cmd.PersistentFlags().StringVar(&o.tenants, "tenants", "tenants.yaml", "the tenants file")
	cmd.AddCommand(
		&cobra.Command{
			Use:     "new TENANT",
			Short:   "Create a key for a tenant and print it once",
			Example: "  merit serve key new team --tenants tenants.yaml",
			Args:    console.Exactly("TENANT"),
			RunE:    o.create,
		},
		&cobra.Command{
			Use:     "list",
			Short:   "List the ids of keys, not the keys themselves",
			Example: "  merit serve key list --tenants tenants.yaml",
			Args:    console.NoArgs,
			RunE:    o.list,
		},
		&cobra.Command{
			Use:     "revoke ID",
			Short:   "Revoke a key by its id",
			Example: "  merit serve key revoke key_1f2e3d4c5b6a --tenants tenants.yaml",
			Args:    console.Exactly("ID"),
			RunE:    o.revoke,
		},
	)
	return cmd
}

func (o *keyOptions) create(_ *cobra.Command, args []string) error {
	key, stored, err := tenant.AddKey(o.tenants, args[0], o.host.Now())
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(map[string]string{"key": key, "id": stored.ID, "tenant": stored.Tenant, "created": stored.Created})
	}
	if _, err := fmt.Fprintln(o.host.Stdout, key); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.host.Stderr, "key %s of tenant %s: save it now, it cannot be shown again\n", stored.ID, stored.Tenant)
	return err
}

func (o *keyOptions) list(*cobra.Command, []string) error {
	keys, err := tenant.Keys(o.tenants)
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(append([]tenant.Key{}, keys...))
	}
	t := terminal.Table{Head: []string{"id", "tenant", "created"}}
	for _, k := range keys {
		t.Add(k.ID, k.Tenant, k.Created)
	}
	return t.Write(o.host.Stdout)
}

func (o *keyOptions) revoke(_ *cobra.Command, args []string) error {
	was, err := tenant.RevokeKey(o.tenants, args[0])
	if err != nil {
		return err
	}
	if o.host.Global.JSON {
		return o.host.PrintJSON(was)
	}
	_, err = fmt.Fprintf(o.host.Stdout, "revoked key %s of tenant %s; a running server refuses it after SIGHUP\n", was.ID, was.Tenant)
	return err
}
