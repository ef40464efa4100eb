package bring

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// kinds are files that are often at hand and cannot be brought as they are: by the extension or the
// first bytes, what they are, and what to do.
var kinds = []struct{ extension, begins, kind, advice string }{
	{".gz", "\x1f\x8b", "compressed by gzip", "gunzip -k %s"},
	{".zst", "\x28\xb5\x2f\xfd", "compressed by Zstandard", "zstd -d -k %s"},
	{"", "\xff\xfe", "text in UTF-16", "iconv -f utf-16 -t utf-8 %s > utf8.json"},
	{"", "\xfe\xff", "text in UTF-16", "iconv -f utf-16 -t utf-8 %s > utf8.json"},
	{".har", "", "a browser's archive of requests, in JSON", "cp %s har.json, and postage bring har.json --path log.entries"},
	{".yaml", "", "YAML", "yq -o=json %s > samples.json"},
	{".yml", "", "YAML", "yq -o=json %s > samples.json"},
	{".log", "", "a log", "if its lines are JSON: grep '^{' %s > samples.ndjson"},
	{".avsc", "", "a schema of Avro", "bring JSON of its records, without %s: Avro is among the codecs"},
}

// Foreign returns an error for a file that cannot be brought, which says what it is and what to do.
func Foreign(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return nil // a package, or a name relative to -I
	}
	defer file.Close()
	var head [4]byte
	_, _ = io.ReadFull(file, head[:])
	for _, k := range kinds {
		if k.extension != "" && filepath.Ext(path) == k.extension || k.begins != "" && bytes.HasPrefix(head[:], []byte(k.begins)) {
			return fmt.Errorf("%s is %s: "+k.advice, path, k.kind, path)
		}
	}
	return nil
}
