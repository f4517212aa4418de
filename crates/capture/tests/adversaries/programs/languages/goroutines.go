// Go's runtime has its own scheduler and signal stacks, interrupts its threads by SIGURG, and makes threads by `clone`; cgo calls
// the driver on their stacks.
// Expected: it ends as bare, and every call is recorded.
package main

// void adversary_begin(void);
// void adversary_calls(int count);
// void adversary_slow_call(int ms);
import "C"

import (
	"fmt"
	"runtime"
	"sync"
)

func main() {
	C.adversary_begin()
	var group sync.WaitGroup
	var lock sync.Mutex
	sum := 0
	for at := 0; at < 50; at++ {
		group.Add(1)
		go func(own int) {
			defer group.Done()
			for step := 0; step < 20; step++ {
				C.adversary_calls(2)
				runtime.Gosched()
			}
			C.adversary_slow_call(1)
			lock.Lock()
			sum += own
			lock.Unlock()
		}(at)
	}
	group.Wait()
	runtime.GC()
	fmt.Println(sum)
}
