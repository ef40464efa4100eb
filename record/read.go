package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"unicode"
)

// Parse reads a record. name is the file's, for messages. A file that was cut short or changed is
// refused.
func Parse(r io.Reader, name string) (*Record, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lines, err := whole(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &parser{rec: &Record{}, rows: map[string]int{}}
	for i, line := range lines {
		tag, body, _ := strings.Cut(line, " ")
		if len(tag) < 2 || tag[0] != '#' { // a comment, or for benchstat alone
			continue
		}
		if err := p.section(tag, body); err != nil {
			return nil, fmt.Errorf("%s:%d: %s line: %w", name, i+1, tag, err)
		}
	}
	if p.rec.Machine.GOOS == "" {
		return nil, fmt.Errorf("%s: it has no #machine line", name)
	}
	return p.rec, nil
}

// whole returns a record's lines but the last, which says how many they are and what they sum up to.
func whole(text []byte) ([]string, error) {
	if !bytes.HasPrefix(text, []byte("#run ")) && !bytes.Contains(text, []byte("\n#run ")) {
		return nil, errors.New("it is not a Postage record: it has no #run line")
	}
	last := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	var said end
	if body, ok := bytes.CutPrefix(text[last:], []byte("#end ")); !ok || json.Unmarshal(body, &said) != nil {
		return nil, errors.New("it was cut short: its last line is not an #end line")
	}
	if lines := bytes.Count(text[:last], []byte("\n")) + 1; said.Lines != lines {
		return nil, fmt.Errorf("lines were lost or added: it has %d, and had %d", lines, said.Lines)
	}
	if sum := crc32.ChecksumIEEE(text[:last]); said.CRC32 != sum {
		return nil, fmt.Errorf("a line was changed: its checksum is %d, and was %d", sum, said.CRC32)
	}
	return strings.Split(string(text[:last]), "\n"), nil
}

// parser takes a record's lines one by one.
type parser struct {
	rec  *Record
	rows map[string]int // places of rows, by name
}

func (p *parser) section(tag, body string) error {
	rec := p.rec
	switch tag {
	case "#run":
		err := json.Unmarshal([]byte(body), &rec.Run)
		if err == nil && rec.Run.Version != Version {
			err = fmt.Errorf("version %d was made by another Postage: want %d", rec.Run.Version, Version)
		}
		return err
	case "#machine":
		err := json.Unmarshal([]byte(body), &rec.Machine)
		if err == nil && strings.ContainsFunc(rec.Machine.GOOS+rec.Machine.GOARCH+rec.Machine.CPU, unicode.IsControl) {
			err = errors.New("goos, goarch or cpu is not one line")
		}
		return err
	case "#row":
		var row Row
		if err := json.Unmarshal([]byte(body), &row); err != nil {
			return err
		}
		if row.Name != row.Case+"/"+row.Contender || !isUnit(row.Name) {
			return fmt.Errorf("name %q is not made of case %q and contender %q", row.Name, row.Case, row.Contender)
		}
		p.rows[row.Name] = len(rec.Rows)
		rec.Rows = append(rec.Rows, row)
	case "#block":
		var block Block
		if err := json.Unmarshal([]byte(body), &block); err != nil {
			return err
		}
		rec.Blocks = append(rec.Blocks, block)
	case "#batches":
		var series Series
		if err := json.Unmarshal([]byte(body), &series); err != nil {
			return err
		}
		i, known := p.rows[series.Row]
		if len(rec.Blocks) == 0 || !known || rec.Rows[i].Case != rec.Blocks[len(rec.Blocks)-1].Case {
			return fmt.Errorf("%q is not a row of the block", series.Row)
		}
		block := &rec.Blocks[len(rec.Blocks)-1]
		block.Series = append(block.Series, series)
		return series.check(&rec.Rows[i])
	default:
		return errors.New("unknown to this Postage")
	}
	return nil
}
