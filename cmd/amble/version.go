package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newVersionCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(c.stdout, versionText(c))
			return err
		},
	}
}

func versionText(c *cli) string {
	return fmt.Sprintf("amble %s (%s, %s/%s)", c.version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
