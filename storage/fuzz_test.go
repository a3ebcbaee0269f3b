package storage

import (
	"bytes"
	"testing"

	"amble/storage/warc"
)

// FuzzIndex: no index makes a reader fail, loop, or give entries that do not follow each other within the limit.
func FuzzIndex(f *testing.F) {
	id := warc.ID{1}
	e := Entry{Offset: 300, Length: 400, RequestLength: 100, MetadataLength: 90, Time: testTime, URL: "http://a.example/", Status: 200,
		MediaType: "text/html", ID: warc.ID{2}, PayloadDigest: [32]byte{3}}
	good := appendEntry(appendIndexHeader(nil, id, 300), &e)
	e.Offset = e.End()
	good = appendEntry(good, &e)
	f.Add(good)
	f.Add(good[:indexHeaderSize])
	f.Add(good[:len(good)-5])
	f.Add([]byte("AMBLEIX1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 5000
		x, ok := newIndexReader(bytes.NewReader(b), id, 300)
		if !ok {
			return
		}
		end := int64(300)
		for {
			e, ok := x.next(limit)
			if !ok {
				break
			}
			if e.Offset != end || e.End() <= end || e.End() > limit {
				t.Fatalf("entry %+v behind %d", e, end)
			}
			end = e.End()
		}
		if x.pos > int64(len(b)) || x.end != end {
			t.Fatalf("valid as far as %d of %d, segment %d, want %d", x.pos, len(b), x.end, end)
		}
	})
}

// FuzzEntry: a payload is either refused or comes out as it went in.
func FuzzEntry(f *testing.F) {
	e := Entry{Offset: 300, Length: 400, MetadataLength: 90, Time: testTime, URL: "http://a.example/", Status: 200, MediaType: "text/html"}
	f.Add(appendEntry(nil, &e)[8:])
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := parseEntry(b)
		if !ok {
			return
		}
		again, ok := parseEntry(appendEntry(nil, &e)[8:])
		if !ok || again != e {
			t.Fatalf("%+v became %+v", e, again)
		}
	})
}

// FuzzStoredHead: whatever a head looks like, what is stored names no transfer coding that the body does not have.
func FuzzStoredHead(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\nTransfer-Encoding:\n gzip,\n chunked\n\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		got := appendStoredHead(nil, head, headStatus(head), 7)
		if hasChunked(got) {
			t.Fatalf("%q became %q", head, got)
		}
		if !hasChunked(head) && !bytes.Equal(got, head) {
			t.Fatalf("%q became %q", head, got)
		}
	})
}
