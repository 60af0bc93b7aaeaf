package main

// static void spin(long n) { for (volatile long i = 0; i < n; i++) { } }
import "C"

import "runtime"

// callNative has C do the work. Go begins to time a thread when it schedules a goroutine there.
func callNative() {
	for {
		C.spin(1000000)
		runtime.Gosched()
	}
}
