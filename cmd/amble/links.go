package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"amble/fetcher/charset"
	"amble/fetcher/links"
	"amble/frontier/canon"
)

type linksOptions struct {
	base string
	json bool
}

func newLinksCommand(c *cli) *cobra.Command {
	o := &linksOptions{}
	cmd := &cobra.Command{
		Use:   "links --base URL FILE|-",
		Short: "List the links of an HTML file as a crawl finds them",
		Example: `  amble links --base https://example.org/ index.html
  amble show https://example.org/ --body | amble links --base https://example.org/ -`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runLinks(cmd.Context(), c, o, args[0]) },
	}
	cmd.Flags().StringVar(&o.base, "base", "", "the `URL` that the file was fetched from")
	cmd.Flags().BoolVar(&o.json, "json", false, "a JSON object a line: url, rel, hop, text, nofollow")
	return cmd
}

// maxDocument is the largest file that links reads; a crawl's own limit is max-body.
const maxDocument = 256 << 20

func runLinks(_ context.Context, c *cli, o *linksOptions, file string) error {
	if o.base == "" {
		return usagef("--base is missing: the URL that the file was fetched from, as in --base https://example.org/")
	}
	base, err := canon.Parse(o.base)
	if err != nil {
		return usagef("--base: %w", err)
	}
	in := c.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	doc, err := io.ReadAll(io.LimitReader(in, maxDocument))
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	name, _ := charset.Detect(doc, "")
	page := links.Extract(charset.ToUTF8(doc, name), base, name, links.Options{Text: o.json})
	out := bufio.NewWriter(c.stdout)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, l := range page.Outlinks {
		if !o.json {
			_, err = out.WriteString(l.URL.String() + "\n")
		} else {
			err = enc.Encode(struct {
				URL      string `json:"url"`
				Rel      string `json:"rel"`
				Hop      string `json:"hop"`
				Text     string `json:"text"`
				NoFollow bool   `json:"nofollow"`
			}{l.URL.String(), l.Rel, string(rune(l.Hop)), l.Text, l.NoFollow})
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(err, out.Flush())
}
