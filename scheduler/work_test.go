package scheduler

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"

	"golang.org/x/sync/semaphore"

	"amble/fetcher/capture"
	"amble/fetcher/robots"
)

// What a body may become when it is decoded is claimed before it is, so that any number of workers together hold at most
// decodingBytes of documents.
func TestDecodingIsClaimedByWhatABodyMayBecome(t *testing.T) {
	const mib = 1 << 20
	budget := capture.NewBudget(t.TempDir(), 64*mib)
	w := &worker{maxBody: 32 * mib, decoding: semaphore.NewWeighted(decodingBytes)}
	coded := http.Header{"Content-Encoding": {"gzip"}}
	for i, c := range []struct {
		kind   jobKind
		header http.Header
		bytes  int
		want   int64
	}{
		{jobPage, nil, 20 << 10, 20 << 10},
		{jobPage, nil, 40 * mib, 32 * mib}, // no more than is read of it
		{jobPage, coded, 100, mib},         // the ratio is bounded only beyond the first MiB
		{jobPage, coded, 10 << 10, 2000 << 10},
		{jobPage, coded, mib, 32 * mib},
		{jobSitemap, coded, mib, 32 * mib},
		{jobRules, coded, mib, robots.MaxBytes},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			b := budget.NewSpool()
			defer b.Close()
			if _, err := b.Write(bytes.Repeat([]byte{'a'}, c.bytes)); err != nil {
				t.Fatal(err)
			}
			got := w.weight(&job{kind: c.kind}, &capture.Capture{Header: c.header, Body: b})
			if got != c.want {
				t.Errorf("claims %d bytes, want %d", got, c.want)
			}
		})
	}
	if w.weight(&job{}, &capture.Capture{}) != 0 {
		t.Error("no body claims something")
	}
	// A limit above what there is in all must not wait for ever.
	w.maxBody = 10 * decodingBytes
	if err := w.decoding.Acquire(context.Background(), min(w.limit(&job{}), decodingBytes)); err != nil {
		t.Error(err)
	}
}
