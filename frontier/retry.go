package frontier

// retry is a URL that waits for its next request.
type retry struct {
	due     int64 // Unix microseconds
	ord     uint32
	attempt uint16
}

func (r retry) before(s retry) bool {
	return r.due < s.due || r.due == s.due && r.ord < s.ord
}

// retries is one host's heap, the first due on top.
type retries []retry

func (h *retries) push(r retry) {
	*h = append(*h, r)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
}

// remove takes the element at i out.
func (h *retries) remove(i int) retry {
	s := *h
	r := s[i]
	last := len(s) - 1
	s[i] = s[last]
	s = s[:last]
	*h = s
	for i < last {
		kid := 2*i + 1
		if kid+1 < last && s[kid+1].before(s[kid]) {
			kid++
		}
		if kid >= last || !s[kid].before(s[i]) {
			break
		}
		s[i], s[kid] = s[kid], s[i]
		i = kid
	}
	for i > 0 && i < last {
		up := (i - 1) / 2
		if !s[i].before(s[up]) {
			break
		}
		s[i], s[up] = s[up], s[i]
		i = up
	}
	return r
}

// find is the index of a URL's entry, -1 when there is none. It is at the top but for changes between Offer and Take.
func (h retries) find(ord uint32) int {
	for i := range h {
		if h[i].ord == ord {
			return i
		}
	}
	return -1
}
