package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"amble/configs"
	"amble/fetcher"
	"amble/fetcher/body"
	"amble/fetcher/capture"
	"amble/fetcher/robots"
	"amble/frontier/canon"
)

type robotsOptions struct {
	crawlOptions  // --own, --contact and the like, for --file URL
	agent, file   string
	json, compare bool
}

func newRobotsCommand(c *cli) *cobra.Command {
	o := &robotsOptions{}
	cmd := &cobra.Command{
		Use:   "robots --agent NAME --file FILE|URL [--json] [--compare] URL...|-",
		Short: "Say what a robots.txt permits, and which line decides",
		Long: `Say what a robots.txt permits a crawler (RFC 9309), and which line decides. URLs may be paths. With - they are read
from standard input, one a line. --compare sets beside it how a widely used library reads the same file.`,
		Example: `  amble robots --agent Amble --file robots.txt /private/ /public/
  amble robots --agent Amble --contact you@example.org --file https://example.org/robots.txt /search?q=x`,
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runRobots(cmd.Context(), c, o, args) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.agent, "agent", configs.Product, "the product token, a `NAME`")
	f.StringVar(&o.file, "file", "", "the robots.txt, a `FILE`, - or a URL")
	f.BoolVar(&o.json, "json", false, "a JSON object a line: url, allowed, rule, line, crawl_delay")
	f.BoolVar(&o.compare, "compare", false, "also what the library robotstxt answers")
	addSetting(f, &o.crawlOptions, "contact", "contact", "`URL|ADDRESS` where a site's owner reaches you (for a URL)")
	addSetting(f, &o.crawlOptions, "own", "own", "a `HOST|*.HOST|CIDR` that is yours (for a URL)")
	return cmd
}

// robotsAnswer is a line of robots --json. Every key is there on every line.
type robotsAnswer struct {
	URL        string  `json:"url"`
	Allowed    bool    `json:"allowed"`
	Rule       string  `json:"rule"`
	Line       int     `json:"line"`
	CrawlDelay float64 `json:"crawl_delay"` // seconds, 0 when there is none
	Error      string  `json:"error"`
	// Robotstxt is the library's answer; only with --compare.
	Robotstxt *bool `json:"robotstxt,omitempty"`
}

func runRobots(ctx context.Context, c *cli, o *robotsOptions, refs []string) error {
	if o.file == "" {
		return usagef("--file is missing: a robots.txt, - or its URL")
	}
	if o.file == "-" && len(refs) == 1 && refs[0] == "-" {
		return usagef("the file and the URLs cannot both come from standard input")
	}
	token, _, _ := strings.Cut(o.agent, "/")
	file, err := readRobots(ctx, c, o)
	if err != nil {
		return err
	}
	group := robots.Parse(file).Group(token)
	base, err := canon.Parse("http://robots.invalid/")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err = eachArgument(c.stdin, refs, func(ref string) error {
		a := robotsAnswer{URL: ref}
		if d, ok := group.CrawlDelay(); ok {
			a.CrawlDelay = d.Seconds()
		}
		u, err := base.Resolve(ref)
		if err != nil {
			a.Error = err.Error()
		} else {
			d := group.Decide(u.RequestTarget())
			a.Allowed, a.Rule, a.Line = d.Allowed, d.Rule, d.Line
			if o.compare {
				second, err := robots.SecondOpinion(file, token, u.RequestTarget())
				if err != nil {
					a.Error = "robotstxt: " + err.Error()
				}
				a.Robotstxt = &second
			}
		}
		if o.json {
			return enc.Encode(a)
		}
		_, err = fmt.Fprintln(out, oneLine(a.String()))
		return err
	})
	return errors.Join(err, out.Flush())
}

// String is an answer for people.
func (a robotsAnswer) String() string {
	if a.Error != "" && a.Robotstxt == nil {
		return "error: " + a.Error
	}
	var b strings.Builder
	b.WriteString(map[bool]string{true: "allowed", false: "denied"}[a.Allowed])
	b.WriteString("  " + a.URL)
	if a.Line == 0 {
		b.WriteString("  (no rule)")
	} else {
		fmt.Fprintf(&b, "  (line %d: %s)", a.Line, a.Rule)
	}
	if a.CrawlDelay > 0 {
		fmt.Fprintf(&b, "  crawl-delay %gs", a.CrawlDelay)
	}
	if a.Robotstxt != nil {
		fmt.Fprintf(&b, "  robotstxt: %s", map[bool]string{true: "allowed", false: "denied"}[*a.Robotstxt])
		if *a.Robotstxt != a.Allowed {
			b.WriteString(" (DIFFERS)")
		}
	}
	return b.String()
}

// readRobots reads a file, standard input or a URL, at most as much as counts.
func readRobots(ctx context.Context, c *cli, o *robotsOptions) ([]byte, error) {
	if strings.Contains(o.file, "://") {
		return fetchRobots(ctx, c, o)
	}
	in := c.stdin
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, robots.MaxBytes+1))
}

// fetchRobots makes one request, and follows no redirect: it says where that leads.
func fetchRobots(ctx context.Context, c *cli, o *robotsOptions) ([]byte, error) {
	u, err := canon.Parse(o.file)
	if err != nil {
		return nil, usagef("--file: %w", err)
	}
	loaded, err := c.load(&o.crawlOptions, false)
	if err != nil {
		return nil, err
	}
	cfg, err := loaded.Scheduler(c.version)
	if err != nil {
		return nil, usageError{err}
	}
	if !cfg.Own.Covers(u.Hostname()) && loaded.Contact == "" {
		return nil, usagef("fetching %s needs --contact URL|ADDRESS, or --own %s if it is yours", u, u.Hostname())
	}
	f, err := fetcher.New(cfg.Fetch, capture.NewBudget("", cfg.BodyMemory))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	got := f.Do(ctx, fetcher.Request{URL: u, Own: cfg.Own.Covers(u.Hostname())})
	defer got.Body.Close()
	switch {
	case got.Status/100 == 2:
		text, err := body.ReadAll(nil, got.Body.Reader(), got.Header.Values("Content-Encoding"), body.Limits{MaxBytes: robots.MaxBytes})
		if err != nil && !errors.Is(err, body.ErrTooLong) {
			return nil, fmt.Errorf("fetch %s: %w", u, err)
		}
		return text, nil
	case got.Class == capture.Redirect:
		return nil, fmt.Errorf("%s redirects to %q: give that as --file", u, got.Header.Get("Location"))
	case got.Status/100 == 4 && got.Status != 429:
		c.notef("%s answers %d: no robots.txt, so everything is allowed (RFC 9309 section 2.3.1.3)", u, got.Status)
		return nil, nil
	case got.Status != 0:
		return nil, fmt.Errorf("%s answers %d: unreachable, so nothing is allowed for now (RFC 9309 section 2.3.1.4)", u, got.Status)
	}
	return nil, fmt.Errorf("fetch %s: %s: %q", u, got.Class, got.Err)
}
