package profile

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// A frame is a function of a stack.
type frame struct {
	pkg, name string // "encoding/json", "(*Decoder).Decode"
	method    string // "Decode"; a function's own name
	typ       string // "Decoder"; "" if it is no method
	file      string
	outer     string // the package and the function; a closure's is the one that it is in
	does      string // "decode" or "encode", by its name or its type's; "" if they do not say
	owner     *Owner // from the table, or another library; nil for the user's own code
	named     bool   // the owner's line names this function, not its package
	native    bool   // in the kernel, in C, or without a name
}

// Samples are added up by place.
type place struct {
	owner *Owner
	now   string // the contender that measures what the owner calls
	// does is "decode" or "encode", in stage send "read" or "write". It is "" if the operation has
	// one direction, or if that is not known.
	does string
	// site is the user's nearest function that calls the library, typ the message that generated
	// code shows.
	site, typ, sitePkg string
	kind               kind
}

// kind says who owns a sample.
type kind int

const (
	owned kind = iota
	own        // the user's
	collector
	scheduler // and whatever else the runtime does for nobody
	unknown
)

// attributor finds the places of samples.
type attributor struct {
	table  *Owners
	frames map[*profile.Function]*frame
	others map[string]*Owner
}

// collecting has the runtime's functions that call nothing but collection.
var collecting = []string{"gcBgMarkWorker", "bgsweep", "bgscavenge", "gcMarkTermination", "gcDrain"}

// stack returns a sample's frames, the innermost first.
func (a *attributor) stack(s *profile.Sample) (stack []*frame) {
	for _, location := range s.Location {
		for i := range location.Line {
			stack = append(stack, a.frame(location.Line[i].Function))
		}
	}
	return stack
}

// place finds the place of a stack, whose first frame is the innermost. assist is whether the place
// does a part of a garbage collection.
func (a *attributor) place(stack []*frame) (p place, assist bool) {
	p.kind = unknown
	at := -1
	for i, f := range stack {
		if f.pkg == "runtime" {
			assist = assist || f.name == "gcAssistAlloc"
			if slices.ContainsFunc(collecting, func(name string) bool { return strings.HasPrefix(f.name, name) }) {
				p.kind = collector
			}
		}
		if f.native {
			continue
		}
		if p.kind == unknown {
			p.kind = scheduler
		}
		if f.owner == nil || f.owner.Stage != helper {
			at = i
			break
		}
	}
	if at < 0 {
		return p, false
	}
	if p.owner = stack[at].owner; p.owner == nil {
		f := stack[at]
		return place{kind: own, site: f.outer, sitePkg: f.pkg}, assist
	}
	p.kind = owned
	a.attribute(&p, stack[:at], stack[at:])
	return p, assist
}

// attribute finds what the owner was called for and by whom, in the stack from its innermost frame
// on. helpers are the frames before that: they tell reading from writing if the owner's frames do
// not. The contender is the innermost frame's, as for generated code below proto.Marshal. A
// function with a line of its own comes before it, and so does a serializer of Kubernetes, because
// its rows measure all that it calls.
func (a *attributor) attribute(p *place, helpers, stack []*frame) {
	inner, end := p.owner, len(stack)
	for i, f := range stack {
		same := f.owner != nil && f.owner.Operation == inner.Operation && (f.owner.Stage == inner.Stage || f.owner.Stage == "apply")
		if !same && (f.owner == nil || f.owner.Stage != helper) && !f.native {
			end = i
			break
		}
		if !same {
			continue
		}
		p.owner = f.owner
		if version, second := strings.CutSuffix(p.now, secondVersion); second && f.pkg == "encoding/json" {
			p.now = version + firstOnSecond
		}
		if f.owner.Stage != inner.Stage || !strings.HasPrefix(p.now, unmeasured) || strings.HasPrefix(f.owner.Contender, unmeasured) {
			if f.named || f.owner.Stage != inner.Stage || p.now == "" {
				p.now = f.owner.Contender
			}
		}
		if f.does != "" && strings.HasSuffix(f.owner.Operation, "*") {
			p.does = f.does
		}
		if f.typ != "" && f.owner.Path[0] == '.' {
			p.typ = f.typ
		}
	}
	if inner.Stage == "send" && strings.HasSuffix(inner.Operation, "*") {
		for i := 0; i < len(helpers) && p.does == ""; i++ {
			p.does = helpers[i].does
		}
		p.does = map[string]string{"decode": "read", "encode": "write"}[p.does]
	}
	for _, f := range stack[end:] {
		if f.owner == nil && !f.native {
			p.site, p.sitePkg = f.outer, f.pkg
			return
		}
	}
}

// From Go 1.27 on, or with GOEXPERIMENT=jsonv2, encoding/json behaves as the first version on the
// second version's code. That is a third contender.
const (
	secondVersion = "codec=jsonv2"
	firstOnSecond = "codec=json/experiment=jsonv2"
)

// unmeasured begins the contender of work that no row measures; the reason follows.
const unmeasured = "?"

var (
	decodes = regexp.MustCompile(`(?i)unmarshal|decod|pars|^get|read|scan|inflat|decompress|uncompress|valid|unpack|consume|recv|receive`)
	encodes = regexp.MustCompile(`(?i)marshal|encod|append|writ|deflat|compress|^size|close|flush|pack|format|compact|indent|msgsize|send`)
)

// direction says whether a function decodes or encodes, by its name or its type's; "" if they do
// not say.
func direction(f *frame) string {
	for _, name := range []string{f.method, f.typ} {
		switch {
		case decodes.MatchString(name):
			return "decode"
		case encodes.MatchString(name):
			return "encode"
		}
	}
	return ""
}

// frame reads a function's name.
func (a *attributor) frame(fn *profile.Function) *frame {
	if fn == nil {
		return &frame{native: true}
	}
	if f := a.frames[fn]; f != nil {
		return f
	}
	f := &frame{file: fn.Filename}
	a.frames[fn] = f
	if jit := compiled.FindString(fn.Name); jit != "" && !strings.HasSuffix(f.file, ".go") {
		f.name, f.does = printable(fn.Name), jit[:len("encode")]
		path := "github.com/bytedance/sonic"
		if strings.Contains(f.name, "interface {}") || f.name == "decode_value" {
			path += "/any/" + f.does
		}
		f.owner = a.table.above(path)
		f.native = f.owner == nil
		return f
	}
	head, _, _ := strings.Cut(fn.Name, "[") // type arguments have paths too
	slash := strings.LastIndexByte(head, '/') + 1
	dot := strings.IndexByte(fn.Name[slash:], '.') // one of the path is %2e
	if version := dotVersion.FindString(fn.Name[slash+max(dot, 0):]); version != "" {
		dot += len(version) - 1 // but not in exporters that unescape names
	}
	if dot <= 0 {
		f.name, f.native = printable(fn.Name), true
		return f
	}
	unescape := strings.NewReplacer("%2e", ".").Replace
	f.pkg, f.name = printable(unescape(fn.Name[:slash+dot])), printable(unescape(fn.Name[slash+dot+1:]))
	f.typ, f.method = methodOf(f.name)
	f.outer = f.pkg + "." + closure.ReplaceAllString(bracketed.ReplaceAllString(f.name, "[...]"), "")
	f.does = direction(f)
	// An instance of the standard library's generic function bears its caller's package.
	_, folder, _ := cutLast(f.file, "/src/")
	if folder, _, _ = cutLast(folder, "/"); folder != "" && folder != f.pkg {
		if o := a.table.byPath[folder]; o != nil && o.Stage == helper {
			f.owner = o
			return f
		}
	}
	f.owner, f.named = a.table.line(f)
	if f.owner == nil {
		f.owner = a.library(f)
	}
	return f
}

// methodOf finds the type, "" for none, and the function in a name. A closure counts as the
// function that it is in: "(*Order[...]).Marshal.func1" has Order and Marshal.
func methodOf(name string) (typ, method string) {
	parts := strings.Split(bracketed.ReplaceAllString(name, ""), ".")
	if t := strings.Trim(parts[0], "(*)"); len(parts) > 1 && (t != parts[0] || !strings.HasPrefix(parts[1], "func") && !strings.HasPrefix(parts[1], "gowrap")) {
		return t, strings.TrimSuffix(parts[1], "-fm")
	}
	return "", strings.TrimSuffix(parts[0], "-fm")
}

// compiled begins the names of functions that sonic compiles while the program runs. A type follows.
var compiled = regexp.MustCompile(`^(encode|decode)_`)

var (
	bracketed  = regexp.MustCompile(`\[.+\]`)
	dotVersion = regexp.MustCompile(`^\.v[0-9]+\.`)
	closure    = regexp.MustCompile(`(\.(func|gowrap)[0-9]|-fm$|-range[0-9]).*$`)
)

// library is the owner of a frame that is not in the table, nil if the frame is the user's. The
// file's folder tells.
func (a *attributor) library(f *frame) *Owner {
	first, _, _ := strings.Cut(f.pkg, "/")
	path := f.pkg
	switch main := a.table.Main; {
	case main != "" && (path == main || strings.HasPrefix(path, main+"/")):
		return nil
	case slices.Contains(standard, first) && !strings.Contains(f.file, "@v"):
	case strings.Contains(f.file, "@v"), strings.Contains(f.file, "/vendor/"), strings.Contains(f.file, "/pkg/mod/"):
		if parts := strings.SplitN(path, "/", 4); len(parts) == 4 {
			path = strings.Join(parts[:3], "/")
		}
	default:
		return nil
	}
	if a.others[path] == nil {
		a.others[path] = &Owner{Path: path, Stage: other, Operation: path}
	}
	return a.others[path]
}

// standard has the first elements of the standard library's packages that the table lacks.
var standard = strings.Fields("archive cmd compress crypto database debug embed encoding expvar flag go html image index log mime net plugin regexp runtime simd structs testing text")

// printable replaces what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0x2028 || r == 0x2029 {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
