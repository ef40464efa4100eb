//go:build !benchonly

package cli

import (
	"github.com/spf13/cobra"

	"postage/internal/service/greeter"
	"postage/internal/sys/link"
	"postage/internal/sys/proc"
)

// others are the commands that a build for benchmarks alone leaves out.
func (p program) others() []*cobra.Command {
	return []*cobra.Command{p.bringCommand(), loadCommand(), profileCommand()}
}

func (p program) hidden() []*cobra.Command { return []*cobra.Command{p.proveCommand()} }

// ownServers are the servers that no suite has.
func ownServers() map[string]proc.Server {
	return map[string]proc.Server{greeter.Name: greeter.Serve, link.Name: link.Serve}
}
