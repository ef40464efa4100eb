//go:build !race

package pbfast_test

import (
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"postage/pbfast/internal/testmessages/proto3"
)

// A message that another goroutine changes while it is encoded makes no panic.
func TestMarshalBesideAWriter(t *testing.T) {
	m := &proto3.TestAllTypesProto3{RecursiveMessage: &proto3.TestAllTypesProto3{}}
	long := []byte(strings.Repeat("y", 300))
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		defer group.Done()
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				m.RecursiveMessage.OptionalBytes = long[:n%len(long)]
			}
		}
	}()
	failed := 0
	for range 100_000 {
		if _, err := proto.Marshal(m); err != nil {
			failed++
		}
	}
	close(stop)
	group.Wait()
	t.Logf("%d of 100,000 calls return an error", failed)
}
