package sim

import (
	"context"
	"runtime"
	"sync"
)

// All does n runs on all processors and gives their results in order. tell, when not nil, is called with the number of
// runs that are done, by one goroutine at a time. It ends early when the context does, with its error.
func All[T any](ctx context.Context, n int, run func(i int) T, tell func(done int)) ([]T, error) {
	results := make([]T, n)
	var mu sync.Mutex
	next, done := 0, 0
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil || next == n {
			return -1
		}
		next++
		return next - 1
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() {
			for i := take(); i >= 0; i = take() {
				results[i] = run(i)
				mu.Lock()
				done++
				if tell != nil {
					tell(done)
				}
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	return results, ctx.Err()
}
