package main

import (
	"bytes"
	"net/http"
	"runtime"
	"sync"
	"time"
)

var (
	never = make(chan bool)
	held  sync.Mutex
	hoard []*bytes.Buffer
)

// startWaiting uses no CPU, but has much memory and waiting goroutines. /more starts 2000 more goroutines.
func startWaiting() {
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	keepBuffers()
	runtime.GC()
	park(10000)
	held.Lock()
	for i := 0; i < 20; i++ {
		go updateHeld()
	}
	var lock sync.Mutex
	for i := 0; i < 3; i++ {
		go holdLong(&lock)
	}
	http.HandleFunc("/more", func(http.ResponseWriter, *http.Request) { park(2000) })
}

func park(n int) {
	for i := 0; i < n; i++ {
		go waitForNobody()
	}
}

func waitForNobody() { <-never }

func updateHeld() {
	held.Lock()
	defer held.Unlock()
}

// holdLong sleeps with the lock that the others want.
func holdLong(lock *sync.Mutex) {
	for {
		lock.Lock()
		time.Sleep(10 * time.Millisecond)
		lock.Unlock()
	}
}

// keepBuffers stores memory that the standard library allocated.
func keepBuffers() {
	for i := 0; i < 64; i++ {
		buffer := &bytes.Buffer{}
		buffer.Write(make([]byte, 1<<20))
		hoard = append(hoard, buffer)
	}
}

// startLeaking leaks some memory and some goroutines continuously for a minute or two.
func startLeaking() {
	keepBuffers()
	go func() {
		for i := 0; i < 2000; i++ {
			forgetBuffers()
			park(10)
			time.Sleep(50 * time.Millisecond)
			if i%10 == 0 {
				runtime.GC()
			}
		}
	}()
}

func forgetBuffers() {
	hoard = append(hoard, bytes.NewBuffer(make([]byte, 1<<20)))
}

// startFull has no trouble: it only has memory in use and computes.
func startFull() {
	keepBuffers()
	runtime.GC()
	go compute()
}
