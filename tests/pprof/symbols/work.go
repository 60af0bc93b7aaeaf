// The profiled program in Go: calls that are inlined into each other, a method, a closure and a generic function.
package main

import (
	"fmt"
	"os"
)

type pair struct{ a, b uint64 }

type ring struct {
	items []uint64
	at    int
}

func mix(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}

func twice(p pair) uint64 {
	return mix(p.a) + mix(p.b)
}

func (r *ring) push(x uint64) {
	r.items[r.at%len(r.items)] = x
	r.at++
}

func largest[T int | uint64](items []T) T {
	var most T
	for _, item := range items {
		most = max(most, item)
	}
	return most
}

//go:noinline
func work(r *ring, n uint64) uint64 {
	var sum uint64
	for i := uint64(0); i < n; i++ {
		sum += twice(pair{i, sum})
		if sum%3 == 0 {
			r.push(sum)
		}
	}
	return sum + largest(r.items)
}

//go:noinline
func apply(f func(uint64) uint64, n uint64) uint64 {
	defer func() { recover() }()
	return f(n)
}

func main() {
	r := &ring{items: make([]uint64, 16)}
	scale := uint64(len(os.Args))
	fmt.Println(work(r, 1000*scale), apply(func(n uint64) uint64 { return mix(n) * scale }, 7))
}
