package testkit

import "sync"

// Concurrently calls do n times, each in a goroutine and all released at once, and returns when all calls are done.
func Concurrently(n int, do func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			do(i)
		})
	}
	close(start)
	wg.Wait()
}
