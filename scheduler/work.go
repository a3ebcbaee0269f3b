package scheduler

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"amble/fetcher"
	"amble/fetcher/body"
	"amble/fetcher/capture"
	"amble/fetcher/charset"
	"amble/fetcher/links"
	"amble/fetcher/robots"
	"amble/fetcher/sitemap"
	"amble/frontier"
	"amble/frontier/canon"
	"amble/storage"
)

type jobKind uint8

const (
	jobPage jobKind = iota
	jobSitemap
	jobRules // a robots.txt
)

// job is one exchange to make. Only the loop changes it, before it is handed out.
type job struct {
	kind    jobKind
	host    *host // whose turn it is
	origin  *origin
	url     canon.URL
	item    frontier.Item // of a page or sitemap
	hops    int           // redirects of a robots.txt so far
	path    string        // hop path
	via     string
	seed    string
	attempt int
	retries int
	resent  bool // it repeats one that died with its reused connection
	ticket  time.Time
	req     fetcher.Request
}

// page tells whether its capture counts as a page.
func (j *job) page() bool { return j.kind == jobPage }

func (j *job) setBasicAuth(user, password string) {
	j.req.Header = http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}}
}

// result is what a worker made of a job.
type result struct {
	job     *job
	capture *capture.Capture
	// err is this machine's fault (a full disk), and ends the crawl; a host's faults are in the capture.
	err error
	// aborted: the operator cut it short; it counts as never made.
	aborted bool

	mime     string
	meta     storage.Meta
	redirect canon.URL
	page     links.Page
	nofollow bool
	entries  []sitemap.Entry
	rules    *robots.Rules
	encoded  *storage.Encoded
	// place is the index in its batch of the frontier's result that the records belong to, -1 for none.
	place int
}

// drop gives back what is not archived.
func (r *result) drop() {
	if r.encoded != nil {
		r.encoded.Close()
		r.encoded = nil
	}
}

// worker makes exchanges and everything that can be made of one without knowing the rest of the crawl.
type worker struct {
	fetch   *fetcher.Fetcher
	archive *storage.Archive
	budget  *capture.Budget
	address *addressPace
	product string
	maxBody int64
	// decoding bounds the decoded bytes that all workers hold at once: a document, its UTF-8 form and its links take
	// about four times that.
	decoding *semaphore.Weighted
}

// decodingBytes is what decoding weighs in all. A body that may be larger than that waits until it is alone.
const decodingBytes = 64 << 20

// The most that is read of a robots.txt as received; robots.MaxBytes bounds it decoded (RFC 9309 section 2.5).
const maxRulesBytes = 1 << 20

var docs = sync.Pool{New: func() any { return new([]byte) }}

func (w *worker) do(ctx context.Context, j *job) *result {
	req := j.req
	if !j.host.own {
		req.Admit = func(a netip.Addr) time.Time {
			now := time.Now()
			if !j.ticket.IsZero() {
				return now // its slot was claimed when it was put off
			}
			return w.address.claim(a, now)
		}
	}
	c := w.fetch.Do(ctx, req)
	r := &result{job: j, capture: c, place: -1}
	if ctx.Err() != nil && c.Class != capture.OK {
		r.aborted = true
		return r
	}
	if len(c.Head) == 0 || c.Local != nil {
		return r
	}
	weight := w.weight(j, c)
	if w.decoding.Acquire(ctx, weight) != nil {
		r.aborted = true
		return r
	}
	defer w.decoding.Release(weight)
	r.err = w.read(ctx, r)
	return r
}

// weight is the most bytes that decoding the body can hold in memory.
func (w *worker) weight(j *job, c *capture.Capture) int64 {
	if c.Body == nil {
		return 0
	}
	n := c.Body.Len()
	if len(c.Header["Content-Encoding"]) > 0 {
		n = max(n*maxCodingRatio, 1<<20)
	}
	return min(n, w.limit(j), decodingBytes)
}

// maxCodingRatio is body.Limits' default bound on decoded bytes per coded byte.
const maxCodingRatio = 200

// limit is the most decoded bytes that are wanted of a job's body.
func (w *worker) limit(j *job) int64 {
	if j.kind == jobRules {
		return robots.MaxBytes
	}
	return w.maxBody
}

// read makes of a response what the loop and the archive need.
func (w *worker) read(ctx context.Context, r *result) error {
	j, c := r.job, r.capture
	contentType := c.Header.Get("Content-Type")
	r.mime = charset.MediaType(contentType)
	r.meta = storage.Meta{
		Via: j.via, Hops: j.path, Depth: j.item.Depth, Seed: j.seed, MediaType: r.mime, Attempt: j.attempt,
		RobotsMeta: strings.Join(c.Header.Values("X-Robots-Tag"), ", "),
	}
	if c.Class == capture.Redirect {
		if u, err := j.url.Resolve(c.Header.Get("Location")); err == nil {
			r.redirect = u
			r.meta.RedirectTo = u.String()
		}
	}
	if c.Body != nil {
		if err := w.readBody(ctx, r, contentType); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		r.aborted = true
		return nil
	}
	switch j.kind {
	case jobRules:
		r.meta.Kind = "robots"
	case jobSitemap:
		r.meta.Kind = "sitemap"
	}
	if j.kind != jobRules && transient(c.Class, j.attempt, j.retries) {
		return nil // it is asked for again; only what is final is archived
	}
	var err error
	r.encoded, err = w.archive.Encode(c, r.meta, w.budget)
	return err
}

// readBody decodes the body once: for the digest always, as a document where it is one.
func (w *worker) readBody(ctx context.Context, r *result, contentType string) error {
	j, c := r.job, r.capture
	lim := body.Limits{MaxBytes: w.limit(j), MaxRatio: maxCodingRatio}
	coding := c.Header.Values("Content-Encoding")
	isDoc := r.mime == "" || charset.IsHTML(contentType, nil)
	if j.kind == jobPage && !isDoc {
		return r.digest(coding, lim)
	}
	buf := docs.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= 1<<20 { // a rare giant must not stay
			docs.Put(buf)
		}
	}()
	doc, err := body.ReadAll((*buf)[:0], c.Body.Reader(), coding, lim)
	*buf = doc
	if err := r.coded(err); err != nil {
		return err
	}
	r.meta.HasContent = true
	r.meta.Bytes = int64(len(doc))
	r.meta.ContentDigest = sha256.Sum256(doc)
	switch {
	case ctx.Err() != nil: // the caller drops it
	case j.kind == jobRules:
		if c.Class == capture.OK || c.Class == capture.TruncatedLength {
			r.rules = robots.Parse(doc)
		}
	case j.kind == jobSitemap:
		if c.Class == capture.OK || c.Class == capture.TruncatedLength {
			r.readSitemap(doc)
		}
	case charset.IsHTML(contentType, doc):
		r.readHTML(doc, contentType, w.product)
	}
	return nil
}

// coded sorts a decoding error: the site's fault marks the capture, this machine's is returned.
func (r *result) coded(err error) error {
	switch {
	case err == nil:
	case errors.Is(err, body.ErrTooLong), errors.Is(err, body.ErrRatio):
		r.meta.DecodedCut = true
		r.capture.Err = err.Error()
	case errors.Is(err, body.ErrUndecodable):
		if r.capture.Class == capture.OK {
			r.capture.Class = capture.Undecodable
		}
		r.capture.Err = err.Error()
	default:
		return err
	}
	return nil
}

func (r *result) digest(coding []string, lim body.Limits) error {
	rd, err := body.NewReader(r.capture.Body.Reader(), coding, lim)
	if err != nil {
		return r.coded(err)
	}
	defer rd.Close() //nolint:errcheck // reads from memory or our own file
	h := digests.Get().(hash.Hash)
	defer digests.Put(h)
	h.Reset()
	n, err := io.Copy(h, rd)
	if err := r.coded(err); err != nil {
		return err
	}
	r.meta.HasContent = true
	r.meta.Bytes = n
	h.Sum(r.meta.ContentDigest[:0])
	return nil
}

var digests = sync.Pool{New: func() any { return sha256.New() }}

func (r *result) readHTML(doc []byte, contentType, product string) {
	cs, _ := charset.Detect(doc, contentType)
	r.page = links.Extract(charset.ToUTF8(doc, cs), r.job.url, cs, links.Options{Product: product})
	r.meta.Charset, r.meta.Lang, r.meta.Title = cs, r.page.Lang, r.page.Title
	if !r.page.Canonical.IsZero() {
		r.meta.Canonical = r.page.Canonical.String()
	}
	directives := r.page.RobotsMeta
	if r.meta.RobotsMeta != "" {
		directives = append([]string{r.meta.RobotsMeta}, directives...)
	}
	r.meta.RobotsMeta = strings.Join(directives, ", ")
	r.nofollow = nofollow(r.meta.RobotsMeta)
}

// nofollow tells whether robots directives forbid to follow the page's links.
func nofollow(directives string) bool {
	for d := range strings.SplitSeq(strings.ToLower(directives), ",") {
		switch strings.TrimSpace(d) {
		case "nofollow", "none":
			return true
		}
	}
	return false
}

func (r *result) readSitemap(doc []byte) {
	err := sitemap.Parse(bytes.NewReader(doc), r.job.url, func(e sitemap.Entry) bool {
		r.entries = append(r.entries, e)
		return true
	})
	if err != nil {
		r.capture.Err = "sitemap: " + err.Error()
	}
}

// signals lists what the server said about its pace, for the crawl log.
func signals(c *capture.Capture, crawlDelay time.Duration) []string {
	s := []string{}
	if crawlDelay > 0 {
		s = append(s, "crawl-delay="+crawlDelay.String())
	}
	for _, name := range []string{
		"Retry-After", "Ratelimit", "Ratelimit-Policy", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset",
		"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset",
	} {
		for _, v := range c.Header[name] {
			s = append(s, strings.ToLower(name)+"="+v)
		}
	}
	return s
}
