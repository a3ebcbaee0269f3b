package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"amble/fetcher/body"
	"amble/fetcher/charset"
	"amble/frontier/canon"
	"amble/storage"
)

type showOptions struct{ headers, body, text bool }

func newShowCommand(c *cli) *cobra.Command {
	o := &showOptions{}
	cmd := &cobra.Command{
		Use:   "show URL [--headers|--body|--text]",
		Short: "Show the newest capture of a URL",
		Long: `Show the newest capture of a URL: by default what is known of it and its headers, as received; --body is the body,
decoded, byte for byte; --text is the readable text of an HTML page. Without a scheme it is https, then http.`,
		Example: `  amble show https://example.org/
  amble show example.org/about --text`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runShow(cmd.Context(), c, o, args[0]) },
	}
	cmd.Flags().BoolVar(&o.headers, "headers", false, "the request's and the response's headers")
	cmd.Flags().BoolVar(&o.body, "body", false, "the decoded body")
	cmd.Flags().BoolVar(&o.text, "text", false, "the text of an HTML page")
	cmd.MarkFlagsMutuallyExclusive("headers", "body", "text")
	return cmd
}

func runShow(ctx context.Context, c *cli, o *showOptions, ref string) error {
	urls, err := shownURLs(ref)
	if err != nil {
		return usagef("%w", err)
	}
	end, _, err := c.archiveEnd()
	if err != nil {
		return err
	}
	r, err := storage.OpenReader(c.job, end)
	if err != nil {
		return err
	}
	entry, captures, err := newest(ctx, r, urls)
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if captures == 0 {
		return fmt.Errorf("%s is not in the archive of %s; `amble export%s --format urls` lists what is",
			strings.Join(urls, " or "), c.job, c.jobFlag())
	}
	// Reading goes on from the entry's own segment, which the search has passed.
	if r, err = storage.OpenReader(c.job, end); err != nil {
		return err
	}
	rec, err := r.Record(&entry)
	if err != nil {
		return errors.Join(err, r.Close())
	}
	switch {
	case o.body:
		out := c.siteOutput()
		err = errors.Join(writeBody(out, rec), out.Close())
	case o.text:
		err = writeText(c.stdout, rec)
	case o.headers:
		_, err = fmt.Fprintf(c.stdout, "%s%s", headText(c, rec.RequestHead), headText(c, rec.Head))
	default:
		describeCapture(c, &entry, rec, captures)
	}
	return errors.Join(err, rec.Payload.Close(), r.Close())
}

// shownURLs is the URL that is meant, or the two that it can be without a scheme, the likelier first.
func shownURLs(ref string) ([]string, error) {
	refs := []string{ref}
	if !hasScheme.MatchString(ref) {
		refs = []string{"https://" + ref, "http://" + ref}
	}
	var urls []string
	for _, r := range refs {
		u, err := canon.Parse(r)
		if err != nil {
			return nil, err
		}
		urls = append(urls, u.String())
	}
	return urls, nil
}

// newest finds the last capture of the first of some URLs that was captured, and how many there are.
func newest(ctx context.Context, r *storage.Reader, urls []string) (storage.Entry, int, error) {
	last, captures := make([]storage.Entry, len(urls)), make([]int, len(urls))
	for ctx.Err() == nil {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			for i, n := range captures {
				if n > 0 {
					return last[i], n, nil
				}
			}
			return storage.Entry{}, 0, nil
		}
		if err != nil {
			return storage.Entry{}, 0, err
		}
		if i := slices.Index(urls, e.URL); i >= 0 {
			captures[i]++
			if captures[i] == 1 || !e.Time.Before(last[i].Time) {
				last[i] = e
			}
		}
	}
	return storage.Entry{}, 0, ctx.Err()
}

func describeCapture(c *cli, e *storage.Entry, rec *storage.Record, captures int) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(c.stdout, "%-10s%s\n", name, printable(fmt.Sprintf(format, args...)))
	}
	m := rec.Meta
	row("url", "%s", e.URL)
	row("fetched", "%s (capture %d of %d)", rec.Start.UTC().Format(time.RFC3339), captures, captures)
	row("status", "%d %s", rec.Status, m.MediaType)
	if m.Title != "" {
		row("title", "%q", m.Title)
	}
	row("body", "%s decoded, %d as received", plural(m.Bytes, "byte"), rec.PayloadBytes)
	if rec.Truncated != "" {
		row("cut", "%s", rec.Truncated)
	}
	row("found", "depth %d, path %q, via %s", m.Depth, m.Hops, orNone(m.Via))
	if m.RedirectTo != "" {
		row("redirect", "%s", m.RedirectTo)
	}
	row("took", "%s to the first byte, %s in all", rec.TTFB.Round(time.Millisecond), rec.Total.Round(time.Millisecond))
	row("archive", "warc/%s, offset %d", e.Segment, e.Offset)
	fmt.Fprintf(c.stdout, "\n%s", headText(c, rec.Head))
}

func orNone(s string) string {
	if s == "" {
		return "nothing (a seed)"
	}
	return s
}

// headText is a head as it is in a file or a pipe, and without control characters on a terminal.
func headText(c *cli, head []byte) string {
	if !c.isScreen(c.stdout) {
		return string(head)
	}
	return printable(strings.ReplaceAll(string(head), "\r\n", "\n"))
}

const maxShownBytes = 1 << 30

func writeBody(w io.Writer, rec *storage.Record) error {
	in, err := body.NewReader(rec.Payload, rec.Field("Content-Encoding"), body.Limits{MaxBytes: maxShownBytes})
	if err != nil {
		return fmt.Errorf("decode the body: %w", err)
	}
	_, err = io.Copy(w, in)
	return errors.Join(err, in.Close())
}

// writeText writes the text of an HTML page, or of anything else that is text.
func writeText(w io.Writer, rec *storage.Record) error {
	contentType := ""
	if v := rec.Field("Content-Type"); len(v) > 0 {
		contentType = v[0]
	}
	doc, err := body.ReadAll(nil, rec.Payload, rec.Field("Content-Encoding"), body.Limits{MaxBytes: 64 << 20})
	if err != nil && len(doc) == 0 {
		return fmt.Errorf("decode the body: %w", err)
	}
	name := rec.Meta.Charset
	if name == "" {
		name, _ = charset.Detect(doc, contentType)
	}
	isHTML := charset.IsHTML(contentType, doc)
	if media := charset.MediaType(contentType); !isHTML && !strings.HasPrefix(media, "text/") && media != "" {
		return fmt.Errorf("%s is no text; --body writes it as it is", media)
	}
	text := string(charset.ToUTF8(doc, name))
	if isHTML {
		text = readable(text)
	}
	_, err = io.WriteString(w, printable(text))
	return err
}
