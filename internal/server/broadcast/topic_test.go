package broadcast_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/server/broadcast"
)

// What is sent to the topic before SendWaiting has been sent by the reader when it returns, also if the reader's other
// goroutine sends it.
func TestTopicSendsBeforeReturn(t *testing.T) {
	var topic broadcast.Topic[int]
	q := topic.Subscribe()
	taken, release := make(chan int, 8), make(chan struct{})
	var mu sync.Mutex
	var sent []int
	send := func(v int) {
		taken <- v
		<-release
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, v)
	}
	var all sync.WaitGroup
	all.Go(func() { q.SendAll(send) })
	for v := range 3 {
		topic.Send(v)
	}
	<-taken // SendAll is sending the first
	time.AfterFunc(10*time.Millisecond, func() { close(release) })
	q.SendWaiting(send)
	mu.Lock()
	if !slices.Equal(sent, []int{0, 1, 2}) {
		t.Errorf("sent %v", sent)
	}
	mu.Unlock()
	topic.Unsubscribe(q)
	all.Wait()
	topic.Send(4)
	q.SendWaiting(send)
	if len(sent) != 3 {
		t.Errorf("sent %v after Unsubscribe", sent)
	}
}

// A reader that sends nothing keeps a bounded number of values and delays no other.
func TestTopicDropsForSlowReader(t *testing.T) {
	var topic broadcast.Topic[int]
	slow := topic.Subscribe()
	for v := range 1000 {
		topic.Send(v)
	}
	n := 0
	slow.SendWaiting(func(v int) {
		if v != n {
			t.Errorf("value %d is %d", n, v)
		}
		n++
	})
	if n != 64 {
		t.Errorf("%d values wait, want 64", n)
	}
}
