package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"postage/lab"
	"postage/stage/store"
)

// useDSN has a run's cases on a PostgreSQL server use the user's own, if there is a --dsn.
func useDSN(cmd *cobra.Command, dsn string, entries []lab.Entry) error {
	if dsn == "" {
		return nil
	}
	if !slices.ContainsFunc(entries, func(e lab.Entry) bool { return e.Stage == "store" && e.Case.Service != nil }) {
		return hinted{errors.New("--dsn: none of the cases is measured on a PostgreSQL server"), "postage run Store/peer=postgres --dsn ..."}
	}
	cmd.SetContext(store.WithDSN(cmd.Context(), dsn))
	return nil
}
