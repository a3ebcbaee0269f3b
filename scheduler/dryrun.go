package scheduler

import (
	"context"
	"fmt"
	"os"
	"time"

	"amble/fetcher"
	"amble/fetcher/body"
	"amble/fetcher/capture"
	"amble/fetcher/robots"
	"amble/frontier"
	"amble/frontier/canon"
)

// DryRun is what robots.txt says of a seed.
type DryRun struct {
	Seed    frontier.Seed
	Allowed bool
	// Reason is what decides: the robots.txt line, or why there is none to ask.
	Reason string
}

// Try says of each seed whether it would be fetched. It requests nothing but robots.txt, once per origin, at the
// pace of the configuration.
func Try(ctx context.Context, cfg Config, seeds []frontier.Seed) ([]DryRun, error) {
	f, err := fetcher.New(cfg.Fetch, capture.NewBudget(os.TempDir(), cfg.BodyMemory))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t := trial{cfg: cfg, fetch: f, next: map[string]time.Time{}}
	type answer struct {
		group *robots.Group
		why   string
	}
	known := map[string]answer{}
	var out []DryRun
	for _, s := range seeds {
		ask := func() answer {
			a, ok := known[s.URL.Origin()]
			if !ok {
				a.group, a.why = t.ask(ctx, s.URL)
				known[s.URL.Origin()] = a
			}
			return a
		}
		a := ask()
		if s.TryHTTP && a.group == nil && s.URL.Scheme() == "https" {
			if u, err := canon.Parse("http" + s.URL.String()[len("https"):]); err == nil {
				s.URL = u
				a = ask()
			}
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		d := DryRun{Seed: s, Reason: a.why}
		if a.group != nil {
			dec := a.group.Decide(s.URL.RequestTarget())
			d.Allowed = dec.Allowed
			if dec.Line > 0 {
				d.Reason = fmt.Sprintf("robots.txt line %d: %s", dec.Line, dec.Rule)
			} else if d.Reason == "" {
				d.Reason = "no line of robots.txt speaks of it"
			}
		}
		out = append(out, d)
	}
	return out, nil
}

type trial struct {
	cfg   Config
	fetch *fetcher.Fetcher
	next  map[string]time.Time // by pace key
}

// ask gets the rules of an origin, nil when nothing of it may be fetched; why says what is special about them.
func (t *trial) ask(ctx context.Context, seed canon.URL) (g *robots.Group, why string) {
	own := t.cfg.Own.Covers(seed.Hostname())
	if t.cfg.IgnoreRobots && own {
		return robots.AllowAll, "robots.txt is not asked (--ignore-robots)"
	}
	u := canon.FromOrigin(seed.Origin(), "/robots.txt")
	for range maxRulesHops + 1 {
		c := t.request(ctx, u)
		defer c.Body.Close() //nolint:errcheck // memory or an unlinked file
		switch {
		case c.Class == capture.OK || c.Class == capture.TruncatedLength:
			if c.Body == nil {
				return robots.AllowAll, "robots.txt is empty"
			}
			file, err := body.ReadAll(nil, c.Body.Reader(), c.Header.Values("Content-Encoding"), body.Limits{MaxBytes: robots.MaxBytes})
			if err != nil && len(file) < robots.MaxBytes {
				return nil, "robots.txt cannot be decoded: nothing is fetched until it can"
			}
			return robots.Parse(file).Group(t.cfg.Product), ""
		case c.Class == capture.Redirect:
			to, err := u.Resolve(c.Header.Get("Location"))
			if err != nil {
				return robots.AllowAll, "robots.txt redirects to nowhere: no rules"
			}
			u = to
		case c.Class == capture.ClientError && c.Status != 429:
			return robots.AllowAll, fmt.Sprintf("robots.txt has status %d: no rules", c.Status)
		default:
			why := fmt.Sprintf("robots.txt is unreachable (%s)", c.Class)
			if c.Err != "" {
				why += ": " + quote(c.Err)
			}
			return nil, why + ": nothing is fetched until it can be read"
		}
	}
	return robots.AllowAll, "robots.txt redirects more than five times: no rules"
}

// request makes one exchange when the host's turn has come.
func (t *trial) request(ctx context.Context, u canon.URL) *capture.Capture {
	key := u.PaceKey()
	select {
	case <-time.After(time.Until(t.next[key])):
	case <-ctx.Done():
	}
	own := t.cfg.Own.Covers(u.Hostname())
	c := t.fetch.Do(ctx, fetcher.Request{URL: u, Own: own, Insecure: own && t.cfg.Hosts[key].Insecure})
	t.next[key] = c.Start.Add(max(t.cfg.Pace.Floor, minForeignFloor))
	return c
}
