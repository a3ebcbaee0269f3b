package frontier

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestURLRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		self := Ordinal(rapid.Uint32Max(uint32(NoOrdinal)-1).Draw(t, "self"))
		want := urlRecord{
			Origin: OriginID(rapid.Uint32().Draw(t, "origin")), Via: NoOrdinal, Seed: rapid.Uint32().Draw(t, "seed"),
			Depth: rapid.Uint32().Draw(t, "depth"), Class: rapid.Uint8Max(15).Draw(t, "class"), Flags: Flags(rapid.Byte().Draw(t, "flags")),
			LastMod: rapid.Int64().Draw(t, "lastmod"), Path: rapid.StringMatching(`[LREMI]{0,60}`).Draw(t, "path"), Target: rapid.String().Draw(t, "target"),
		}
		if self > 0 && rapid.Bool().Draw(t, "via") {
			want.Via = Ordinal(rapid.Uint32Max(uint32(self)-1).Draw(t, "viaOrdinal"))
		}
		got, err := parseURLRecord(appendURLRecord(nil, self, want), self)
		if err != nil || got != want {
			t.Fatalf("got %+v, %v; want %+v", got, err, want)
		}
	})
}

func drawVisit(t *rapid.T) Result {
	digest := rapid.Custom(func(t *rapid.T) (d [16]byte) {
		if rapid.Bool().Draw(t, "set") {
			copy(d[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "digest"))
		}
		return d
	})
	when := rapid.Custom(func(t *rapid.T) time.Time {
		if rapid.Bool().Draw(t, "zero") {
			return time.Time{}
		}
		return time.UnixMicro(rapid.Int64Range(-1<<52, 1<<52).Draw(t, "us")).UTC()
	})
	r := Result{
		Ordinal: Ordinal(rapid.Uint32().Draw(t, "ordinal")), Outcome: Outcome(rapid.IntRange(int(Stored), int(Retry)).Draw(t, "outcome")),
		Reason:  rapid.SampledFrom(append([]Reason{"something-newer"}, reasonCodes...)).Draw(t, "reason"),
		Attempt: rapid.IntRange(0, 1<<30).Draw(t, "attempt"), Time: when.Draw(t, "time"), Status: rapid.Int().Draw(t, "status"),
		PayloadDigest: digest.Draw(t, "payload"), ContentDigest: digest.Draw(t, "content"), Bytes: rapid.Int64().Draw(t, "bytes"),
		NotBefore: when.Draw(t, "notbefore"), Freshness: digest.Draw(t, "freshness"),
		Archive: Position{rapid.Uint32().Draw(t, "serial"), rapid.Int64().Draw(t, "offset"), rapid.Int64().Draw(t, "length")},
	}
	if rapid.Bool().Draw(t, "same") {
		r.ContentDigest = r.PayloadDigest
	}
	return r
}

func TestVisitRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawVisit(t)
		got, err := parseVisit(appendVisit(nil, &want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestNotBeforeIsNeverEarlier: microseconds are rounded up.
func TestNotBeforeIsNeverEarlier(t *testing.T) {
	r := Result{Outcome: Retry, NotBefore: now.Add(1)}
	got, err := parseVisit(appendVisit(nil, &r))
	if err != nil || !got.NotBefore.Equal(now.Add(time.Microsecond)) {
		t.Fatal(got.NotBefore, err)
	}
}

func TestReasonCodesKeepTheirNumbers(t *testing.T) {
	for code, want := range map[int]Reason{
		1: ReasonRobots, 2: ReasonRobotsUnreachable, 3: ReasonScope, 4: ReasonDepth, 5: ReasonScheme, 6: ReasonMime, 7: ReasonNofollow,
		8: ReasonAddress, 9: ReasonHostUnreachable, 10: ReasonBudget, 11: ReasonMemory, 12: ReasonTrapDepth, 13: ReasonTrapLength,
		14: ReasonTrapRepeat, 15: ReasonTrapQuery, 16: ReasonTrapCalendar, 17: ReasonTrapSession,
	} {
		if reasonCodes[code] != want {
			t.Errorf("code %d is %q, want %q", code, reasonCodes[code], want)
		}
	}
}

func TestChunkRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c chunk
		var want [][]byte
		for {
			r := rapid.SliceOfN(rapid.Byte(), 0, rapid.SampledFrom([]int{40, 200, 2000}).Draw(t, "max")).Draw(t, "record")
			if !c.fits(len(r)) {
				break
			}
			want = append(want, r)
			c.add(r)
		}
		key := key32(7)
		value := c.encode(bucketURLs, key)
		if len(want) > 1 && len(value) >= chunkBytes || len(want) > chunkRecords {
			t.Fatalf("%d records in %d bytes", len(want), len(value))
		}
		v, err := bucketURLs.parseChunk(key, value)
		if err != nil || v.n != len(want) {
			t.Fatal(v.n, err)
		}
		for i := range want {
			if !bytes.Equal(v.record(i), want[i]) {
				t.Fatalf("record %d: %x, want %x", i, v.record(i), want[i])
			}
		}
		if _, err := bucketURLs.parseChunk(key32(8), value); err == nil {
			t.Fatal("accepted under another key")
		}
		if _, err := bucketPages.parseChunk(key, value); err == nil {
			t.Fatal("accepted in another bucket")
		}
		at := rapid.IntRange(0, len(value)-1).Draw(t, "at")
		value[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := bucketURLs.parseChunk(key, value); err == nil {
			t.Fatal("a flipped bit is not noticed")
		}
	})
}

// What a decoder accepts, it must write again as it was read.

func FuzzURLRecord(f *testing.F) {
	f.Add(uint32(9), appendURLRecord(nil, 9, urlRecord{Origin: 1, Via: 3, Seed: 2, Depth: 4, Class: 5, Flags: FlagEmbed, LastMod: 1e9, Path: "LLE", Target: "/a?b"}))
	f.Add(uint32(0), appendURLRecord(nil, 0, urlRecord{Via: NoOrdinal, Target: "/"}))
	f.Fuzz(func(t *testing.T, self uint32, p []byte) {
		r, err := parseURLRecord(p, Ordinal(self))
		if err != nil {
			return
		}
		again, err := parseURLRecord(appendURLRecord(nil, Ordinal(self), r), Ordinal(self))
		if err != nil || again != r {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}

func FuzzVisit(f *testing.F) {
	f.Add(appendVisit(nil, &Result{Ordinal: 7, Outcome: Stored, Attempt: 1, Time: now, Status: 200, PayloadDigest: [16]byte{1}, ContentDigest: [16]byte{1}, Archive: Position{1, 2, 3}, Bytes: 9}))
	f.Add(appendVisit(nil, &Result{Ordinal: 7, Outcome: Retry, Reason: "new", NotBefore: now, Freshness: [16]byte{1}}))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, err := parseVisit(p)
		if err != nil {
			return
		}
		again, err := parseVisit(appendVisit(nil, &r))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzChunk(f *testing.F) {
	var c chunk
	c.add([]byte("one"))
	c.add(nil)
	c.add([]byte("three"))
	f.Add(c.encode(bucketURLs, nil)[checksumBytes:])
	f.Fuzz(func(t *testing.T, p []byte) {
		v, err := parseFrame(p)
		if err != nil {
			return
		}
		var c chunk
		c.load(3, v)
		if again := c.encode(bucketURLs, nil)[checksumBytes:]; !bytes.Equal(again, p) {
			t.Fatalf("%x became %x", p, again)
		}
	})
}

func FuzzMetaValues(f *testing.F) {
	f.Add(totals{1, 2, 3, 4, 5}.encode())
	f.Add(Ends{"a", 1, 2, "b", 3}.encode())
	f.Fuzz(func(t *testing.T, p []byte) {
		if v, err := parseTotals(p); err == nil {
			if again, err := parseTotals(v.encode()); err != nil || again != v {
				t.Fatalf("%+v became %+v, %v", v, again, err)
			}
		}
		if e, err := parseEnds(p); err == nil {
			if again, err := parseEnds(e.encode()); err != nil || again != e {
				t.Fatalf("%+v became %+v, %v", e, again, err)
			}
		}
	})
}
