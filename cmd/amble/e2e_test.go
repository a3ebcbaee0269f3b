package main_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The end-to-end tests run the binary (this test binary as amble, see main_test.go) against servers on loopback and
// judge by what those servers saw.

// patience ends a process that hangs; no test relies on it.
const patience = 60 * time.Second

// process is a running amble.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr lockedBuffer
	done           chan struct{} // closed when it has ended
	code           int           // then: the exit code, -1 after a kill
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// command is amble with these arguments, free of the user's own configuration.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	home := t.TempDir()
	cmd.Env = []string{"AMBLE_TEST_MAIN=1", "HOME=" + home, "XDG_CONFIG_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm"}
	// A binary with the race detector else sleeps for a second before it exits.
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0")
	for _, name := range []string{"TMPDIR", "GOCOVERDIR", "SystemRoot", "TEMP"} {
		if v, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// launch starts amble; the test's end kills it if it still runs.
func launch(t *testing.T, stdin string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(t, args...), done: make(chan struct{})}
	return p.start(stdin)
}

func (p *process) start(stdin string) *process {
	p.t.Helper()
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = strings.NewReader(stdin), &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(p.done)
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
	}()
	p.t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("signal %v: %v", s, err)
	}
}

// wait returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.kill()
		p.t.Fatalf("%q hangs:\n%s", p.cmd.Args[1:], p.stderr.String())
	}
	return p.code
}

// ended tells whether it has ended by itself.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// until waits for a condition, and fails the test when the process ends before.
func (p *process) until(what string, holds func() bool) {
	p.t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if p.ended() && !holds() {
			p.t.Fatalf("ended with %d before %s:\n%s", p.code, what, p.stderr.String())
		}
		if time.Now().After(end) {
			p.t.Fatalf("no %s:\n%s", what, p.stderr.String())
		}
	}
}

// run runs amble to its end and checks the exit code.
func run(t *testing.T, want int, args ...string) *process {
	t.Helper()
	p := launch(t, "", args...)
	if got := p.wait(); got != want {
		t.Errorf("amble %s: exit code %d, want %d\nstdout: %s\nstderr: %s",
			strings.Join(args, " "), got, want, head(p.stdout.String()), head(p.stderr.String()))
	}
	return p
}

func head(s string) string {
	if len(s) > 4000 {
		return s[:2000] + "\n...\n" + s[len(s)-2000:]
	}
	return s
}

// own are the flags of a crawl of hosts on loopback that are ours, as fast as they answer.
func own(job string, args ...string) []string {
	return append([]string{
		"--job", job, "--allow-private", "--contact", "mailto:ops@example.org", "--own", "127.0.0.0/8", "--floor", "0",
	}, args...)
}

// status is `amble status --json`.
type status struct {
	State, End                                    string
	Requests, Pages, Queued, Failed, Hosts, Bytes int64
	Skipped                                       map[string]int64
	Seeds                                         struct{ Captured, Failed, Pending int64 }
}

func statusOf(t *testing.T, job string) (s status) {
	t.Helper()
	p := run(t, 0, "status", "--json", "--job", job)
	if err := json.Unmarshal([]byte(p.stdout.String()), &s); err != nil {
		t.Fatalf("status --json: %v\n%s", err, p.stdout.String())
	}
	return s
}

// capture is a line of `amble export --format jsonl`.
type capture struct {
	URL    string `json:"url"`
	Status int    `json:"status"`
	Via    string `json:"via"`
	Hops   string `json:"hops"`
}

// captures are what the job has stored of pages.
func captures(t *testing.T, job string, filters ...string) (cs []capture) {
	t.Helper()
	p := run(t, 0, append([]string{"export", "--format", "jsonl", "-o", "-", "--job", job}, filters...)...)
	for line := range strings.Lines(p.stdout.String()) {
		var c capture
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("export: %v in %q", err, line)
		}
		if strings.HasSuffix(c.URL, "/robots.txt") {
			continue
		}
		cs = append(cs, c)
	}
	return cs
}

// once are the URLs of captures, sorted; it reports those that occur more than once.
func once(t *testing.T, cs []capture) (urls []string) {
	t.Helper()
	for _, c := range cs {
		urls = append(urls, c.URL)
	}
	slices.Sort(urls)
	for i := 1; i < len(urls); i++ {
		if urls[i] == urls[i-1] {
			t.Errorf("%s is captured more than once", urls[i])
		}
	}
	return slices.Compact(urls)
}

// checkJob looks for damage: every segment is whole gzip members of one record each, and the frontier verifies.
func checkJob(t *testing.T, job string) {
	t.Helper()
	run(t, 0, "status", "--check", "--job", job)
	segments, err := filepath.Glob(filepath.Join(job, "warc", "*.warc.gz*"))
	if err != nil || len(segments) == 0 {
		t.Errorf("no segments in %s (%v)", job, err)
	}
	for _, name := range segments {
		if err := walkSegment(name); err != nil {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
}

func walkSegment(name string) error {
	if !strings.HasSuffix(strings.TrimSuffix(name, ".open"), ".warc.gz") {
		return nil // a sidecar
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	r := bytes.NewReader(b)
	z, err := gzip.NewReader(r)
	for n := 0; ; n++ {
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("member %d before offset %d: %w", n, len(b)-r.Len(), err)
		}
		z.Multistream(false)
		record, err2 := io.ReadAll(z)
		if err2 != nil {
			return fmt.Errorf("member %d: %w", n, err2)
		}
		if !bytes.HasPrefix(record, []byte("WARC/1.1\r\n")) || !bytes.HasSuffix(record, []byte("\r\n\r\n")) {
			return fmt.Errorf("member %d is no record", n)
		}
		err = z.Reset(r)
	}
}

// hit is a request that a host saw.
type hit struct {
	target     string
	start, end time.Time
}

// host is a site of a test.
type host struct {
	addr, base string // host:port and http://host:port
	pages      map[string]http.HandlerFunc

	mu    sync.Mutex
	delay time.Duration // before each answer but that of robots.txt
	hits  []hit
}

// serve starts a host on 127.1.0.n, or on 127.0.0.1 where the system has no more of the network. robots.txt allows
// everything unless pages has one.
func serve(t *testing.T, n int, pages map[string]http.HandlerFunc) *host {
	t.Helper()
	l, err := net.Listen("tcp4", fmt.Sprintf("127.1.0.%d:0", n))
	if err != nil {
		if l, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	h := &host{addr: l.Addr().String(), base: "http://" + l.Addr().String(), pages: pages}
	s := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() { // ends with Close
		defer close(ended)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})
	return h
}

// answer is a response whose connection may be taken over.
type answer struct {
	http.ResponseWriter
	taken bool
}

func (a *answer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	a.taken = true
	return http.NewResponseController(a.ResponseWriter).Hijack()
}

func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (h *host) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := &answer{ResponseWriter: rw}
	h.mu.Lock()
	i := len(h.hits)
	h.hits = append(h.hits, hit{target: r.RequestURI, start: time.Now()})
	delay := h.delay
	h.mu.Unlock()
	defer func() {
		if !w.taken {
			_ = http.NewResponseController(w).Flush()
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.hits[i].end = time.Now()
	}()
	reply, ok := h.pages[r.RequestURI]
	switch {
	case ok:
	case r.RequestURI == "/robots.txt":
		reply = text("User-agent: *\nDisallow:\n")
	default:
		reply = func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
	}
	if r.RequestURI != "/robots.txt" {
		time.Sleep(delay)
	}
	reply(w, r)
}

func (h *host) slow(delay time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.delay = delay
}

// seen are the requests so far in order of arrival.
func (h *host) seen() []hit {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.hits)
}

// requests counts those of a kind of target; nil counts all but robots.txt.
func (h *host) requests(which func(target string) bool) (n int) {
	for _, x := range h.seen() {
		if which == nil && x.target != "/robots.txt" || which != nil && which(x.target) {
			n++
		}
	}
	return n
}

// twice are the targets that were asked for more than once.
func (h *host) twice() (targets []string) {
	n := map[string]int{}
	for _, x := range h.seen() {
		if n[x.target]++; n[x.target] == 2 {
			targets = append(targets, x.target)
		}
	}
	return targets
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, body)
	}
}

// page links to targets.
func page(links ...string) http.HandlerFunc {
	var b strings.Builder
	b.WriteString("<!doctype html><html><head><title>A page</title></head><body>")
	for _, l := range links {
		fmt.Fprintf(&b, "<p><a href=\"%s\">%s</a></p>", l, l)
	}
	b.WriteString(strings.Repeat("<p>The quay keeps the barges that wait for the tide.</p>\n", 20) + "</body></html>")
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", fmt.Sprint(b.Len()))
		_, _ = io.WriteString(w, b.String())
	}
}

// leaves is a site of n pages: "/" links to all others.
func leaves(n int) map[string]http.HandlerFunc {
	var targets []string
	for i := 1; i < n; i++ {
		targets = append(targets, fmt.Sprintf("/p/%d.html", i))
	}
	pages := map[string]http.HandlerFunc{"/": page(targets...)}
	for _, t := range targets {
		pages[t] = page("/")
	}
	return pages
}

// urls are the absolute URLs of all pages of a host but robots.txt, sorted.
func (h *host) urls() (urls []string) {
	for t := range h.pages {
		if t != "/robots.txt" {
			urls = append(urls, h.base+t)
		}
	}
	slices.Sort(urls)
	return urls
}

// noEscapes fails on terminal escape codes and bare carriage returns.
func noEscapes(t *testing.T, what, s string) {
	t.Helper()
	if i := strings.IndexAny(s, "\x1b\r\x9b"); i >= 0 {
		t.Errorf("%s has a control code in a file: %q", what, s[max(0, i-20):min(len(s), i+20)])
	}
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
