package frontier

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Both logs are kept in chunks of consecutive records:
//
//	checksum uint32 | count uint8 | end of each record uint16, ... | records
//
// all big-endian, ends counted from the first record. bbolt splits a leaf only above four keys, so that a chunk over a
// quarter of a 4 KiB page would have up to three others rewritten with it; hence the limits. A record that is longer
// by itself has a chunk of its own.
const (
	chunkRecords  = 13
	chunkBytes    = 950 // of the whole value, must be under it
	maxRecord     = 1<<16 - 1
	checksumBytes = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errChecksum = errors.New("checksum does not match")

// bucket is one of the file's, with the checksum of its name, where each checksum in it begins.
type bucket struct {
	name []byte
	sum  uint32
}

func newBucket(name string) bucket {
	return bucket{[]byte(name), crc32.Checksum([]byte(name), castagnoli)}
}

// checksum covers bucket, key and value, so that a value under another key is found too.
func (b bucket) checksum(key, value []byte) uint32 {
	return crc32.Update(crc32.Update(b.sum, castagnoli, key), castagnoli, value)
}

// seal puts a checksum before a value.
func (b bucket) seal(key, value []byte) []byte {
	out := make([]byte, checksumBytes, checksumBytes+len(value))
	binary.BigEndian.PutUint32(out, b.checksum(key, value))
	return append(out, value...)
}

// unseal checks it and cuts it off.
func (b bucket) unseal(key, sealed []byte) ([]byte, error) {
	if len(sealed) < checksumBytes {
		return nil, errShort
	}
	value := sealed[checksumBytes:]
	if binary.BigEndian.Uint32(sealed) != b.checksum(key, value) {
		return nil, errChecksum
	}
	return value, nil
}

// chunk is one that is being filled.
type chunk struct {
	first uint64
	ends  []uint16
	data  []byte
}

func (c *chunk) next() uint64 { return c.first + uint64(len(c.ends)) }

// fits tells whether another record of that size may go in.
func (c *chunk) fits(size int) bool {
	if len(c.ends) == 0 {
		return size <= maxRecord
	}
	return len(c.ends) < chunkRecords && checksumBytes+1+2*(len(c.ends)+1)+len(c.data)+size < chunkBytes
}

func (c *chunk) add(record []byte) {
	c.data = append(c.data, record...)
	c.ends = append(c.ends, uint16(len(c.data)))
}

func (c *chunk) reset(first uint64) {
	c.first, c.ends, c.data = first, c.ends[:0], c.data[:0]
}

func (c *chunk) encode(b bucket, key []byte) []byte {
	v := make([]byte, 0, 1+2*len(c.ends)+len(c.data))
	v = append(v, byte(len(c.ends)))
	for _, e := range c.ends {
		v = binary.BigEndian.AppendUint16(v, e)
	}
	return b.seal(key, append(v, c.data...))
}

// chunkView reads a stored chunk in place.
type chunkView struct {
	n    int
	ends []byte
	data []byte
}

// parseChunk checks the checksum and the frame.
func (b bucket) parseChunk(key, sealed []byte) (chunkView, error) {
	v, err := b.unseal(key, sealed)
	if err != nil {
		return chunkView{}, err
	}
	return parseFrame(v)
}

func parseFrame(v []byte) (chunkView, error) {
	if len(v) == 0 || v[0] == 0 || v[0] > chunkRecords || len(v) < 1+2*int(v[0]) {
		return chunkView{}, errShort
	}
	n := int(v[0])
	c := chunkView{n: n, ends: v[1 : 1+2*n], data: v[1+2*n:]}
	before := 0
	for i := range n {
		end := c.end(i)
		if end < before {
			return chunkView{}, errShort
		}
		before = end
	}
	if before != len(c.data) {
		return chunkView{}, errShort
	}
	return c, nil
}

func (c chunkView) end(i int) int { return int(binary.BigEndian.Uint16(c.ends[2*i:])) }

func (c chunkView) record(i int) []byte {
	from := 0
	if i > 0 {
		from = c.end(i - 1)
	}
	return c.data[from:c.end(i)]
}

// load makes a stored chunk the one to fill.
func (c *chunk) load(first uint64, v chunkView) {
	c.reset(first)
	for i := range v.n {
		c.add(v.record(i))
	}
}
