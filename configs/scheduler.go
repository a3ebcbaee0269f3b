package configs

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"amble/fetcher"
	"amble/frontier"
	"amble/frontier/canon"
	"amble/ratectl"
	"amble/scheduler"
	"amble/storage"
)

// Scheduler turns the configuration into the scheduler's. version is Amble's own, for the user agent and the archive.
// It needs a configuration that Validate passed, and gives an error where a value cannot be read.
func (l *Loaded) Scheduler(version string) (scheduler.Config, error) {
	own, err := parseOwn(l.Own)
	if err != nil {
		return scheduler.Config{}, l.invalid("own", err)
	}
	rules, err := l.rules()
	if err != nil {
		return scheduler.Config{}, err
	}
	hosts, err := l.hosts()
	if err != nil {
		return scheduler.Config{}, err
	}
	product, agentVersion := Product, version
	if l.Agent != "" {
		if product, agentVersion, err = agentParts(l.Agent); err != nil {
			return scheduler.Config{}, l.invalid("agent", err)
		}
	}
	agent := userAgent(product, agentVersion, l.Contact)
	return scheduler.Config{
		Rules:   rules,
		Pace:    ratectl.Config{Floor: time.Duration(l.Floor), Ceiling: time.Duration(l.Ceiling)},
		Rate:    float64(l.Rate),
		Workers: l.Workers,
		Limits: scheduler.Limits{
			Pages: l.MaxPages, Bytes: int64(l.MaxBytes), Time: time.Duration(l.MaxTime),
			MaxWait: time.Duration(l.MaxWait), Retries: l.Retries,
		},
		Fetch: fetcher.Config{
			UserAgent:      agent,
			Timeout:        time.Duration(l.Timeout),
			ConnectTimeout: time.Duration(l.ConnectTimeout),
			HeadTimeout:    time.Duration(l.HeadTimeout),
			MaxBody:        int64(l.MaxBody),
			MaxIdle:        l.IdleConnections,
			AllowPrivate:   l.AllowPrivate,
			Own:            own.Prefixes,
			RequireContact: l.Contact == "",
			Resolvers:      l.Resolvers,
		},
		Archive: storage.Options{
			Prefix: l.WARCPrefix, SegmentBytes: int64(l.SegmentSize), Info: l.archiveInfo(version, agent),
		},
		Product:         product,
		Own:             own,
		IgnoreRobots:    l.IgnoreRobots,
		Sitemaps:        l.Sitemaps,
		Hosts:           hosts,
		RandomSeed:      l.RandomSeed,
		AddressInterval: time.Duration(l.AddressInterval),
		BodyMemory:      int64(l.BodyMemory),
		MinFreeDisk:     int64(l.MinFreeDisk),
		MinFreeMemory:   int64(l.MinFreeMemory),
	}, nil
}

// archiveInfo are the warcinfo fields (WARC 1.1 section 6.2) that only the configuration knows.
func (l *Loaded) archiveInfo(version, agent string) [][2]string {
	info := [][2]string{{"software", Product + "/" + version}}
	if l.Contact != "" {
		info = append(info, [2]string{"operator", l.Contact})
	}
	robots := "obey"
	if l.IgnoreRobots {
		robots = "ignore on the operator's own hosts, else obey"
	}
	return append(info, [2]string{"robots", robots}, [2]string{"http-header-user-agent", agent})
}

func (l *Loaded) rules() (frontier.Rules, error) {
	r := frontier.Rules{Scope: frontier.Scope(l.Scope), Depth: int(l.Depth), MaxPagesPerHost: l.PerHost}
	for _, list := range []struct {
		key    string
		values []string
		into   *[]*regexp.Regexp
	}{{"include", l.Include, &r.Include}, {"exclude", l.Exclude, &r.Exclude}} {
		for _, v := range list.values {
			re, err := regexp.Compile(v)
			if err != nil {
				return r, l.invalid(list.key, fmt.Errorf("%q is no regular expression of RE2: %w", v, err))
			}
			*list.into = append(*list.into, re)
		}
	}
	for _, v := range l.Also {
		also, err := parseAlso(v)
		if err != nil {
			return r, l.invalid("also", err)
		}
		r.Also = append(r.Also, also)
	}
	return r, nil
}

// parseAlso brings a host or a URL prefix to canonical form.
func parseAlso(v string) (string, error) {
	if strings.Contains(v, "://") {
		u, err := canon.Parse(v)
		if err != nil {
			return "", fmt.Errorf("%q is no URL prefix: %w", v, err)
		}
		return u.String(), nil
	}
	u, err := canon.Parse("http://" + v + "/")
	if err != nil || u.RequestTarget() != "/" || strings.ContainsAny(v, "/?#@*") {
		return "", fmt.Errorf("%q is neither a host (example.org, example.org:8080) nor a URL prefix (https://example.org/docs/)", v)
	}
	return u.Host(), nil
}

func (l *Loaded) hosts() (map[string]scheduler.HostConfig, error) {
	if len(l.Hosts) == 0 {
		return nil, nil
	}
	hosts := make(map[string]scheduler.HostConfig, len(l.Hosts))
	for name, h := range l.Hosts {
		key, _, err := hostKey(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.Source("hosts."+name), err)
		}
		user, err := l.secret(h.User)
		if err == nil && h.Password != "" && !strings.HasPrefix(h.Password, "$") {
			err = fmt.Errorf("a password does not belong in a file: write password: $NAME and put it into the environment")
		}
		password := ""
		if err == nil {
			password, err = l.secret(h.Password)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: hosts.%s: %w", l.Source("hosts."+name), name, err)
		}
		hosts[key] = scheduler.HostConfig{
			Floor: (*time.Duration)(h.Floor), Ceiling: (*time.Duration)(h.Ceiling), MaxPages: h.MaxPages,
			Priority: h.Priority, Insecure: h.Insecure, Traps: h.traps(), User: user, Password: password,
		}
	}
	return hosts, nil
}

// secret resolves "$NAME" in the environment.
func (l *Loaded) secret(s string) (string, error) {
	name, ok := strings.CutPrefix(s, "$")
	if !ok {
		return s, nil
	}
	value := l.env[name]
	if value == "" {
		return "", fmt.Errorf("the environment has no %s", name)
	}
	return value, nil
}

// hostKey is the pace key of "example.org" or "example.org:8080", and the host name in it.
func hostKey(name string) (key, hostname string, err error) {
	u, err := canon.Parse("http://" + name + "/")
	if err != nil || u.RequestTarget() != "/" || strings.ContainsAny(name, "/?#@*") {
		return "", "", fmt.Errorf("hosts: %q is no host: write example.org or example.org:8080", name)
	}
	return u.PaceKey(), u.Hostname(), nil
}

// ForHost is what `hosts:` says of the seeds of one host.
func (l *Loaded) ForHost(paceKey string) SeedKeys {
	for name, h := range l.Hosts {
		if key, _, err := hostKey(name); err == nil && key == paceKey {
			return h.SeedKeys
		}
	}
	return SeedKeys{}
}
