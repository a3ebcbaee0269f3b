package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"amble/configs"
)

// foreign maps flags of other crawlers (wget, httrack, curl, Scrapy, katana, Nutch) to how Amble spells them.
var foreign = map[string]string{
	"r": recursive, "recursive": recursive,
	"l": "--depth N", "level": "--depth N", "max-depth": "--depth N", "d": "--depth N", "r0": "--depth 0",
	"np": noParent, "no-parent": noParent, "no-clobber": "no flag: a page is captured once", "nc": "no flag: a page is captured once",
	"w": wait, "wait": wait, "rate-limit": wait, "download-delay": wait, "crawl-delay": wait,
	"random-wait": "no flag: the pace adapts to each host by itself", "waitretry": "no flag: back-off is built in",
	"A": "--include RE", "accept": "--include RE", "accept-regex": "--include RE",
	"R": "--exclude RE", "reject": "--exclude RE", "reject-regex": "--exclude RE",
	"I": "--include RE", "include-directories": "--include RE", "X": "--exclude RE", "exclude-directories": "--exclude RE",
	"D": "--also HOST", "domains": "--also HOST", "allowed-domains": "--also HOST", "exclude-domains": "--exclude RE",
	"H": spanHosts, "span-hosts": spanHosts,
	"U": agent, "user-agent": agent, "useragent": agent, "ua": agent,
	"o": exporting, "O": exporting, "output": exporting, "output-document": exporting, "output-file": exporting, "outfile": exporting,
	"P": "--job DIR", "directory-prefix": "--job DIR", "path": "--job DIR", "crawldir": "--job DIR",
	"i": "--seeds FILE", "input-file": "--seeds FILE", "list": "--seeds FILE", "u": "the URL as an argument", "url": "the URL as an argument",
	"Q": "--max-bytes SIZE", "quota": "--max-bytes SIZE", "max-size": "--max-bytes SIZE",
	"T": "--timeout DURATION", "max-redirect": "no flag: redirects are links, and paced",
	"t": retries, "tries": retries, "retry": retries,
	"c": "--workers N, or `amble resume` to go on", "concurrency": "--workers N", "parallel": "--workers N", "threads": "--workers N",
	"sockets": "--workers N", "max-threads": "--workers N", "continue": "`amble resume`", "max-connections": "--workers N",
	"limit": "--max-pages N", "max-urls": "--max-pages N", "limit-rate": bandwidth, "rl": "--rate N",
	"m": mirror, "mirror": mirror, "N": mirror, "timestamping": mirror,
	"p": embeds, "page-requisites": embeds, "k": asReceived, "convert-links": asReceived, "E": asReceived, "adjust-extension": asReceived,
	"e": "--ignore-robots, with --own HOST", "execute": "--ignore-robots, with --own HOST", "robots": "--ignore-robots, with --own HOST",
	"warc-file": warc, "warc-cdx": warc, "sitemap": "--sitemaps only, and the site as a seed",
	"s": "--set KEY=VALUE", "no-check-certificate": "insecure: true under hosts: in amble.yaml, with --own HOST",
	"insecure": "insecure: true under hosts: in amble.yaml, with --own HOST",
	"user":     "user: and password: under hosts: in amble.yaml", "password": "user: and password: under hosts: in amble.yaml",
	"force": "--overwrite", "f": "--overwrite", "resume": "`amble resume`", "debug": "-v",
}

const (
	recursive  = "no flag: links are followed anyway (--depth N limits how far, --scope page fetches the seeds only)"
	noParent   = "--scope path"
	wait       = "--floor DURATION, the shortest time between two requests to one host"
	spanHosts  = "--scope all, or --also HOST"
	agent      = "--agent NAME/VERSION"
	exporting  = "`amble export --format F -o PATH` after the crawl, or beside it"
	retries    = "--set retries=N"
	mirror     = "`amble crawl URL`, whose archive `amble export` reads"
	embeds     = "no flag: embedded resources are not fetched yet"
	asReceived = "no flag: pages are archived as they were received"
	bandwidth  = "no flag: that is about bytes a second, of which there is no limit; --rate N is about requests"
	warc       = "no flag: every crawl writes WARC files into JOB/warc"
)

// foreignFlag answers an unknown flag that another crawler uses with Amble's spelling, and a slip with the nearest flag.
func foreignFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if name := unknown.GetSpecifiedName(); flagNotYet(cmd, name) {
		return notYet("--" + name)
	}
	for _, name := range []string{unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()} {
		if hint, ok := foreign[name]; ok {
			if why, none := strings.CutPrefix(hint, "no flag: "); none {
				return fmt.Errorf("%w; Amble has none for this: %s", err, why)
			}
			return fmt.Errorf("%w; Amble's spelling is: %s", err, hint)
		}
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	if near := configs.Nearest("--"+unknown.GetSpecifiedName(), known); near != "" && len(unknown.GetSpecifiedName()) > 2 {
		return fmt.Errorf("%w (did you mean %s?)", err, near)
	}
	return fmt.Errorf("%w; `%s --help` lists what there is", err, cmd.CommandPath())
}
