package record_test

import (
	"fmt"
	"log"
	"strings"

	"postage/record"
)

// Names of rows are those of Go benchmarks, made of key=value parts.
func ExampleKeysOf() {
	name := "Encode/msg=order/op=decode/codec=sonic/config=std"
	for _, key := range record.KeysOf(name) {
		fmt.Println(key.Name, key.Value)
	}
	fmt.Println(record.KeysOf(name).Get("op"))
	// Output:
	// msg order
	// op decode
	// codec sonic
	// config std
	// decode
}

// A record that was made by Go code is written as text and read again.
func ExampleParse() {
	made := &record.Record{
		Run:     record.Run{Version: record.Version, Rounds: 2, GOMAXPROCS: 1, Complete: true},
		Machine: record.Machine{GOOS: "linux", GOARCH: "amd64", Cores: 2, Go: "go1.26.0"},
		Rows: []record.Row{{Name: "Encode/msg=tiny/codec=json", Stage: "encode", Case: "Encode/msg=tiny", Contender: "codec=json",
			Role: record.RoleBaseline, N: 1000, Proof: record.ProofOK}},
		Blocks: []record.Block{{Case: "Encode/msg=tiny", Number: 1, Series: []record.Series{{Row: "Encode/msg=tiny/codec=json",
			Position: []int{0, 0}, WallNS: []int64{250_000, 254_000}, Allocs: []int64{2000, 2000}, Bytes: []int64{96_000, 96_000}}}}},
	}
	var file strings.Builder
	if _, err := made.WriteTo(&file); err != nil {
		log.Fatal(err)
	}
	read, err := record.Parse(strings.NewReader(file.String()), "tiny.txt")
	if err != nil {
		log.Fatal(err)
	}
	row := read.Row("Encode/msg=tiny/codec=json")
	series := read.Blocks[0].Of(row.Name)
	fmt.Println(row.Contender, row.Role, series.NSPerOp(row.N), "ns/op", series.AllocsPerOp(row.N), "allocs/op")
	// Any line that was changed or lost is found.
	_, err = record.Parse(strings.NewReader(strings.Replace(file.String(), "250000", "150000", 1)), "tiny.txt")
	fmt.Println(err != nil)
	// Output:
	// codec=json baseline [250 254] ns/op 2 allocs/op
	// true
}
