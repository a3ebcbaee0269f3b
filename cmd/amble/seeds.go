package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"

	"amble/configs"
	"amble/frontier"
	"amble/frontier/canon"
)

// badSeed is a seed that cannot be used, and where it stood.
type badSeed struct {
	where string // "seeds.txt:3", or "argument 2"
	text  string
	err   error
}

func (b badSeed) String() string {
	return oneLine(fmt.Sprintf("%s: %s: %v", b.where, maskUserinfo(fmt.Sprintf("%.200q", b.text)), b.err))
}

// readSeeds takes arguments and a file ("-" is stdin, "" is none) together. Bad ones are data; an error is a file that
// cannot be read.
func readSeeds(args []string, file string, stdin io.Reader, forHost func(paceKey string) configs.SeedKeys) ([]frontier.Seed, []badSeed, error) {
	var seeds []frontier.Seed
	var bad []badSeed
	take := func(where, text string) {
		s, err := parseSeed(text, forHost)
		if err != nil {
			bad = append(bad, badSeed{where, text, err})
			return
		}
		seeds = append(seeds, s)
	}
	for i, a := range args {
		if info, err := os.Stat(a); err == nil && !info.IsDir() && !strings.ContainsAny(a, ":") {
			bad = append(bad, badSeed{fmt.Sprintf("argument %d", i+1), a, errors.New("that is a file: for a list of seeds give --seeds " + shellQuote(a))})
			continue
		}
		take(fmt.Sprintf("argument %d", i+1), a)
	}
	if file == "" {
		return seeds, bad, nil
	}
	in, name := stdin, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, nil, usagef("read seeds: %w", err)
		}
		defer f.Close()
		in, name = f, file
	}
	err := eachLine(in, func(number int, line string) error {
		if number == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") {
			take(fmt.Sprintf("%s:%d", name, number), text)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read seeds from %s: %w", name, err)
	}
	return seeds, bad, nil
}

var (
	hasScheme    = regexp.MustCompile(`^(?i)(https?:|[a-z][a-z0-9+.-]*://|[a-z][a-z0-9+.-]*:[^0-9])`)
	keyAfterGap  = regexp.MustCompile(` +(depth|scope|max-pages|floor|priority|label\.[^ =]+)=`)
	userinfoPart = regexp.MustCompile(`//[^/?#@]*@`)
)

func maskUserinfo(s string) string { return userinfoPart.ReplaceAllString(s, "//***@") }

// parseSeed reads one seed: a URL, and after TABs key=value. Without a scheme it is https, then http.
func parseSeed(text string, forHost func(paceKey string) configs.SeedKeys) (frontier.Seed, error) {
	if err := plainText(text); err != nil {
		return frontier.Seed{}, err
	}
	parts := strings.Split(strings.TrimSpace(text), "\t")
	ref := strings.TrimSpace(parts[0])
	if keyAfterGap.MatchString(ref) {
		return frontier.Seed{}, errors.New("keys stand after a TAB, not a blank")
	}
	if userinfoPart.MatchString(ref) {
		return frontier.Seed{}, errors.New("a name and password in a URL would end up in logs: put user and password under hosts: in amble.yaml")
	}
	seed := frontier.Seed{Raw: ref, Implied: -1}
	if !hasScheme.MatchString(ref) {
		if err := bareHost(ref); err != nil {
			return frontier.Seed{}, err
		}
		ref, seed.TryHTTP = "https://"+ref, true
	}
	u, err := canon.Parse(ref)
	for _, kind := range []error{canon.ErrScheme, canon.ErrSyntax} {
		if errors.Is(err, kind) {
			err = kind // the whole error quotes the reference once more
		}
	}
	if err != nil {
		return frontier.Seed{}, err
	}
	seed.URL = u
	var keys configs.SeedKeys
	for _, pair := range parts[1:] {
		pair = strings.TrimSpace(pair)
		if pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return frontier.Seed{}, fmt.Errorf("%q is no key=value (known keys: %s)", pair, strings.Join(configs.SeedKeyNames(), ", "))
		}
		if err := keys.Set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return frontier.Seed{}, err
		}
	}
	return seed, keys.Apply(forHost(u.PaceKey()), &seed)
}

// plainText refuses what an editor does not show and a URL does not hold: a URL parser drops or encodes it, and another
// URL than the one that is seen would be the seed.
func plainText(text string) error {
	for _, r := range text {
		switch {
		case r == '\ufeff':
			return errors.New("there is a byte order mark in it (U+FEFF, as where two files were joined): remove it")
		case r != '\t' && unicode.IsControl(r):
			return fmt.Errorf("there is a control character in it (U+%04X): remove it, or save the list as UTF-8", r)
		}
	}
	return nil
}

// bareHost refuses what without a scheme is more likely a slip than a host.
func bareHost(ref string) error {
	host := ref
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	if strings.ContainsAny(host, ".:") || strings.EqualFold(host, "localhost") {
		return nil
	}
	return fmt.Errorf("that is no host name: if it is one in your network, write http://%s/", host)
}
