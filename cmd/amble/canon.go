package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"amble/frontier/canon"
)

func newCanonCommand(c *cli) *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use:   "canon [--base URL] REF...|-",
		Short: "Write URLs in canonical form",
		Long: `Write each reference in canonical form, one a line and in order, or "error: ..." in its place. With - references are
read from standard input, one a line.`,
		Example: `  amble canon 'HTTP://Example.org:80/a/../b#top'
  amble canon --base https://example.org/docs/ - < references.txt`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runCanon(cmd.Context(), c, base, args) },
	}
	cmd.Flags().StringVar(&base, "base", "", "resolve references against this `URL`")
	return cmd
}

func runCanon(_ context.Context, c *cli, base string, refs []string) error {
	parse := canon.Parse
	if base != "" {
		b, err := canon.Parse(base)
		if err != nil {
			return usagef("--base: %w", err)
		}
		parse = b.Resolve
	}
	out := bufio.NewWriter(c.stdout)
	err := eachArgument(c.stdin, refs, func(ref string) error {
		u, err := parse(ref)
		if err != nil {
			_, err = fmt.Fprintf(out, "error: %s\n", oneLine(err.Error()))
			return err
		}
		_, err = out.WriteString(u.String() + "\n")
		return err
	})
	return errors.Join(err, out.Flush())
}

// oneLine keeps text that quotes a reference on one line.
func oneLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(printable(s))
}
