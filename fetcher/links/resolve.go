package links

import (
	"errors"
	"hash/maphash"

	"amble/frontier/canon"
)

// resolve turns what was found into outlinks, each URL and hop type once.
func (e *extractor) resolve(charset string) {
	if e.hasBase {
		if base, err := e.page.Base.Resolve(e.baseRef); err == nil {
			e.page.Base = base
		}
	}
	if len(e.references) == 0 {
		return
	}
	all := string(e.arena)
	e.page.Outlinks = make([]Outlink, 0, len(e.references))
	seen := newIndex(len(e.references))
	var rejected map[string]bool
	for _, r := range e.references {
		ref := all[r.start:r.end]
		u, err := e.page.Base.ResolveCharset(ref, charset)
		if err != nil {
			ref = string(clip([]byte(ref[:min(len(ref), refBytes+4)]), refBytes))
			if !rejected[ref] {
				if rejected == nil {
					rejected = make(map[string]bool)
				}
				rejected[ref] = true
				e.page.Rejected = append(e.page.Rejected, Rejected{Ref: ref, Scheme: errors.Is(err, canon.ErrScheme)})
			}
			continue
		}
		if r.rel == relCanonical && e.page.Canonical.IsZero() {
			e.page.Canonical = u
		}
		text := all[r.textStart:r.textEnd]
		if first := seen.find(e.page.Outlinks, u, r.hop); first != nil {
			first.NoFollow = first.NoFollow && r.noFollow
			if first.Text == "" {
				first.Text = text
			}
			continue
		}
		e.page.Outlinks = append(e.page.Outlinks, Outlink{URL: u, Rel: r.rel, Hop: r.hop, NoFollow: r.noFollow, Text: text})
	}
}

// index finds outlinks by URL and hop type: open addressing over positions, one
// allocation a page where a map would make several. The hash is seeded, so that
// no page can be written to collide.
type index struct {
	seed  maphash.Seed
	slots []int32 // position + 1; zero is free
}

// newIndex has room for n outlinks at half load.
func newIndex(n int) index {
	size := 8
	for size < 2*n {
		size *= 2
	}
	return index{seed: maphash.MakeSeed(), slots: make([]int32, size)}
}

// find is the outlink with this URL and hop type. Where there is none it is nil,
// and the place is taken for the outlink that the caller appends next.
func (x index) find(outlinks []Outlink, u canon.URL, hop byte) *Outlink {
	mask := uint64(len(x.slots) - 1)
	for i := (maphash.String(x.seed, u.String()) + uint64(hop)) & mask; ; i = (i + 1) & mask {
		at := x.slots[i]
		if at == 0 {
			x.slots[i] = int32(len(outlinks)) + 1
			return nil
		}
		if o := &outlinks[at-1]; o.Hop == hop && o.URL == u {
			return o
		}
	}
}
