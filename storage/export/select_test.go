package export

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFilters(t *testing.T) {
	job, _ := newJob(t, shots(), 2500)
	const host = "http://www.example.com"
	all := []string{host + "/", host + "/a,b?q=%221%22", host + "/latin", "https://sub.example.com:8443/x.png", host + "/missing", host + "/gz", host + "/"}
	pick := func(is ...int) (urls []string) {
		for _, i := range is {
			urls = append(urls, all[i])
		}
		return urls
	}
	tests := []struct {
		name string
		opt  Options
		want []string
	}{
		{"none", Options{}, all},
		{"host", Options{Host: "SUB.example.com"}, pick(3)},
		{"port", Options{Host: "sub.example.com:8443"}, pick(3)},
		{"another port", Options{Host: "sub.example.com:443"}, nil},
		{"port of the scheme", Options{Host: "www.example.com:80"}, pick(0, 1, 2, 4, 5, 6)},
		{"hosts", Options{Host: "sub.example.com, www.example.com"}, all},
		{"subdomains", Options{Host: "*.example.com"}, all},
		{"subdomains alone", Options{Host: "*.www.example.com"}, nil},
		{"no part of a label", Options{Host: "*.ample.com"}, nil},
		{"status", Options{Status: "404"}, pick(4)},
		{"class", Options{Status: "3xx,404"}, pick(1, 4)},
		{"range", Options{Status: "300-404"}, pick(1, 4)},
		{"mime", Options{Mime: "Image/PNG"}, pick(3)},
		{"mime class", Options{Mime: "text/*"}, pick(0, 2, 4, 5, 6)},
		{"any mime", Options{Mime: "*/*"}, all},
		{"url", Options{URL: regexp.MustCompile(`/(latin|gz)$`)}, pick(2, 5)},
		{"since", Options{Since: testTime.Add(2 * time.Hour)}, pick(4, 5, 6)},
		{"first", Options{First: true}, pick(0, 1, 2, 3, 4, 5)},
		{"newest", Options{Newest: true}, pick(1, 2, 3, 4, 5, 6)},
		{"newest among the rest", Options{Newest: true, Status: "200", Mime: "text/html"}, pick(2, 5, 6)},
		{"first since", Options{First: true, Since: testTime.Add(time.Second)}, pick(1, 2, 3, 4, 5, 6)},
		{"together", Options{Host: "www.example.com", Status: "2xx", Mime: "text/html", Since: testTime.Add(time.Hour)}, pick(5, 6)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opt.Format = "jsonl"
			lines, stats := runString(t, job, tt.opt)
			var got []string
			for line := range strings.Lines(lines) {
				var row struct{ URL string }
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				got = append(got, row.URL)
			}
			if !slices.Equal(got, tt.want) || stats.Captures != int64(len(got)) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	job, _ := newJob(t, shots()[:1], 1e9)
	out := filepath.Join(t.TempDir(), "o")
	tests := []struct {
		opt        Options
		flag, want string
	}{
		{Options{Format: "xml"}, "--format", "jsonl"},
		{Options{Format: ""}, "--format", "warc"},
		{Options{Format: "csv", Status: "ok"}, "--status", "2xx"},
		{Options{Format: "csv", Status: "404-200"}, "--status", "300-399"},
		{Options{Format: "csv", Status: "200,"}, "--status", "comma"},
		{Options{Format: "csv", Status: "20"}, "--status", "200"},
		{Options{Format: "csv", Status: "0xx"}, "--status", "2xx"},
		{Options{Format: "csv", Host: "http://a.example/"}, "--host", "*.example.com"},
		{Options{Format: "csv", Host: "a.example:"}, "--host", "example.com:8080"},
		{Options{Format: "csv", Host: "a.example:x"}, "--host", "example.com:8080"},
		{Options{Format: "csv", Host: "*.a.example:8080"}, "--host", "*.example.com"},
		{Options{Format: "csv", Host: "me@a.example"}, "--host", "example.com"},
		{Options{Format: "csv", Host: "a.*.example"}, "--host", "example.com"},
		{Options{Format: "csv", Mime: "html"}, "--mime", "text/html"},
		{Options{Format: "csv", Mime: "*/html"}, "--mime", "text/*"},
		{Options{Format: "csv", Mime: "text/html; charset=utf-8"}, "--mime", "text/html"},
		{Options{Format: "csv", First: true, Newest: true}, "--first", "--newest"},
		{Options{Format: "csv", Body: true}, "--body", "jsonl"},
		{Options{Format: "csv", ShardBytes: 1}, "--shard-size", "--output"},
		{Options{Format: "csv", ShardBytes: -1, Output: out}, "--shard-size", "negative"},
		{Options{Format: "warc", Output: out + ".warc.zst"}, "--output", ".warc.gz"},
		{Options{Format: "csv", Output: job}, "--output", "folder"},
		{Options{Format: "csv", Output: filepath.Join(job, "nope", "o.csv")}, "--output", "there is no folder " + filepath.Join(job, "nope") + "; make it"},
	}
	for _, tt := range tests {
		tt.opt.Stdout = io.Discard
		_, err := Run(context.Background(), job, tt.opt)
		var oe *OptionError
		if !errors.As(err, &oe) || oe.Flag != tt.flag || !strings.HasPrefix(err.Error(), tt.flag+": ") || !strings.Contains(oe.Msg, tt.want) {
			t.Errorf("%+v: %v", tt.opt, err)
		}
	}
	if _, err := Run(context.Background(), filepath.Join(job, "none"), Options{Format: "csv", Stdout: io.Discard}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing job: %v", err)
	}
}
