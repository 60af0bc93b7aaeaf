package main

// static void spin(long n) { for (volatile long i = 0; i < n; i++) { } }
import "C"

import "runtime"

// callNative has C do the work. It calls Gosched, because Go starts a thread's profiling timer only when it schedules a goroutine
// on the thread.
func callNative() {
	for {
		C.spin(1000000)
		runtime.Gosched()
	}
}
