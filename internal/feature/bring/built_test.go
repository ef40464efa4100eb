package bring

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protodesc"
	"pgregory.net/rapid"

	"postage/internal/usermsg"
	"postage/stage/encode/codegen"
)

// limited are the rows whose libraries cannot hold every message: gob, avro and the pool lose that a
// value is present; Cap'n Proto, easyproto and Polyglot lose negative enums; and hyperpb loses the
// upper half of a sint64 that shares a oneof with a double.
var limited = regexp.MustCompile(`/codec=(gob|avro|capnp|easyproto|hyperpb|polyglot|vtprotobuf/pool=yes)\b`)

// Random schemas are brought, built and proven: 3 with POSTAGE_LONG, 100 with POSTAGE_LONG=hours.
// Everybody's tests bring the messages of cli/testdata/script.
func TestRandomSchemasAreBuilt(t *testing.T) {
	left := 3
	switch os.Getenv("POSTAGE_LONG") {
	case "":
		t.Skip("builds a program for half a minute: POSTAGE_LONG=1")
	case "hours":
		left = 100
	}
	tree, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	before := sourceFiles(t, tree)
	t.Cleanup(func() {
		if !maps.Equal(before, sourceFiles(t, tree)) {
			t.Error("bringing a message has changed the source")
		}
	})
	file := rapid.Custom(randomFile)
	for seed := 1; left > 0; seed++ {
		linked, err := protodesc.NewFile(file.Example(seed), nil)
		if err != nil || linked.Messages().Get(0).Fields().Len() < 3 {
			continue
		}
		left--
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			md := linked.Messages().Get(0)
			n, err := Normalise(md)
			if err != nil {
				t.Fatal(err)
			}
			samples, err := drawSamples(uint64(seed), md, n)
			if err != nil {
				t.Fatal(err)
			}
			w := &Workspace{Name: "M", folder: t.TempDir(), tree: tree}
			built, err := w.Build(t.Context(), codegen.Bring, n)
			if err != nil {
				t.Fatalf("%v\n%v", err, protodesc.ToFileDescriptorProto(linked))
			}
			if err := w.Configure(usermsg.Config{Doc: "a random message"}, samples); err != nil {
				t.Fatal(err)
			}
			proven, lost, err := w.Prove(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("generated in %v, built in %v; %d rows proven, %d lost", built.Generate, built.Build, len(proven), len(lost))
			for part, why := range built.Lost {
				if !strings.Contains(why, "is not installed") && !strings.Contains(why, "own messages only") {
					t.Errorf("%s: %s", part, why)
				}
			}
			if len(proven) < 60 {
				t.Errorf("%d rows are proven, want 60 or more", len(proven))
			}
			for row, why := range lost {
				switch {
				case strings.Contains(why, "own messages only"):
				case strings.Contains(why, "panics"), strings.Contains(why, "ends the program"), !limited.MatchString(row):
					t.Errorf("%s: %s", row, why)
				default:
					t.Logf("%s: %s", row, why)
				}
			}
			if t.Failed() {
				t.Log(protodesc.ToFileDescriptorProto(linked))
			}
		})
	}
}
