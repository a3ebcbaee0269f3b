package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"amble/scheduler"
)

type statusOptions struct{ json, check bool }

func newStatusCommand(c *cli) *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:   "status [--json] [--check]",
		Short: "Say how a job stands, running or not",
		Long: `Say how the job in --job DIR stands, also beside the crawl that runs it. --check reads all of a job that is not
running and verifies it (exit 1 when something is wrong).`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), c, o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	cmd.Flags().BoolVar(&o.check, "check", false, "verify checksums and cross-references")
	return cmd
}

func runStatus(_ context.Context, c *cli, o *statusOptions) error {
	s, live, err := scheduler.ReadStatus(c.job)
	if err != nil {
		return err
	}
	if o.json {
		out := json.NewEncoder(c.stdout)
		out.SetEscapeHTML(false)
		if err := out.Encode(s); err != nil {
			return err
		}
	} else {
		writeStatus(c, s, live, time.Now())
	}
	if !o.check {
		return nil
	}
	faults, err := scheduler.Check(c.job)
	if err != nil {
		return err
	}
	for _, f := range faults {
		c.notef("check: %s", printable(f.Error()))
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s: %s", c.job, plural(int64(len(faults)), "fault"))
	}
	c.notef("check: no fault")
	return nil
}

func writeStatus(c *cli, s scheduler.Status, live bool, now time.Time) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(c.stdout, "%-10s%s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	state := s.State
	if s.End != "" {
		state += " (" + s.End + ")"
	}
	if live {
		state += fmt.Sprintf(", process %d, as of %s ago", s.PID, span(now.Sub(s.Updated.Time)))
	}
	row("job", "%s", c.job)
	row("state", "%s", state)
	row("pages", "%s, %s failed, %s pending, on %s", count(s.Pages), count(s.Failed), count(s.Queued), plural(s.Hosts, "host"))
	row("requests", "%s, %s", count(s.Requests), size(s.Bytes))
	row("seeds", "%s captured, %s failed, %s pending", count(s.Seeds.Captured), count(s.Seeds.Failed), count(s.Seeds.Pending))
	if skipped := tally(s.Skipped); skipped != "" {
		row("skipped", "%s", skipped)
	}
	if classes := tally(s.Classes); classes != "" {
		row("classes", "%s", classes)
	}
	if s.NextHost != "" && s.Queued > 0 {
		row("next", "%s", nextStart(s))
	}
	if !live {
		fmt.Fprintln(c.stdout, goOn(c, s))
	}
}
