package ratectl

import (
	"net/http"
	"testing"
	"time"
)

// ordinary is a response head as servers send it.
func ordinary() http.Header {
	return http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Content-Length": {"20480"}, "Date": {"Tue, 01 Dec 2026 12:00:00 GMT"},
		"Server": {"nginx"}, "Etag": {`"abc"`}, "Last-Modified": {"Mon, 30 Nov 2026 12:00:00 GMT"}, "Connection": {"keep-alive"},
		"Cache-Control": {"max-age=60"}, "Vary": {"Accept-Encoding"}, "Content-Encoding": {"gzip"},
	}
}

func outcomes() []Outcome {
	h := ordinary()
	o := make([]Outcome, 1024)
	for i := range o {
		ttfb := time.Duration(40+i*37%61) * time.Millisecond
		o[i] = Outcome{TTFB: ttfb, Kind: Success, Status: 200, Header: h}
		switch {
		case i%200 == 199:
			o[i].Kind, o[i].Status = Limited, 429
		case i%150 == 149:
			o[i].Kind, o[i].Status, o[i].Header = Reset, 0, nil
		case i%100 == 99:
			o[i].Kind, o[i].Status = ClientError, 404
		}
	}
	return o
}

func TestObserveAllocatesNothing(t *testing.T) {
	var s State
	var w Window
	o := outcomes()
	o[100].Header = http.Header{"Retry-After": {"3"}}
	at := noon
	n := testing.AllocsPerRun(20, func() {
		for i := range o {
			o[i].Start, o[i].End = at, at.Add(o[i].TTFB)
			at = s.Observe(standard, &w, o[i]).Next
		}
	})
	if n != 0 {
		t.Errorf("%v allocations in %d outcomes", n, len(o))
	}
}

func BenchmarkObserve(b *testing.B) {
	var s State
	var w Window
	o := outcomes()
	at := noon
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x := &o[i%len(o)]
		x.Start, x.End = at, at.Add(x.TTFB)
		at = s.Observe(standard, &w, *x).Next
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Moutcomes/s")
}

func BenchmarkGovernor(b *testing.B) {
	g := NewGovernor(1000, false)
	at := noon
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at = g.Claim(at)
		g.Observe(at, uint64(i%500), Success, 60*time.Millisecond, 50*time.Millisecond)
	}
}
