package frontier

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestQueuesAgainstSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueues()
		const hosts = 3
		var first [hosts]uint32
		var want [hosts][16][]uint32
		var next uint32
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				h, c := rapid.IntRange(0, hosts-1).Draw(t, "host"), rapid.Uint8Max(2).Draw(t, "class")
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					q.push(&first[h], c, next)
					want[h][c] = append(want[h][c], next)
					next++
				}
			},
			"pop and put back": func(t *rapid.T) {
				h := rapid.IntRange(0, hosts-1).Draw(t, "host")
				c := rapid.IntRange(0, 2).Draw(t, "class")
				for range rapid.IntRange(1, 20).Draw(t, "n") {
					if len(want[h][c]) == 0 {
						return
					}
					ord := want[h][c][0]
					if got, class, ok := q.peek(first[h]); c == int(class) && (!ok || got != ord) {
						t.Fatalf("peek %d, want %d", got, ord)
					}
					class, ok := q.popIf(&first[h], ord)
					if !ok || int(class) != c {
						t.Fatalf("pop %d: class %d, %v; want %d", ord, class, ok, c)
					}
					if rapid.IntRange(0, 3).Draw(t, "back") == 0 {
						q.unpop(&first[h], class, ord)
					} else {
						want[h][c] = want[h][c][1:]
					}
				}
			},
			"drain": func(t *rapid.T) {
				h := rapid.IntRange(0, hosts-1).Draw(t, "host")
				if got, all := q.drain(&first[h], nil), slices.Concat(want[h][:]...); !slices.Equal(got, all) {
					t.Fatalf("drained %v, want %v", got, all)
				}
				want[h] = [16][]uint32{}
			},
			"": func(t *rapid.T) {
				for h := range want {
					got, _, ok := q.peek(first[h])
					all := slices.Concat(want[h][:]...)
					if ok != (len(all) > 0) || ok && got != all[0] {
						t.Fatalf("host %d: peek %d, %v; want %v", h, got, ok, all)
					}
				}
			},
		})
		for h := range want {
			q.drain(&first[h], nil)
		}
		free := 0
		for i := q.freeBlocks; i != 0; i = q.block(i).next {
			free++
		}
		if free != int(q.blocks)-1 {
			t.Fatalf("%d of %d blocks are free after all was read", free, q.blocks-1)
		}
	})
}

func TestRetriesAreOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h retries
		var want []retry
		for i := range rapid.IntRange(1, 60).Draw(t, "n") {
			if rapid.IntRange(0, 3).Draw(t, "remove") == 0 && len(h) > 0 {
				r := rapid.SampledFrom(want).Draw(t, "which")
				if got := h.remove(h.find(r.ord)); got != r {
					t.Fatalf("removed %v, want %v", got, r)
				}
				want = slices.DeleteFunc(want, func(x retry) bool { return x == r })
				continue
			}
			r := retry{due: rapid.Int64Range(0, 9).Draw(t, "due"), ord: uint32(i)}
			h.push(r)
			want = append(want, r)
		}
		slices.SortFunc(want, func(a, b retry) int {
			if a.before(b) {
				return -1
			}
			return 1
		})
		for _, w := range want {
			if got := h.remove(0); got != w {
				t.Fatalf("got %v, want %v", got, w)
			}
		}
	})
}

func TestSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	want := map[uint64]uint32{0: 0, 1<<64 - 1: 1, 5 << 56: 200000}
	for i := uint32(2); i < 200000; i++ {
		fp := r.Uint64()
		if i%100 == 0 {
			fp = 0xab<<56 | fp>>40 // crowds the beginning of one shard
		} else if i%100 == 1 {
			fp = 0xcd<<56 | 0xffffffff<<24 | fp>>40 // and the end of another
		}
		if _, ok := want[fp]; !ok {
			want[fp] = i
		}
	}
	var s seen
	for _, fp := range slices.Sorted(maps.Keys(want)) {
		if !s.add(fp, want[fp]) || s.add(fp, 7) {
			t.Fatalf("%x", fp)
		}
	}
	slots := 0
	for i := range s.shards {
		slots += len(s.shards[i].ords)
	}
	if s.n != len(want) || 9*s.n > 8*slots {
		t.Fatalf("%d of %d in %d slots", s.n, len(want), slots)
	}
	for fp, o := range want {
		if got, ok := s.find(fp); !ok || got != o {
			t.Fatalf("%x: %d, %v; want %d", fp, got, ok, o)
		}
		if _, ok := s.find(fp ^ 0x5555); ok {
			if _, ok := want[fp^0x5555]; !ok {
				t.Fatalf("%x is not in it", fp^0x5555)
			}
		}
	}
}

func TestSkipsAreCountedOnce(t *testing.T) {
	var s skips
	for _, c := range []struct {
		fp   uint64
		want bool
	}{{1, true}, {1, false}, {0, true}, {0, false}, {1 + skipSlots, true}, {1, true}} {
		if got := s.first(c.fp); got != c.want {
			t.Errorf("%d: %v", c.fp, got)
		}
	}
}

func TestNames(t *testing.T) {
	n := newNames()
	var want []string
	for i := range 20000 {
		want = append(want, fmt.Sprintf("host%d.example%s", i, longPath(i%50)))
	}
	want = append(want, "", longPath(1<<17), "last.example")
	for i, s := range want {
		if _, ok := n.find(s); ok {
			t.Fatalf("%q is there before", s)
		}
		if id := n.add(s); int(id) != i {
			t.Fatalf("%q is %d, want %d", s, id, i)
		}
	}
	for i, s := range want {
		if id, ok := n.find(s); !ok || int(id) != i || n.get(id) != s {
			t.Fatalf("%q: %d, %v", s, id, ok)
		}
	}
	if n.len() != len(want) {
		t.Fatal(n.len())
	}
}
