package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"sync"
)

var sink uint64

// compute has no trouble: all of it is the program's own work.
func compute() {
	for i := uint64(0); ; i++ {
		sink = sink*6364136223846793005 + i
	}
}

type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

// startForest keeps many pointers and leaves little room for garbage. The collector runs all the time, and the program allocates
// faster than the collector collects.
func startForest() {
	forest := make([]*tree, 32)
	for i := range forest {
		forest[i] = grow(14)
	}
	debug.SetGCPercent(5)
	go renewForest(forest)
}

func renewForest(forest []*tree) {
	for i := 0; ; i++ {
		forest[i%len(forest)] = grow(14)
	}
}

var small *[24]byte

// makeSmall makes garbage without pointers: that costs the collector next to nothing, and the allocator much.
func makeSmall() {
	for {
		small = new([24]byte)
	}
}

// countByChannel adds numbers through a channel without need.
func countByChannel() {
	ones := make(chan uint64, 1)
	for {
		ones <- 1
		sink += <-ones
	}
}

var guarded struct {
	sync.Mutex
	n uint64
}

func startLocking() {
	for i := 0; i < 4; i++ {
		go countLocked()
	}
}

// countLocked fights with others for every step.
func countLocked() {
	for {
		guarded.Lock()
		guarded.n++
		guarded.Unlock()
	}
}

func startWaking() {
	there, back := make(chan bool), make(chan bool)
	go func() {
		runtime.LockOSThread()
		for range there {
			back <- true
		}
	}()
	go passOn(there, back)
}

// passOn passes a value to another thread, which does no work, and waits for its answer.
func passOn(there chan<- bool, back <-chan bool) {
	runtime.LockOSThread()
	for {
		there <- true
		<-back
	}
}

func openNull() *os.File {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	return null
}

// writeBytes writes byte by byte.
func writeBytes() {
	null, one := openNull(), []byte{1}
	for {
		null.Write(one)
	}
}

// writeBuffered also spends its time in system calls, but each of them writes a whole buffer of 64 bytes.
func writeBuffered() {
	buffer, some := bufio.NewWriterSize(openNull(), 64), make([]byte, 16)
	for {
		buffer.Write(some)
	}
}

// matchAnew compiles the same expression for each line.
func matchAnew() {
	for {
		if regexp.MustCompile(`^(\w+)\s*=\s*"([^"]*)"$`).MatchString(`key = "value"`) {
			sink++
		}
	}
}

// encodeOften does little else than encoding.
func encodeOften() {
	record := map[string]interface{}{"name": "a", "values": []int{1, 2, 3}, "nested": map[string]string{"b": "c"}}
	for {
		line, _ := json.Marshal(record)
		sink += uint64(len(line))
	}
}
