//go:build benchonly

package cli

import (
	"github.com/spf13/cobra"

	"postage/internal/kit/report"
	"postage/internal/sys/proc"
	"postage/record"
)

func (p program) others() []*cobra.Command { return nil }

func (p program) hidden() []*cobra.Command { return nil }

func ownServers() map[string]proc.Server { return map[string]proc.Server{} }

func showAgainst(*cobra.Command, *record.Record, string, report.Form) (printed bool, err error) {
	return false, nil
}
