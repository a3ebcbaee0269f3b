package ratectl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// stateVersion is the first byte of a persisted State; stateBytes is its length, the same for every State.
const (
	stateVersion = 1
	stateBytes   = 1 + 18*8 + 8*4 + 7
)

// ErrState is wrapped by UnmarshalBinary: the bytes are no State that this version reads.
var ErrState = errors.New("not a pace state")

// fields lists what is persisted, in order.
func (s *State) fields() (words [18]*int64, floats [7]*float32, bytes [6]*uint8) {
	d := func(p *time.Duration) *int64 { return (*int64)(p) }
	return [18]*int64{
			d(&s.interval), d(&s.safe), d(&s.threshold), d(&s.spacing), d(&s.dwell), d(&s.crawlDelay), d(&s.quota), &s.quotaUntil,
			&s.notBefore, &s.asked, &s.objected, d(&s.rested), &s.since, &s.flagged, &s.met, d(&s.busy), d(&s.well), d(&s.priced),
		}, [7]*float32{&s.base, &s.high, &s.tail, &s.noise, &s.broken, &s.denied, &s.failures},
		[6]*uint8{&s.samples, &s.forbidden, &s.blocks, (*uint8)(&s.memory), (*uint8)(&s.cause), (*uint8)(&s.waitCause)}
}

// AppendBinary implements encoding.BinaryAppender; the first byte is a version. It never fails, and always appends the
// same number of bytes, under 200.
func (s *State) AppendBinary(b []byte) ([]byte, error) {
	words, floats, bytes := s.fields()
	b = append(b, stateVersion)
	for _, p := range words {
		b = binary.LittleEndian.AppendUint64(b, uint64(*p))
	}
	for _, p := range floats {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(*p))
	}
	b = binary.LittleEndian.AppendUint32(b, s.accepted)
	for _, p := range bytes {
		b = append(b, *p)
	}
	var flags uint8
	if s.begun {
		flags |= 1
	}
	if s.probing {
		flags |= 2
	}
	return append(b, flags), nil
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. Bytes that are damaged but have the right length give a State
// that is safe to use: every field is brought into its range.
func (s *State) UnmarshalBinary(b []byte) error {
	if len(b) == 0 || b[0] != stateVersion {
		return fmt.Errorf("%w: unknown version", ErrState)
	}
	if len(b) != stateBytes {
		return fmt.Errorf("%w: %d bytes instead of %d", ErrState, len(b), stateBytes)
	}
	b = b[1:]
	*s = State{}
	words, floats, bytes := s.fields()
	for _, p := range words {
		// Durations and instants alike are never negative, and small enough that sums fit.
		*p = min(max(int64(binary.LittleEndian.Uint64(b)), 0), 1<<62)
		b = b[8:]
	}
	for _, p := range floats {
		v := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if !(v >= 0 && v <= 1e6) {
			v = 0
		}
		*p = v
		b = b[4:]
	}
	s.accepted = binary.LittleEndian.Uint32(b)
	b = b[4:]
	for i, p := range bytes {
		*p = b[i]
	}
	flags := b[len(bytes)]
	s.begun, s.probing = flags&1 != 0, flags&2 != 0
	if !s.begun {
		*s = State{crawlDelay: min(s.crawlDelay, maxSpan)}
		return nil
	}
	for _, p := range []*time.Duration{&s.interval, &s.safe, &s.threshold, &s.spacing, &s.dwell, &s.crawlDelay,
		&s.quota, &s.rested, &s.busy, &s.well, &s.priced} {
		*p = min(*p, maxSpan)
	}
	s.notBefore = min(s.notBefore, s.asked+int64(maxSpan))
	s.tail, s.broken, s.denied = min(s.tail, 0.99), min(s.broken, 1), min(s.denied, 0.99)
	s.noise = min(s.noise, 3)
	return nil
}
