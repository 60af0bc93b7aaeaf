// Takes every profile of its own process, so that pprof and profgrab have real ones to read: with labels, inlined calls,
// recursion, two of each kind for differences, and the runtime's text forms.
//
//	program DIRECTORY
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

var (
	sink  uint64
	kept  [][]byte
	table = map[string][]string{}
)

// Small enough that the compiler inlines them, one into the other.
func mix(x uint64) uint64    { return x*6364136223846793005 + 1442695040888963407 }
func twice(x uint64) uint64  { return mix(mix(x)) }
func fourth(x uint64) uint64 { return twice(twice(x)) }

//go:noinline
func spin(n int) {
	x := sink
	for i := 0; i < n; i++ {
		x = fourth(x)
	}
	sink = x
}

//go:noinline
func recurse(depth, n int) {
	if depth > 0 {
		recurse(depth-1, n)
		if depth%3 == 0 {
			spin(n / 10)
		}
		return
	}
	spin(n)
}

// Two that call each other.
//
//go:noinline
func ping(n int) {
	if n > 0 {
		pong(n - 1)
	}
	spin(2000)
}

//go:noinline
func pong(n int) {
	if n > 0 {
		ping(n - 1)
	}
}

type worker struct{ name string }

//go:noinline
func (w *worker) serve(n int) {
	recurse(n%7, 5000)
	func() {
		spin(3000)
		text := strings.Repeat(w.name, n%50+1)
		table[w.name] = append(table[w.name], text)
	}()
}

func each[T any](all []T, do func(T)) {
	for _, one := range all {
		do(one)
	}
}

func keep(size int) { kept = append(kept, make([]byte, size)) }

//go:noinline
func grow(round int) {
	each([]int{100, 3000, 40000, 700000}, keep)
	for i := 0; i < 200*round; i++ {
		keep(i)
	}
	var b bytes.Buffer
	for i := 0; i < 2000; i++ {
		fmt.Fprintf(&b, "line %d of %d\n", i, round)
	}
	kept = append(kept, b.Bytes())
}

func work(d time.Duration, round int) {
	for end, n := time.Now().Add(d), 0; time.Now().Before(end); n++ {
		w := worker{name: fmt.Sprintf("w%d", n%3)}
		labels := pprof.Labels("route", "/api/"+w.name, "round", fmt.Sprint(round), "odd key", "a value: "+w.name)
		pprof.Do(context.Background(), labels, func(context.Context) { w.serve(n) })
		ping(n % 9)
		each([]int{1, 2}, func(i int) { spin(i * 1000) })
		delete(table, w.name)
	}
}

func contend(round int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for j := 0; j < 5*round; j++ {
				mu.Lock()
				time.Sleep(200 * time.Microsecond)
				mu.Unlock()
			}
		}()
	}
	all.Wait()
	c := make(chan int)
	go func() { time.Sleep(time.Millisecond); close(c) }()
	<-c
}

func waitFor(c <-chan struct{}) { <-c }

// Goroutines that wait in different ways and places.
func park(stop chan struct{}, n int) {
	for i := 0; i < n; i++ {
		go waitFor(stop)
		go func() {
			select {
			case <-stop:
			case <-time.After(time.Hour):
			}
		}()
		labels := pprof.Labels("tenant", fmt.Sprint("t", i%2))
		go pprof.Do(context.Background(), labels, func(context.Context) { waitFor(stop) })
	}
	time.Sleep(5 * time.Millisecond)
}

var dir string

func create(name string) *os.File {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		panic(err)
	}
	return f
}

func take(kind, name string, debug int) {
	f := create(name)
	defer f.Close()
	if err := pprof.Lookup(kind).WriteTo(f, debug); err != nil {
		panic(err)
	}
}

func round(n int) {
	f := create(fmt.Sprintf("cpu.%d.pb.gz", n))
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		panic(err)
	}
	work(time.Duration(400+200*n)*time.Millisecond, n)
	pprof.StopCPUProfile()
	grow(n)
	contend(n)
	stop := make(chan struct{})
	park(stop, 3*n)
	runtime.GC()
	for _, kind := range []string{"heap", "allocs", "block", "mutex", "goroutine", "threadcreate"} {
		take(kind, fmt.Sprintf("%s.%d.pb.gz", kind, n), 0)
		take(kind, fmt.Sprintf("%s.%d.txt", kind, n), 1)
	}
	take("goroutine", fmt.Sprintf("stacks.%d.txt", n), 2)
	close(stop)
}

func main() {
	dir = os.Args[1]
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	round(1)
	round(2)
}
