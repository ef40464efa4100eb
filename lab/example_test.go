package lab_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log"

	"postage/lab"
	"postage/record"
)

// checksum is a contender that is set up: the checksum of some bytes.
type checksum struct {
	input []byte
	got   uint32
}

func (c *checksum) Prove(context.Context) error {
	if c.got = 0; c.Run(1) != nil || c.got != 0xcbf43926 { // the check value of CRC-32
		return errors.New("another checksum")
	}
	return nil
}

func (c *checksum) Run(n int) error {
	for range n {
		c.got = crc32.ChecksumIEEE(c.input)
	}
	return nil
}

func (c *checksum) Close() error { return nil }

// A suite is cases with their contenders. What the instrument does with one in a worker process, in
// short: it opens it, has it prove that it does the work, and times batches of operations. package
// cli makes a command of suites.
func Example() {
	suite := lab.Suite{Stage: "sum", Doc: "Bytes to a checksum: which algorithm?", Cases: []lab.Case{{
		Name: "Sum/size=9B", Doc: "What does a checksum cost?", Baseline: "hash=crc32",
		Contenders: []lab.Contender{{
			Name: "hash=crc32", Checks: "the published check value",
			Open: func(context.Context, lab.Env) (lab.Instance, error) {
				return &checksum{input: []byte("123456789")}, nil
			},
		}},
	}}}
	if err := lab.Check([]lab.Suite{suite}); err != nil {
		log.Fatal(err)
	}
	entries, err := lab.Select([]lab.Suite{suite}, []string{"Sum/hash=crc*"})
	if err != nil {
		log.Fatal(err)
	}
	for _, entry := range entries {
		instance, err := entry.Contender.Open(context.Background(), lab.Env{Seed: record.DefaultSeed})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Row(), "proof:", instance.Prove(context.Background()), "run:", instance.Run(1000), "close:", instance.Close())
	}
	// Output:
	// Sum/size=9B/hash=crc32 proof: <nil> run: <nil> close: <nil>
	// Sum/size=9B/hash=control proof: <nil> run: <nil> close: <nil>
}
