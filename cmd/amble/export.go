package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"amble/configs"
	"amble/storage/export"
)

type exportOptions struct {
	format, output string
	overwrite      bool
	host, status   string
	mime, url      string
	since          string
	first, newest  bool
	body, noindex  bool
	shardSize      string
}

func newExportCommand(c *cli) *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export --format F [-o PATH|-] [flags]",
		Short: "Write what was fetched for other tools",
		Long: `Write the captures of a job for other tools, also beside a running crawl. Formats: ` + strings.Join(export.Formats, ", ") + `.
A PATH that ends in .gz or .zst is compressed. An output that is there already is left alone without --overwrite.`,
		Example: `  amble export --format jsonl -o pages.jsonl.gz
  amble export --format urls --status 404
  amble export --format warc --host example.org -o example.warc.gz`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return runExport(cmd.Context(), c, o) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.format, "format", "", "`F`: "+strings.Join(export.Formats, ", "))
	f.StringVarP(&o.output, "output", "o", "-", "a `PATH`, or - for standard output")
	f.BoolVar(&o.overwrite, "overwrite", false, "replace an output that is there")
	f.StringVar(&o.host, "host", "", "only this `HOST`: a name, name:port, or *.DOMAIN; several with commas")
	f.StringVar(&o.status, "status", "", "only these `STATUS` codes: 200, 2xx, 200,404, 300-399")
	f.StringVar(&o.mime, "mime", "", "only these media `TYPES`: text/html, text/*")
	f.StringVar(&o.url, "url", "", "only URLs in which `RE` is found")
	f.StringVar(&o.since, "since", "", "only what was fetched since `TIME`: 2026-01-31, RFC 3339, or 24h ago as 24h")
	f.BoolVar(&o.first, "first", false, "only the first capture of each URL")
	f.BoolVar(&o.newest, "newest", false, "only the newest capture of each URL")
	f.BoolVar(&o.body, "body", false, "with the body of each page (jsonl)")
	f.BoolVar(&o.noindex, "include-noindex", false, "also the bodies of pages that ask not to be indexed or archived")
	f.StringVar(&o.shardSize, "shard-size", "", "begin a new file at `SIZE`, as 1GB")
	completeWords(cmd, "format", export.Formats...)
	return cmd
}

func runExport(ctx context.Context, c *cli, o *exportOptions) error {
	opt, err := o.options(c, time.Now())
	if err != nil {
		return usageError{err}
	}
	// A signal removes the temporary files. The export looks for it at each capture, so a second one, which a wrapper may
	// pass on, need not end the program sooner.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	end, live, err := c.archiveEnd()
	if err != nil {
		return err
	}
	opt.End = end
	out := c.siteOutput()
	opt.Stdout = out
	screen := newScreen(c)
	shown := 0
	opt.Damaged = func(err error) {
		if shown++; shown <= maxDamageShown {
			screen.rewrite("")
			c.notef("left out: %s", printable(err.Error()))
		}
	}
	if !c.quiet && screen.live && opt.Output != "-" {
		opt.Progress = func(done, total int64) {
			screen.rewrite(fmt.Sprintf("exporting: %s of %s", size(done), size(total)))
		}
	}
	stats, err := export.Run(ctx, c.job, opt)
	err = errors.Join(err, out.Close())
	screen.rewrite("")
	var option *export.OptionError
	if errors.As(err, &option) {
		return usageError{err}
	}
	if errors.Is(err, fs.ErrExist) {
		return usageError{err}
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("export: stopped by a signal; no file was written")
	}
	if err != nil {
		return err
	}
	if stats.Withheld > 0 {
		c.notef("the bodies of %s were left out, since they ask not to be indexed or archived; --include-noindex overrules that", plural(stats.Withheld, "page"))
	}
	if !c.quiet {
		from := ""
		if live {
			from = " (the crawl is running: up to what it has committed)"
		}
		c.notef("%s, %s, to %s%s", plural(stats.Captures, counted(o.format)), size(stats.Bytes), outputs(stats.Files), from)
		if filters := o.filters(); stats.Captures == 0 && filters != "" {
			c.notef("nothing in the job passes %s; `amble export%s --format urls` lists what there is", filters, c.jobFlag())
		}
	}
	if stats.Damaged > 0 {
		return fmt.Errorf("%s could not be read and %s left out; %s what could be read",
			plural(stats.Damaged, "damaged capture"), wasOrWere(stats.Damaged), outputHolds(stats.Files))
	}
	return nil
}

// maxDamageShown is how many damaged captures are named one by one.
const maxDamageShown = 20

func wasOrWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func outputHolds(files []string) string {
	if len(files) > 1 {
		return outputs(files) + " hold"
	}
	return outputs(files) + " holds"
}

// counted is what a format's lines are.
func counted(format string) string {
	switch format {
	case "urls":
		return "URL"
	case "seeds":
		return "seed"
	}
	return "capture"
}

// filters are the flags given that leave captures out, "" without one.
func (o *exportOptions) filters() string {
	var given []string
	for _, f := range [][2]string{{"--host", o.host}, {"--status", o.status}, {"--mime", o.mime}, {"--url", o.url}, {"--since", o.since}} {
		if f[1] != "" {
			given = append(given, f[0]+" "+shellQuote(f[1]))
		}
	}
	return strings.Join(given, " ")
}

func outputs(files []string) string {
	if len(files) == 0 {
		return "standard output"
	}
	return strings.Join(files, ", ")
}

// options checks what was given; now is what --since counts back from.
func (o *exportOptions) options(c *cli, now time.Time) (export.Options, error) {
	opt := export.Options{
		Format: o.format, Output: o.output, Overwrite: o.overwrite, Host: o.host, Status: o.status, Mime: o.mime,
		First: o.first, Newest: o.newest, Body: o.body, IncludeNoindex: o.noindex,
	}
	if o.format == "" {
		return opt, fmt.Errorf("--format is missing: one of %s", strings.Join(export.Formats, ", "))
	}
	if slices.Contains(formatsNotYet, o.format) {
		return opt, fmt.Errorf("--format %s is not there yet: one of %s", o.format, strings.Join(export.Formats, ", "))
	}
	if !slices.Contains(export.Formats, o.format) {
		return opt, fmt.Errorf("--format %q is not known here: one of %s", o.format, strings.Join(export.Formats, ", "))
	}
	if o.first && o.newest {
		return opt, errors.New("--first and --newest exclude each other")
	}
	if o.body && o.format != "jsonl" {
		return opt, errors.New("--body is for --format jsonl")
	}
	if o.format == "warc" && o.output == "-" && c.isScreen(c.stdout) {
		return opt, errors.New("a WARC is not for a terminal: give -o PATH")
	}
	if o.url != "" {
		re, err := regexp.Compile(o.url)
		if err != nil {
			return opt, fmt.Errorf("--url %q is no regular expression of RE2: %w", o.url, err)
		}
		opt.URL = re
	}
	if o.since != "" {
		t, err := parseSince(o.since, now)
		if err != nil {
			return opt, err
		}
		opt.Since = t
	}
	if o.shardSize != "" {
		n, err := configs.ParseSize(o.shardSize)
		if err != nil {
			return opt, fmt.Errorf("--shard-size: %w", err)
		}
		opt.ShardBytes = int64(n)
	}
	return opt, nil
}

func parseSince(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if d, err := configs.ParseDuration(s); err == nil {
		return now.Add(-time.Duration(d)), nil
	}
	return time.Time{}, fmt.Errorf("--since %q is no time: write 2026-01-31, 2026-01-31T12:00:00Z, or 24h for a day ago", s)
}
