package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"unicode"

	"postage/internal/kit/words"
)

// SyntaxError says where a record is damaged and what was expected there.
type SyntaxError struct {
	File string
	Line int    // from 1
	Want string // what was expected
	Err  error  // what was found, in words; may be nil
}

func (e *SyntaxError) Error() string {
	s := fmt.Sprintf("%s:%d: expected %s", e.File, e.Line, e.Want)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// maxLine is the length in bytes of the longest line that benchfmt's reader reads. A record has no
// longer one.
const maxLine = bufio.MaxScanTokenSize - 1

// Parse reads a record. name is the file's, for messages. Errors in the text are
// of type *SyntaxError.
func Parse(r io.Reader, name string) (*Record, error) {
	p := &parser{name: name, scanner: bufio.NewScanner(r), rec: &Record{}, rows: map[string]int{}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	return p.rec, nil
}

// parser goes through a record line by line.
type parser struct {
	name    string
	scanner *bufio.Scanner
	rec     *Record
	line    int
	text    string
	crc     uint32 // of the lines before this one
	ended   bool
	rows    map[string]int // places of rows, by name
}

// row returns the row of that name, nil if there is none.
func (p *parser) row(name string) *Row {
	if i, ok := p.rows[name]; ok {
		return &p.rec.Rows[i]
	}
	return nil
}

func (p *parser) errorf(want, format string, a ...any) error {
	var err error
	if format != "" {
		err = fmt.Errorf(format, a...)
	}
	return &SyntaxError{File: p.name, Line: p.line, Want: want, Err: err}
}

func (p *parser) parse() error {
	seen := false // the #run line
	for p.scanner.Scan() {
		p.line++
		p.text = p.scanner.Text()
		if p.ended {
			return p.errorf("nothing after the #end line", "%s", found(p.text))
		}
		if tag, body, tagged := p.tag(); tagged {
			if !seen && tag != "run" {
				return p.errorf("the #run line first", "%s", found(p.text))
			}
			seen = true
			if err := p.section(tag, body); err != nil {
				return err
			}
		}
		p.crc = crc32.Update(p.crc, crc32.IEEETable, []byte(p.text+"\n"))
	}
	if err := p.scanner.Err(); err != nil {
		p.line++
		if errors.Is(err, bufio.ErrTooLong) {
			return p.errorf(fmt.Sprintf("a line of at most %d bytes", maxLine), "%v", err)
		}
		return fmt.Errorf("%s:%d: %w", p.name, p.line, err)
	}
	if !p.ended {
		p.line++
		if !seen {
			return p.errorf("a Postage record, which begins with a #run line", "the file has none")
		}
		return p.errorf("an #end line", "the file ends here: it was cut short")
	}
	return nil
}

// tag splits a line such as `#row {...}`. Comments have a space behind the "#".
func (p *parser) tag() (tag, body string, ok bool) {
	rest, ok := strings.CutPrefix(p.text, "#")
	if !ok || rest == "" || rest[0] == ' ' {
		return "", "", false
	}
	tag, body, _ = strings.Cut(rest, " ")
	return tag, body, true
}

func (p *parser) section(tag, body string) error {
	rec := p.rec
	switch tag {
	case "run":
		if err := p.decode(tag, body, &rec.Run); err != nil {
			return err
		}
		if rec.Run.Version != Version {
			return p.errorf(fmt.Sprintf("a record of version %d", Version), "version %d: it was made by another Postage", rec.Run.Version)
		}
	case "machine":
		if err := p.decode(tag, body, &rec.Machine); err != nil {
			return err
		}
		for _, c := range rec.Machine.config() {
			if strings.TrimSpace(c[1]) != c[1] || c[1] == "" || strings.ContainsFunc(c[1], unicode.IsControl) {
				return p.errorf("a machine with goos, goarch and cpu", "%s is %q", c[0], c[1])
			}
		}
	case "row":
		var row Row
		if err := p.decode(tag, body, &row); err != nil {
			return err
		}
		if row.Case == "" || row.Contender == "" || row.Name != row.Case+"/"+row.Contender || !isUnit(row.Name) {
			return p.errorf("a row name made of case and contender", "name %q, case %q, contender %q", row.Name, row.Case, row.Contender)
		}
		for unit := range row.Metrics {
			if !isUnit(unit) {
				return p.errorf("metrics named by units", "%q", unit)
			}
		}
		p.rows[row.Name] = len(rec.Rows)
		rec.Rows = append(rec.Rows, row)
	case "block", "batches":
		return p.measured(tag, body)
	case "end":
		var e end
		if err := p.decode(tag, body, &e); err != nil {
			return err
		}
		if e.Lines != p.line {
			return p.errorf(fmt.Sprintf("line %d here", e.Lines), "%d lines were lost or added", e.Lines-p.line)
		}
		if e.CRC32 != p.crc {
			return p.errorf(fmt.Sprintf("checksum %d of the text above", e.CRC32), "it is %d: a line was changed", p.crc)
		}
		if rec.Machine.GOOS == "" {
			return p.errorf("a #machine line above", "there is none")
		}
		p.ended = true
	default:
		return p.errorf("one of #run, #machine, #row, #block, #batches, #end", "#%s", found(tag))
	}
	return nil
}

// measured takes a line that belongs to a block.
func (p *parser) measured(tag, body string) error {
	rec := p.rec
	if tag == "block" {
		var block Block
		if err := p.decode(tag, body, &block); err != nil {
			return err
		}
		rec.Blocks = append(rec.Blocks, block)
		return nil
	}
	var series Series
	if err := p.decode(tag, body, &series); err != nil {
		return err
	}
	if len(rec.Blocks) == 0 {
		return p.errorf("a #block line before #batches", "")
	}
	block, row := &rec.Blocks[len(rec.Blocks)-1], p.row(series.Row)
	if row == nil || row.Case != block.Case {
		return p.errorf("a row of case "+block.Case, "%q", series.Row)
	}
	if err := series.check(row); err != nil {
		return p.errorf("equally many positive entries in each list of #batches", "%v", err)
	}
	block.Series = append(block.Series, series)
	return nil
}

// decode ignores fields that it does not know, as an earlier instrument kept more.
func (p *parser) decode(tag, body string, v any) error {
	d := json.NewDecoder(strings.NewReader(body))
	err := d.Decode(v)
	if err == nil && d.More() {
		err = errors.New("text after the JSON object")
	}
	if err != nil {
		return p.errorf("#"+tag+" with a JSON object as Postage writes it", "%v", err)
	}
	return nil
}

func found(s string) string { return fmt.Sprintf("found %q", words.Abridged(s, 80)) }
