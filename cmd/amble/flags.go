package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"amble/configs"
	"amble/scheduler"
)

// crawlOptions are what a crawl is told on its command line.
type crawlOptions struct {
	assignments []configs.Assignment // the flags that are keys of the configuration, in order
	config      string
	seedsFile   string
	strictSeeds bool
	overwrite   bool // crawl only
	dryRun      bool // crawl only
	retryFailed bool // resume only
	bare        bool // the user's own file does not count (demo)

	// say gives the words of the last line and what to type next (demo); nil: the usual ones.
	say func(scheduler.Status) (words, next string)
}

// settingFlags are the keys of the configuration that have a flag, in the groups in which help shows them.
var settingFlags = []struct {
	group string
	flags []settingFlag
}{
	{"Scope", []settingFlag{
		{"scope", "`SCOPE` from each seed: page, path, host, domain or all (host)"},
		{"depth", "at most `N` link hops from a seed (unlimited); 0: the seeds only"},
		{"include", "crawl only URLs in which `RE` is found; seeds pass (repeatable)"},
		{"exclude", "never follow links to URLs in which `RE` is found; wins over include (repeatable)"},
		{"also", "a `HOST|PREFIX` that is in scope as well (repeatable)"},
		{"sitemaps", "`WORD`: auto, only or off (auto)"},
	}},
	{"Limits", []settingFlag{
		{"max-pages", "end after `N` pages"},
		{"max-bytes", "end after `SIZE` of bodies, as 500MB or 2GiB"},
		{"max-time", "end after `DURATION` of crawling"},
		{"max-wait", "stop when no host may be asked for `DURATION` (30m)"},
		{"timeout", "`DURATION` of one exchange at most (120s)"},
		{"max-body", "cut bodies at `SIZE` (32MiB)"},
	}},
	{"Pace", []settingFlag{
		{"floor", "shortest `DURATION` between two requests to one host (500ms)"},
		{"ceiling", "longest `DURATION` that backing off reaches by itself (30s)"},
		{"rate", "at most `N` requests a second over all hosts (found by itself)"},
		{"workers", "`N` exchanges at a time, one per host at most (64)"},
	}},
	{"Who", []settingFlag{
		{"contact", "`URL|ADDRESS` where a site's owner reaches you"},
		{"agent", "`NAME[/VERSION]`: robots.txt token and user agent (Amble)"},
		{"own", "a `HOST|*.HOST|CIDR` that is yours, or that you hold permission for (repeatable)"},
		{"ignore-robots", "do not ask robots.txt (with --own only)"},
		{"allow-private", "open loopback, private and link-local addresses"},
	}},
}

type settingFlag struct{ key, usage string }

// settingValue is a pflag.Value that checks a value at once and keeps it for the layers.
type settingValue struct {
	into      *[]configs.Assignment
	key, flag string
	isBool    bool
}

func (v settingValue) Set(s string) error {
	if err := new(configs.Config).Set(v.key, s); err != nil {
		return err
	}
	*v.into = append(*v.into, configs.Assignment{Key: v.key, Values: []string{s}, Flag: "--" + v.flag})
	return nil
}
func (v settingValue) String() string { return "" }
func (v settingValue) Type() string {
	if v.isBool {
		return "bool"
	}
	return ""
}
func (v settingValue) IsBoolFlag() bool { return v.isBool }

// setValue is --set KEY=VALUE.
type setValue struct{ into *[]configs.Assignment }

func (v setValue) Set(s string) error {
	a, err := configs.ParseSet(s)
	if err == nil {
		*v.into = append(*v.into, a)
	}
	return err
}
func (v setValue) String() string { return "" }
func (v setValue) Type() string   { return "" }

// addCrawlFlags adds the flags of crawl (and resume) to cmd, and makes help show them in groups.
func addCrawlFlags(cmd *cobra.Command, o *crawlOptions, resume bool) {
	type group struct {
		title string
		flags *pflag.FlagSet
	}
	var groups []group
	begin := func(title string) *pflag.FlagSet {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		groups = append(groups, group{title, fs})
		return fs
	}
	seeds := begin("Seeds")
	seeds.StringVar(&o.seedsFile, "seeds", "", "a `FILE` of seeds, one a line, - for standard input")
	seeds.BoolVar(&o.strictSeeds, "strict-seeds", false, "a bad seed line ends the command (exit 2) before anything is fetched")
	for _, g := range settingFlags {
		fs := begin(g.group)
		for _, f := range g.flags {
			addSetting(fs, o, f.key, f.key, f.usage)
		}
		if g.group == "Pace" {
			addSetting(fs, o, "floor", "delay", "the same as --floor, a `DURATION`")
			fs.Lookup("delay").Hidden = true
		}
	}
	other := begin("Other")
	if resume {
		other.BoolVar(&o.retryFailed, "retry-failed", false, "try once more what was given up")
	} else {
		other.BoolVar(&o.overwrite, "overwrite", false, "remove the job that is in the folder, and begin anew")
		other.BoolVar(&o.dryRun, "dry-run", false, "say what scope and robots.txt say of the seeds; fetch nothing else")
	}
	addConfigFlags(other, o)
	for _, g := range groups {
		cmd.Flags().AddFlagSet(g.flags)
	}
	completeWords(cmd, "scope", configs.Scopes...)
	completeWords(cmd, "sitemaps", "auto", "only", "off")
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		fmt.Fprintf(out, "Usage:\n  %s\n", cmd.UseLine())
		for _, g := range groups {
			fmt.Fprintf(out, "\n%s:\n%s", g.title, g.flags.FlagUsages())
		}
		fmt.Fprintf(out, "\nEverywhere:\n%s", cmd.InheritedFlags().FlagUsages())
		return nil
	})
}

func addSetting(fs *pflag.FlagSet, o *crawlOptions, key, name, usage string) {
	value := settingValue{into: &o.assignments, key: key, flag: name, isBool: key == "ignore-robots" || key == "allow-private"}
	f := fs.VarPF(value, name, "", usage)
	if value.isBool {
		f.NoOptDefVal = "true"
	}
}

func addConfigFlags(fs *pflag.FlagSet, o *crawlOptions) {
	fs.StringVar(&o.config, "config", "", "a configuration `FILE`, over the job's and your own")
	fs.Var(setValue{&o.assignments}, "set", "`KEY=VALUE` of any key of the configuration (repeatable; `amble config` lists them)")
}

// configFile is the configuration of the job in c.job.
func (c *cli) configFile() string { return filepath.Join(c.job, "amble.yaml") }

// load puts the configuration together. The job's own file counts only when withJob is set.
func (c *cli) load(o *crawlOptions, withJob bool) (*configs.Loaded, error) {
	layers := configs.Layers{UserFile: configs.UserFile(), File: o.config, Environ: c.environ, Flags: o.assignments}
	if o.bare {
		layers.UserFile, layers.Environ = "", nil
	}
	if withJob {
		layers.JobFile = c.configFile()
	}
	loaded, err := configs.Load(layers)
	if err != nil {
		return nil, usageError{err}
	}
	for _, w := range loaded.Warnings {
		c.notef("%s", w)
	}
	return loaded, nil
}

// describeScope says in a line what a crawl will follow.
func describeScope(cfg configs.Config) string {
	var b strings.Builder
	what := map[string]string{
		"page": "the seeds only", "path": "below the seeds' paths", "host": "the seeds' hosts",
		"domain": "the seeds' domains", "all": "any host",
	}[cfg.Scope]
	fmt.Fprintf(&b, "scope %s (%s)", cfg.Scope, what)
	if cfg.Depth >= 0 {
		fmt.Fprintf(&b, ", depth %s", cfg.Depth)
	}
	for _, list := range []struct {
		name   string
		values []string
	}{{"also", cfg.Also}, {"include", cfg.Include}, {"exclude", cfg.Exclude}} {
		if len(list.values) > 0 {
			fmt.Fprintf(&b, ", %s %s", list.name, strings.Join(list.values, " "))
		}
	}
	if cfg.Sitemaps != "auto" {
		fmt.Fprintf(&b, ", sitemaps %s", cfg.Sitemaps)
	}
	if limits := describeLimits(cfg); limits != "" {
		b.WriteString(", at most " + limits)
	}
	b.WriteString("; " + describePace(time.Duration(cfg.Floor)))
	if cfg.IgnoreRobots {
		b.WriteString("; robots.txt of own hosts IGNORED")
	}
	return b.String()
}

// describeLimits lists what ends a crawl, "" without a limit.
func describeLimits(cfg configs.Config) string {
	var limits []string
	if cfg.MaxPages > 0 {
		limits = append(limits, plural(cfg.MaxPages, "page"))
	}
	if cfg.MaxBytes > 0 {
		limits = append(limits, cfg.MaxBytes.String())
	}
	if cfg.MaxTime > 0 {
		limits = append(limits, cfg.MaxTime.String())
	}
	return strings.Join(limits, ", ")
}

// describePace says how fast one host is asked, at first and at most.
func describePace(floor time.Duration) string {
	switch {
	case floor == 0:
		return "no pause between the requests to a host but what it asks for"
	case floor < firstInterval:
		return fmt.Sprintf("at most one request per host each %s; each host starts at %s and speeds up as it bears", configs.Duration(floor), configs.Duration(firstInterval))
	}
	return fmt.Sprintf("at most one request per host each %s, and fewer where a host does not bear that", configs.Duration(floor))
}

// firstInterval is the pace of a host that is met for the first time.
const firstInterval = time.Second
