package configs

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"amble/frontier"
	"amble/scheduler"
)

// Scopes are the values of scope.
var Scopes = []string{"page", "path", "host", "domain", "all"}

// invalid names the key as the one spelt it who set it.
func (l *Loaded) invalid(key string, err error) error {
	return fmt.Errorf("%s: %w", l.name(key), err)
}

// Validate checks the whole before a crawl of seeds begins. Every error names the flag or key and the remedy.
// With resumed, the job has seeds beside those given, which were checked when it began; hosts that are not own are
// refused by the dial then, as long as there is no contact.
func (l *Loaded) Validate(seeds []frontier.Seed, resumed bool) error {
	for _, check := range []func() error{l.checkWords, l.checkNumbers, l.checkWho} {
		if err := check(); err != nil {
			return err
		}
	}
	own, err := parseOwn(l.Own)
	if err != nil {
		return l.invalid("own", err)
	}
	if _, err := l.Scheduler("0"); err != nil {
		return err
	}
	if err := l.checkHosts(own); err != nil {
		return err
	}
	return l.checkOwn(own, seeds, resumed)
}

func (l *Loaded) checkWords() error {
	if !slices.Contains(Scopes, l.Scope) {
		return l.invalid("scope", fmt.Errorf("%q is no scope: one of %s", l.Scope, strings.Join(Scopes, ", ")))
	}
	if !slices.Contains([]string{"auto", "only", "off"}, l.Sitemaps) {
		return l.invalid("sitemaps", fmt.Errorf("%q is not one of auto, only, off", l.Sitemaps))
	}
	if l.WARCPrefix == "" || strings.Trim(l.WARCPrefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return l.invalid("warc-prefix", fmt.Errorf("%q: letters, digits and _ only, since - separates the parts of a file name", l.WARCPrefix))
	}
	for _, r := range l.Resolvers {
		if _, err := netip.ParseAddrPort(r); err != nil {
			return l.invalid("resolvers", fmt.Errorf("%q is no name server: write an address and a port, 127.0.0.1:53", r))
		}
	}
	return nil
}

func (l *Loaded) checkNumbers() error {
	for _, n := range []struct {
		key           string
		value         int64
		least, most   int64
		unit, purpose string
	}{
		{"max-pages", l.MaxPages, 0, 1 << 40, "", "0 is no limit"},
		{"max-pages-per-host", l.PerHost, 0, 1 << 40, "", "0 is no limit"},
		{"retries", int64(l.Retries), 1, 100, "", "1 asks once"},
		{"workers", int64(l.Workers), 1, 10000, "", "64 is the default"},
		{"idle-connections", int64(l.IdleConnections), 1, 100000, "", "256 is the default"},
		{"max-body", int64(l.MaxBody), 1 << 10, 1 << 40, " bytes", "32MiB is the default"},
		{"segment-size", int64(l.SegmentSize), 1e6, 1e12, " bytes", "1GB is the default"},
		{"body-memory", int64(l.BodyMemory), 1 << 20, 1 << 40, " bytes", "64MiB is the default"},
	} {
		if n.value < n.least || n.value > n.most {
			return l.invalid(n.key, fmt.Errorf("%d is not between %d and %d%s; %s", n.value, n.least, n.most, n.unit, n.purpose))
		}
	}
	for _, d := range []struct {
		key   string
		value Duration
		least time.Duration
	}{
		{"max-wait", l.MaxWait, time.Second}, {"timeout", l.Timeout, time.Second},
		{"connect-timeout", l.ConnectTimeout, 100 * time.Millisecond}, {"head-timeout", l.HeadTimeout, 100 * time.Millisecond},
	} {
		if time.Duration(d.value) < d.least {
			return l.invalid(d.key, fmt.Errorf("%s is too short: give at least %s", d.value, Duration(d.least)))
		}
	}
	if l.Ceiling < l.Floor || l.Ceiling == 0 {
		return l.invalid("ceiling", fmt.Errorf("%s is under the floor of %s: give a ceiling of at least the floor", l.Ceiling, l.Floor))
	}
	return nil
}

func (l *Loaded) checkWho() error {
	if l.Contact != "" {
		if err := checkContact(l.Contact); err != nil {
			return l.invalid("contact", err)
		}
	}
	if l.Agent != "" {
		if _, _, err := agentParts(l.Agent); err != nil {
			return l.invalid("agent", err)
		}
	}
	return nil
}

func (l *Loaded) checkHosts(own scheduler.Own) error {
	for name, h := range l.Hosts {
		fail := func(err error) error {
			return fmt.Errorf("%s: hosts.%s: %w", l.Source("hosts."+name), name, err)
		}
		_, hostname, err := hostKey(name)
		if err != nil {
			return fail(err)
		}
		if err := h.check(); err != nil {
			return fail(err)
		}
		if err := h.checkTraps(); err != nil {
			return fail(err)
		}
		if h.Insecure && !own.Covers(hostname) {
			return fail(fmt.Errorf("insecure is for hosts of your own only: add --own %s if it is yours", hostname))
		}
		if h.Floor != nil && time.Duration(*h.Floor) < MinForeignFloor && !own.Covers(hostname) {
			return fail(tooFast(*h.Floor, hostname))
		}
		if h.Ceiling != nil && h.Floor != nil && *h.Ceiling < *h.Floor {
			return fail(fmt.Errorf("the ceiling %s is under the floor %s", *h.Ceiling, *h.Floor))
		}
	}
	return nil
}

// check is for what a seed line or a host can get wrong by itself.
func (k SeedKeys) check() error {
	if k.Scope != "" && !slices.Contains(Scopes, k.Scope) {
		return fmt.Errorf("scope: %q is no scope: one of %s", k.Scope, strings.Join(Scopes, ", "))
	}
	if k.MaxPages < 0 {
		return fmt.Errorf("max-pages: %d is less than none; 0 is no limit", k.MaxPages)
	}
	return nil
}

// Apply checks the keys and writes them into a seed, those of base where k says nothing.
func (k SeedKeys) Apply(base SeedKeys, seed *frontier.Seed) error {
	if k.Depth == nil {
		k.Depth = base.Depth
	}
	if k.Scope == "" {
		k.Scope = base.Scope
	}
	if k.Priority == nil {
		k.Priority = base.Priority
	}
	if err := k.check(); err != nil {
		return err
	}
	seed.Depth, seed.Scope = (*int)(k.Depth), frontier.Scope(k.Scope)
	seed.MaxPages, seed.Floor, seed.Priority = k.MaxPages, (*time.Duration)(k.Floor), k.Priority
	for _, labels := range []map[string]string{base.Labels, k.Labels} {
		for name, value := range labels {
			if seed.Labels == nil {
				seed.Labels = make(map[string]string)
			}
			seed.Labels[name] = value
		}
	}
	return nil
}

// checkOwn holds what is for the operator's own hosts to them.
func (l *Loaded) checkOwn(own scheduler.Own, seeds []frontier.Seed, resumed bool) error {
	none := len(l.Own) == 0
	foreign := ""
	for _, s := range seeds {
		if host := s.URL.Hostname(); !own.Covers(host) {
			if foreign == "" {
				foreign = host
			}
			if s.Floor != nil && time.Duration(*s.Floor) < MinForeignFloor {
				return fmt.Errorf("seed %s: %w", s.URL, tooFast(Duration(*s.Floor), host))
			}
		}
	}
	if l.IgnoreRobots && (none || foreign != "") {
		return l.invalid("ignore-robots", fmt.Errorf("robots.txt can be ignored only on hosts of your own: cover every seed with --own HOST (%s is not covered), or leave it out", orHost(foreign)))
	}
	if time.Duration(l.Floor) < MinForeignFloor && (none || foreign != "") {
		return l.invalid("floor", tooFast(l.Floor, foreign))
	}
	if l.Contact == "" && (foreign != "" || none && (resumed || len(seeds) == 0)) {
		return fmt.Errorf("a contact is missing: give --contact URL|ADDRESS (it goes into the user agent, so that a site's owner can reach you), or --own %s if the host is yours; it can stand in %s as well", orHost(foreign), userFileName())
	}
	return nil
}

func tooFast(floor Duration, host string) error {
	return fmt.Errorf("%s is under %s, which is only for hosts of your own: give --own %s if it is yours, or a floor of %s and more",
		floor, Duration(MinForeignFloor), orHost(host), Duration(MinForeignFloor))
}

func userFileName() string {
	if f := UserFile(); f != "" {
		return f
	}
	return "a file for --config"
}

func orHost(host string) string {
	if host == "" {
		return "HOST"
	}
	return host
}
