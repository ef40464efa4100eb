package bench

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// monitor is the function of the Go runtime's monitor, whose thread executes more the longer a
// process takes.
const monitor = "runtime.sysmon"

// readParts reads an output of callgrind: the instructions that each function executed itself,
// without the runtime's monitor. See valgrind.org/docs/manual/cl-format.html.
func readParts(file string) (map[string]float64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, own := map[string]string{}, map[string]float64{}
	function, called := "", false // the next line is what a call cost
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		key, value, isKey := strings.Cut(line, "=")
		switch {
		case line == "":
		case isKey && (key == "fn" || key == "cfn"):
			id, name, named := strings.Cut(value, " ") // "(12) name" the first time, "(12)" then
			if named {
				// What calls itself is listed once a level: name'2.
				name, _, _ = strings.Cut(name, "'")
				names[id] = name
			}
			if key == "fn" {
				function = names[id]
			}
		case isKey:
			called = key == "calls"
		case strings.ContainsRune("+-*0123456789", rune(line[0])):
			fields := strings.Fields(line)
			n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
			switch {
			case err != nil:
				return nil, fmt.Errorf("%s: %q: %w", file, line, err)
			case called && function == monitor:
				own[monitor] -= n // other functions have its part of theirs
			case !called && function != monitor:
				own[function] += n
			}
			called = false
		}
	}
	return own, lines.Err()
}
