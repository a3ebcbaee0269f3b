package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"amble/configs"
)

type configOptions struct {
	crawlOptions
	defaults, sources bool
}

func newConfigCommand(c *cli) *cobra.Command {
	o := &configOptions{}
	cmd := &cobra.Command{
		Use:   "config [--defaults] [--sources]",
		Short: "Print the configuration in force, or the commented defaults",
		Long: `Print the configuration that a crawl or resume in --job DIR would have, as YAML. --defaults prints the defaults with
what each key changes: a good start for ~/.config/amble/amble.yaml or JOB/amble.yaml.

Flags override the environment (AMBLE_MAX_PAGES for max-pages), which overrides --config FILE, JOB/amble.yaml, your own
file, and last the defaults. A list replaces the one beneath it.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runConfig(cmd.Context(), c, o) },
	}
	cmd.Flags().BoolVar(&o.defaults, "defaults", false, "the defaults, with comments")
	cmd.Flags().BoolVar(&o.sources, "sources", false, "a line a key: the key, a tab, and where its value comes from")
	cmd.MarkFlagsMutuallyExclusive("defaults", "sources")
	addConfigFlags(cmd.Flags(), &o.crawlOptions)
	return cmd
}

func runConfig(_ context.Context, c *cli, o *configOptions) error {
	if o.defaults {
		_, err := c.stdout.Write(configs.DefaultYAML)
		return err
	}
	loaded, err := c.load(&o.crawlOptions, true)
	if err != nil {
		return err
	}
	if o.sources {
		for _, key := range configs.Keys() {
			if _, err := fmt.Fprintf(c.stdout, "%s\t%s\n", key, loaded.Source(key)); err != nil {
				return err
			}
		}
		return nil
	}
	_, err = c.stdout.Write(loaded.YAML())
	return err
}
