package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"amble/configs"
	"amble/scheduler"
	"amble/scheduler/sim/web"
	"amble/storage"
)

// The demo's pace and how it ends.
const (
	demoFloor   = 500 * time.Millisecond
	demoJitter  = 10 * time.Millisecond // arrival times may be early by so much
	demoMaxTime = "55s"
	// One host's robots.txt is broken for good and keeps its pages waiting: the crawl ends when it waits for that alone.
	demoMaxWait = "5s"
)

type demoOptions struct {
	crawlOptions
	ownFolder bool // no job was named: a fresh temporary folder
	floor     time.Duration
	fast      bool // a smaller and quicker web, for tests
}

func newDemoCommand(c *cli) *cobra.Command {
	o := &demoOptions{floor: demoFloor}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Crawl a small web on this machine, and show what came of it",
		Long: `Start a web of some thirty hosts on this machine's loopback addresses, each with a behaviour of its own (slow, limited,
forbidden, broken, ...), crawl it politely, export the result, and judge the crawl by that web's own log. It takes about
a minute, needs no network, and fails when a promise was broken or a page is missing.`,
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.ownFolder = !cmd.Flags().Changed("job")
			return runDemo(cmd.Context(), c, o)
		},
	}
	cmd.Flags().BoolVar(&o.overwrite, "overwrite", false, "remove the job that is in the folder first")
	return cmd
}

func runDemo(ctx context.Context, c *cli, o *demoOptions) (err error) {
	if o.ownFolder {
		dir, err := os.MkdirTemp("", "amble-demo-")
		if err != nil {
			return err
		}
		c.job = filepath.Join(dir, "job")
	}
	w, err := web.Start(web.Options{Fast: o.fast})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	seeds := w.Seeds()
	c.notef("demo: %d hosts on loopback addresses; the crawl takes up to a minute", len(seeds))
	o.bare, o.say = true, demoEnd
	for key, value := range map[string]string{
		"own": "127.0.0.0/8", "floor": o.floor.String(), "depth": fmt.Sprint(web.Depth), "timeout": w.Timeout().String(),
		"max-wait": demoMaxWait, "max-time": demoMaxTime,
	} {
		o.assignments = append(o.assignments, configs.Assignment{Key: key, Values: []string{value}, Flag: "demo's " + key})
	}
	status, err := crawlNew(ctx, c, &o.crawlOptions, seeds)
	waiting := errors.Is(err, errStopped) && status.End == endWaiting
	if err != nil && !waiting {
		return err
	}
	files, err := demoExports(ctx, c)
	if err != nil {
		return err
	}
	missing, twice, err := demoPages(ctx, c.job, w)
	if err != nil {
		return err
	}
	return demoReport(c, w, o.floor, status.Queued, files, missing, twice)
}

// demoEnd is the last line of the demo's crawl. Its web ends with it, so there is nothing to resume.
func demoEnd(s scheduler.Status) (words, next string) {
	if s.End == endSignal {
		return "the demo was stopped", "Its web is gone; once more: amble demo"
	}
	return "the demo's crawl is over", "What its web says of it:"
}

// demoExports writes what a user would export.
func demoExports(ctx context.Context, c *cli) ([]string, error) {
	dir := filepath.Join(c.job, "export")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	quiet := *c
	quiet.quiet = true
	for _, e := range []struct{ format, name string }{{"jsonl", "pages.jsonl"}, {"warc", "pages.warc.gz"}} {
		path := filepath.Join(dir, e.name)
		if err := runExport(ctx, &quiet, &exportOptions{format: e.format, output: path, overwrite: true}); err != nil {
			return nil, err
		}
		files = append(files, path)
	}
	return files, nil
}

// demoPages compares the archive with what the web says is there: pages that are missing, pages captured twice.
func demoPages(ctx context.Context, job string, w *web.Web) (missing, twice []string, err error) {
	r, err := storage.OpenReader(job, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	captured := make(map[string]int)
	for ctx.Err() == nil {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if e.Kind == "" {
			captured[e.URL]++
		}
	}
	for _, url := range w.ExpectedOK() {
		switch captured[url] {
		case 0:
			missing = append(missing, url)
		case 1:
		default:
			twice = append(twice, url)
		}
	}
	return missing, twice, ctx.Err()
}

// demoReport writes the verdict and what to do next. It fails when the verdict is bad.
func demoReport(c *cli, w *web.Web, floor time.Duration, pending int64, files, missing, twice []string) error {
	out := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	requests := w.Requests()
	fmt.Fprintln(out, "\nHOST\tREQUESTS\tSHORTEST GAP\t429, 503\tKIND")
	for _, h := range w.Hosts() {
		var n, limited int
		var last time.Time
		shortest := time.Duration(0)
		for _, r := range requests {
			if r.Host != h.Host {
				continue
			}
			if n++; n > 1 {
				if gap := r.Start.Sub(last); shortest == 0 || gap < shortest {
					shortest = gap
				}
			}
			last = r.Start
			if r.Status == 429 || r.Status == 503 {
				limited++
			}
		}
		gap := "-"
		if n > 1 {
			gap = shortest.Round(time.Millisecond / 10).String()
		}
		fmt.Fprintf(out, "%s\t%d\t%s\t%d\t%s: %s\n", h.Host, n, gap, limited, h.Kind, h.About)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	expected := len(w.ExpectedOK())
	breaches := w.Judge(floor, demoJitter)
	fmt.Fprintf(c.stdout, "\nPages    %d of the %d that the web says it has, %d of them captured twice\n", expected-len(missing), expected, len(twice))
	fmt.Fprintf(c.stdout, "Verdict  %s in the web's own log of %s\n         (floor %s, Crawl-delay, Retry-After, robots.txt first, Disallow, one request at a time per host)\n",
		plural(int64(len(breaches)), "broken promise"), plural(int64(len(requests)), "request"), floor)
	for _, b := range breaches {
		fmt.Fprintf(c.stdout, "         broken: %s\n", b)
	}
	for _, url := range missing {
		fmt.Fprintf(c.stdout, "         missing: %s\n", url)
	}
	for _, url := range twice {
		fmt.Fprintf(c.stdout, "         twice: %s\n", url)
	}
	if pending > 0 {
		fmt.Fprintf(c.stdout, "Pending  %s: a robots.txt that answers 500 forbids its host for now (RFC 9309)\n", plural(pending, "URL"))
	}
	for i, f := range files {
		fmt.Fprintf(c.stdout, "%-9s%s\n", map[bool]string{true: "Files"}[i == 0], f)
	}
	fmt.Fprintf(c.stdout, "%-9s%s\n\n", "", filepath.Join(c.job, "crawl.jsonl"))
	// What works without the demo's web, which is gone now.
	fmt.Fprintf(c.stdout, "Next:    amble export%[1]s --format csv\n", c.jobFlag())
	if pages := w.ExpectedOK(); len(pages) > 0 {
		fmt.Fprintf(c.stdout, "         amble show%s %s\n", c.jobFlag(), pages[0])
	}
	fmt.Fprint(c.stdout, "         amble crawl --contact you@example.org https://example.org/\n")
	if len(breaches)+len(missing)+len(twice) > 0 {
		return fmt.Errorf("the demo found %s, %s, %s captured twice", plural(int64(len(breaches)), "broken promise"),
			plural(int64(len(missing)), "missing page"), plural(int64(len(twice)), "page"))
	}
	return nil
}
