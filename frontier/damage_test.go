package frontier

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// sample writes a frontier that has something in each bucket, closes it in order, and returns its bytes.
func sample(t testing.TB) []byte {
	t.Helper()
	f, path := create(t, anywhere())
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	commit(t, f, b)
	for range 5 {
		b = f.NewBatch()
		it := take(t, f, 0)
		for i := range 40 {
			u := fmt.Sprintf("http://h%d.example/%s/%d", i%4, it.URL.Hostname(), f.URLs())
			f.Admit(b, Candidate{URL: parse(t, u), Via: it.Ordinal, Hop: 'L', ViaPath: it.Path, ViaDepth: it.Depth})
		}
		f.Admit(b, Candidate{URL: parse(t, fmt.Sprintf("http://a.example/%d", f.URLs())), Via: it.Ordinal, Hop: 'L'})
		f.Finish(b, it.Host, Result{Ordinal: it.Ordinal, Outcome: Stored, Attempt: 1, Time: now, PayloadDigest: [16]byte{1, 2}})
		f.SetAll(b)
		commit(t, f, b)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// edit applies fn to a copy of the file within bbolt, and returns the bytes.
func edit(t testing.TB, data []byte, fn func(tx *bbolt.Tx) error) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edit.db")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o644, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// reseal changes a value and gives it a right checksum.
func reseal(tx *bbolt.Tx, id bucket, key []byte, fn func(v []byte) []byte) error {
	v := bytes.Clone(tx.Bucket(id.name).Get(key)[checksumBytes:])
	return tx.Bucket(id.name).Put(key, id.seal(key, fn(v)))
}

// refuses checks that neither kind of Open accepts the file, that the error names it, and that nothing was changed.
func refuses(t *testing.T, data []byte, want error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "amble.db")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		opt := anywhere()
		opt.ReadOnly = readOnly
		f, _, err := Open(path, opt)
		if err == nil {
			f.Close()
			t.Fatal("opened")
		}
		if !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Fatalf("got %v, want %v and the path", err, want)
		}
		if want == ErrDamaged && !strings.Contains(err.Error(), remedy) {
			t.Fatalf("no remedy in %v", err)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(after, data) {
		t.Fatal("the file was changed", err)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Fatal("something was left beside it", names, err)
	}
}

func TestDamage(t *testing.T) {
	whole := sample(t)
	zeroEnd := func(data []byte) []byte {
		data = bytes.Clone(data)
		clear(data[len(data)-4096:])
		return data
	}
	foreignBolt := func() []byte {
		path := filepath.Join(t.TempDir(), "foreign.db")
		db, err := bbolt.Open(path, 0o644, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket([]byte("other"))
			return err
		}), db.Close()); err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(path)
		return data
	}
	meta := func(key []byte, value string) []byte {
		return edit(t, whole, func(tx *bbolt.Tx) error {
			return reseal(tx, bucketMeta, key, func([]byte) []byte { return []byte(value) })
		})
	}
	change := func(id bucket, key []byte, fn func([]byte) []byte) []byte {
		return edit(t, whole, func(tx *bbolt.Tx) error { return reseal(tx, id, key, fn) })
	}
	remove := func(id bucket, key []byte) []byte {
		return edit(t, whole, func(tx *bbolt.Tx) error { return tx.Bucket(id.name).Delete(key) })
	}
	strayVisit := edit(t, whole, func(tx *bbolt.Tx) error {
		var c chunk
		c.add(appendVisit(nil, &Result{Ordinal: 9999, Outcome: Stored}))
		return tx.Bucket(bucketPages.name).Put(key64(0), c.encode(bucketPages, key64(0)))
	})
	bothMetas := bytes.Clone(whole)
	bothMetas[60] ^= 1
	bothMetas[4096+60] ^= 1

	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"empty":                   {nil, ErrDamaged},
		"one byte":                {[]byte("x"), ErrForeign},
		"text":                    {bytes.Repeat([]byte("hello world\n"), 10000), ErrForeign},
		"zeros":                   {make([]byte, 1<<16), ErrForeign},
		"another bbolt file":      {foreignBolt(), ErrForeign},
		"last 4 KiB zeroed":       {zeroEnd(whole), ErrDamaged},
		"last byte lost":          {whole[:len(whole)-1], ErrDamaged},
		"half":                    {whole[:len(whole)/2], ErrDamaged},
		"first page only":         {whole[:4096], ErrDamaged},
		"first bytes only":        {whole[:100], ErrDamaged},
		"both roots damaged":      {bothMetas, ErrDamaged},
		"newer":                   {meta(metaFormat, formatMagic+"2"), ErrNewer},
		"unreadable version":      {meta(metaFormat, formatMagic+"x"), ErrDamaged},
		"another seen-key rule":   {meta(metaSeenKey, "sorted"), ErrNewer},
		"hash seed cut":           {meta(metaHashSeed, "1234"), ErrDamaged},
		"ends cut":                {meta(metaEnds, "\x05"), ErrDamaged},
		"totals beyond the file":  {meta(metaTotals, string(totals{URLs: 1 << 31}.encode())), ErrDamaged},
		"totals too small":        {meta(metaTotals, string(totals{URLs: 3, Visits: 1, Hosts: 5, Origins: 5, Seeds: 1}.encode())), ErrDamaged},
		"totals missing":          {remove(bucketMeta, metaTotals), ErrDamaged},
		"bucket missing":          {edit(t, whole, func(tx *bbolt.Tx) error { return tx.DeleteBucket(bucketPages.name) }), ErrDamaged},
		"URL chunk missing":       {remove(bucketURLs, key32(13)), ErrDamaged},
		"first URL chunk missing": {remove(bucketURLs, key32(0)), ErrDamaged},
		"visit chunk missing":     {remove(bucketPages, key64(0)), ErrDamaged},
		"host missing":            {remove(bucketHosts, key32(2)), ErrDamaged},
		"host twice":              {change(bucketHosts, key32(2), func([]byte) []byte { return []byte("a.example") }), ErrDamaged},
		"origin of no host":       {change(bucketOrigins, key32(2), func([]byte) []byte { return []byte{99, 0} }), ErrDamaged},
		"seed of no URL":          {change(bucketSeeds, key32(0), func(v []byte) []byte { v[0] = 0x7f; return append(v[:1], append([]byte{0x7f}, v[1:]...)...) }), ErrDamaged},
		"seed of another URL":     {change(bucketSeeds, key32(0), func(v []byte) []byte { v[0] = 1; return v }), ErrDamaged},
		"visit of no URL":         {strayVisit, ErrDamaged},
		"host state of no host": {edit(t, whole, func(tx *bbolt.Tx) error {
			k := key32(99)
			return tx.Bucket(bucketHblob.name).Put(k, bucketHblob.seal(k, nil))
		}), ErrDamaged},
		"record under other key": {edit(t, whole, func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketURLs.name)
			return errors.Join(b.Put(key32(0), bytes.Clone(b.Get(key32(13)))))
		}), ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, c.data, c.want)
		})
	}
}

// TestFlippedBytes changes one byte of a value at a time, in each bucket, behind bbolt's back.
func TestFlippedBytes(t *testing.T) {
	whole := sample(t)
	for _, id := range allBuckets {
		t.Run(string(id.name), func(t *testing.T) {
			var value []byte
			edit(t, whole, func(tx *bbolt.Tx) error {
				k, v := tx.Bucket(id.name).Cursor().First()
				if k == nil {
					t.Fatal("nothing in it")
				}
				value = bytes.Clone(v)
				return nil
			})
			if len(value) < 8 {
				value = nil // short values may be found elsewhere: flip through an edit
			}
			for _, at := range []int{0, 4, len(value) / 2, len(value) - 1} {
				var data []byte
				if i := bytes.LastIndex(whole, value); value != nil && bytes.Count(whole, value) == 1 {
					data = bytes.Clone(whole)
					data[i+at] ^= 0x10
				} else {
					data = edit(t, whole, func(tx *bbolt.Tx) error {
						b := tx.Bucket(id.name)
						k, v := b.Cursor().First()
						v = bytes.Clone(v)
						v[max(at, 0)%len(v)] ^= 0x10
						return b.Put(bytes.Clone(k), v)
					})
				}
				refuses(t, data, ErrDamaged)
			}
		})
	}
}

// TestDamagedPages overwrites each page of the file in turn: Open refuses or, where the page is free or the older
// root, gives the whole frontier; it never panics.
func TestDamagedPages(t *testing.T) {
	whole := sample(t)
	path := filepath.Join(t.TempDir(), "amble.db")
	refused := 0
	for page := 0; page < len(whole)/pageSize; page++ {
		for _, fill := range []byte{0, 0xff, 0x01} {
			data := bytes.Clone(whole)
			for i := range pageSize {
				data[page*pageSize+i] = fill
			}
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			f, rec, err := Open(path, Options{ReadOnly: true})
			if err != nil {
				if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) {
					t.Errorf("page %d: %v", page, err)
				}
				refused++
				continue
			}
			// A lost root leaves the one before: the state before the last commit.
			if rec.URLs != 206 && !(page < 2 && rec.URLs == 165) {
				t.Errorf("page %d: %d URLs", page, rec.URLs)
			}
			f.Close()
		}
	}
	if refused == 0 {
		t.Fatal("no page matters")
	}
}

// TestCutWhileOpen: reading beyond the end of a file that was cut under us is an error.
func TestCutWhileOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "amble.db")
	if err := os.WriteFile(path, sample(t), 0o644); err != nil {
		t.Fatal(err)
	}
	f, _ := reopen(t, path, anywhere())
	if err := os.Truncate(path, 2*pageSize); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := f.Offer(0, now); !errors.Is(err, ErrDamaged) {
		t.Fatal(err)
	}
	b := f.NewBatch()
	f.SetAll(b)
	if err := f.Commit(b); err == nil {
		t.Fatal("committed")
	}
	f.crash()
}

// TestKilledWhileItGrows: the file is in whole pages after each commit, and opens, however large it is.
func TestKilledWhileItGrows(t *testing.T) {
	for pages := range uint64(40_000) {
		if n := growth(pages); n%pageSize != 0 || n < minGrowth || n > maxGrowth {
			t.Fatalf("%d pages grow by %d bytes", pages, n)
		}
	}
	f, path := create(t, anywhere())
	f.file.db.NoSync = true
	b := f.NewBatch()
	seed(t, f, b, "http://a.example/")
	commit(t, f, b)
	for n := 0; n < 8<<20; {
		b := f.NewBatch()
		for range 37 {
			s := fmt.Sprintf("http://a.example/%d/%s", n, longPath(900))
			f.Admit(b, Candidate{URL: parse(t, s), Via: NoOrdinal, Hop: 'L'})
			n += len(s)
		}
		commit(t, f, b)
		info, err := os.Stat(path)
		if err != nil || info.Size()%pageSize != 0 {
			t.Fatalf("%d bytes, %v", info.Size(), err)
		}
	}
	if err := f.crash(); err != nil {
		t.Fatal(err)
	}
	reopen(t, path, anywhere())
}

// TestKilledFileOpens: without the mark of an orderly end, and with one that a later run has left inside, a file is whole.
func TestKilledFileOpens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "amble.db")
	if err := os.WriteFile(path, sample(t), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		f, rec := reopen(t, path, anywhere())
		if rec.URLs < 206 {
			t.Fatalf("%+v", rec)
		}
		b := f.NewBatch()
		for range 50 {
			f.Admit(b, Candidate{URL: parse(t, fmt.Sprintf("http://b.example/%d", f.URLs())), Via: NoOrdinal, Hop: 'L'})
		}
		commit(t, f, b)
		if err := f.crash(); err != nil {
			t.Fatal(err)
		}
	}
}
